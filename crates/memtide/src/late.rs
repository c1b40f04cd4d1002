//! A file for a result that may never come.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

/// A file that is opened at once, so that a wrong name costs no run, and changed only when it is
/// written or flushed: what an earlier run left there outlives one that could not start, and a file
/// that was made for nothing is taken away again.
#[derive(Debug)]
pub(crate) struct LateFile {
    file: File,
    path: PathBuf,
    /// Whether it was not there before.
    is_new: bool,
    begun: bool,
}

impl LateFile {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// When it can be neither made nor written.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let make = |is_new: bool| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).create_new(is_new).open(path)
        };
        let (file, is_new) = match make(true) {
            Ok(file) => (file, true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => (make(false)?, false),
            Err(error) => return Err(error),
        };
        Ok(Self { file, path: path.to_owned(), is_new, begun: false })
    }

    /// Forgets what was written too, and begins again.
    ///
    /// # Errors
    /// When the file cannot be changed.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.begun = false;
        self.begin()
    }

    /// Forgets what was there.
    fn begin(&mut self) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            // A pipe or a terminal has nothing to forget.
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
                self.file.rewind()?;
            }
        }
        Ok(())
    }
}

impl Write for LateFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begin()?;
        self.file.flush()
    }
}

impl Drop for LateFile {
    fn drop(&mut self) {
        if self.is_new && !self.begun {
            // An empty file that stays is the lesser evil.
            let _ = fs::remove_file(&self.path);
        }
    }
}
