//! Opens the measured window of a running load as soon as the load is steady, at one instant for
//! all workers, and for all shares. It decides from the counts of the warm-up alone.

use crate::failure::{Failure, Fault};
use crate::share::Barrier;
use memtide_base::{Instant, Span};
use memtide_belief::{Settling, WarmupSlice};
use memtide_metrics::{Counters, TallySum};
use memtide_world::Plan;
use memtide_world::plan::segment;
use std::collections::BTreeMap;

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

    /// The instant at which the window is to open, if that is decided now: by the shares of the run
    /// together at their `barrier`, else here. `now` is that of the look that found `totals`.
    ///
    /// # Errors
    /// If the shares' decision came after its instant: operations after it were already counted.
    pub(super) fn look(
        &mut self,
        plan: &Plan,
        start: Instant,
        now: Instant,
        totals: &TallySum,
        barrier: Option<&mut dyn Barrier>,
    ) -> Result<Option<Instant>, Failure> {
        if now < start || self.ended.is_some_and(|ended| ended.found) {
            return Ok(None);
        }
        let sum = counts(&totals.segments[usize::from(segment::WARMUP)]);
        let at = match barrier {
            Some(barrier) => barrier.opens(now.since(start), sum),
            None if self.ended.is_some() => return Ok(None),
            None => self.decide(plan, now.since(start), sum).map(|length| start + length),
        };
        let Some(at) = at else {
            let is_latest = self.ended.is_none() && now >= plan.window.measure_start(start);
            let latest = WarmupEnded { length: plan.window.warmup, found: false };
            self.ended = self.ended.or(is_latest.then_some(latest));
            return Ok(None);
        };
        // The latest instant may have passed meanwhile.
        if at <= now || self.ended.is_some() {
            return Err(Fault::WindowLate { late: now.since(at) }.into());
        }
        self.ended = Some(WarmupEnded { length: at.since(start), found: true });
        Ok(Some(at))
    }

    /// The length of the warm-up of a load that is not shared, if that is decided now.
    fn decide(&mut self, plan: &Plan, passed: Span, sum: WarmupSlice) -> Option<Span> {
        self.settling.take(since(sum, std::mem::replace(&mut self.last, sum)));
        let length = length_after(passed + LEAD);
        (length < plan.window.warmup && self.settling.is_settled()).then_some(length)
    }
}

/// The least length of a warm-up that ends `passed` after the beginning of the load or later.
fn length_after(passed: Span) -> Span {
    STEP * passed.ns().div_ceil(STEP.ns())
}

/// What was counted between two looks.
fn since(sum: WarmupSlice, last: WarmupSlice) -> WarmupSlice {
    WarmupSlice {
        answered: sum.answered.saturating_sub(last.answered),
        response_ns: sum.response_ns.saturating_sub(last.response_ns),
        keys: sum.keys.saturating_sub(last.keys),
        hits: sum.hits.saturating_sub(last.hits),
    }
}

/// The warm-up of all shares of a run, and the instant at which they open their windows together.
/// The process that directs them decides it from what each reports at its [`Barrier::opens`].
#[derive(Clone, Debug)]
pub struct SharedWarmup {
    settling: Settling,
    /// What each share has counted by its last report, and by the end of the last slice.
    shares: BTreeMap<u32, [WarmupSlice; 2]>,
    /// The shares that have reported since then.
    fresh: Vec<u32>,
    /// The longest warm-up.
    longest: Span,
    ended: bool,
}

/// Time from the decision to open the windows of shares until they open: longer than a message to
/// another machine takes, and the share's look for it. A share that learns of it later fails.
const SHARED_LEAD: Span = Span::from_ms(750);

impl SharedWarmup {
    /// A warm-up that begins, and ends after `longest` at the latest.
    pub fn new(longest: Span) -> Self {
        let (settling, shares) = (Settling::default(), BTreeMap::new());
        Self { settling, shares, fresh: Vec::new(), longest, ended: false }
    }

    /// Takes a report of a share: its sum since the beginning of the load.
    pub fn report(&mut self, share: u32, sum: WarmupSlice) {
        self.shares.entry(share).or_default()[0] = sum;
        if !self.fresh.contains(&share) {
            self.fresh.push(share);
        }
    }

    /// The length of the warm-up, if that is decided now, when `passed` has passed since the
    /// beginning of the load of the shares `loading`.
    pub fn look(&mut self, loading: &[u32], passed: Span) -> Option<Span> {
        let all = loading.iter().all(|share| self.fresh.contains(share));
        if self.ended || loading.is_empty() || !all {
            return None;
        }
        self.fresh.clear();
        let mut slice = WarmupSlice::default();
        for (_, [now, before]) in self.shares.iter_mut().filter(|(it, _)| loading.contains(it)) {
            slice.absorb(since(*now, std::mem::replace(before, *now)));
        }
        self.settling.take(slice);
        let length = length_after(passed + SHARED_LEAD);
        self.ended = length >= self.longest || self.settling.is_settled();
        (self.ended && length < self.longest).then_some(length)
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
