//! Batches on disk that could not be posted, as files of lines with gzip, in bounded space.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How their names end.
const ENDING: &str = ".lp.gz";

/// A folder for batches.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    /// The bytes that are left.
    room: u64,
    /// What the names of the files begin with.
    run: String,
    files: Vec<(PathBuf, u64)>,
    /// Why the last batch could not be kept.
    pub(super) trouble: Option<String>,
}

/// A batch on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolFile {
    /// Where it is.
    pub path: PathBuf,
}

impl Spool {
    /// A spool in `folder`, which is made if it is missing, for the points of `run`. Its files have
    /// `bytes` at most together with those that are there.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn open(folder: &Path, bytes: u64, run: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut used = 0;
        for file in spooled(folder)? {
            used += fs::metadata(&file.path)?.len();
        }
        Ok(Self {
            folder: folder.to_owned(),
            room: bytes.saturating_sub(used),
            run: run.to_owned(),
            files: Vec::new(),
            trouble: None,
        })
    }

    /// Keeps a batch; false if there is no room, or the disk does not take it.
    pub(super) fn keep(&mut self, zipped: &[u8], points: u64) -> bool {
        let length = zipped.len() as u64;
        if length > self.room {
            self.trouble = Some("the spool is full; use a larger one".to_owned());
            return false;
        }
        let number = self.files.len();
        let path = self.folder.join(format!("memtide-{}-{number:06}{ENDING}", self.run));
        match write(&path, zipped) {
            Ok(()) => {
                self.room -= length;
                self.files.push((path, points));
                true
            }
            Err(error) => {
                self.trouble = Some(format!("the spool '{}': {error}", self.folder.display()));
                drop(fs::remove_file(&path));
                false
            }
        }
    }

    /// The oldest batch of this run, with how many points it has.
    pub(super) fn oldest(&self) -> Option<(io::Result<Vec<u8>>, u64)> {
        let (path, points) = self.files.first()?;
        Some((fs::read(path), *points))
    }

    /// Removes the oldest batch of this run, which has been posted.
    pub(super) fn remove_oldest(&mut self) {
        if !self.files.is_empty() {
            let (path, _) = self.files.remove(0);
            drop(fs::remove_file(path));
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The batches in `folder`, oldest first of each run.
///
/// # Errors
/// When it cannot be read.
pub fn spooled(folder: &Path) -> io::Result<Vec<SpoolFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("memtide-") && name.ends_with(ENDING) {
            files.push(SpoolFile { path });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Points are of the user alone.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}
