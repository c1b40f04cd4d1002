//! The record of connection churn, and the warnings about failed connects.

use crate::run_plan::Ended;
use memtide_base::Instant;
use memtide_metrics::{Churn, ChurnCounters, ChurnFate};
use memtide_record::{ChurnCounts, ChurnRecord, Distribution, Phases, Warning};
use memtide_world::plan::segment;
use memtide_world::{Pace, Plan};

/// The churn record of a run whose operations are in `phases`; `None` without connection churn.
pub(super) fn record(ended: &Ended, plan: &Plan, phases: &Phases) -> Option<ChurnRecord> {
    let churn = ended.totals.churn.as_deref()?;
    let planned = plan.churn()?;
    let (start, end) = ended.window(plan);
    let length_s = end.since(start).as_s_f64();
    let counts = |segment: u16| ChurnCounts::from(&churn.segments[usize::from(segment)]);
    let measured = measured(churn);
    let intended: u64 = churn.segments.iter().map(|segment| segment.intended).sum();
    let times = |times, unopened| Distribution::of(times, unopened, plan.timeout);
    Some(ChurnRecord {
        target_per_s: expected(ended, plan, (start, end)).filter(|_| length_s > 0.0).map(|count| {
            let most = planned.openings_max.map_or(f64::INFINITY, |most| plan.own_ops(most) as f64);
            count.min(most) / length_s
        }),
        concurrent_max: ended.workers.iter().map(|worker| u64::from(worker.concurrent_max)).sum(),
        warmup: counts(segment::WARMUP),
        measure: counts(segment::MEASURE),
        cooldown: counts(segment::COOLDOWN),
        connect: times(&churn.connect_response, measured.intended - measured.opened),
        connect_service: times(&churn.connect_service, 0),
        connect_tcp: times(&churn.connect_tcp, 0),
        handshake: times(&churn.handshake, 0),
        first_reply: times(&churn.first_reply, 0),
        lifetime: times(&churn.lifetime, 0),
        calls_planned: intended * planned.calls,
        calls_intended: ChurnRecord::calls_of(phases),
        ..ChurnRecord::default()
    })
}

/// The counts of the measured connections.
pub(super) fn measured(churn: &Churn<u64>) -> &ChurnCounters {
    &churn.segments[usize::from(segment::MEASURE)]
}

/// Number of connections that the schedule called for in this process between two instants; `None`
/// in a closed loop.
fn expected(ended: &Ended, plan: &Plan, (from, to): (Instant, Instant)) -> Option<f64> {
    let Pace { arrival, curve, .. } = plan.churn()?.openings.as_ref()?;
    let until = |at: Instant| arrival.expected(curve.cumulative(at.since(ended.start)));
    Some((until(to) - until(from)) * plan.own_part())
}

/// Number of connections that the schedule called for until the last one began, and the number
/// begun by then. If the first is larger, the schedule was not kept.
pub(super) fn kept_up(ended: &Ended, plan: &Plan) -> Option<(f64, u64)> {
    let churn = ended.totals.churn.as_deref()?;
    let (start, _) = ended.window(plan);
    let last = ended.workers.iter().map(|worker| worker.last_started).max()?;
    let last = last.min(plan.window.measure_end(ended.start));
    Some((expected(ended, plan, (start, last))?, measured(churn).started))
}

/// Warnings about connections that could not be opened, with their remedies.
pub(super) fn warnings(ended: &Ended) -> Vec<Warning> {
    let Some(churn) = ended.totals.churn.as_deref() else { return Vec::new() };
    let of = |fate: ChurnFate| measured(churn).fates[fate as usize];
    let mut warnings = Vec::new();
    let descriptors = of(ChurnFate::NoDescriptors) + of(ChurnFate::FileTableFull);
    if descriptors > 0 {
        warnings.push(Warning::DescriptorsExhausted { count: descriptors });
    }
    let ports = of(ChurnFate::NoPorts);
    if ports > 0 {
        warnings.push(Warning::PortsExhausted { count: ports });
    }
    let explained = [ChurnFate::NoDescriptors, ChurnFate::FileTableFull, ChurnFate::NoPorts];
    let others = ChurnFate::ALL.into_iter();
    let others = others.filter(|fate| fate.is_failed() && !explained.contains(fate));
    let others: Vec<_> = others.filter(|fate| of(*fate) > 0).collect();
    if !others.is_empty() {
        let each = others.iter().map(|fate| format!("{} {}", fate.name(), of(*fate)));
        warnings.push(Warning::ConnectsFailed {
            count: others.iter().map(|fate| of(*fate)).sum(),
            why: each.collect::<Vec<_>>().join(", "),
        });
    }
    warnings
}

/// True if, under connection churn, no connection opened.
pub(crate) fn none_opened(ended: &Ended) -> bool {
    ended.totals.churn.as_deref().is_some_and(|churn| {
        let sum = |of: fn(&ChurnCounters) -> u64| churn.segments.iter().map(of).sum::<u64>();
        sum(|counters| counters.started) > 0 && sum(|counters| counters.opened) == 0
    })
}
