//! The record of connection churn, and the warnings about failed connects.

use crate::run_plan::Ended;
use memtide_base::Instant;
use memtide_metrics::{Churn, ChurnCounters, ChurnFate};
use memtide_record::{ChurnCounts, ChurnRecord, Distribution, Phases, Warning};
use memtide_world::plan::segment;
use memtide_world::{Pace, Plan};
use std::ops::Range;

/// The churn record of a run whose operations are in `phases`; `None` without connection churn.
pub(super) fn record(ended: &Ended, plan: &Plan, phases: &Phases) -> Option<ChurnRecord> {
    let churn = ended.totals.churn.as_deref()?;
    let planned = plan.churn()?;
    let window = ended.window(plan);
    let length_s = window.end.since(window.start).as_s_f64();
    let [warmup, measure, cooldown] = [segment::WARMUP, segment::MEASURE, segment::COOLDOWN]
        .map(|segment| ChurnCounts::from(&churn.segments[usize::from(segment)]));
    let measured = measured(churn);
    let intended: u64 = churn.segments.iter().map(|segment| segment.intended).sum();
    let unopened = measured.intended - measured.opened;
    Some(ChurnRecord {
        target_per_s: expected(ended, plan, &window).filter(|_| length_s > 0.0).map(|count| {
            let most = planned.openings_max.map_or(f64::INFINITY, |most| plan.own_ops(most) as f64);
            count.min(most) / length_s
        }),
        concurrent_max: ended.workers.iter().map(|worker| u64::from(worker.concurrent_max)).sum(),
        warmup,
        measure,
        cooldown,
        connect: Distribution::of(&churn.connect_response, unopened, plan.timeout),
        connect_service: Distribution::of(&churn.connect_service, 0, plan.timeout),
        connect_tcp: Distribution::of(&churn.connect_tcp, 0, plan.timeout),
        handshake: Distribution::of(&churn.handshake, 0, plan.timeout),
        first_reply: Distribution::of(&churn.first_reply, 0, plan.timeout),
        lifetime: Distribution::of(&churn.lifetime, 0, plan.timeout),
        calls_planned: intended * planned.calls,
        calls_intended: ChurnRecord::calls_of(phases),
        ..ChurnRecord::default()
    })
}

/// The counts of the measured connections.
pub(super) fn measured(churn: &Churn<u64>) -> &ChurnCounters {
    &churn.segments[usize::from(segment::MEASURE)]
}

/// Number of connections that the schedule called for in this process within a stretch of time;
/// `None` in a closed loop.
fn expected(ended: &Ended, plan: &Plan, within: &Range<Instant>) -> Option<f64> {
    let Pace { arrival, curve, .. } = plan.churn()?.openings.as_ref()?;
    let [before, until] = [within.start, within.end]
        .map(|at| arrival.expected(curve.cumulative(at.since(ended.start))));
    Some((until - before) * plan.own_part())
}

/// Number of connections that the schedule called for until the last one began, and the number
/// begun by then. If the first is larger, the schedule was not kept.
pub(super) fn kept_up(ended: &Ended, plan: &Plan) -> Option<(f64, u64)> {
    let churn = ended.totals.churn.as_deref()?;
    let start = ended.window(plan).start;
    let last = ended.workers.iter().map(|worker| worker.last_started).max()?;
    let last = last.min(plan.window.measure_end(ended.start));
    Some((expected(ended, plan, &(start..last))?, measured(churn).started))
}

/// Warnings about connections that could not be opened, with their remedies.
pub(super) fn warnings(ended: &Ended) -> Vec<Warning> {
    let Some(churn) = ended.totals.churn.as_deref() else { return Vec::new() };
    let fates = &measured(churn).fates;
    let mut warnings = Vec::new();
    let descriptors =
        fates[ChurnFate::NoDescriptors as usize] + fates[ChurnFate::FileTableFull as usize];
    if descriptors > 0 {
        warnings.push(Warning::DescriptorsExhausted { count: descriptors });
    }
    let ports = fates[ChurnFate::NoPorts as usize];
    if ports > 0 {
        warnings.push(Warning::PortsExhausted { count: ports });
    }
    let explained = [ChurnFate::NoDescriptors, ChurnFate::FileTableFull, ChurnFate::NoPorts];
    let others = ChurnFate::ALL.into_iter();
    let others = others.filter(|fate| fate.is_failed() && !explained.contains(fate));
    let others: Vec<_> = others.filter(|fate| fates[*fate as usize] > 0).collect();
    if !others.is_empty() {
        let each = others.iter().map(|fate| format!("{} {}", fate.name(), fates[*fate as usize]));
        warnings.push(Warning::ConnectsFailed {
            count: others.iter().map(|fate| fates[*fate as usize]).sum(),
            why: each.collect::<Vec<_>>().join(", "),
        });
    }
    warnings
}

/// True if, under connection churn, no connection opened.
pub(crate) fn none_opened(ended: &Ended) -> bool {
    ended.totals.churn.as_deref().is_some_and(|churn| {
        let segments = &churn.segments;
        segments.iter().any(|of| of.started > 0) && segments.iter().all(|of| of.opened == 0)
    })
}
