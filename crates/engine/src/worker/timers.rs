//! What has to be looked at when: a heap whose stale entries are harmless.
//!
//! A timer that fires makes its owner look at its own state; it never carries state itself. So
//! an entry need not be removed when its reason goes away.

use memtide_base::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whose attention a timer calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Deadlines of what is in flight on this connection, or of its connect.
    Deadline(u32),
    /// This connection may try to connect again.
    Reconnect(u32),
    /// The deadline of the operation that waits at the head of this client's schedule.
    Queue(u32),
    /// The next connection, where connections are the load.
    Birth,
    /// The deadline of the connection that waits for a place.
    BirthDeadline,
    /// The window, where nothing is sent after it.
    WindowEnd,
    /// The pause of this connection after its last answer is over.
    Rest(u32),
}

/// Timers of one worker.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, Timer)>>,
}

impl Timers {
    pub(crate) fn with_capacity(timers: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(timers) }
    }

    pub(crate) fn arm(&mut self, at: Instant, timer: Timer) {
        self.heap.push(Reverse((at, timer)));
    }

    /// When the next one fires.
    pub(crate) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Takes one that is due at `now`.
    pub(crate) fn fire(&mut self, now: Instant) -> Option<Timer> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, timer))| timer)
    }
}
