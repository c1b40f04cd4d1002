//! Places of results. A result that is complete only at the end is written to a temporary file
//! beside its file, which it then replaces; a stream of rows, stdout, a pipe and a device are
//! written directly.

mod distinct;

pub use distinct::check_distinct;

use crate::Document;
use std::error::Error;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Largest number of links followed to a file that does not exist yet.
const LINKS_MAX: usize = 40;
/// Largest number of names tried for a temporary file.
const NAMES_MAX: u32 = 100;
/// The most bytes of one write.
const PIECE_BYTES: usize = 64 << 10;

/// A place for a result that may never come. A wrong name is reported when it is opened, before the
/// run. Until the result is complete a file keeps its old content.
#[derive(Debug)]
pub struct Place {
    out: BufWriter<Target>,
}

impl Place {
    /// Opens a file for a whole result. Links are followed; the file keeps its mode, and if
    /// possible its owner.
    ///
    /// # Errors
    /// If the file can be neither created nor written.
    pub fn whole(path: &Path) -> io::Result<Self> {
        let there = match fs::metadata(path) {
            Ok(there) if there.is_file() => Some(Box::new(there)),
            Ok(_) => return Self::stream(path),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = match &there {
            Some(_) => {
                OpenOptions::new().write(true).open(path)?;
                fs::canonicalize(path)
            }
            None => followed(path),
        };
        let tried = target.and_then(|target| Temporary::beside(&target, None).map(|_| target));
        match tried {
            Ok(target) => Ok(Self::of(Way::Beside(Beside { target, there, temporary: None }))),
            // The file may be writable although its folder takes no new file.
            Err(_) if there.is_some() => Self::stream(path),
            Err(error) => Err(error),
        }
    }

    /// Opens a file for rows that can be read while they are written, or anything other than a
    /// regular file.
    ///
    /// # Errors
    /// If the file can be neither created nor written.
    pub fn stream(path: &Path) -> io::Result<Self> {
        Direct::open(path).map(|direct| Self::of(Way::Direct(direct)))
    }

    /// Opens a file to which rows are appended; what is there stays.
    ///
    /// # Errors
    /// If the file can be neither created nor written.
    pub(crate) fn append(path: &Path) -> io::Result<Self> {
        let mut direct = Direct::open(path)?;
        direct.appends = true;
        Ok(Self::of(Way::Direct(direct)))
    }

    /// The program's stdout.
    ///
    /// # Errors
    /// If it cannot be opened a second time.
    pub(crate) fn stdout() -> io::Result<Self> {
        let (path, file) = (PathBuf::new(), Some(stdout_file()?));
        let (is_new, has_name, is_stdout, begun, appends) = (false, false, true, true, true);
        let direct = Direct { path, file, is_new, has_name, is_stdout, begun, appends };
        Ok(Self::of(Way::Direct(direct)))
    }

    fn of(way: Way) -> Self {
        Self { out: BufWriter::new(Target { way, written: Arc::default() }) }
    }

    /// This place, which adds to `written` with each piece that it writes.
    pub(crate) fn counting(mut self, written: &Arc<AtomicU64>) -> Self {
        self.out.get_mut().written = Arc::clone(written);
        self
    }
}

impl Document for Place {
    fn complete(mut self) -> io::Result<()> {
        self.out.flush()?;
        match &mut self.out.get_mut().way {
            Way::Beside(beside) => beside.commit(),
            Way::Direct(_) => Ok(()),
        }
    }

    fn restart(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let target = self.out.get_mut();
        match &mut target.way {
            Way::Beside(beside) => beside.temporary = None,
            Way::Direct(direct) => direct.restart()?,
        }
        target.begin().map(drop)
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    /// Also fails if the file with written rows was removed.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[derive(Debug)]
struct Target {
    way: Way,
    /// Grows with each piece that is written.
    written: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Way {
    Beside(Beside),
    Direct(Direct),
}

impl Way {
    /// The error of a write. One into stdout whose reader has left is marked, because it is no
    /// failure.
    fn marked(&self, error: io::Error) -> io::Error {
        match self {
            Self::Direct(Direct { is_stdout: true, .. })
                if error.kind() == ErrorKind::BrokenPipe =>
            {
                io::Error::new(ErrorKind::BrokenPipe, ReaderLeft)
            }
            _ => error,
        }
    }
}

/// The reader of stdout has left.
#[derive(Debug)]
struct ReaderLeft;

impl fmt::Display for ReaderLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader of stdout has left")
    }
}

impl Error for ReaderLeft {}

/// True if a write into stdout failed because its reader has left.
pub(crate) fn is_of_stdout(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<ReaderLeft>())
}

impl Target {
    /// The file to which bytes go, opened if necessary.
    fn begin(&mut self) -> io::Result<&mut File> {
        match &mut self.way {
            Way::Beside(beside) => beside.begin(),
            Way::Direct(direct) => direct.begin(),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A pipe takes a long text piece by piece, so that progress within it is seen.
        let written = self.begin()?.write(&bytes[..bytes.len().min(PIECE_BYTES)]);
        let written = written.map_err(|error| self.way.marked(error))?;
        self.written.fetch_add(1, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begin()?.flush()?;
        match &self.way {
            Way::Beside(_) => Ok(()),
            Way::Direct(direct) => direct.check_name(),
        }
    }
}

/// A regular file that a temporary file replaces.
#[derive(Debug)]
struct Beside {
    /// The file itself, not a link to it.
    target: PathBuf,
    /// Its present metadata, if it exists.
    there: Option<Box<Metadata>>,
    /// The temporary file; none before the first byte, so that a killed run leaves no file.
    temporary: Option<Temporary>,
}

impl Beside {
    fn begin(&mut self) -> io::Result<&mut File> {
        if self.temporary.is_none() {
            self.temporary = Some(Temporary::beside(&self.target, self.there.as_deref())?);
        }
        Ok(&mut self.temporary.as_mut().expect("it was just made").file)
    }

    fn commit(&mut self) -> io::Result<()> {
        let Some(temporary) = self.temporary.take() else { return Ok(()) };
        // A lack of disk space may show only now.
        temporary.file.sync_all()?;
        match fs::rename(&temporary.path, &self.target) {
            // A file that is a mount point cannot be replaced.
            Err(_) if self.there.is_some() => {
                let mut target =
                    OpenOptions::new().write(true).truncate(true).open(&self.target)?;
                io::copy(&mut File::open(&temporary.path)?, &mut target)?;
                Ok(())
            }
            renamed => renamed,
        }
    }
}

/// A temporary file, removed with this value unless it was renamed.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    /// Creates an empty file in the folder of `target`, with the owner and mode of the present
    /// file.
    fn beside(target: &Path, there: Option<&Metadata>) -> io::Result<Self> {
        /// The number in the next temporary file's name.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if target.file_name().is_none() || target.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::Error::from(ErrorKind::IsADirectory));
        }
        let mut options = OpenOptions::new();
        // At no time must more users be able to read it than afterwards.
        options.write(true).create_new(true).mode(if there.is_some() { 0o600 } else { 0o666 });
        for _ in 0..NAMES_MAX {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder(target).join(format!(".memtide-{}-{number}.tmp", process::id()));
            match options.open(&path) {
                Ok(file) => {
                    let made = Self { path, file };
                    if let Some(there) = there {
                        // Only root can change the owner of files.
                        let _ = fchown(&made.file, Some(there.uid()), Some(there.gid()));
                        made.file.set_permissions(there.permissions())?;
                    }
                    return Ok(made);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(ErrorKind::AlreadyExists))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is no file of this name.
        let _ = fs::remove_file(&self.path);
    }
}

/// A file that is written directly. It changes only when it is written or flushed: an earlier
/// result survives a run that could not start, and a created file that stayed empty is removed.
#[derive(Debug)]
struct Direct {
    path: PathBuf,
    /// None for a named pipe before its first byte, because opening it waits for a reader.
    file: Option<File>,
    /// True if the file did not exist before.
    is_new: bool,
    /// True if the file has a name in a folder. One passed as `/dev/fd/3` may have none.
    has_name: bool,
    /// True if it is the pipe or device to which stdout leads.
    is_stdout: bool,
    begun: bool,
    /// True if what is there stays.
    appends: bool,
}

impl Direct {
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let (file, is_new) = match () {
            () if is_pipe(path) => (None, false),
            () => match options.clone().create_new(true).open(path) {
                Ok(file) => (Some(file), true),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    (Some(options.open(path)?), false)
                }
                Err(error) => return Err(error),
            },
        };
        let has_name = file.as_ref().is_some_and(has_name);
        let (path, is_stdout) = (path.to_owned(), leads_to_stdout(path));
        Ok(Self { path, file, is_new, has_name, is_stdout, begun: false, appends: false })
    }

    /// Fails if the file was removed from its folder, so that later output would be lost.
    fn check_name(&self) -> io::Result<()> {
        match &self.file {
            Some(file) if self.has_name && !has_name(file) => {
                let why = "the file was removed during the run; leave it there until the end";
                Err(io::Error::new(ErrorKind::NotFound, why))
            }
            _ => Ok(()),
        }
    }

    /// Discards the written bytes, which is possible in a regular file only.
    fn restart(&mut self) -> io::Result<()> {
        let there = self.file.as_ref().and_then(|file| file.metadata().ok());
        if self.begun && there.is_some_and(|there| !there.is_file()) {
            return Err(ErrorKind::Unsupported.into());
        }
        self.begun = false;
        Ok(())
    }

    fn begin(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            self.file = Some(OpenOptions::new().write(true).open(&self.path)?);
        }
        if !self.begun && self.appends {
            // Each row then goes to the end, also if another run appends at the same time.
            self.file = Some(OpenOptions::new().append(true).open(&self.path)?);
        }
        let file = self.file.as_mut().expect("it was just opened");
        // A pipe or a terminal cannot be truncated.
        if !self.begun && !self.appends && file.metadata()?.is_file() {
            file.set_len(0)?;
            file.rewind()?;
        }
        self.begun = true;
        Ok(file)
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        if self.is_new && !self.begun {
            // An empty file may stay if it cannot be removed.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// True if `path` is a named pipe.
pub(crate) fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo())
}

/// True if `path` names the pipe or device to which stdout leads.
fn leads_to_stdout(path: &Path) -> bool {
    let stdout = stdout_file().and_then(|out| out.metadata());
    match (fs::metadata(path), stdout) {
        (Ok(there), Ok(out)) => {
            !there.is_file() && (there.dev(), there.ino()) == (out.dev(), out.ino())
        }
        _ => false,
    }
}

/// A second handle on the program's stdout.
fn stdout_file() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// True if the file has a name in a folder.
fn has_name(file: &File) -> bool {
    file.metadata().is_ok_and(|there| there.nlink() > 0)
}

/// The path to which links lead from `path`; its target does not exist.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(link) => path = folder(&path).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its symbolic links form a loop; name another file"))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
