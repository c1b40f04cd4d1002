//! The unit that makes load: one schedule, one source, and the connections it may use.

use crate::route::Route;
use memtide_base::rng::Stream;
use memtide_base::{Instant, Span};
use memtide_workload::Schedule;
use memtide_workload::schedule::Lane;
use memtide_world::plan::{ChurnPlan, OnFull, Pacing, Plan, RateUnit, Seat};

/// One client.
#[derive(Debug)]
pub(crate) struct Client<S> {
    pub(crate) source: S,
    pub(crate) route: Route,
    pub(crate) pacing: ClientPacing,
    /// True if it is on the agenda, which holds each client at most once.
    pub(crate) scheduled: bool,
    /// True if it has an operation due and no room; it is then not on the agenda.
    pub(crate) blocked: bool,
    /// The instant at which its queue timer fires; never if none is armed.
    pub(crate) queue_armed: Instant,
    /// The instant at which it had room again after it was blocked.
    pub(crate) ready_at: Instant,
    /// The instant since which it has had nothing outstanding, if it may have only one operation;
    /// else zero.
    pub(crate) free_since: Instant,
    /// An operation intended before this instant is dropped if it finds no room: it was too far
    /// behind.
    pub(crate) skip_to: Instant,
    /// True if it makes no more operations.
    pub(crate) done: bool,
}

/// When a client's operations are due.
#[derive(Debug)]
pub(crate) enum ClientPacing {
    /// At the instants of a schedule.
    Open(Schedule),
    /// As soon as a slot is free, with the numbers `next`, `next + stride`, …
    Closed {
        /// The number of the next operation.
        next: u64,
        /// The number of clients that share the sequence.
        stride: u64,
    },
    /// While its connection is open.
    Calls(Calls),
}

/// The calls of a connection under connection churn.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The schedule of calls from the opening on; without one each is due when a slot is free.
    pub(crate) schedule: Option<Schedule>,
    /// The instant at which the connection opened; never while none is open.
    pub(crate) opened: Instant,
    /// The next call, by its position in the run.
    pub(crate) next: u64,
    /// The first call that is not this connection's.
    pub(crate) end: u64,
}

impl ClientPacing {
    /// The pacing of the client that takes `lane`.
    fn new(plan: &Plan, lane: Lane) -> Self {
        match &plan.pacing {
            Pacing::Closed => {
                Self::Closed { next: u64::from(lane.index), stride: u64::from(lane.count) }
            }
            Pacing::Open { arrival, curve, .. } => {
                Self::Open(Schedule::new(*arrival, curve.clone(), plan.seed, lane))
            }
            Pacing::Churn(ChurnPlan { call_pace, .. }) => {
                let lane = Lane { index: 0, count: 1, own_stream: true };
                Self::Calls(Calls::new(call_pace.as_ref().map(|pace| {
                    let schedule = Schedule::new(pace.arrival, pace.curve.clone(), plan.seed, lane);
                    schedule.with_draws(pace.draws)
                })))
            }
        }
    }
}

impl Calls {
    /// The calls before a connection is open: none are due.
    fn new(schedule: Option<Schedule>) -> Self {
        Self { schedule, opened: Instant::NEVER, next: 0, end: 0 }
    }

    fn due(&self, free_since: Instant) -> Option<(u64, Instant)> {
        let at = match &self.schedule {
            Some(schedule) => self.opened + schedule.due().at,
            None => free_since.max(self.opened),
        };
        (self.next < self.end).then_some((self.next, at))
    }

    fn advance(&mut self) {
        debug_assert!(self.next < self.end, "a connection makes more calls than are its own");
        self.next += 1;
        self.schedule.iter_mut().for_each(Schedule::advance);
    }
}

/// True if `on_full` drops an operation that was due `at` and finds no room. `skip_to` remembers
/// between calls the instant before which everything is dropped; from `end` on nothing more becomes
/// due.
pub(crate) fn gives_up(
    on_full: OnFull,
    skip_to: &mut Instant,
    at: Instant,
    end: Instant,
    now: Instant,
) -> bool {
    match on_full {
        OnFull::Queue => false,
        OnFull::Drop => true,
        OnFull::Skip { behind, until } => {
            if now.since(at) > behind || now >= end {
                *skip_to = now - until;
            }
            at < *skip_to
        }
    }
}

/// The bounds of what a client may offer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// The start of the schedule.
    pub(crate) start: Instant,
    /// The first operation that is not offered.
    pub(crate) ops_end: u64,
    /// The first instant for which nothing is offered.
    pub(crate) end: Instant,
    /// Nothing is sent from this instant on, whenever it was intended.
    pub(crate) stop: Instant,
    /// The most operations of the schedule that one operation counts as: more than one if each of
    /// its keys counts.
    pub(crate) keys_max: u16,
}

impl Offer {
    /// An offer from `start` on, until further notice.
    pub(crate) fn new(plan: &Plan, start: Instant) -> Self {
        let ops_end = plan.window.ops_max.unwrap_or(u64::MAX);
        let keys_max = if plan.unit == RateUnit::Keys { plan.source.multiget } else { 1 };
        let never = Instant::NEVER;
        Self { start, ops_end, end: never, stop: never, keys_max }
    }
}

impl<S> Client<S> {
    /// The client of `seat`, with nothing due yet.
    pub(crate) fn new(plan: &Plan, seat: &Seat, source: S) -> Self {
        Self {
            source,
            route: Route::new(plan, seat),
            pacing: ClientPacing::new(plan, seat.lane),
            scheduled: false,
            blocked: false,
            queue_armed: Instant::NEVER,
            ready_at: Instant::ZERO,
            free_since: Instant::ZERO,
            skip_to: Instant::ZERO,
            done: false,
        }
    }

    /// The next operation's number and intended instant, which is `free_since` in a closed loop.
    /// `None` after the end of the offer.
    pub(crate) fn due(&self, offer: &Offer, free_since: Instant) -> Option<(u64, Instant)> {
        let (index, at) = match &self.pacing {
            ClientPacing::Open(schedule) => {
                let due = schedule.due();
                let never = due.at == Span::MAX;
                (due.index, if never { return None } else { offer.start + due.at })
            }
            ClientPacing::Closed { next, .. } => (*next, free_since.max(offer.start)),
            // An open connection makes all its calls, wherever the window ends.
            ClientPacing::Calls(calls) => return calls.due(free_since).filter(|_| !self.done),
        };
        (!self.done && index < offer.ops_end && at < offer.end).then_some((index, at))
    }

    /// True if all offered operations were made, or the source has no more.
    pub(crate) fn is_used_up(&self, offer: &Offer) -> bool {
        let next = match &self.pacing {
            ClientPacing::Open(schedule) => schedule.due().index,
            ClientPacing::Closed { next, .. } => *next,
            // The end is a number of connections, not of calls.
            ClientPacing::Calls(_) => return false,
        };
        self.done || next >= offer.ops_end
    }

    /// Advances past the due operation, which requests `keys` keys. Where each key counts, the
    /// operation may request only as many as are left before the end; returns that number.
    #[inline]
    pub(crate) fn advance(&mut self, offer: &Offer, keys: u16) -> u16 {
        if offer.keys_max > 1 {
            return self.advance_by_keys(offer, keys);
        }
        match &mut self.pacing {
            ClientPacing::Open(schedule) => schedule.advance(),
            ClientPacing::Closed { next, stride } => *next += *stride,
            ClientPacing::Calls(calls) => calls.advance(),
        }
        keys
    }

    #[cold]
    fn advance_by_keys(&mut self, offer: &Offer, keys: u16) -> u16 {
        let left = match &self.pacing {
            ClientPacing::Open(schedule) => schedule.left_before(offer.ops_end),
            ClientPacing::Closed { next, stride } => {
                offer.ops_end.saturating_sub(*next).div_ceil(*stride)
            }
            // Each call of a connection counts as one, however many keys it requests.
            ClientPacing::Calls(_) => u64::from(keys),
        };
        let keys = u64::from(keys).min(left).max(1) as u16;
        match &mut self.pacing {
            ClientPacing::Open(schedule) => schedule.advance_by(keys),
            ClientPacing::Closed { next, stride } => *next += *stride * u64::from(keys),
            ClientPacing::Calls(calls) => calls.advance(),
        }
        keys
    }

    /// The schedule, if its operations have one of their own.
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        match &self.pacing {
            ClientPacing::Open(schedule) => Some(schedule),
            ClientPacing::Closed { .. } | ClientPacing::Calls(_) => None,
        }
    }

    /// Advances past up to `most` operations that request `keys` keys each; returns their number
    /// and the instant of the one after them.
    pub(crate) fn skip(&mut self, offer: &Offer, keys: u16, most: u64) -> (u64, Instant) {
        let ClientPacing::Open(schedule) = &mut self.pacing else { return (0, Instant::NEVER) };
        let each = u64::from(keys.min(offer.keys_max));
        let count = most.min(schedule.left_before(offer.ops_end) / each);
        if count > 0 {
            schedule.skip(count * each);
        }
        (count, offer.start + schedule.due().at)
    }

    pub(crate) fn is_closed(&self) -> bool {
        match &self.pacing {
            ClientPacing::Open(_) => false,
            ClientPacing::Closed { .. } => true,
            ClientPacing::Calls(calls) => calls.schedule.is_none(),
        }
    }

    /// Connection `number` of the run opened at `at` and will make `calls` calls.
    pub(crate) fn begin_calls(&mut self, number: u64, count: u64, at: Instant) {
        let ClientPacing::Calls(calls) = &mut self.pacing else { return };
        debug_assert!(calls.next == calls.end, "the calls of the last connection go on");
        if let Some(schedule) = &mut calls.schedule {
            // The connections before this one drew this many gaps between their calls.
            schedule.restart(Stream::CALL.of_lane(number), number * (count - 1));
        }
        calls.opened = at;
        calls.next = number * count;
        calls.end = calls.next + count;
        self.skip_to = Instant::ZERO;
    }

    /// Handles the end of its connection; returns the number of calls that were not made, or `None`
    /// if there was no connection.
    pub(crate) fn end_calls(&mut self) -> Option<u64> {
        let ClientPacing::Calls(calls) = &mut self.pacing else { return None };
        let left = calls.end - calls.next;
        calls.end = calls.next;
        let opened = std::mem::replace(&mut calls.opened, Instant::NEVER);
        (opened != Instant::NEVER).then_some(left)
    }

    /// True if all calls of the present connection of a churn were made, sent or not.
    pub(crate) fn has_made_calls(&self) -> bool {
        matches!(&self.pacing, ClientPacing::Calls(calls) if calls.next == calls.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The difference wrapped at the end of a window that is shorter than UNTIL, and everything was
    /// dropped.
    #[test]
    fn skipping_to_before_the_clock_began_drops_nothing() {
        let s = |s| Instant::ZERO + Span::from_s(s);
        let on_full = OnFull::Skip { behind: Span::from_s(600), until: Span::from_s(300) };
        let mut skip_to = Instant::ZERO;
        assert!(!gives_up(on_full, &mut skip_to, s(1), s(10), s(11)));
        assert_eq!(skip_to, Instant::ZERO);
        assert!(gives_up(on_full, &mut skip_to, s(1), s(10), s(900)));
        assert_eq!(skip_to, s(600));
    }
}
