//! Opens the measured window of a running load as soon as the load is steady, at one instant for
//! all workers. It decides from the counts of the warm-up alone.

use memtide_base::{Instant, Span};
use memtide_belief::{Settling, WarmupSlice};
use memtide_engine::Plan;
use memtide_engine::plan::segment;
use memtide_metrics::{Counters, TallySum};

/// Time from the decision to open the window until it opens: longer than the controller takes to
/// command it, and longer than a worker takes to see it.
const LEAD: Span = Span::from_ms(150);
/// The instant is a whole number of these after the beginning of the load.
const STEP: Span = Span::from_ms(10);

/// The end of a warm-up that was not fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WarmupEnded {
    /// Its length.
    pub(crate) length: Span,
    /// True if the load was steady; else the window opened at the latest instant.
    pub(crate) found: bool,
}

/// Looks for the end of a warm-up.
pub(super) struct Opening {
    settling: Settling,
    /// The counts at the last look.
    last: WarmupSlice,
    pub(super) ended: Option<WarmupEnded>,
}

impl Opening {
    /// What looks for the end of `plan`'s warm-up; none if its length is fixed.
    pub(super) fn new(plan: &Plan) -> Option<Self> {
        let none = WarmupSlice::default();
        plan.window.opened_by_command.then(|| Self {
            settling: Settling::default(),
            last: none,
            ended: None,
        })
    }

    /// The instant at which the window is to open, if that is decided now; `now` is that of the
    /// look that found `totals`.
    pub(super) fn look(
        &mut self,
        plan: &Plan,
        start: Instant,
        now: Instant,
        totals: &TallySum,
    ) -> Option<Instant> {
        if self.ended.is_some() || now < start {
            return None;
        }
        let sum = counts(&totals.segments[usize::from(segment::WARMUP)]);
        self.settling.take(WarmupSlice {
            answered: sum.answered - self.last.answered,
            response_ns: sum.response_ns - self.last.response_ns,
            keys: sum.keys - self.last.keys,
            hits: sum.hits - self.last.hits,
        });
        self.last = sum;
        let steps = (now + LEAD).since(start).ns().div_ceil(STEP.ns());
        let length = STEP * steps;
        if length >= plan.window.warmup {
            if now >= plan.window.measure_start(start) {
                self.ended = Some(WarmupEnded { length: plan.window.warmup, found: false });
            }
            return None;
        }
        if !self.settling.is_settled() {
            return None;
        }
        self.ended = Some(WarmupEnded { length, found: true });
        Some(start + length)
    }
}

fn counts(counters: &Counters) -> WarmupSlice {
    WarmupSlice {
        answered: counters.answered,
        response_ns: counters.unmeasured_ns,
        keys: counters.hits + counters.misses,
        hits: counters.hits,
    }
}
