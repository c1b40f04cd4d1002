//! Records that no master has acknowledged: an agent keeps them for a day, readable only by its
//! user. Agents of one user may share a folder.

use super::private::{self, WRITING_BY_OTHERS};
use crate::message::KeptRecord;
use crate::parts::RECORD_BYTES_MAX;
use memtide_base::hex::{from_hex, to_hex};
use rustix::fs::OFlags;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

/// The time for which a record is kept.
const AGE_MAX: Duration = Duration::from_secs(24 * 3600);
/// The most records kept; the oldest is deleted first.
pub(crate) const COUNT_MAX: usize = 64;

/// The folder of an agent's records, named by their runs and shares.
#[derive(Debug)]
pub struct Kept(PathBuf);

/// The file of a record.
struct RecordFile {
    path: PathBuf,
    changed: SystemTime,
    /// Its length.
    bytes: u64,
}

impl RecordFile {
    fn is_old(&self) -> bool {
        self.changed.elapsed().unwrap_or_default() > AGE_MAX
    }
}

impl Kept {
    /// Opens a folder; makes it if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be made, belongs to another user, or can be changed by others.
    pub fn open(folder: &Path) -> Result<Self, String> {
        private::folder(folder, WRITING_BY_OTHERS)?;
        Ok(Self(folder.to_owned()))
    }

    /// Writes the record of a run's share. One that is there already stays as it is, whatever a
    /// master calls its run.
    ///
    /// # Errors
    /// If the file cannot be written, or exists already.
    pub fn keep(&self, run: &[u8], share: u32, record: &[u8]) -> io::Result<()> {
        let place = self.place(run, share);
        let beside = place.with_extension("part");
        // A file left by a crash would be in the way.
        drop(fs::remove_file(&beside));
        // A link, unlike a new name, replaces nothing.
        let written = private::write(&beside, record).and_then(|()| fs::hard_link(&beside, &place));
        drop(fs::remove_file(&beside));
        written
    }

    /// Deletes the record of a run's share, if there is one.
    pub fn forget(&self, run: &[u8], share: u32) {
        drop(fs::remove_file(self.place(run, share)));
    }

    /// The record of a run's share, if there is one. A link is not followed.
    pub fn find(&self, run: &[u8], share: u32) -> Option<Vec<u8>> {
        self.list().iter().find(|kept| kept.run == run && kept.share == share)?;
        let place = self.place(run, share);
        private::read(&place, RECORD_BYTES_MAX, OFlags::NOFOLLOW, |metadata| {
            private::owned(&place, metadata)
        })
        .ok()?
    }

    /// The records that are not too old.
    pub fn list(&self) -> Vec<KeptRecord> {
        let files = self.files().unwrap_or_default();
        let young = files.iter().filter(|file| !file.is_old());
        let kept = young.filter_map(|RecordFile { path, bytes, .. }| {
            let (run, share) = path.file_stem()?.to_str()?.split_once('-')?;
            Some(KeptRecord { run: from_hex(run)?, bytes: *bytes, share: share.parse().ok()? })
        });
        kept.collect()
    }

    /// Deletes records that are too old, and the oldest if there is no room for another one.
    pub fn tidy(&self) {
        let mut files = self.files().unwrap_or_default();
        files.sort_by_key(|file| file.changed);
        let surplus = (files.len() + 1).saturating_sub(COUNT_MAX);
        for (at, file) in files.iter().enumerate() {
            if at < surplus || file.is_old() {
                // Another agent may have deleted it.
                drop(fs::remove_file(&file.path));
            }
        }
    }

    fn files(&self) -> io::Result<Vec<RecordFile>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            let Ok(facts) = fs::symlink_metadata(&path) else { continue };
            if facts.is_file() && path.extension().is_some_and(|extension| extension == "json") {
                files.push(RecordFile { path, changed: facts.modified()?, bytes: facts.len() });
            }
        }
        Ok(files)
    }

    fn place(&self, run: &[u8], share: u32) -> PathBuf {
        self.0.join(format!("{}-{share}.json", to_hex(run)))
    }
}

#[cfg(test)]
mod tests;
