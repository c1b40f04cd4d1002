//! A load by second, according to when operations ended. A second that is over is an event. The
//! record keeps a bounded number: if there are too many, neighbours are merged.

mod figures;

pub(crate) use figures::{made_until, oldest_due};

use super::abort::is_over;
use super::kinds::{keys_sent, kinds, merged, unanswered};
use super::timeline::Timeline;
use figures::{CountsByServer, WorkerWaits, counts};
use memtide_base::{Instant, Span};
use memtide_metrics::series::Sparse;
use memtide_metrics::{Histogram, TallySum};
use memtide_record::{
    HostSecond, Interval, SECONDS_MAX, SecondRecord, ServerSecond, SettledCounts, UnderWay,
    WorkerSecond,
};
use memtide_scenario::Kind;
use memtide_world::fleet::Interval as Looked;
use memtide_world::plan::segment;
use memtide_world::{Plan, RateUnit};
use std::collections::BTreeMap;

/// Largest number of servers, and of workers, whose figures are kept by second.
pub(crate) const EACH_MAX: usize = 16;
const SECOND: Span = Span::from_s(1);

/// Seconds of a load so far.
#[derive(Default)]
pub(crate) struct Seconds {
    /// Counts of the load up to the end of the last second.
    counts: SettledCounts,
    /// Keys sent up to the end of the last second.
    keys_sent: u64,
    /// Counts by server up to the end of the last second.
    by_server: CountsByServer,
    /// The waits of each worker up to the end of the last second.
    waits: Vec<WorkerWaits>,
    /// Response, service and lag up to the end of the last second.
    slots: [Slots; 3],
    /// Measured operations up to the end of the last second that rank above every answered one, by
    /// kind.
    unanswered: BTreeMap<Kind, u64>,
    /// Reports of the servers.
    pub(crate) timeline: Timeline,
    /// Time from the beginning of the load to the end of the last second.
    passed: Span,
    kept: Vec<Kept>,
    /// Number of seconds in each kept one.
    each: u64,
    /// Number of seconds in the last kept one so far.
    in_last: u64,
}

/// One distribution for each slot in use; none for the others.
type Slots = Vec<Option<Histogram<u64>>>;

/// Consecutive seconds, merged, without their histograms.
struct Kept {
    second: Interval,
    /// Response times of measured operations.
    times: Sparse,
}

/// State at the end of a second, as a look at the workers found it.
struct Seen {
    under_way: UnderWay,
    workers: Vec<WorkerSecond>,
    is_over: bool,
    host: Option<HostSecond>,
}

impl Seconds {
    pub(crate) fn new() -> Self {
        Self { each: 1, ..Self::default() }
    }

    /// The second that is over at this look, if any.
    pub(crate) fn look(
        &mut self,
        plan: &Plan,
        start: Instant,
        looked: &Looked,
        totals: &TallySum,
        host: impl FnOnce() -> Option<HostSecond>,
    ) -> Option<Interval> {
        let passed = looked.at.since(start);
        // Each second ends with the first look after a whole number of seconds, so seconds do not
        // drift.
        if passed.ns() / SECOND.ns() <= self.passed.ns() / SECOND.ns() {
            return None;
        }
        // Workers report their idle time within the measured window only.
        let window = plan.window.measure_start(start)..=plan.window.measure_end(start);
        let from = start + self.passed;
        let measured = window.contains(&from) && window.contains(&looked.at);
        let length = measured.then(|| looked.at.since(from));
        let seen = Seen {
            under_way: figures::under_way(plan, start, looked, totals),
            workers: figures::workers(looked, &self.waits, length),
            is_over: is_over(plan, start, looked.at, totals),
            host: host(),
        };
        self.waits = looked.workers.iter().map(WorkerWaits::of).collect();
        Some(self.cut(plan, passed, seen, totals))
    }

    /// The remainder at the end of the load; with it, all seconds add up to `totals`.
    pub(crate) fn finish(
        &mut self,
        plan: &Plan,
        passed: Span,
        totals: &TallySum,
    ) -> Option<Interval> {
        let is_more = counts(totals) != self.counts || self.timeline.has_more();
        let rest = is_more.then(|| {
            let under_way = figures::nothing(plan);
            let seen = Seen { under_way, workers: Vec::new(), is_over: true, host: None };
            self.cut(plan, passed.max(self.passed), seen, totals)
        });
        let sum =
            self.kept.iter().fold(SettledCounts::default(), |sum, of| sum.plus(&of.second.counts));
        assert!(
            sum == counts(totals),
            "seconds add up to {sum:?}, the load to {:?}",
            counts(totals)
        );
        rest
    }

    fn cut(&mut self, plan: &Plan, passed: Span, seen: Seen, totals: &TallySum) -> Interval {
        let counts = counts(totals);
        let keys = totals.segments.iter().map(keys_sent).sum();
        let times = &totals.times;
        let (servers, no_server) = self.since(plan, totals);
        let unanswered = self.unanswered_since(plan, totals);
        let [response, service, lag] = &mut self.slots;
        let interval = Interval {
            start: self.passed,
            length: passed.saturating_sub(self.passed),
            counts: counts.since(&self.counts),
            keys_sent: (plan.unit == RateUnit::Keys).then_some(keys - self.keys_sent),
            response: table(&gained(&times.response, response), plan),
            service: table(&gained(&times.service, service), plan),
            lag: table(&gained(&times.lag, lag), plan),
            unanswered,
            under_way: seen.under_way,
            servers,
            no_server,
            workers: seen.workers,
            reports: self.timeline.cut(),
            host: seen.host,
            agents: Vec::new(),
            is_over: seen.is_over,
            is_of_agents: false,
        };
        let each = interval.servers.iter().map(|server| &server.counts);
        let sum = each.fold(interval.no_server, |sum, of| sum.plus(of));
        assert!(
            sum == interval.counts,
            "servers add up to {sum:?}, the second to {:?}",
            interval.counts
        );
        assert!(self.passed <= passed, "seconds follow each other");
        (self.counts, self.keys_sent, self.passed) = (counts, keys, passed);
        self.keep(&interval);
        interval
    }

    /// Growth since the last second, of each server and of operations without a server.
    fn since(&mut self, plan: &Plan, totals: &TallySum) -> (Vec<ServerSecond>, SettledCounts) {
        let now = figures::by_server(plan, totals);
        let mut then = std::mem::replace(&mut self.by_server, now.clone());
        then.servers.resize(now.servers.len(), SettledCounts::default());
        let open = figures::connections_open(plan, totals);
        let each = now.servers.iter().zip(&then.servers).zip(open);
        let seconds = each.map(|((now, then), connections_open)| ServerSecond {
            counts: now.since(then),
            connections_open,
        });
        (seconds.collect(), now.no_server.since(&then.no_server))
    }

    /// Measured operations that ended without a good answer since the last second, by kind.
    fn unanswered_since(&mut self, plan: &Plan, totals: &TallySum) -> BTreeMap<Kind, u64> {
        let measured = &totals.segments[usize::from(segment::MEASURE)];
        let each = kinds(plan).into_iter().map(|kind| {
            let now = unanswered(measured, kind);
            (kind, now - self.unanswered.insert(kind, now).unwrap_or(0))
        });
        each.filter(|(_, came)| *came > 0).collect()
    }

    fn keep(&mut self, interval: &Interval) {
        let one = Kept::of(interval);
        match self.kept.last_mut() {
            Some(last) if self.in_last < self.each => {
                last.absorb(&one);
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
        assert!(self.kept.len() <= SECONDS_MAX, "seconds are merged before there are too many");
    }

    fn halve(&mut self) {
        let mut pairs = Vec::with_capacity(SECONDS_MAX);
        let mut each = std::mem::take(&mut self.kept).into_iter();
        while let Some(mut first) = each.next() {
            match each.next() {
                Some(second) => first.absorb(&second),
                // An odd second at the end is half of a merged one.
                None => self.in_last = self.each,
            }
            pairs.push(first);
        }
        self.kept = pairs;
        self.each *= 2;
    }

    /// The seconds as the record keeps them.
    pub(crate) fn records(&self) -> Vec<SecondRecord> {
        self.kept.iter().map(|kept| kept.second.record(&kept.times.histogram())).collect()
    }
}

impl Kept {
    /// What is kept of a second: of servers and workers, each only if they are few.
    fn of(interval: &Interval) -> Self {
        let mut times = Sparse::default();
        interval.response.get(&Kind::All).into_iter().for_each(|all| times.absorb_times(all));
        let several_servers = 2..=EACH_MAX;
        let second = Interval {
            response: BTreeMap::new(),
            service: BTreeMap::new(),
            lag: BTreeMap::new(),
            servers: match &interval.servers {
                servers if several_servers.contains(&servers.len()) => servers.clone(),
                _ => Vec::new(),
            },
            workers: match &interval.workers {
                workers if workers.len() <= EACH_MAX => workers.clone(),
                _ => Vec::new(),
            },
            unanswered: interval.unanswered.clone(),
            reports: interval.reports.clone(),
            host: interval.host.clone(),
            agents: Vec::new(),
            ..*interval
        };
        Self { second, times }
    }

    fn absorb(&mut self, next: &Self) {
        self.second.then(&next.second);
        self.times.absorb(&next.times);
    }
}

/// Values that each slot gained since `then`, which becomes `now`; none for a slot that gained
/// none. Unchanged slots are not copied: a simulation passes through many quiet seconds.
fn gained(now: &[Option<Histogram<u64>>], then: &mut Slots) -> Slots {
    then.resize(now.len(), None);
    now.iter().zip(then).map(|(now, then)| gained_in_slot(now.as_ref()?, then)).collect()
}

fn gained_in_slot(
    now: &Histogram<u64>,
    then: &mut Option<Histogram<u64>>,
) -> Option<Histogram<u64>> {
    if now.count() == then.as_ref().map_or(0, Histogram::count) {
        return None;
    }
    let earlier = then.replace(now.clone()).unwrap_or_default();
    Some(now.since(&earlier))
}

/// Distributions by kind, for the kinds of a plan that have values.
fn table(slots: &Slots, plan: &Plan) -> BTreeMap<Kind, Histogram<u64>> {
    if slots.iter().all(Option::is_none) {
        return BTreeMap::new();
    }
    let each = kinds(plan).into_iter().map(|kind| (kind, merged(slots, kind, plan)));
    each.filter(|(_, times)| times.count() > 0).collect()
}
