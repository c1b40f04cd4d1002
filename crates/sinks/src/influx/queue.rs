//! Batches of points on their way, in bounded memory.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What waits at most, in bytes.
const BYTES_MAX: usize = 32 << 20;

/// Lines that are posted together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) lines: Vec<u8>,
    pub(super) points: u64,
}

impl Batch {
    /// Both halves of it, in whole lines; none of a single point.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let middle = self.lines.len() / 2;
        let end = self.lines[middle..].iter().position(|byte| *byte == b'\n')? + middle + 1;
        let (first, second) = self.lines.split_at(end);
        let of = |lines: &[u8]| Self {
            lines: lines.to_vec(),
            points: lines.iter().filter(|byte| **byte == b'\n').count() as u64,
        };
        (!second.is_empty()).then(|| [of(first), of(second)])
    }
}

/// A queue from the sinks that make points to the thread that posts them.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Batch>,
    bytes: usize,
    /// Nothing more comes; what waits has until then.
    closing: Option<Instant>,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a batch, or gives it back if there is no room.
    pub(super) fn offer(&self, batch: Batch) -> Result<(), Batch> {
        let mut state = self.state();
        if state.bytes + batch.lines.len() > BYTES_MAX || state.closing.is_some() {
            return Err(batch);
        }
        state.bytes += batch.lines.len();
        state.waiting.push_back(batch);
        self.changed.notify_all();
        Ok(())
    }

    /// The next batch; `None` once there is no more.
    pub(super) fn take(&self) -> Option<Batch> {
        let mut state = self.state();
        loop {
            if let Some(batch) = state.waiting.pop_front() {
                state.bytes -= batch.lines.len();
                return Some(batch);
            }
            if state.closing.is_some() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets what waits be taken until `deadline`, and nothing more come.
    pub(super) fn close(&self, deadline: Instant) {
        self.state().closing = Some(deadline);
        self.changed.notify_all();
    }

    /// Waits before another try; shorter if the queue closes meanwhile.
    pub(super) fn pause(&self, span: Duration) {
        let until = Instant::now() + span;
        let mut state = self.state();
        let was_closing = state.closing.is_some();
        while state.closing.is_some() == was_closing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How long a try may take: `most`, or what is left until the end; none if that is over.
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
        assert_eq!(Batch { lines: b"a 1\n".to_vec(), points: 1 }.halves(), None);
    }

    #[test]
    fn what_finds_no_room_is_given_back() {
        let queue = Queue::default();
        let big = || Batch { lines: vec![b'x'; BYTES_MAX / 2 + 1], points: 1 };
        assert_eq!(queue.offer(big()), Ok(()));
        assert_eq!(queue.offer(big()), Err(big()));
        assert_eq!(queue.take().map(|batch| batch.points), Some(1));
        queue.close(Instant::now());
        assert_eq!((queue.take(), queue.left(Duration::from_secs(1))), (None, None));
    }
}
