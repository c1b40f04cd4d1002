//! The kernel's monotonic clock, counted from a start that all threads share.

mod state;

pub use state::{ClockState, state};

use memtide_base::{Instant, Span};
use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// A hybrid wait stops sleeping this long before its instant: more than the usual lateness of a
/// timer with the smallest slack.
pub(crate) const SPIN_WINDOW: Span = Span::from_us(80);

/// A clock; copies show the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    beginning_ns: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { beginning_ns: monotonic_ns() }
    }

    /// The present instant; about 30 ns.
    pub fn now(&self) -> Instant {
        Instant::from_ns(monotonic_ns() - self.beginning_ns)
    }

    /// The instant at which the kernel's monotonic clock shows `ns`; `None` if that was before this
    /// clock started.
    pub fn at_monotonic(&self, ns: u64) -> Option<Instant> {
        ns.checked_sub(self.beginning_ns).map(Instant::from_ns)
    }

    /// The kernel's monotonic clock at `at`, in nanoseconds.
    pub fn monotonic_at(&self, at: Instant) -> u64 {
        self.beginning_ns.saturating_add(at.ns())
    }

    /// Lets the calling thread sleep until `at`.
    pub fn sleep_until(&self, at: Instant) {
        let span = at.since(self.now());
        std::thread::sleep(std::time::Duration::from_nanos(span.ns()));
    }
}

/// Time since 1970 in UTC, for labels only: it may jump.
pub fn since_unix() -> Span {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Span::from_ns(since.as_nanos() as u64)
}

/// The kernel's monotonic clock now, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
