//! What bounds memtide's own share of a response time: how late operations were sent that may still
//! queue at the server, and how long a reply may have lain unread. docs/measurement.md derives it.

use crate::driver::Driver;
use memtide_base::{Instant, ServerId, Span};
use memtide_metrics::{LATE_CLASSES, LATE_MIN_NS, Lateness};

/// Wake-ups for which the run-queue time is read before their number per second is looked at.
const DRAWS: u32 = 200;
/// They should take at least this long: a reading costs up to a microsecond.
const DRAWS_FOR: Span = Span::from_ms(100);
/// The most halvings of the part of wake-ups that is drawn.
const HALVINGS_MAX: u32 = 20;
/// A wake-up that is later than this, and by more than the run-queue time explains, was not only
/// the timer's: the process was stopped, or the hypervisor ran something else.
const UNEXPLAINED: Span = Span::from_ms(1);
/// Spreads consecutive numbers evenly: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The lateness of one worker towards each server.
#[derive(Debug)]
pub(crate) struct Latenesses {
    /// What every operation changes, by server.
    towards: Vec<Towards>,
    /// What was counted so far, by server, and what the tallies have of it.
    counted: Vec<Lateness>,
    told: Vec<Lateness>,
}

/// What one worker has under way to one server.
#[derive(Clone, Copy, Debug)]
struct Towards {
    /// The largest lag of all that was sent since nothing was in flight.
    largest: Span,
    /// The intended instant of the first operation since then that was sent late; never if none was.
    since: Instant,
    /// Operations in flight there, also those that timed out and whose answer may come.
    in_flight: u32,
}

impl Latenesses {
    pub(crate) fn new(servers: usize) -> Self {
        let none = Towards { largest: Span::ZERO, since: Instant::NEVER, in_flight: 0 };
        let counted = vec![Lateness::default(); servers];
        Self { towards: vec![none; servers], told: counted.clone(), counted }
    }

    /// Notes an operation that was due at `intended` and was sent `lag` late by memtide's own fault.
    /// Returns the most by which it may have been delayed at the server by what was sent late.
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

    /// Notes that an operation is in flight no more. If it was the last one, a stretch of lateness
    /// ends; `length` gives the part of the time since its beginning that counts.
    #[inline]
    pub(crate) fn left(&mut self, server: ServerId, length: impl FnOnce(Instant) -> Span) {
        let towards = &mut self.towards[server.index()];
        debug_assert!(towards.in_flight > 0, "an operation leaves that was not in flight");
        towards.in_flight -= 1;
        if towards.in_flight == 0 && towards.since != Instant::NEVER {
            let class = (towards.largest.ns() / LATE_MIN_NS).checked_ilog2().unwrap_or(0) as usize;
            let since = std::mem::replace(&mut towards.since, Instant::NEVER);
            let counted = &mut self.counted[server.index()];
            counted.late_ns[class.min(LATE_CLASSES - 1)] += length(since).ns();
        }
    }

    /// Adds what was counted since the last call to `tally`, which has an entry for each server;
    /// `answered` gives the operations of a server that were answered since the tally was empty.
    pub(crate) fn tell(&mut self, tally: &mut [Lateness], answered: impl Fn(usize) -> u64) {
        for (server, (counted, tally)) in self.counted.iter_mut().zip(tally).enumerate() {
            let more = answered(server) - tally.operations;
            counted.operations += more;
            tally.operations += more;
            for class in 0..LATE_CLASSES {
                // The products of this worker's own totals add up over hand-overs by their growth.
                let (late, told) = (counted.late_ns[class], &mut self.told[server]);
                let weighted = u128::from(late) * u128::from(counted.operations);
                tally.late_ns[class] += late - told.late_ns[class];
                tally.weighted_ns[class] += weighted - told.weighted_ns[class];
                (told.late_ns[class], told.weighted_ns[class]) = (late, weighted);
            }
        }
    }
}

/// When a worker looked at its connections, and what kept it from looking.
#[derive(Debug)]
pub(crate) struct Looks {
    /// The end of the last wait, when it looked last.
    woken: Instant,
    /// Waits so far.
    waits: u64,
    /// Of the wake-ups, one in two to this power is drawn.
    halvings: u32,
    /// The run-queue time before the present wait, if its wake-up is drawn and the time known.
    kept: Option<Span>,
    is_drawn: bool,
    /// Draws since `since`.
    draws: u32,
    since: Instant,
    /// The most time for which a reply lay unread when the worker woke; none if it is not drawn.
    unread: Option<Span>,
}

impl Looks {
    pub(crate) const fn new() -> Self {
        Self {
            woken: Instant::ZERO,
            waits: 0,
            halvings: 0,
            kept: None,
            is_drawn: false,
            draws: 0,
            since: Instant::ZERO,
            unread: None,
        }
    }

    /// Notes the beginning of a wait; decides whether its wake-up is drawn.
    #[inline]
    pub(crate) fn wait_begins(&mut self, driver: &impl Driver) {
        self.waits = self.waits.wrapping_add(1);
        let spread = self.waits.wrapping_mul(GOLDEN);
        self.is_drawn = self.halvings == 0 || spread >> (u64::BITS - self.halvings) == 0;
        if self.is_drawn {
            self.kept = driver.kept();
        }
    }

    /// Notes the end of a wait from `from`, which should have ended by `until`.
    #[inline]
    pub(crate) fn wait_ends(
        &mut self,
        driver: &impl Driver,
        (from, until): (Instant, Instant),
        woken: Instant,
    ) {
        self.unread = None;
        if self.is_drawn {
            self.drawn(driver, (from, until), woken);
        }
        self.woken = woken;
    }

    #[inline(never)]
    fn drawn(&mut self, driver: &impl Driver, (from, until): (Instant, Instant), woken: Instant) {
        let wait = woken.since(from);
        let late = woken.since(until.max(from));
        let kept = self.kept.zip(driver.kept()).map(|(before, now)| now.saturating_sub(before));
        let blind = match kept {
            Some(kept) if late <= kept + UNEXPLAINED => wait.min(kept.max(late)),
            // Nothing says when it stood still.
            _ => wait,
        };
        self.unread = Some(from.since(self.woken) + blind);
        self.draws += 1;
        let passed = woken.since(self.since);
        if self.draws < DRAWS && passed < DRAWS_FOR {
            return;
        }
        if self.draws >= DRAWS && passed < DRAWS_FOR {
            self.halvings = (self.halvings + 1).min(HALVINGS_MAX);
        } else if self.draws < DRAWS / 4 {
            self.halvings = self.halvings.saturating_sub(1);
        }
        (self.draws, self.since) = (0, woken);
    }

    /// The most time for which a reply that was read at `at` lay unread, and the number of
    /// operations for which this one stands; none if the wake-up was not drawn.
    #[inline]
    pub(crate) fn unread(&self, at: Instant) -> Option<(Span, u64)> {
        self.unread.map(|unread| (unread + at.since(self.woken), 1 << self.halvings))
    }
}

#[cfg(test)]
mod tests;
