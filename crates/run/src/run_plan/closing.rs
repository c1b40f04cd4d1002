//! Closes the measured window of a running load as soon as its figures are narrow, at one instant
//! for all workers.
//!
//! To stop at the first narrow interval prefers runs that underestimate theirs. Few looks, each at
//! a window that is a quarter longer at least, keep that small.

use super::Ended;
use memtide_base::{Instant, Span};
use memtide_engine::Plan;
use memtide_engine::fleet::Interval;
use memtide_metrics::TallySum;

/// The length of the window at the first look; half of the longest one, if that is less.
const FIRST: Span = Span::from_s(5);
/// By how much longer than at a look the window is at the next one, at least.
const LONGER_MIN: f64 = 1.25;
/// By how much longer at most: the first estimates are rough.
const LONGER_MAX: f64 = 2.0;
/// Time from the decision to close the window until it closes, as for its opening.
const LEAD: Span = Span::from_ms(150);

/// How much wider than asked the widest figure of a load is.
type Widest<'a> = &'a mut dyn FnMut(&Plan, &Ended) -> f64;

/// Looks whether figures are narrow.
pub(crate) struct Closing<'a> {
    widest: Widest<'a>,
    /// The length of the window at the next look.
    next: Span,
    /// See [`Ended::narrow`].
    pub(super) ended: Option<Option<Span>>,
}

impl<'a> Closing<'a> {
    /// What looks for the end of `plan`'s window; none if its length is fixed.
    pub(crate) fn new(plan: &Plan, widest: Widest<'a>) -> Option<Self> {
        let next = FIRST.min(Span::from_ns(plan.window.duration.ns() / 2));
        plan.window.closed_by_command.then_some(Self { widest, next, ended: None })
    }

    /// The instant at which the window is to close, if that is decided now, in a load of which
    /// `totals` are known.
    pub(super) fn look(
        &mut self,
        plan: &Plan,
        start: Instant,
        interval: &Interval,
        totals: &mut TallySum,
    ) -> Option<Instant> {
        let now = interval.at;
        let open = plan.window.measure_start(start);
        if self.ended.is_some() || now < open {
            return None;
        }
        if now >= plan.window.measure_end(start) {
            self.ended = Some(None);
            return None;
        }
        let passed = now.since(open);
        if passed < self.next {
            return None;
        }
        let nothing = TallySum::new(&plan.shape());
        let so_far = Ended {
            totals: std::mem::replace(totals, nothing),
            workers: interval.workers.clone(),
            start,
            stopped: now,
            is_used_up: false,
            interrupted: false,
            loss: None,
            aborted: None,
            not_run: None,
            warmup: None,
            narrow: None,
        };
        let wider = (self.widest)(plan, &so_far);
        *totals = so_far.totals;
        if wider <= 1.0 {
            let at = now + LEAD;
            let is_earlier = at < plan.window.measure_end(start);
            self.ended = Some(Some(at.min(plan.window.measure_end(start)).since(open)));
            return is_earlier.then_some(at);
        }
        // The width falls with the root of the length.
        let longer = (wider * wider).clamp(LONGER_MIN, LONGER_MAX);
        self.next = Span::from_s_f64(passed.as_s_f64() * longer);
        None
    }
}
