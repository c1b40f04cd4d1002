//! The cause of a wait: how much of a past interval the worker was idle, and how much of it no
//! connection was open.
//!
//! A queued operation is not stored, so its wait already lies in the past when it is sent. The
//! clock therefore keeps the worker's idle time at a bounded number of instants, evenly spaced over
//! the longest wait, and interpolates between them.

use memtide_base::{Instant, Span};

/// Points kept; the resolution is the timeout divided by half of this.
const POINTS: usize = 8192;

/// A wait for room, divided by its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The worker was idle and had connections: the server kept it waiting.
    pub(crate) server: Span,
    /// No connection was open.
    pub(crate) disconnected: Span,
    /// The worker was busy with something else.
    pub(crate) client_busy: Span,
}

/// The sums of idle and disconnected time up to an instant.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    at: Instant,
    idle_ns: u64,
    disconnected_ns: u64,
}

/// A worker's idle time as a function of time.
#[derive(Debug)]
pub(crate) struct IdleClock {
    points: Box<[Point]>,
    /// The number of points ever begun; the newest is at `(begun - 1) % POINTS`.
    begun: usize,
    spacing: Span,
    newest: Point,
    /// The beginning of the present wait, if the worker waits.
    pub(crate) waits_from: Instant,
}

impl IdleClock {
    /// A clock that can look back over `timeout`.
    pub(crate) fn new(timeout: Span) -> Self {
        let spacing = Span::from_ns(timeout.ns() / (POINTS as u64 / 2) + 1);
        let points = vec![Point::default(); POINTS].into();
        let (newest, waits_from) = (Point::default(), Instant::ZERO);
        Self { points, begun: 1, spacing, newest, waits_from }
    }

    /// Records that the worker was busy from the last call to `from`, and idle from there to
    /// `until`. `connected`: a connection was open in all that time.
    pub(crate) fn idled(&mut self, from: Instant, until: Instant, connected: bool) {
        self.pass(from, 0, connected);
        self.pass(until, until.since(from).ns(), connected);
    }

    /// Records that the worker was busy up to `at`.
    pub(crate) fn busy(&mut self, at: Instant, connected: bool) {
        self.pass(at, 0, connected);
    }

    /// Records that `span` of the time last recorded as busy was idle.
    pub(crate) fn credit(&mut self, span: Span, connected: bool) {
        if connected {
            self.newest.idle_ns += span.ns();
        }
    }

    fn pass(&mut self, at: Instant, idle_ns: u64, connected: bool) {
        let passed = at.since(self.newest.at);
        if passed.is_zero() {
            return;
        }
        debug_assert!(idle_ns <= passed.ns(), "more time was idle than passed");
        if connected {
            self.newest.idle_ns += idle_ns;
        } else {
            self.newest.disconnected_ns += passed.ns();
        }
        self.newest.at = at;
        let last = &mut self.points[(self.begun - 1) % POINTS];
        if at.since(last.at) >= self.spacing {
            self.points[self.begun % POINTS] = self.newest;
            self.begun += 1;
        }
    }

    /// Divides the wait from `from` to `until`, which is about now.
    pub(crate) fn divide(&self, from: Instant, until: Instant) -> Wait {
        let total = until.since(from).ns();
        let (early, late) = (self.point_at(from), self.point_at(until));
        let disconnected = late.disconnected_ns.saturating_sub(early.disconnected_ns).min(total);
        let idle = late.idle_ns.saturating_sub(early.idle_ns).min(total - disconnected);
        Wait {
            server: Span::from_ns(idle),
            disconnected: Span::from_ns(disconnected),
            client_busy: Span::from_ns(total - disconnected - idle),
        }
    }

    /// The clock's reading at a past instant.
    fn point_at(&self, at: Instant) -> Point {
        if at >= self.newest.at {
            return self.newest;
        }
        let kept = self.begun.min(POINTS);
        debug_assert!(kept > 0, "the first point is there from the beginning");
        let oldest = self.begun - kept;
        let (mut low, mut high) = (0, kept);
        while low < high {
            let middle = (low + high) / 2;
            if self.points[(oldest + middle) % POINTS].at <= at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == 0 {
            return self.points[oldest % POINTS];
        }
        let before = self.points[(oldest + low - 1) % POINTS];
        let after = if low == kept { self.newest } else { self.points[(oldest + low) % POINTS] };
        let width = after.at.since(before.at).ns().max(1) as f64;
        let share = at.since(before.at).ns() as f64 / width;
        let between = |a: u64, b: u64| a + ((b - a) as f64 * share) as u64;
        Point {
            at,
            idle_ns: between(before.idle_ns, after.idle_ns),
            disconnected_ns: between(before.disconnected_ns, after.disconnected_ns),
        }
    }
}

#[cfg(test)]
mod tests;
