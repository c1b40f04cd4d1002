//! The invariants of every run, counted again from its operations one by one. Nothing here uses the
//! engine's own arithmetic, except that a schedule is asked a second time.

use crate::backlog::backlog;
use crate::batches::batches;
use crate::errors::errors;
use crate::harness::Rehearsal;
use crate::keys::intended_keys;
use crate::meta::meta;
use crate::recount::recount;
use memtide_base::{Instant, Span};
use memtide_record::{Distribution, EndedBy, Percentile};
use memtide_scenario::Kind;
use memtide_server::FaultKind;
use memtide_workload::schedule::Lane;
use memtide_workload::{OpKind, Outcome, Schedule};
use memtide_world::{Cooldown, OnFull, Pacing, RateUnit, Sample, Sharing};
use std::collections::BTreeMap;

/// Checks all invariants.
///
/// # Errors
/// A sentence that names the invariant that does not hold.
pub fn check(rehearsal: &Rehearsal) -> Result<(), String> {
    conservation(rehearsal)?;
    window(rehearsal)?;
    intended_instants(rehearsal)?;
    order(rehearsal)?;
    deadlines(rehearsal)?;
    batches(rehearsal)?;
    backlog(rehearsal)?;
    figures(rehearsal)?;
    cut_off(rehearsal)?;
    recount(rehearsal)?;
    meta(rehearsal)?;
    verification(rehearsal)?;
    errors(rehearsal)
}

/// Every intended operation ends in exactly one way, in every phase; and the counts of the measured
/// operations, one by one, equal those of the record.
fn conservation(rehearsal: &Rehearsal) -> Result<(), String> {
    rehearsal.record.check_conservation()?;
    let totals = &rehearsal.record.totals;
    let count = |is: fn(Outcome) -> bool| {
        rehearsal.samples.iter().filter(|sample| is(sample.outcome)).count() as u64
    };
    for (name, said, counted) in [
        ("intended", totals.intended, rehearsal.samples.len() as u64),
        ("answered", totals.answered, count(is_answered)),
        ("failed", totals.failed, count(|outcome| outcome == Outcome::Failed)),
        ("timed out", totals.timed_out, count(|outcome| outcome == Outcome::TimedOut)),
        ("lost", totals.lost, count(|outcome| outcome == Outcome::Lost)),
        ("dropped", totals.dropped, count(|outcome| outcome == Outcome::Dropped)),
        ("unacknowledged", totals.unacknowledged, count(|o| o == Outcome::Unacknowledged)),
        ("abandoned", totals.abandoned, count(|outcome| outcome == Outcome::Abandoned)),
    ] {
        equal(name, said, counted)?;
    }
    let sent = rehearsal.samples.iter().filter(|sample| was_sent(sample)).count() as u64;
    equal("sent", totals.sent, sent)
}

/// The measured window is the scenario's, unless the record says why it is not; its rows and slices
/// cover it from end to end.
fn window(rehearsal: &Rehearsal) -> Result<(), String> {
    let record = &rehearsal.record;
    let planned = rehearsal.plan.window.duration.ns();
    if record.ended_by == EndedBy::Duration {
        equal("length of the window", record.window_ns, planned)?;
    } else if record.window_ns > planned {
        return Err(format!("a window of {planned} ns lasted {} ns", record.window_ns));
    }
    let phases = record.phases.each().map(|(_, counts)| counts.totals.intended);
    if let (EndedBy::Operations, Some(most)) = (record.ended_by, rehearsal.plan.window.ops_max) {
        let made: u64 = phases[1..].iter().sum();
        match rehearsal.plan.unit {
            RateUnit::Operations => equal("operations until the count was reached", made, most)?,
            // Each operation counts its keys.
            RateUnit::Keys => {
                let each = u64::from(rehearsal.plan.source.multiget.max(1));
                equal("keys until the count was reached", most.clamp(made, made * each), most)?;
            }
        }
    }
    let rows = record.intervals.iter().map(|row| row.length_s).sum::<f64>();
    let slices = record.slices.iter().map(|slice| slice.length_s).sum::<f64>();
    for (name, covered) in [("rows", rows), ("slices", slices)] {
        if (covered - record.measured_s).abs() > 1e-6 {
            return Err(format!("{name} cover {covered} s of {} s", record.measured_s));
        }
    }
    Ok(())
}

pub fn is_answered(outcome: Outcome) -> bool {
    use Outcome::{Abandoned, Dropped, Failed, Lost, TimedOut, Unacknowledged};
    !matches!(outcome, Abandoned | Dropped | Failed | Lost | TimedOut | Unacknowledged)
}

pub fn was_sent(sample: &Sample) -> bool {
    sample.sent != Instant::NEVER
}

/// The intended instants are those of the schedule and no others, whatever the operations' fates.
fn intended_instants(rehearsal: &Rehearsal) -> Result<(), String> {
    if rehearsal.plan.unit == RateUnit::Keys {
        return intended_keys(rehearsal, &units(rehearsal));
    }
    let expected = expected_instants(rehearsal);
    let mut seen: Vec<Instant> = rehearsal.samples.iter().map(|sample| sample.intended).collect();
    seen.sort_unstable();
    let (Some(first), Some(expected_first)) = (seen.first(), expected.first()) else {
        return match rehearsal.plan.pacing {
            Pacing::Open { .. } if !rehearsal.record.partial => {
                equal("operations", seen.len() as u64, expected.len() as u64)
            }
            _ => Ok(()),
        };
    };
    let start = Instant::from_ns(first.ns() - expected_first.ns());
    if !rehearsal.record.partial {
        equal("operations of the schedule", seen.len() as u64, expected.len() as u64)?;
    }
    let mut expected = expected.iter().map(|at| start + *at);
    for at in seen {
        // A run that ended early lacks the operations after its end.
        if !expected.by_ref().any(|due| due == at) {
            return Err(format!("an operation was intended at {at:?}, when none was due"));
        }
    }
    Ok(())
}

/// The measured instants of all schedules, from the start; none in a closed loop.
fn expected_instants(rehearsal: &Rehearsal) -> Vec<Span> {
    let mut instants: Vec<Span> = units(rehearsal).into_values().collect();
    instants.sort_unstable();
    instants
}

/// The units of all schedules that are due in the window, by their number: operations or keys.
fn units(rehearsal: &Rehearsal) -> BTreeMap<u64, Span> {
    let plan = &rehearsal.plan;
    let Pacing::Open { arrival, curve, sharing, .. } = &plan.pacing else {
        return BTreeMap::new();
    };
    let own_stream = *sharing == Sharing::Connection;
    let count = if own_stream { plan.connections } else { u32::from(plan.workers) };
    let (from, to) = (plan.window.warmup, plan.window.warmup + plan.window.duration);
    let mut units = BTreeMap::new();
    for index in 0..count {
        let lane = Lane { index, count, own_stream };
        let mut schedule = Schedule::new(*arrival, curve.clone(), plan.seed, lane);
        while schedule.due().at < to {
            if schedule.due().at >= from {
                units.insert(schedule.due().index, schedule.due().at);
            }
            schedule.advance();
        }
    }
    units
}

/// Nothing is sent before it is intended or answered before it is sent, and each client sends in
/// the order of its schedule.
fn order(rehearsal: &Rehearsal) -> Result<(), String> {
    let mut sent: Vec<&Sample> = rehearsal.samples.iter().filter(|s| was_sent(s)).collect();
    for sample in &sent {
        let early = sample.received != Instant::NEVER && sample.received < sample.sent;
        if sample.sent < sample.intended || early {
            return Err(format!("time runs backwards in {sample:?}"));
        }
    }
    let Pacing::Open { sharing, .. } = &rehearsal.plan.pacing else { return Ok(()) };
    let workers = u32::from(rehearsal.plan.workers);
    let client = |sample: &Sample| match sharing {
        Sharing::Connection => sample.connection,
        Sharing::Shared => sample.connection % workers,
    };
    sent.sort_by_key(|sample| (client(sample), sample.sent, sample.intended));
    for pair in sent.windows(2) {
        if client(pair[0]) == client(pair[1]) && pair[1].intended < pair[0].intended {
            return Err(format!("{:?} was sent before {:?}", pair[0], pair[1]));
        }
    }
    Ok(())
}

/// Every answer that counts came in time, also when its worker stood still and looked late.
fn deadlines(rehearsal: &Rehearsal) -> Result<(), String> {
    let timeout = rehearsal.plan.timeout;
    let answered = rehearsal.samples.iter().filter(|sample| is_answered(sample.outcome));
    match answered.into_iter().find(|sample| sample.received.since(sample.intended) >= timeout) {
        Some(late) => Err(format!("answered after {timeout:?}: {late:?}")),
        None => Ok(()),
    }
}

/// The record's distributions equal those of the operations.
fn figures(rehearsal: &Rehearsal) -> Result<(), String> {
    let record = &rehearsal.record;
    match record.response.get(&Kind::All) {
        Some(said) => distributions("all", said, rehearsal, &|_| true, &response)?,
        // The run ended before anything was measured.
        None => equal("operations without figures", 0, rehearsal.samples.len() as u64)?,
    }
    for kind in OpKind::ALL {
        let name = kind.name();
        let of_kind = |sample: &Sample| sample.kind == kind;
        let sent = |sample: &Sample| of_kind(sample) && was_sent(sample);
        let said = record.response.get(&Kind::from(kind));
        distributions_or_none(name, said, rehearsal, &of_kind, &response)?;
        let said = record.service.get(&Kind::from(kind));
        distributions_or_none(name, said, rehearsal, &sent, &service)?;
    }
    Ok(())
}

/// Like [`distributions`]; where the record says none, no operation has a rank.
fn distributions_or_none(
    name: &str,
    said: Option<&Distribution>,
    rehearsal: &Rehearsal,
    belongs: &dyn Fn(&Sample) -> bool,
    time: &dyn Fn(&Sample) -> Span,
) -> Result<(), String> {
    match said {
        Some(said) => distributions(name, said, rehearsal, belongs, time),
        None => {
            let some = rehearsal.samples.iter().any(|s| belongs(s) && ranks(s));
            equal(name, 0, u64::from(some))
        }
    }
}

fn response(sample: &Sample) -> Span {
    sample.received.since(sample.intended)
}

fn service(sample: &Sample) -> Span {
    sample.received.since(sample.sent)
}

/// True if an operation has a rank in a distribution.
fn ranks(sample: &Sample) -> bool {
    sample.outcome != Outcome::Unacknowledged
}

fn distributions(
    name: &str,
    said: &Distribution,
    rehearsal: &Rehearsal,
    belongs: &dyn Fn(&Sample) -> bool,
    time: &dyn Fn(&Sample) -> Span,
) -> Result<(), String> {
    let ranked = rehearsal.samples.iter().filter(|sample| belongs(sample) && ranks(sample));
    let (mut times, mut count) = (Vec::new(), 0);
    for sample in ranked {
        count += 1;
        if is_answered(sample.outcome) {
            times.push(time(sample).ns());
        }
    }
    times.sort_unstable();
    equal(&format!("count of {name}"), said.count, count)?;
    equal(&format!("shortest of {name}"), said.min_ns.unwrap_or(0), first_or_zero(times.first()))?;
    let longest = said.longest_answered().unwrap_or(0);
    equal(&format!("longest of {name}"), longest, first_or_zero(times.last()))?;
    let sum: u128 = times.iter().map(|&ns| u128::from(ns)).sum();
    if said.sum_ns.0 != sum {
        return Err(format!("sum of {name}: the record says {:?}, it is {sum}", said.sum_ns));
    }
    let histogram = said.times().ok_or_else(|| format!("{name}: no histogram can be read"))?;
    let mut buckets = BTreeMap::new();
    for &ns in &times {
        *buckets.entry(bucket(ns)).or_insert(0) += 1;
    }
    let recorded: BTreeMap<u64, u64> =
        histogram.recorded().map(|(middle, count)| (bucket(middle), count)).collect();
    if recorded != buckets {
        return Err(format!("{name}: the histogram is {recorded:?}, it should be {buckets:?}"));
    }
    for percentile in Percentile::ALL {
        let Some(value) = said.percentile(percentile) else { continue };
        let rank = (percentile.fraction() * count as f64).ceil() as usize;
        let exact = times.get(rank - 1).copied();
        if exact.map(bucket) != Some(bucket(value)) {
            return Err(format!("{percentile} of {name}: {value} was said, {exact:?} is exact"));
        }
    }
    Ok(())
}

/// In a scenario that sends nothing after the window, nothing is sent then; and operations that
/// were due by then or in flight have a lower bound of their times.
fn cut_off(rehearsal: &Rehearsal) -> Result<(), String> {
    let (record, window) = (&rehearsal.record, rehearsal.plan.window);
    let (totals, response) = (&record.totals, record.response.get(&Kind::All));
    let bounds = response.and_then(|response| response.bounds.as_ref());
    let known = bounds.map_or(0, |bounds| bounds.count);
    if window.cooldown != Cooldown::Stop {
        return equal("operations that were cut off", known + totals.dropped_at_end, 0);
    }
    if record.partial {
        return Ok(());
    }
    equal("operations that were cut off", known, totals.dropped_at_end + totals.abandoned)?;
    let Pacing::Open { on_full, .. } = &rehearsal.plan.pacing else {
        return equal("operations of a closed loop that were dropped", totals.dropped, 0);
    };
    if *on_full == OnFull::Queue {
        equal("operations that were dropped", totals.dropped, totals.dropped_at_end)?;
    }
    let units = units(rehearsal);
    let begun = |sample: &Sample| Some(sample.intended.ns() - units.get(&sample.index)?.ns());
    let Some(start) = rehearsal.samples.first().and_then(begun) else { return Ok(()) };
    let end = Instant::from_ns(start) + window.warmup + window.duration;
    let late = |sample: &&Sample| was_sent(sample) && sample.sent >= end;
    match rehearsal.samples.iter().find(late) {
        Some(late) if !rehearsal.pauses => return Err(format!("sent after {end:?}: {late:?}")),
        _ => {}
    }
    let of = |outcome: Outcome, until: Instant| {
        let some = rehearsal.samples.iter().filter(move |sample| sample.outcome == outcome);
        some.map(move |sample| u128::from(until.since(sample.intended).ns())).sum::<u128>()
    };
    let sum = of(Outcome::Dropped, end) + of(Outcome::Abandoned, end + Span::from_s(1));
    let said = bounds.map_or(0, |bounds| bounds.sum_ns.0);
    if *on_full == OnFull::Queue && said != sum {
        return Err(format!("sum of bounds: the record says {said}, counting anew gives {sum}"));
    }
    Ok(())
}

fn first_or_zero(value: Option<&u64>) -> u64 {
    value.copied().unwrap_or(0)
}

/// The lowest value of the bucket of `ns`: 256 to the first 256, then 128 to each doubling.
fn bucket(ns: u64) -> u64 {
    let doubling = 63 - ns.max(1).leading_zeros();
    let width = 1_u64 << doubling.saturating_sub(7);
    ns - ns % width
}

/// Without a fault that makes values wrong, none is found wrong.
fn verification(rehearsal: &Rehearsal) -> Result<(), String> {
    use FaultKind::{Flip, OtherKey, Stale, Truncate};
    let spoils = |kind: FaultKind| matches!(kind, Flip | OtherKey | Stale | Truncate);
    let spoilt: u64 =
        rehearsal.faults.iter().filter(|(kind, _)| spoils(*kind)).map(|(_, count)| count).sum();
    let found = rehearsal.record.phases.verification();
    let wrong = found.corrupt + found.wrong_key + found.stale + found.truncated;
    equal("values checked", found.checked, found.ok + wrong)?;
    if spoilt == 0 { equal("wrong values of a right server", wrong, 0) } else { Ok(()) }
}

pub fn equal(what: &str, said: u64, counted: u64) -> Result<(), String> {
    if said == counted {
        return Ok(());
    }
    Err(format!("{what}: the record says {said}, counting anew gives {counted}"))
}
