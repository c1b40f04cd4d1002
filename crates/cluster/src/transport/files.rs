//! The files of a master and of its agents, as `memtide key new` writes them.
//!
//! Secrets are written for their owner only. They are refused if users other than the owner, root
//! and the groups of this process may read them.

use crate::identity::Identity;
use crate::join::{Join, Token, checked_address};
use crate::law::LawWords;
use ring::rand::SystemRandom;
use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

const IDENTITY: &str = "master.pem";
const JOIN: &str = "agent.join";
const BIND: &str = "bind";
/// The longest file accepted.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The contents of a master's folder.
#[derive(Debug)]
pub struct Keys {
    /// The master's key and certificate.
    pub identity: Identity,
    /// The agents' join file, which holds the token.
    pub join: Join,
    /// The address at which the master waits for agents: `host:port`.
    pub bind: String,
}

/// Makes a master's folder: its key, its agents' join file, and the address at which it waits for
/// them. `bind` defaults to `address`, which agents dial.
///
/// # Errors
/// If an address is not `host:port`, if a key exists already, or if the folder cannot be written.
pub fn make_folder(
    dir: &Path,
    address: &str,
    bind: Option<&str>,
    limits: LawWords,
) -> Result<Join, String> {
    let bind = checked_address(bind.unwrap_or(address))?;
    checked_address(address)?;
    let random = SystemRandom::new();
    let identity = Identity::make("memtide master", &random)?;
    let token = Token::make(&random)?;
    let master = identity.fingerprint();
    let join = Join { master, token, address: address.to_owned(), limits };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| format!("cannot create the folder {}: {error}", dir.display()))?;
    let metadata = dir.metadata().map_err(|error| format!("{}: {error}", dir.display()))?;
    private(dir, &metadata)?;
    write(&dir.join(IDENTITY), identity.text())?;
    write(&dir.join(JOIN), &join.text())?;
    write(&dir.join(BIND), &format!("{bind}\n"))?;
    Ok(join)
}

/// Reads a master's folder.
///
/// # Errors
/// If a file is missing, damaged or readable by others, or if the join file belongs to another key.
pub fn read_identity(dir: &Path) -> Result<Keys, String> {
    let path = dir.join(IDENTITY);
    let identity = Identity::parse(&read_secret(&path)?)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let path = dir.join(JOIN);
    let join = read_join(&path)?;
    if join.master != identity.fingerprint() {
        return Err(format!(
            "{}: it belongs to another master than {IDENTITY} beside it; memtide key new makes \
             matching files",
            path.display()
        ));
    }
    let path = dir.join(BIND);
    let bind = read(&path)?;
    let bind = checked_address(bind.trim_end())
        .map_err(|error| format!("{}: {error}", path.display()))?
        .to_owned();
    Ok(Keys { identity, join, bind })
}

/// Reads an agent's join file.
///
/// # Errors
/// If it is missing, damaged, or readable by others. A group of this process may read it.
pub fn read_join(path: &Path) -> Result<Join, String> {
    Join::parse(&read_secret(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a new join file that only its owner may read.
///
/// # Errors
/// If it exists already, or cannot be written.
pub fn write_join(path: &Path, join: &Join) -> Result<(), String> {
    write(path, &join.text())
}

/// Refuses a folder that group or others may use.
fn private(path: &Path, metadata: &Metadata) -> Result<(), String> {
    owned(path, metadata)?;
    match metadata.mode() & 0o077 {
        0 => Ok(()),
        _ => Err(open_to_others(path, metadata, "700")),
    }
}

/// Refuses a file that others may read or write. A group of this process may read it, because
/// Kubernetes passes secrets so to a process that is not root.
fn secret(path: &Path, metadata: &Metadata, groups: &[u32]) -> Result<(), String> {
    owned(path, metadata)?;
    let group = metadata.gid();
    match metadata.mode() & 0o077 {
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
fn owned(path: &Path, metadata: &Metadata) -> Result<(), String> {
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
fn groups() -> Vec<u32> {
    let more = rustix::process::getgroups().unwrap_or_default();
    let own = rustix::process::getegid();
    more.into_iter().chain([own]).map(|group| group.as_raw()).collect()
}

/// Reads a file whose owner and mode are those of a secret. The checked file is the one that is
/// read, even if the path is replaced meanwhile.
fn read_secret(path: &Path) -> Result<String, String> {
    let groups = groups();
    read_if(path, |metadata| secret(path, metadata, &groups))
}

fn read(path: &Path) -> Result<String, String> {
    read_if(path, |_| Ok(()))
}

/// Reads a short file that `allows` accepts.
fn read_if(
    path: &Path,
    allows: impl FnOnce(&Metadata) -> Result<(), String>,
) -> Result<String, String> {
    let wrong = |what: &str| format!("{}: {what}", path.display());
    // The open must not block on a pipe without a writer.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(nonblocking).open(path);
    let file = opened.map_err(|error| wrong(&error.to_string()))?;
    let metadata = file.metadata().map_err(|error| wrong(&error.to_string()))?;
    allows(&metadata)?;
    if !metadata.is_file() {
        return Err(wrong("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| wrong(&error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(wrong("it is longer than 64 KiB: memtide key new did not write it"));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is not text: memtide key new did not write it"))
}

/// Writes a new file that only its owner may read.
fn write(path: &Path, text: &str) -> Result<(), String> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| {
            let path = path.display();
            format!("cannot write {path}: {error}; name a new folder, or remove the old files")
        })
}

#[cfg(test)]
mod tests;
