//! The unit that makes load: one schedule, one source, and the connections it may use.

use crate::plan::{Cooldown, Plan, Unit};
use crate::route::Route;
use memtide_base::{Instant, Span};
use memtide_workload::Schedule;

/// One client.
#[derive(Debug)]
pub(crate) struct Client<S> {
    pub(crate) source: S,
    pub(crate) route: Route,
    pub(crate) pace: Pace,
    /// It is on the agenda. It is there at most once.
    pub(crate) scheduled: bool,
    /// It has an operation due and no room; it is then not on the agenda.
    pub(crate) blocked: bool,
    /// When its queue timer goes off; never when none is armed.
    pub(crate) queue_armed: Instant,
    /// Since when it has had room again after it was blocked.
    pub(crate) ready_at: Instant,
    /// Since when it has had nothing outstanding, if it may have only one operation; else zero.
    pub(crate) free_since: Instant,
    /// What was intended before this and finds no room is dropped: it was too far behind.
    pub(crate) skip_to: Instant,
    /// It offers nothing more.
    pub(crate) done: bool,
}

/// When a client's operations are due.
#[derive(Debug)]
pub(crate) enum Pace {
    /// When its schedule says so.
    Open(Schedule),
    /// When a slot is free. Operation `next` is the next; they go up by `stride`.
    Closed {
        /// The next operation.
        next: u64,
        /// How many share the sequence.
        stride: u64,
    },
}

/// The bounds of what a client may offer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// When the schedule starts.
    pub(crate) start: Instant,
    /// The first operation that is not offered.
    pub(crate) ops_end: u64,
    /// The first instant for which nothing is offered.
    pub(crate) end: Instant,
    /// Whether an operation of several keys takes the place of several.
    pub(crate) counts_keys: bool,
}

impl Offer {
    pub(crate) fn new(plan: &Plan, start: Instant) -> Self {
        let end = match plan.window.cooldown {
            Cooldown::Load => Instant::NEVER,
            Cooldown::Drain => plan.window.measure_end(start),
        };
        let ops_end = plan.window.ops_max.unwrap_or(u64::MAX);
        Self { start, ops_end, end, counts_keys: plan.unit == Unit::Keys }
    }
}

impl<S> Client<S> {
    /// The next operation's number and intended instant; of a closed loop the instant is
    /// `free_since`. `None` when the offer is over.
    pub(crate) fn due(&self, offer: &Offer, free_since: Instant) -> Option<(u64, Instant)> {
        let (index, at) = match &self.pace {
            Pace::Open(schedule) => {
                let due = schedule.due();
                let never = due.at == Span::MAX;
                (due.index, if never { return None } else { offer.start + due.at })
            }
            Pace::Closed { next, .. } => (*next, free_since.max(offer.start)),
        };
        (!self.done && index < offer.ops_end && at < offer.end).then_some((index, at))
    }

    /// The operation that was due is made, and asks for `keys` keys. Returns for how many there is
    /// still a place, where each counts; an operation may not ask for more.
    #[inline]
    pub(crate) fn advance(&mut self, offer: &Offer, keys: u16) -> u16 {
        if offer.counts_keys {
            return self.advance_by_keys(offer, keys);
        }
        match &mut self.pace {
            Pace::Open(schedule) => schedule.advance(),
            Pace::Closed { next, stride } => *next += *stride,
        }
        keys
    }

    #[cold]
    fn advance_by_keys(&mut self, offer: &Offer, keys: u16) -> u16 {
        let left = match &self.pace {
            Pace::Open(schedule) => schedule.left_before(offer.ops_end),
            Pace::Closed { next, stride } => offer.ops_end.saturating_sub(*next).div_ceil(*stride),
        };
        let keys = u64::from(keys).min(left).max(1) as u16;
        match &mut self.pace {
            Pace::Open(schedule) => schedule.advance_by(keys),
            Pace::Closed { next, stride } => *next += *stride * u64::from(keys),
        }
        keys
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.pace, Pace::Closed { .. })
    }
}
