//! What bounds memtide's own share of a response time: how late operations were sent that may still
//! queue at the server, and how long a reply may have lain unread. docs/measurement.md derives it.

use memtide_base::{Instant, ServerId, Span};
use memtide_metrics::{LATE_CLASSES, LATE_MIN_NS, Lateness};
use memtide_world::driver::Driver;

/// Wake-ups for which the run-queue time is read before their number per second is looked at.
const DRAWS: u32 = 200;
/// They should take at least this long: a reading costs up to a microsecond.
const DRAWS_FOR: Span = Span::from_ms(100);
/// The most halvings of the part of wake-ups that is drawn.
const HALVINGS_MAX: u32 = 20;
/// A wake-up that is later than this, and by more than the run-queue time explains, was not only
/// the timer's: the process was stopped, or the hypervisor ran something else.
const UNEXPLAINED: Span = Span::from_ms(1);
/// Operations to which memtide may have added this much are recorded whether or not their wake-up
/// is drawn, so that no stall of memtide escapes the draw. A worker has at most 2 000 gaps per
/// second that are as long.
const CERTAIN_FROM: Span = Span::from_us(500);
/// Spreads consecutive numbers evenly: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The lateness of one worker towards each server.
#[derive(Debug)]
pub(crate) struct Latenesses {
    /// What every operation changes, by server.
    towards: Vec<Towards>,
    /// All that the tallies have been told so far, by server.
    told: Vec<Lateness>,
}

/// What one worker has under way to one server.
#[derive(Clone, Copy, Debug)]
struct Towards {
    /// The largest lag of all that was sent since nothing was in flight.
    largest: Span,
    /// The intended instant of the first operation since then that was sent late; never if none
    /// was.
    since: Instant,
    /// Operations in flight there, also those that timed out and whose answer may come.
    in_flight: u32,
}

impl Latenesses {
    pub(crate) fn new(servers: usize) -> Self {
        let none = Towards { largest: Span::ZERO, since: Instant::NEVER, in_flight: 0 };
        Self { towards: vec![none; servers], told: vec![Lateness::default(); servers] }
    }

    /// Notes an operation that was due at `intended` and was sent `lag` late by memtide's own
    /// fault. Returns the most by which what was sent late may have delayed it at the server.
    #[inline]
    pub(crate) fn sent(&mut self, server: ServerId, intended: Instant, lag: Span) -> Span {
        let towards = &mut self.towards[server.index()];
        let before = if towards.in_flight == 0 { Span::ZERO } else { towards.largest };
        towards.in_flight += 1;
        towards.largest = before.max(lag);
        if lag.ns() > LATE_MIN_NS {
            // No later operation was due earlier.
            towards.since = towards.since.min(intended);
        }
        towards.largest
    }

    /// Notes `count` more operations like the one noted last.
    #[inline]
    pub(crate) fn sent_more(&mut self, server: ServerId, count: u32) {
        self.towards[server.index()].in_flight += count;
    }

    /// Notes that `count` operations are in flight no more. If they were the last ones, and one was
    /// sent late, returns the beginning of the stretch of lateness that ends.
    #[inline]
    pub(crate) fn left(&mut self, server: ServerId, count: u32) -> Option<Instant> {
        let towards = &mut self.towards[server.index()];
        debug_assert!(towards.in_flight >= count, "an operation leaves that was not in flight");
        towards.in_flight -= count;
        let ends = towards.in_flight == 0 && towards.since != Instant::NEVER;
        ends.then(|| std::mem::replace(&mut towards.since, Instant::NEVER))
    }

    /// Operations in flight to `server`, also those that timed out and whose answer may come.
    pub(crate) fn in_flight(&self, server: ServerId) -> u32 {
        self.towards[server.index()].in_flight
    }

    /// Counts a stretch of lateness that has just ended, of which `length` counts.
    pub(crate) fn ended(&mut self, server: ServerId, length: Span, tally: &mut [Lateness]) {
        let largest = self.towards[server.index()].largest;
        let class = (largest.ns() / LATE_MIN_NS).checked_ilog2().unwrap_or(0) as usize;
        for lateness in [&mut self.told[server.index()], &mut tally[server.index()]] {
            lateness.late_ns[class.min(LATE_CLASSES - 1)] += length.ns();
        }
    }

    /// Brings `tally`, which has an entry for each server, up to date; `answered` gives the
    /// operations of a server that were answered since the tally was empty.
    pub(crate) fn tell(&mut self, tally: &mut [Lateness], answered: impl Fn(usize) -> u64) {
        for (server, (told, tally)) in self.told.iter_mut().zip(tally).enumerate() {
            told.operations += answered(server) - tally.operations;
            tally.operations = answered(server);
            for class in 0..LATE_CLASSES {
                // The products of this worker's own totals add up over hand-overs by their growth.
                let weighted = u128::from(told.late_ns[class]) * u128::from(told.operations);
                tally.weighted_ns[class] += weighted - told.weighted_ns[class];
                told.weighted_ns[class] = weighted;
            }
        }
    }
}

/// When a worker looked at its connections, and what kept it from looking.
///
/// The time of its run queue is read around drawn waits, and after long gaps. An operation to which
/// memtide may have added [`CERTAIN_FROM`] counts once, in every wake-up. The others count only in
/// drawn wake-ups, as often as these stand for.
#[derive(Debug)]
pub(crate) struct Looks {
    /// The end of the last wait.
    woken: Instant,
    /// The end of the wait before: what has arrived since may have lain unread.
    looked: Instant,
    /// Waits so far.
    waits: u64,
    /// Of the wake-ups, one in two to this power is drawn.
    halvings: u32,
    is_drawn: bool,
    /// The number of wake-ups for which the one that was drawn last stands.
    stands_for: u64,
    /// The run-queue time when it was read last, if it is known. It only grows, so that its growth
    /// since then bounds that in the present wait.
    kept: Option<Span>,
    /// Draws since `since`.
    draws: u32,
    since: Instant,
    /// The most time for which a reply lay unread when the worker woke.
    unread: Span,
    /// Operations to which memtide may have added less than this are not recorded.
    recorded_from: Span,
}

/// The part of a response time that memtide may have added by leaving the reply unread, and the
/// number of operations for which this one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weighed {
    pub(crate) unread: Span,
    pub(crate) stands_for: u64,
}

impl Looks {
    pub(crate) const fn new() -> Self {
        Self {
            woken: Instant::ZERO,
            looked: Instant::ZERO,
            waits: 0,
            halvings: 0,
            is_drawn: false,
            stands_for: 1,
            kept: None,
            draws: 0,
            since: Instant::ZERO,
            unread: Span::ZERO,
            recorded_from: Span::ZERO,
        }
    }

    /// Notes the beginning of a wait; decides whether its wake-up is drawn.
    #[inline]
    pub(crate) fn wait_begins(&mut self, driver: &impl Driver) {
        self.waits = self.waits.wrapping_add(1);
        let spread = self.waits.wrapping_mul(GOLDEN);
        self.is_drawn = self.halvings == 0 || spread >> (u64::BITS - self.halvings) == 0;
        if self.is_drawn {
            // The draws of this wake-up may change the halvings before its replies are taken.
            self.stands_for = 1 << self.halvings;
            self.kept = driver.kept();
        }
    }

    /// Notes the end of a wait from `from`, which should have ended by `until`.
    #[inline]
    pub(crate) fn wait_ends(
        &mut self,
        driver: &impl Driver,
        from: Instant,
        until: Instant,
        woken: Instant,
    ) {
        self.looked = std::mem::replace(&mut self.woken, woken);
        let gap = woken.since(self.looked);
        if self.is_drawn || gap >= CERTAIN_FROM {
            self.look(driver, from, until);
        } else {
            (self.unread, self.recorded_from) = (gap, CERTAIN_FROM);
        }
    }

    /// Reads how long the worker could not run in the wait that has just ended.
    #[inline(never)]
    fn look(&mut self, driver: &impl Driver, from: Instant, until: Instant) {
        let wait = self.woken.since(from);
        let late = self.woken.since(until.max(from));
        let now = driver.kept();
        let kept = self.kept.zip(now).map(|(before, now)| now.saturating_sub(before));
        let blind = match kept {
            Some(kept) if late <= kept + UNEXPLAINED => wait.min(kept.max(late)),
            // Nothing says when it stood still.
            _ => wait,
        };
        self.kept = now;
        self.unread = from.since(self.looked) + blind;
        self.recorded_from = if self.is_drawn { Span::ZERO } else { CERTAIN_FROM };
        if self.is_drawn {
            self.follow_draws();
        }
    }

    /// Draws more or fewer of the wake-ups to come, by how many were drawn lately.
    fn follow_draws(&mut self) {
        self.draws += 1;
        let passed = self.woken.since(self.since);
        if self.draws < DRAWS && passed < DRAWS_FOR {
            return;
        }
        if self.draws >= DRAWS && passed < DRAWS_FOR {
            self.halvings = (self.halvings + 1).min(HALVINGS_MAX);
        } else if self.draws < DRAWS / 4 {
            self.halvings = self.halvings.saturating_sub(1);
        }
        (self.draws, self.since) = (0, self.woken);
    }

    /// How an operation counts that was delayed by at most `late` by what was sent late, and whose
    /// reply was read at `at`; none if it is not recorded. Which it is depends on the most that
    /// memtide may have added if it saw nothing since it looked last, which needs no reading.
    #[inline]
    pub(crate) fn weigh(&self, at: Instant, late: Span) -> Option<Weighed> {
        let most = late + at.since(self.looked);
        if most < self.recorded_from {
            return None;
        }
        let stands_for = if most < CERTAIN_FROM { self.stands_for } else { 1 };
        Some(Weighed { unread: self.unread + at.since(self.woken), stands_for })
    }
}

#[cfg(test)]
mod tests;
