//! A load by second, according to when operations ended. A second that is over is an event. The
//! record keeps a bounded number: if there are too many, neighbours are merged.

mod figures;

pub(crate) use figures::oldest_due;

use super::abort::is_over;
use super::kinds::{kinds, merged, unanswered};
use super::timeline::{Reports, Timeline};
use figures::counts;
use memtide_base::{Instant, Span};
use memtide_engine::Plan;
use memtide_engine::fleet::Interval as Looked;
use memtide_engine::plan::segment;
use memtide_metrics::summary::{rank, samples_needed};
use memtide_metrics::{Histogram, TallySum};
use memtide_schema::record::{
    SecondRecord, ServerReport, ServerSecond, SettledCounts, UnderWay, WorkerSecond,
};
use memtide_schema::{Interval, Kind};
use std::collections::BTreeMap;

/// Largest number of seconds kept.
const SECONDS_MAX: usize = 1024;
/// Largest number of servers, and of workers, whose figures are kept by second.
pub(crate) const EACH_MAX: usize = 16;
const SECOND: Span = Span::from_s(1);

/// Seconds of a load so far.
pub(crate) struct Seconds {
    /// Counts of the load up to the end of the last second.
    counts: SettledCounts,
    /// Counts of each server up to the end of the last second.
    servers: Vec<SettledCounts>,
    /// Counts, up to the end of the last second, of operations for which no server was chosen.
    no_server: SettledCounts,
    /// Idle time of each worker up to the end of the last second.
    idle: Vec<Span>,
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

/// Consecutive seconds, merged.
struct Kept {
    start: Span,
    length: Span,
    counts: SettledCounts,
    /// Response times of measured operations: bucket value in ns → count.
    response: BTreeMap<u64, u64>,
    /// Measured operations that ended unanswered; they rank above all times.
    unanswered: u64,
    under_way: UnderWay,
    servers: Vec<ServerSecond>,
    no_server: Option<SettledCounts>,
    workers: Vec<WorkerSecond>,
    reports: Reports,
}

/// State at the end of a second, as a look at the workers found it.
struct Seen {
    under_way: UnderWay,
    workers: Vec<WorkerSecond>,
    is_over: bool,
}

impl Seconds {
    pub(crate) fn new() -> Self {
        Self {
            counts: SettledCounts::default(),
            servers: Vec::new(),
            no_server: SettledCounts::default(),
            idle: Vec::new(),
            slots: Default::default(),
            unanswered: BTreeMap::new(),
            timeline: Timeline::default(),
            passed: Span::ZERO,
            kept: Vec::new(),
            each: 1,
            in_last: 0,
        }
    }

    /// The second that is over at this look, if any.
    pub(crate) fn look(
        &mut self,
        plan: &Plan,
        start: Instant,
        looked: &Looked,
        totals: &TallySum,
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
            workers: figures::workers(looked, &self.idle, length),
            is_over: is_over(plan, start, looked.at, totals),
        };
        self.idle = looked.workers.iter().map(|worker| worker.idle).collect();
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
            let seen = Seen { under_way, workers: Vec::new(), is_over: true };
            self.cut(plan, passed.max(self.passed), seen, totals)
        });
        let sum = self.kept.iter().fold(SettledCounts::default(), |sum, of| sum.plus(&of.counts));
        assert!(
            sum == counts(totals),
            "seconds add up to {sum:?}, the load to {:?}",
            counts(totals)
        );
        rest
    }

    fn cut(&mut self, plan: &Plan, passed: Span, seen: Seen, totals: &TallySum) -> Interval {
        let counts = counts(totals);
        let times = &totals.times;
        let (servers, no_server) = self.since(plan, totals);
        let unanswered = self.unanswered_since(plan, totals);
        let [response, service, lag] = &mut self.slots;
        let interval = Interval {
            start: self.passed,
            length: passed.saturating_sub(self.passed),
            counts: counts.since(&self.counts),
            response: table(&liveness(&times.response, response), plan),
            service: table(&liveness(&times.service, service), plan),
            lag: table(&liveness(&times.lag, lag), plan),
            unanswered,
            under_way: seen.under_way,
            servers,
            no_server,
            workers: seen.workers,
            reports: self.timeline.cut(),
            is_over: seen.is_over,
        };
        let each = interval.servers.iter().map(|server| &server.counts);
        let sum = each.fold(interval.no_server, |sum, of| sum.plus(of));
        assert!(
            sum == interval.counts,
            "servers add up to {sum:?}, the second to {:?}",
            interval.counts
        );
        assert!(self.passed <= passed, "seconds follow each other");
        (self.counts, self.passed) = (counts, passed);
        self.keep(&interval);
        interval
    }

    /// Growth since the last second, of each server and of operations without a server.
    fn since(&mut self, plan: &Plan, totals: &TallySum) -> (Vec<ServerSecond>, SettledCounts) {
        let (servers, no_server) = figures::by_server(plan, totals);
        self.servers.resize(servers.len(), SettledCounts::default());
        let open = figures::connections_open(plan, totals);
        let each = servers.iter().zip(&self.servers).zip(open);
        let came = each.map(|((now, then), connections_open)| ServerSecond {
            counts: now.since(then),
            connections_open,
        });
        let came = came.collect();
        let nowhere = no_server.since(&self.no_server);
        (self.servers, self.no_server) = (servers, no_server);
        (came, nowhere)
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
        let response = interval.response.get(&Kind::All);
        let response = response.into_iter().flat_map(Histogram::recorded);
        let one = Kept {
            start: interval.start,
            length: interval.length,
            counts: interval.counts,
            response: response.collect(),
            unanswered: interval.unanswered.get(&Kind::All).copied().unwrap_or(0),
            under_way: interval.under_way,
            servers: match interval.servers.len() {
                2..=EACH_MAX => interval.servers.clone(),
                _ => Vec::new(),
            },
            no_server: Some(interval.no_server).filter(|none| *none != SettledCounts::default()),
            workers: match interval.workers.len() {
                0..=EACH_MAX => interval.workers.clone(),
                _ => Vec::new(),
            },
            reports: interval.reports.clone(),
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
        assert!(self.kept.len() <= SECONDS_MAX, "seconds are merged before there are too many");
    }

    fn halve(&mut self) {
        let mut pairs = Vec::with_capacity(SECONDS_MAX);
        let mut each = std::mem::take(&mut self.kept).into_iter();
        while let Some(mut first) = each.next() {
            match each.next() {
                Some(second) => first.absorb(second),
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
        self.unanswered += next.unanswered;
        self.under_way = next.under_way;
        self.servers.resize(next.servers.len(), ServerSecond::default());
        for (sum, part) in self.servers.iter_mut().zip(&next.servers) {
            sum.counts = sum.counts.plus(&part.counts);
            sum.connections_open = part.connections_open;
        }
        if let Some(none) = next.no_server {
            self.no_server = Some(self.no_server.unwrap_or_default().plus(&none));
        }
        // The busyness of a merged second is known only if that of both is.
        let (first, second) = (self.length.saturating_sub(next.length), next.length);
        let busy = |was: Option<&WorkerSecond>, is: &WorkerSecond| {
            let (was, is) = (was?.busy?, is.busy?);
            let all_s = (first + second).as_s_f64();
            Some((was * first.as_s_f64() + is * second.as_s_f64()) / all_s).filter(|_| all_s > 0.0)
        };
        let each = next.workers.into_iter().enumerate();
        let each = each
            .map(|(number, is)| WorkerSecond { busy: busy(self.workers.get(number), &is), ..is });
        self.workers = each.collect();
        ServerReport::append(&mut self.reports, &next.reports);
    }

    fn record(&self) -> SecondRecord {
        let total = self.response.values().sum::<u64>() + self.unanswered;
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
            servers: self.servers.clone(),
            no_server: self.no_server,
            workers: self.workers.clone(),
            reports: self.reports.clone(),
        }
    }
}

/// Values that each slot gained since `then`, which becomes `now`; none for a slot that gained
/// none. Unchanged slots are not copied: a simulation passes through many quiet seconds.
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

/// Distributions by kind, for the kinds of a plan that have values.
fn table(slots: &Slots, plan: &Plan) -> BTreeMap<Kind, Histogram<u64>> {
    if slots.iter().all(Option::is_none) {
        return BTreeMap::new();
    }
    let each = kinds(plan).into_iter().map(|kind| (kind, merged(slots, kind, plan)));
    each.filter(|(_, times)| times.count() > 0).collect()
}
