//! Files and folders that only their owner may use: how they are made, and which are refused.

use rustix::fs::OFlags;
use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The rights of group and others.
pub(super) const RIGHTS_OF_OTHERS: u32 = 0o077;
/// The rights of group and others to change something.
pub(super) const WRITING_BY_OTHERS: u32 = 0o022;
/// The mode of a folder in which users can replace only what is theirs.
const STICKY: u32 = 0o1000;

/// Makes a folder for its owner alone, or refuses one that exists and belongs to another user or
/// gives others the `forbidden` rights. A link to it must be this user's or root's too, and no
/// other user may replace a folder above it.
pub(super) fn folder(path: &Path, forbidden: u32) -> Result<(), String> {
    let wrong = |error: io::Error| format!("{}: {error}", path.display());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| format!("cannot create the folder {}: {error}", path.display()))?;
    owned(path, &path.symlink_metadata().map_err(wrong)?)?;
    let metadata = path.metadata().map_err(wrong)?;
    owned(path, &metadata)?;
    if metadata.mode() & forbidden != 0 {
        return Err(open_to_others(path, &metadata, "700"));
    }
    for above in path.canonicalize().map_err(wrong)?.ancestors().skip(1) {
        let mode = above.metadata().map_err(wrong)?.mode();
        if mode & 0o002 != 0 && mode & STICKY == 0 {
            let (path, above) = (path.display(), above.display());
            return Err(format!(
                "{path}: every user can replace it, because all may write to {above}; run chmod \
                 o-w '{above}', or use a folder elsewhere"
            ));
        }
    }
    Ok(())
}

/// Refuses a file that others may read or write. A group of this process may read it, because
/// Kubernetes passes secrets so to a process that is not root.
pub(super) fn secret(path: &Path, metadata: &Metadata, groups: &[u32]) -> Result<(), String> {
    owned(path, metadata)?;
    let group = metadata.gid();
    match metadata.mode() & RIGHTS_OF_OTHERS {
        0 => Ok(()),
        0o040 if groups.contains(&group) => Ok(()),
        0o040 => {
            let path = path.display();
            Err(format!(
                "{path}: it is secret, but group {group}, of which this process is not a member, \
                 can read it (mode {:03o}); run chmod 600 '{path}'",
                metadata.mode() & 0o777
            ))
        }
        _ => Err(open_to_others(path, metadata, "600")),
    }
}

/// Refuses a file or folder that belongs neither to this user nor to root.
pub(super) fn owned(path: &Path, metadata: &Metadata) -> Result<(), String> {
    let (owner, ours) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner == ours || owner == 0 {
        return Ok(());
    }
    let path = path.display();
    Err(format!(
        "{path}: it belongs to another user (number {owner}), who could replace it; use a copy of \
         your own"
    ))
}

/// The error for a file with too wide a mode; `mode` is the one to set.
fn open_to_others(path: &Path, metadata: &Metadata, mode: &str) -> String {
    let (path, found) = (path.display(), metadata.mode() & 0o777);
    format!(
        "{path}: it is secret, but other users have access (mode {found:03o}); run chmod {mode} \
         '{path}'"
    )
}

/// The groups of this process.
pub(super) fn groups() -> Vec<u32> {
    let more = rustix::process::getgroups().unwrap_or_default();
    let own = rustix::process::getegid();
    more.into_iter().chain([own]).map(|group| group.as_raw()).collect()
}

/// Reads a file of at most `most` bytes that `allows` accepts; `None` if it is longer. The checked
/// file is the one that is read, even if the path is replaced meanwhile.
pub(super) fn read(
    path: &Path,
    most: u64,
    flags: OFlags,
    allows: impl FnOnce(&Metadata) -> Result<(), String>,
) -> Result<Option<Vec<u8>>, String> {
    let wrong = |error: io::Error| format!("{}: {error}", path.display());
    // The open must not block on a pipe without a writer.
    let flags = (flags | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(wrong)?;
    let metadata = file.metadata().map_err(wrong)?;
    allows(&metadata)?;
    if !metadata.is_file() {
        return Err(format!("{}: it is not a file", path.display()));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(wrong)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= most))
}

/// Writes a new file that only its owner may read.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
