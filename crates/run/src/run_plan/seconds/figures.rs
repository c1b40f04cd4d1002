//! State at the end of a second, from a look at the workers: in flight and backlog, by server and
//! by worker.

use memtide_base::{Instant, Span};
use memtide_metrics::{Counters, TallySum};
use memtide_record::{SettledCounts, UnderWay, WorkerSecond};
use memtide_world::fleet::{Interval as Looked, Stage, WorkerReport};
use memtide_world::{Cooldown, Pacing, Plan, RateUnit, Sharing};

/// A smaller part of an operation is a rounding error.
const ROUNDING: f64 = 1e-6;

/// In flight and backlog, from the workers' reports.
pub(super) fn under_way(
    plan: &Plan,
    start: Instant,
    looked: &Looked,
    totals: &TallySum,
) -> UnderWay {
    let workers = &looked.workers;
    UnderWay {
        in_flight: Some(workers.iter().map(|worker| worker.in_flight).sum()),
        backlog: backlog(plan, start, looked, totals),
        oldest_due_s: is_open(plan).then(|| oldest_due(looked).map_or(0.0, Span::as_s_f64)),
        connections_open: Some(
            workers.iter().map(|worker| u64::from(worker.connections_open)).sum(),
        ),
    }
}

/// In flight and backlog after the end: nothing.
pub(super) fn nothing(plan: &Plan) -> UnderWay {
    UnderWay {
        in_flight: Some(0),
        backlog: is_counted(plan).then_some(0),
        oldest_due_s: is_open(plan).then_some(0.0),
        connections_open: None,
    }
}

/// Age of the backlog: the longest time for which an unsent operation had been due when its worker
/// reported it; none without a backlog. By the instant of the look it may have been sent.
pub(crate) fn oldest_due(looked: &Looked) -> Option<Span> {
    running(looked).filter_map(age).max()
}

/// Instant until which all operations that were due have been made.
pub(crate) fn made_until(looked: &Looked) -> Instant {
    let made = running(looked).map(|worker| worker.oldest_due.unwrap_or(worker.at));
    made.min().unwrap_or(looked.at)
}

fn age(worker: &WorkerReport) -> Option<Span> {
    worker.oldest_due.map(|due| worker.at.since(due))
}

fn running(looked: &Looked) -> impl Iterator<Item = &WorkerReport> {
    looked.workers.iter().filter(|worker| worker.stage == Stage::Running)
}

/// True if a schedule sets the intended instants (open loop).
fn is_open(plan: &Plan) -> bool {
    matches!(plan.pacing, Pacing::Open { .. })
}

/// True if a worker's delay determines its number of waiting operations: it has one schedule, which
/// counts operations.
fn is_counted(plan: &Plan) -> bool {
    let one_schedule = matches!(plan.pacing, Pacing::Open { sharing: Sharing::Shared, .. });
    one_schedule && plan.clients.counted().is_none() && plan.unit == RateUnit::Operations
}

/// Number of operations due and not sent: the oldest of each worker, and the number that its part
/// of the rate called for since. Exact with fixed gaps, else the expected number.
fn backlog(plan: &Plan, start: Instant, looked: &Looked, totals: &TallySum) -> Option<u64> {
    if !is_counted(plan) {
        return None;
    }
    let due: u64 = running(looked).filter_map(|worker| behind(plan, start, worker)).sum();
    let made: u64 =
        totals.segments.iter().map(|segment| segment.intended.saturating_sub(segment.copies)).sum();
    Some(plan.window.ops_max.map_or(due, |most| due.min(plan.own_ops(most).saturating_sub(made))))
}

/// Number of operations of one worker that are due and not sent, the oldest included; none without
/// one.
fn behind(plan: &Plan, start: Instant, worker: &WorkerReport) -> Option<u64> {
    let Pacing::Open { arrival, curve, .. } = &plan.pacing else { return None };
    let end = match plan.window.cooldown {
        Cooldown::Load => worker.at,
        Cooldown::Drain | Cooldown::Stop => worker.at.min(plan.window.measure_end(start)),
    };
    let oldest = worker.oldest_due?.min(end);
    let [until_oldest, until_end] =
        [oldest, end].map(|at| arrival.expected(curve.cumulative(at.since(start))));
    Some(1 + ((until_end - until_oldest) / f64::from(plan.workers) + ROUNDING) as u64)
}

/// Counts of a load by server.
#[derive(Clone, Default)]
pub(super) struct CountsByServer {
    pub(super) servers: Vec<SettledCounts>,
    /// Of operations for which no server was chosen.
    pub(super) no_server: SettledCounts,
}

/// Counts of the load so far by server.
pub(super) fn by_server(plan: &Plan, totals: &TallySum) -> CountsByServer {
    if plan.servers.len() == 1 {
        let (servers, no_server) = (vec![counts(totals)], SettledCounts::default());
        return CountsByServer { servers, no_server };
    }
    let apart = &totals.unmeasured;
    let servers = totals.servers.iter().zip(&apart.servers);
    CountsByServer {
        servers: servers.map(|(measured, other)| sum(measured, other)).collect(),
        no_server: sum(&totals.no_server, &apart.no_server),
    }
}

fn sum(measured: &Counters, other: &Counters) -> SettledCounts {
    SettledCounts::from(measured).plus(&SettledCounts::from(other))
}

/// The counts of the load so far.
pub(super) fn counts(totals: &TallySum) -> SettledCounts {
    let mut all = Counters::default();
    totals.segments.iter().for_each(|segment| all += segment);
    (&all).into()
}

/// Open connections to each server; none under connection churn, whose connections close
/// themselves.
pub(super) fn connections_open(plan: &Plan, totals: &TallySum) -> Vec<Option<u64>> {
    let of = totals.connections.iter();
    let open = of.map(|of| of.opened.saturating_sub(of.lost));
    open.map(|open| plan.churn().is_none().then_some(open)).collect()
}

/// State of each worker: in flight, backlog, and how busy it was, and how long without a CPU, since
/// the times of `before`.
pub(super) fn workers(
    looked: &Looked,
    before: &[WorkerWaits],
    measured: Option<Span>,
) -> Vec<WorkerSecond> {
    let each = looked.workers.iter().enumerate().map(|(number, worker)| {
        let before = before.get(number).copied().unwrap_or_default();
        worker_second(worker, before, measured)
    });
    each.collect()
}

fn worker_second(
    worker: &WorkerReport,
    before: WorkerWaits,
    measured: Option<Span>,
) -> WorkerSecond {
    let idle = worker.idle.saturating_sub(before.idle);
    let kept = worker.run_delay.map(|now| now.saturating_sub(before.run_delay));
    let waits = age(worker).filter(|_| worker.stage == Stage::Running);
    WorkerSecond {
        in_flight: worker.in_flight,
        connections_open: u64::from(worker.connections_open),
        oldest_due_s: waits.map(Span::as_s_f64),
        busy: measured.map(|length| 1.0 - share(idle, length)),
        kept: measured.zip(kept).map(|(length, kept)| (share(kept, length) * 1e4).round() / 1e4),
    }
}

/// Share that `part` has of `length`, from 0 to 1.
fn share(part: Span, length: Span) -> f64 {
    (part.as_s_f64() / length.as_s_f64().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
}

/// Times that a worker did not run, from the beginning of the load on.
#[derive(Clone, Copy, Default)]
pub(super) struct WorkerWaits {
    idle: Span,
    /// Ready to run, and without a CPU; zero where the kernel does not say.
    run_delay: Span,
}

impl WorkerWaits {
    pub(super) fn of(worker: &WorkerReport) -> Self {
        Self { idle: worker.idle, run_delay: worker.run_delay.unwrap_or_default() }
    }
}
