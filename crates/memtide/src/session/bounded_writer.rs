//! Writes rows to a reader that may stall, on a separate thread. A reader that takes nothing for a
//! while is given up, so that it delays no report; the error says that rows were lost.

use memtide_base::Span;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Size of a piece in bytes.
const PIECE_BYTES: usize = 64 * 1024;
/// Largest number of waiting pieces.
const PIECES_MAX: usize = 16;
/// Longest wait for a stalled reader of measured operations.
const STALL_MAX: Duration = Duration::from_secs(2);
/// Longest wait for any other stalled reader.
const STALL_MAX_OF_RESULTS: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A writer that waits for its reader only for a limited time.
#[derive(Debug)]
pub(crate) struct BoundedWriter {
    /// Longest wait for a stalled reader.
    stall_max: Duration,
    gathered: Vec<u8>,
    /// Number of pieces handed over.
    given: u64,
    /// Number of pieces written.
    taken: Arc<AtomicU64>,
    pieces: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl BoundedWriter {
    /// A writer for rows of measured operations, which come in quick succession.
    pub(crate) fn new(out: impl Write + Send + 'static) -> Self {
        Self::within(STALL_MAX, out)
    }

    /// A writer for results that come once, or once a second.
    pub(crate) fn for_results(out: impl Write + Send + 'static) -> Self {
        Self::within(STALL_MAX_OF_RESULTS, out)
    }

    fn within(stall_max: Duration, out: impl Write + Send + 'static) -> Self {
        let (pieces, waiting) = sync_channel(PIECES_MAX);
        let taken = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&taken);
        let thread = Some(thread::spawn(move || write(out, &waiting, &count)));
        Self { stall_max, gathered: Vec::new(), given: 0, taken, pieces: Some(pieces), thread }
    }

    /// Hands over the buffered bytes.
    fn give(&mut self) -> io::Result<()> {
        let mut piece = std::mem::take(&mut self.gathered);
        let taken = Arc::clone(&self.taken);
        let mut stall = Stall::new(&taken, self.stall_max);
        loop {
            let Some(pieces) = &self.pieces else { return Err(io::Error::from(ErrorKind::Other)) };
            match pieces.try_send(piece) {
                Ok(()) => {
                    self.given += 1;
                    return Ok(());
                }
                Err(TrySendError::Full(back)) => piece = back,
                Err(TrySendError::Disconnected(_)) => return Err(self.failure()),
            }
            stall.look()?;
        }
    }

    /// The error that ended the thread.
    fn failure(&mut self) -> io::Error {
        self.pieces = None;
        let ended = self.thread.take().map(|thread| thread.join().expect("it does not panic"));
        ended.and_then(Result::err).unwrap_or_else(|| io::Error::from(ErrorKind::Other))
    }
}

impl Write for BoundedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Pieces are limited, so that progress within a long text is visible.
        let taken = bytes.len().min(PIECE_BYTES);
        self.gathered.extend_from_slice(&bytes[..taken]);
        if self.gathered.len() >= PIECE_BYTES {
            self.give()?;
        }
        Ok(taken)
    }

    /// Waits until everything is written, or the reader stalls for too long.
    fn flush(&mut self) -> io::Result<()> {
        self.give()?;
        let taken = Arc::clone(&self.taken);
        let mut stall = Stall::new(&taken, self.stall_max);
        while self.taken.load(Ordering::Acquire) < self.given {
            if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(self.failure());
            }
            stall.look()?;
        }
        Ok(())
    }
}

impl Drop for BoundedWriter {
    /// Drops the writer; its thread removes a file that stayed empty.
    fn drop(&mut self) {
        self.pieces = None;
        let until = Instant::now() + STALL_MAX;
        let is_idle = self.taken.load(Ordering::Acquire) == self.given;
        while is_idle && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if Instant::now() > until {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// Writes until there are no more pieces, or until an error.
fn write(mut out: impl Write, pieces: &Receiver<Vec<u8>>, taken: &AtomicU64) -> io::Result<()> {
    for piece in pieces {
        out.write_all(&piece)?;
        out.flush()?;
        taken.fetch_add(1, Ordering::Release);
    }
    Ok(())
}

/// A wait for a thread, which ends if the thread makes no progress.
struct Stall<'a> {
    max: Duration,
    taken: &'a AtomicU64,
    last: (u64, Instant),
}

impl<'a> Stall<'a> {
    fn new(taken: &'a AtomicU64, max: Duration) -> Self {
        Self { max, taken, last: (taken.load(Ordering::Acquire), Instant::now()) }
    }

    /// Waits briefly. Fails if nothing was written for too long.
    ///
    /// Cause: The reader of a pipe, or a network disk, takes no data any more.
    ///
    /// To do: Write to a file on a local disk, or let the reader read on.
    fn look(&mut self) -> io::Result<()> {
        let taken = self.taken.load(Ordering::Acquire);
        if taken != self.last.0 {
            self.last = (taken, Instant::now());
        }
        if self.last.1.elapsed() > self.max {
            let max = Span::from_s_f64(self.max.as_secs_f64());
            let message =
                format!("the disk or reader accepted nothing for {max}; rows are missing");
            return Err(io::Error::new(ErrorKind::TimedOut, message));
        }
        thread::sleep(LOOK_EVERY);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Takes this number of bytes, and then stalls for ever or fails.
    struct Reader {
        seen: Arc<Mutex<Vec<u8>>>,
        bytes_max: usize,
        fails: bool,
    }

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut seen = self.seen.lock().unwrap();
            if seen.len() + bytes.len() <= self.bytes_max {
                seen.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            if self.fails {
                return Err(io::Error::from(ErrorKind::StorageFull));
            }
            drop(seen);
            loop {
                thread::park();
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn reader(bytes_max: usize, fails: bool) -> (BoundedWriter, Arc<Mutex<Vec<u8>>>) {
        let seen = Arc::default();
        (BoundedWriter::new(Reader { seen: Arc::clone(&seen), bytes_max, fails }), seen)
    }

    #[test]
    fn everything_arrives_in_order() {
        let (mut out, seen) = reader(usize::MAX, false);
        let rows: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
        rows.chunks(777).for_each(|row| out.write_all(row).unwrap());
        out.flush().unwrap();
        assert_eq!(*seen.lock().unwrap(), rows);
    }

    #[test]
    fn a_reader_that_stalls_is_given_up_and_keeps_what_it_took() {
        let (mut out, seen) = reader(PIECE_BYTES, false);
        let row = [7; 1024];
        let wrote = (0..10_000).find_map(|_| out.write_all(&row).err());
        assert_eq!(wrote.map(|error| error.kind()), Some(ErrorKind::TimedOut));
        assert_eq!(seen.lock().unwrap().len(), PIECE_BYTES);
        let (mut out, _) = reader(0, false);
        out.write_all(&row).unwrap();
        assert_eq!(out.flush().map_err(|error| error.kind()), Err(ErrorKind::TimedOut));
    }

    #[test]
    fn an_error_of_writing_is_told() {
        let (mut out, _) = reader(0, true);
        out.write_all(b"row").unwrap();
        assert_eq!(out.flush().map_err(|error| error.kind()), Err(ErrorKind::StorageFull));
    }
}
