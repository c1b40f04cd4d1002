//! Batches on disk that could not be posted: files of gzip-compressed lines, in bounded space.

use super::batch::Batch;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The end of their names.
const ENDING: &str = ".lp.gz";
/// The end of the name of an incomplete file.
const UNFINISHED: &str = "part";

/// A folder of batches.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    /// The number of bytes that may still be written.
    room: u64,
    /// The beginning of the files' names.
    run: String,
    /// The number of the next file.
    next: u64,
    files: VecDeque<Kept>,
    /// The reason why a batch could not be kept, or not be read back.
    pub(super) trouble: Option<String>,
    /// The files of the folder that are no batches, each with the reason. They stay.
    pub(super) unread: Vec<String>,
}

/// A batch of this run on disk.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    bytes: u64,
    points: u64,
}

/// A batch on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpoolFile {
    /// The path of the file.
    pub(super) path: PathBuf,
}

impl Spool {
    /// A spool in `folder`, which is made if it is missing, for the points of `run`. Its files and
    /// those already there take at most `bytes` bytes.
    ///
    /// # Errors
    /// If the folder cannot be made or read, or cannot be written to.
    pub fn open(folder: &Path, bytes: u64, run: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut used = 0;
        for file in spooled(folder)? {
            used += fs::symlink_metadata(&file.path)?.len();
        }
        let probe = folder.join(format!("memtide-{run}.{UNFINISHED}"));
        write(&probe, &[])?;
        fs::remove_file(&probe)?;
        Ok(Self {
            folder: folder.to_owned(),
            room: bytes.saturating_sub(used),
            run: run.to_owned(),
            next: 0,
            files: VecDeque::new(),
            trouble: None,
            unread: Vec::new(),
        })
    }

    /// The spool that earlier runs have left in `folder`: all its batches, without room for more.
    /// Files that are no batches are set aside.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn left_in(folder: &Path) -> io::Result<Self> {
        let (mut files, mut unread) = (VecDeque::new(), Vec::new());
        for path in files_in(folder)? {
            match batch_in(&path) {
                Ok((bytes, points)) => files.push_back(Kept { path, bytes, points }),
                Err(error) => unread.push(format!("'{}': {error}", path.display())),
            }
        }
        let (folder, run) = (folder.to_owned(), String::new());
        Ok(Self { folder, room: 0, run, next: 0, files, trouble: None, unread })
    }

    /// Keeps a batch; returns false if there is no room, or the disk does not take it.
    pub(super) fn keep(&mut self, zipped: &[u8], points: u64) -> bool {
        let bytes = zipped.len() as u64;
        if bytes > self.room {
            self.trouble = Some("the spool is full; use a larger one".to_owned());
            return false;
        }
        match self.written(zipped) {
            Ok(path) => {
                self.room -= bytes;
                self.files.push_back(Kept { path, bytes, points });
                true
            }
            Err(error) => {
                self.trouble = Some(format!("the spool '{}': {error}", self.folder.display()));
                false
            }
        }
    }

    /// Writes a batch under the next name that is free: another process may use the folder for the
    /// same run, and nothing is replaced.
    fn written(&mut self, zipped: &[u8]) -> io::Result<PathBuf> {
        loop {
            let path = self.folder.join(format!("memtide-{}-{:06}{ENDING}", self.run, self.next));
            let unfinished = path.with_extension(UNFINISHED);
            self.next += 1;
            match write(&unfinished, zipped) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                written => {
                    // A link, unlike a new name, replaces nothing.
                    let linked = written.and_then(|()| fs::hard_link(&unfinished, &path));
                    drop(fs::remove_file(&unfinished));
                    match linked {
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                        linked => return linked.map(|()| path),
                    }
                }
            }
        }
    }

    /// The number of points in all batches of this run.
    pub(super) fn points(&self) -> u64 {
        self.files.iter().map(|kept| kept.points).sum()
    }

    /// True if the spool has a batch of this run.
    pub(super) fn has_kept(&self) -> bool {
        !self.files.is_empty()
    }

    /// The oldest batch of this run, and the number of its points when it was kept.
    pub(super) fn oldest(&self) -> Option<(io::Result<Batch>, u64)> {
        let kept = self.files.front()?;
        let read = read(&kept.path).and_then(|zipped| Batch::unzipped(&zipped));
        Some((read, kept.points))
    }

    /// Removes the oldest batch of this run, which the database has answered.
    pub(super) fn remove_oldest(&mut self) {
        if let Some(kept) = self.files.pop_front() {
            self.room += kept.bytes;
            drop(fs::remove_file(kept.path));
        }
    }

    /// Gives up the oldest batch of this run, which cannot be read; its file stays.
    pub(super) fn give_up_oldest(&mut self, error: &io::Error) {
        if let Some(kept) = self.files.pop_front() {
            self.trouble = Some(format!("'{}' cannot be read: {error}", kept.path.display()));
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// All complete files in `folder`, by name.
fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // A link may lead to a file of another user.
        if entry.file_type()?.is_file()
            && path.extension().is_none_or(|ending| ending != UNFINISHED)
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The bytes and points of the batch in a file.
fn batch_in(path: &Path) -> io::Result<(u64, u64)> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !name.starts_with("memtide-") || !name.ends_with(ENDING) {
        return Err(io::Error::other("it is not a file of a spool"));
    }
    let zipped = read(path)?;
    let batch = Batch::unzipped(&zipped)
        .map_err(|error| io::Error::other(format!("it is not complete: {error}")))?;
    match batch.has_points() {
        true => Ok((zipped.len() as u64, batch.points)),
        false => Err(io::Error::other("it has lines that are no points")),
    }
}

/// The batches in `folder`, of each run the oldest first.
///
/// # Errors
/// If the folder cannot be read.
pub(super) fn spooled(folder: &Path) -> io::Result<Vec<SpoolFile>> {
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

/// Reads a file. A link is refused: it may lead to a file of another user.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let (opened, named) = (file.metadata()?, fs::symlink_metadata(path)?);
    if (opened.dev(), opened.ino()) != (named.dev(), named.ino()) {
        return Err(io::Error::other("it is a link"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file that only its owner may read.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests;
