//! A queue of batches of points, in bounded memory.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most bytes that wait.
const BYTES_MAX: usize = 32 << 20;

/// Lines that are posted together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) lines: Vec<u8>,
    pub(super) points: u64,
}

impl Batch {
    /// A batch of these lines, each of which is a point.
    pub(super) fn of(lines: Vec<u8>) -> Self {
        let points = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        Self { lines, points }
    }

    /// The two halves of the batch, in whole lines; `None` for a single point.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let middle = self.lines.len() / 2;
        let is_end = |byte: &u8| *byte == b'\n';
        let behind = self.lines[middle..].iter().position(is_end)? + middle + 1;
        let end = match behind == self.lines.len() {
            // The last line is longer than all lines before it together.
            true => self.lines[..middle].iter().rposition(is_end)? + 1,
            false => behind,
        };
        let (first, second) = self.lines.split_at(end);
        Some([first, second].map(|lines| Self::of(lines.to_vec())))
    }

    /// The lines, compressed with gzip.
    pub(super) fn zipped(&self) -> Vec<u8> {
        let room = Vec::with_capacity(self.lines.len() / 4);
        let mut encoder = GzEncoder::new(room, Compression::fast());
        let written = encoder.write_all(&self.lines).and_then(|()| encoder.finish());
        written.expect("memory takes all that is written")
    }

    /// The batch with these compressed lines.
    pub(super) fn unzipped(zipped: &[u8]) -> io::Result<Self> {
        let mut lines = Vec::new();
        GzDecoder::new(zipped).read_to_end(&mut lines)?;
        Ok(Self::of(lines))
    }
}

/// The next job of the thread that posts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Post this batch.
    Batch(Batch),
    /// Nothing waits; there is time for batches that were put aside.
    Idle,
    /// Nothing waits, and nothing more comes.
    End,
}

/// A queue from the makers of points to the thread that posts them.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Batch>,
    bytes: usize,
    /// The deadline for waiting batches, once nothing more comes.
    closing: Option<Instant>,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a batch, or returns it if there is no room.
    pub(super) fn offer(&self, batch: Batch) -> Result<(), Batch> {
        let mut state = self.state();
        if state.bytes + batch.lines.len() > BYTES_MAX || state.closing.is_some() {
            return Err(batch);
        }
        state.bytes += batch.lines.len();
        assert!(state.bytes <= BYTES_MAX, "a batch without room is given back");
        state.waiting.push_back(batch);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits for the next job. If no batch waits and `is_idle_useful` returns true, it does not
    /// wait.
    pub(super) fn next(&self, is_idle_useful: impl Fn() -> bool) -> Next {
        let mut state = self.state();
        loop {
            if let Some(batch) = state.waiting.pop_front() {
                assert!(batch.lines.len() <= state.bytes, "more leaves the queue than came");
                state.bytes -= batch.lines.len();
                return Next::Batch(batch);
            }
            if state.closing.is_some() {
                return Next::End;
            }
            if is_idle_useful() {
                return Next::Idle;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets [`Queue::next`] ask again whether idle time is useful.
    pub(super) fn wake(&self) {
        drop(self.state());
        self.changed.notify_all();
    }

    /// Refuses further batches; waiting ones can be taken until `deadline`.
    pub(super) fn close(&self, deadline: Instant) {
        self.state().closing = Some(deadline);
        self.changed.notify_all();
    }

    /// Pauses before another try; shorter if the queue closes meanwhile, and never beyond its end.
    pub(super) fn pause(&self, span: Duration) {
        let mut until = Instant::now() + span;
        let mut state = self.state();
        let was_closing = state.closing.is_some();
        until = state.closing.map_or(until, |deadline| deadline.min(until));
        while state.closing.is_some() == was_closing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The time for one try: `most`, or the time until the end if that is less; `None` after the
    /// end.
    pub(super) fn left(&self, most: Duration) -> Option<Duration> {
        let Some(deadline) = self.state().closing else { return Some(most) };
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| left.min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_is_too_long_is_halved_between_lines() {
        let batch = Batch { lines: b"a 1\nbb 2\nc 3\n".to_vec(), points: 3 };
        let [first, second] = batch.halves().unwrap();
        assert_eq!((first.points, second.points), (2, 1));
        assert_eq!([first.lines, second.lines].concat(), batch.lines);
        let batch = Batch::of(b"a 1\nlonger than all before it 2\n".to_vec());
        let [first, second] = batch.halves().unwrap();
        assert_eq!((first.points, second.points), (1, 1));
        assert_eq!(Batch::of(b"a 1\n".to_vec()).halves(), None);
    }

    #[test]
    fn what_finds_no_room_is_given_back() {
        let queue = Queue::default();
        let big = || Batch { lines: vec![b'x'; BYTES_MAX / 2 + 1], points: 1 };
        assert_eq!(queue.offer(big()), Ok(()));
        assert_eq!(queue.offer(big()), Err(big()));
        assert_eq!(queue.next(|| true), Next::Batch(big()));
        assert_eq!(queue.next(|| true), Next::Idle);
        queue.close(Instant::now());
        assert_eq!((queue.next(|| true), queue.left(Duration::from_secs(1))), (Next::End, None));
    }

    #[test]
    fn a_pause_does_not_outlast_the_end() {
        let queue = Queue::default();
        queue.close(Instant::now() + Duration::from_millis(20));
        queue.pause(Duration::from_secs(3_600));
        assert_eq!(queue.left(Duration::from_secs(1)), None);
    }
}
