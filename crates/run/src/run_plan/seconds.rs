//! A load in seconds, by what ended in them. A second that is over is an event. The record keeps
//! them in bounded number: when there are too many, neighbours become one.

use super::kinds::{kinds, merged};
use memtide_base::{Instant, Span};
use memtide_engine::fleet::{Interval as Looked, Stage, WorkerReport};
use memtide_engine::{Pacing, Plan};
use memtide_metrics::summary::{rank, samples_needed};
use memtide_metrics::{Counters, Histogram, Totals};
use memtide_schema::record::{SecondRecord, SettledCounts, UnderWay};
use memtide_schema::{Interval, Kind};
use std::collections::BTreeMap;

/// At most this many are kept.
const SECONDS_MAX: usize = 1024;
const SECOND: Span = Span::from_s(1);

/// The seconds of a load so far.
pub(crate) struct Seconds {
    /// The load up to the end of the last second.
    counts: SettledCounts,
    /// Response, service and lag up to there.
    slots: [Slots; 3],
    /// From the beginning of the load to there.
    passed: Span,
    kept: Vec<Kept>,
    /// Seconds that a kept one consists of.
    each: u64,
    /// Seconds that the last kept one consists of so far.
    in_last: u64,
}

/// One distribution for each slot that is in use.
type Slots = Vec<Option<Histogram<u64>>>;

/// Some seconds in a row.
struct Kept {
    start: Span,
    length: Span,
    counts: SettledCounts,
    /// Response times of measured operations: bucket value in ns → count.
    response: BTreeMap<u64, u64>,
    under_way: UnderWay,
}

impl Seconds {
    pub(crate) fn new() -> Self {
        Self {
            counts: SettledCounts::default(),
            slots: Default::default(),
            passed: Span::ZERO,
            kept: Vec::new(),
            each: 1,
            in_last: 0,
        }
    }

    /// The second that is over at this look, if one is.
    pub(crate) fn look(
        &mut self,
        plan: &Plan,
        start: Instant,
        looked: &Looked,
        totals: &Totals,
    ) -> Option<Interval> {
        let passed = looked.at.since(start);
        // Each ends with the first look after a whole number of seconds, so none drifts.
        (passed.ns() / SECOND.ns() > self.passed.ns() / SECOND.ns())
            .then(|| self.cut(plan, passed, under_way(plan, looked), totals))
    }

    /// What is left at the end of the load: after it, all add up to `totals`.
    pub(crate) fn finish(
        &mut self,
        plan: &Plan,
        passed: Span,
        totals: &Totals,
    ) -> Option<Interval> {
        let rest = (counts(totals) != self.counts).then(|| {
            let nothing = UnderWay {
                in_flight: Some(0),
                oldest_due_s: is_open(plan).then_some(0.0),
                ..UnderWay::default()
            };
            self.cut(plan, passed.max(self.passed), nothing, totals)
        });
        let sum = self.kept.iter().fold(SettledCounts::default(), |sum, of| sum.plus(&of.counts));
        assert!(
            sum == counts(totals),
            "seconds add up to {sum:?}, the load to {:?}",
            counts(totals)
        );
        rest
    }

    fn cut(&mut self, plan: &Plan, passed: Span, under_way: UnderWay, totals: &Totals) -> Interval {
        let counts = counts(totals);
        let times = &totals.times;
        let [response, service, lag] = &mut self.slots;
        let interval = Interval {
            start: self.passed,
            length: passed.saturating_sub(self.passed),
            counts: counts.since(&self.counts),
            response: table(&liveness(&times.response, response), plan),
            service: table(&liveness(&times.service, service), plan),
            lag: table(&liveness(&times.lag, lag), plan),
            under_way,
        };
        (self.counts, self.passed) = (counts, passed);
        self.keep(&interval);
        interval
    }

    fn keep(&mut self, interval: &Interval) {
        let response = interval.response.get(&Kind::All);
        let response = response.into_iter().flat_map(Histogram::recorded);
        let one = Kept {
            start: interval.start,
            length: interval.length,
            counts: interval.counts,
            response: response.collect(),
            under_way: interval.under_way,
        };
        match self.kept.last_mut() {
            Some(last) if self.in_last < self.each => {
                last.absorb(one);
                self.in_last += 1;
            }
            _ => {
                self.kept.push(one);
                self.in_last = 1;
            }
        }
        if self.kept.len() > SECONDS_MAX {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let mut pairs = Vec::with_capacity(SECONDS_MAX);
        let mut each = std::mem::take(&mut self.kept).into_iter();
        while let Some(mut first) = each.next() {
            match each.next() {
                Some(second) => first.absorb(second),
                // The odd one at the end is half of what it will be.
                None => self.in_last = self.each,
            }
            pairs.push(first);
        }
        self.kept = pairs;
        self.each *= 2;
    }

    /// What the record keeps.
    pub(crate) fn records(&self) -> Vec<SecondRecord> {
        self.kept.iter().map(Kept::record).collect()
    }
}

impl Kept {
    fn absorb(&mut self, next: Self) {
        self.length += next.length;
        self.counts = self.counts.plus(&next.counts);
        for (value, count) in next.response {
            *self.response.entry(value).or_default() += count;
        }
        self.under_way = next.under_way;
    }

    fn record(&self) -> SecondRecord {
        let total: u64 = self.response.values().sum();
        let at = |p: f64| {
            let wanted = rank(p, total);
            let mut below = 0;
            let found = self.response.iter().find_map(|(value, count)| {
                below += count;
                (below >= wanted).then_some(*value)
            });
            found.filter(|_| total >= samples_needed(p))
        };
        SecondRecord {
            start_s: self.start.as_s_f64(),
            length_s: self.length.as_s_f64(),
            counts: self.counts,
            response_p50_ns: at(0.5),
            response_p99_ns: at(0.99),
            under_way: self.under_way,
        }
    }
}

/// What is under way, by the workers' reports.
fn under_way(plan: &Plan, looked: &Looked) -> UnderWay {
    let workers = || looked.workers.iter();
    let sum = |of: fn(&WorkerReport) -> u64| Some(workers().map(of).sum());
    UnderWay {
        in_flight: sum(|worker| worker.in_flight),
        backlog: None,
        oldest_due_s: is_open(plan).then(|| oldest_due(looked).map_or(0.0, Span::as_s_f64)),
        connections_open: sum(|worker| u64::from(worker.connections_open)),
    }
}

/// How long the oldest operation has been due that is not sent yet; none if nothing waits.
pub(crate) fn oldest_due(looked: &Looked) -> Option<Span> {
    let running = looked.workers.iter().filter(|worker| worker.stage == Stage::Running);
    let oldest = running.filter_map(|worker| worker.oldest_due).min();
    oldest.map(|at| looked.at.since(at))
}

/// Whether a schedule says when operations are intended.
fn is_open(plan: &Plan) -> bool {
    matches!(plan.pacing, Pacing::Open { .. })
}

fn counts(totals: &Totals) -> SettledCounts {
    let mut all = Counters::default();
    totals.segments.iter().for_each(|segment| all += segment);
    (&all).into()
}

/// What came to each slot since it was `then`, which becomes what it is now; none where nothing
/// did. A slot without news is not copied: a simulation passes through many quiet seconds.
fn liveness(now: &[Option<Histogram<u64>>], then: &mut Slots) -> Slots {
    then.resize(now.len(), None);
    let part = |(now, then): (&Option<Histogram<u64>>, &mut Option<Histogram<u64>>)| {
        let now = now.as_ref()?;
        if now.count() == then.as_ref().map_or(0, Histogram::count) {
            return None;
        }
        let earlier = then.replace(now.clone()).unwrap_or_default();
        Some(now.since(&earlier))
    };
    now.iter().zip(then).map(part).collect()
}

/// The distributions of those kinds of a plan that have any.
fn table(slots: &Slots, plan: &Plan) -> BTreeMap<Kind, Histogram<u64>> {
    if slots.iter().all(Option::is_none) {
        return BTreeMap::new();
    }
    let each = kinds(plan).into_iter().map(|kind| (kind, merged(slots, kind, plan)));
    each.filter(|(_, times)| times.count() > 0).collect()
}
