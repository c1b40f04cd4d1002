//! Records not yet acknowledged by a master: an agent keeps them for a day, readable only by its
//! user.

use super::folder::state_folder;
use crate::exit::Stop;
use memtide_base::hex::{from_hex, to_hex};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Time for which a record is kept.
const AGE_MAX: Duration = Duration::from_secs(24 * 3600);
/// Largest number of records kept; the oldest is deleted first.
const COUNT_MAX: usize = 64;

/// The folder of an agent's records.
pub(crate) struct Kept {
    folder: PathBuf,
}

/// A record in the folder.
pub(crate) struct KeptFile {
    /// Identifier of its run.
    pub(crate) run: Vec<u8>,
    /// Length in bytes.
    pub(crate) bytes: u64,
}

impl Kept {
    /// Opens the folder `path`, or that of the user's own agents; creates it if it is missing.
    ///
    /// Cause: The folder for records cannot be made.
    ///
    /// To do: name another one with --records.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Stop> {
        let folder = match path {
            Some(path) => path.to_owned(),
            None => state_folder()?.join("records"),
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| {
            let folder = folder.display();
            Stop::usage(format!("--records {folder} cannot be made: {error}; name another folder"))
        })?;
        let mode = fs::metadata(&folder).map_or(0, |facts| facts.permissions().mode());
        if mode & 0o022 != 0 {
            let folder = folder.display();
            return Err(Stop::usage(format!(
                "--records {folder}: other users can write to it; run chmod 700 {folder}, or name \
                 another folder"
            )));
        }
        Ok(Self { folder })
    }

    /// Writes a record to the folder; deletes records that are too old or too many.
    pub(crate) fn keep(&self, run: &[u8], record: &[u8]) -> io::Result<()> {
        self.tidy()?;
        let place = self.place(run);
        let beside = place.with_extension("part");
        let written = write(&beside, record).and_then(|()| fs::rename(&beside, &place));
        if written.is_err() {
            // A partly written record is useless.
            drop(fs::remove_file(&beside));
        }
        written
    }

    /// Deletes the record of a run, if there is one.
    pub(crate) fn forget(&self, run: &[u8]) {
        drop(fs::remove_file(self.place(run)));
    }

    /// The record of a run, if there is one.
    pub(crate) fn find(&self, run: &[u8]) -> Option<Vec<u8>> {
        self.list().iter().any(|kept| kept.run == run).then(|| fs::read(self.place(run)).ok())?
    }

    /// The records that are not too old.
    pub(crate) fn list(&self) -> Vec<KeptFile> {
        let files = self.files().unwrap_or_default();
        let kept = |(path, changed, bytes): &(PathBuf, SystemTime, u64)| {
            if changed.elapsed().unwrap_or_default() > AGE_MAX {
                return None;
            }
            let run = from_hex(path.file_stem()?.to_str()?)?;
            Some(KeptFile { run, bytes: *bytes })
        };
        files.iter().filter_map(kept).collect()
    }

    fn tidy(&self) -> io::Result<()> {
        let mut files = self.files()?;
        files.sort_by_key(|(_, changed, _)| *changed);
        let surplus = (files.len() + 1).saturating_sub(COUNT_MAX);
        for (at, (path, changed, _)) in files.iter().enumerate() {
            if at < surplus || changed.elapsed().unwrap_or_default() > AGE_MAX {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Paths of the records, with the time of writing and the length of each.
    fn files(&self) -> io::Result<Vec<(PathBuf, SystemTime, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let Ok(facts) = fs::metadata(&path) else { continue };
            if path.extension().is_some_and(|extension| extension == "json") {
                files.push((path, facts.modified()?, facts.len()));
            }
        }
        Ok(files)
    }

    fn place(&self, run: &[u8]) -> PathBuf {
        self.folder.join(to_hex(run)).with_extension("json")
    }
}

/// Writes a file that only its user can read.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A file left by a crash would be in the way.
    drop(fs::remove_file(path));
    let mut options = OpenOptions::new();
    let mut file: File = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
