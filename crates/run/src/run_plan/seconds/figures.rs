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
    let workers = || looked.workers.iter();
    let sum = |of: fn(&WorkerReport) -> u64| Some(workers().map(of).sum());
    UnderWay {
        in_flight: sum(|worker| worker.in_flight),
        backlog: backlog(plan, start, looked, totals),
        oldest_due_s: is_open(plan).then(|| oldest_due(looked).map_or(0.0, Span::as_s_f64)),
        connections_open: sum(|worker| u64::from(worker.connections_open)),
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
    let Pacing::Open { arrival, curve, .. } = &plan.pacing else { return None };
    if !is_counted(plan) {
        return None;
    }
    let end = |at: Instant| match plan.window.cooldown {
        Cooldown::Load => at,
        Cooldown::Drain | Cooldown::Stop => at.min(plan.window.measure_end(start)),
    };
    let called_for = |at: Instant| arrival.expected(curve.cumulative(at.since(start)));
    let behind = |worker: &WorkerReport| {
        let (oldest, end) = (worker.oldest_due?, end(worker.at));
        let more = called_for(end) - called_for(oldest.min(end));
        Some(1 + (more / f64::from(plan.workers) + ROUNDING) as u64)
    };
    let due: u64 = running(looked).filter_map(behind).sum();
    let made: u64 =
        totals.segments.iter().map(|segment| segment.intended.saturating_sub(segment.copies)).sum();
    Some(plan.window.ops_max.map_or(due, |most| due.min(plan.own_ops(most).saturating_sub(made))))
}

/// Counts of the load so far by server, and of operations for which no server was chosen.
pub(super) fn by_server(plan: &Plan, totals: &TallySum) -> (Vec<SettledCounts>, SettledCounts) {
    if plan.servers.len() == 1 {
        return (vec![counts(totals)], SettledCounts::default());
    }
    let apart = &totals.unmeasured;
    let both = |measured: &Counters, other: &Counters| {
        SettledCounts::from(measured).plus(&SettledCounts::from(other))
    };
    let servers = totals.servers.iter().zip(&apart.servers);
    let servers = servers.map(|(measured, other)| both(measured, other)).collect();
    (servers, both(&totals.no_server, &apart.no_server))
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
    before: &[(Span, Option<Span>)],
    measured: Option<Span>,
) -> Vec<WorkerSecond> {
    let each = looked.workers.iter().enumerate().map(|(number, worker)| {
        let (idle, delay) = before.get(number).copied().unwrap_or((Span::ZERO, Some(Span::ZERO)));
        let idle = worker.idle.saturating_sub(idle);
        let kept = worker.run_delay.map(|now| now.saturating_sub(delay.unwrap_or(Span::ZERO)));
        let share = |of: Span, length: Span| {
            (of.as_s_f64() / length.as_s_f64().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
        };
        let waits = age(worker).filter(|_| worker.stage == Stage::Running);
        WorkerSecond {
            in_flight: worker.in_flight,
            connections_open: u64::from(worker.connections_open),
            oldest_due_s: waits.map(Span::as_s_f64),
            busy: measured.map(|length| 1.0 - share(idle, length)),
            kept: measured
                .zip(kept)
                .map(|(length, kept)| (share(kept, length) * 1e4).round() / 1e4),
        }
    });
    each.collect()
}
