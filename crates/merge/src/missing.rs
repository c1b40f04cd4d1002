//! Shares of a run that are absent from a merged record, or made no load: which they are, and how
//! much of the load they had.

use super::agree::lanes;
use memtide_base::Span;
use memtide_base::choice::RateUnit;
use memtide_record::{
    Check, CheckKind, CheckResult, EndedBy, MissingRecord, Phases, PlanRecord, ShardRecord,
};
use std::collections::BTreeSet;

/// The shares that are absent or did not run; none if all ran. Of `all` shares in the records,
/// `ran` made their load, whose counts are `phases`. Both are in the order of lanes.
pub(super) fn of(
    all: &[&ShardRecord],
    ran: &[&ShardRecord],
    phases: &Phases,
) -> Option<MissingRecord> {
    let lanes_total = lanes(all[0]).total;
    let of = all[0].share.as_ref()?.of;
    let mut gone = Vec::new();
    let mut next = 0;
    for lanes in ran.iter().map(|shard| lanes(shard)) {
        if next < lanes.first {
            gone.push([next, lanes.first - 1]);
        }
        next = next.max(lanes.first + lanes.count);
    }
    if next < lanes_total {
        gone.push([next, lanes_total - 1]);
    }
    assert!(gone.iter().all(|[first, last]| first <= last && *last < lanes_total), "gaps within");
    if gone.is_empty() {
        return None;
    }
    let shares = ran.iter().filter_map(|shard| shard.share.as_ref());
    let there: BTreeSet<u32> =
        shares.flat_map(|share| share.number..share.number + share.units).collect();
    Some(MissingRecord {
        shares: (0..of).filter(|number| !there.contains(number)).collect(),
        lanes_total,
        unreported: unreported(ran, count(&gone), phases),
        lanes: gone,
    })
}

/// Sum of whole numbers; none if one is unknown, or if there is none.
pub(super) fn total(mut each: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let first = each.next()??;
    each.try_fold(first, |sum, next| Some(sum.saturating_add(next?)))
}

/// Number of lanes in ranges.
fn count(lanes: &[[u32; 2]]) -> u32 {
    lanes.iter().map(|[first, last]| last - first + 1).sum()
}

/// Operations that the schedules of `gone` lanes called for in the measured window.
fn unreported(ran: &[&ShardRecord], gone: u32, phases: &Phases) -> Option<u64> {
    let are_counted_out = ran.iter().all(|shard| {
        shard.ended_by == EndedBy::Operations && !shard.partial && shard.planned.is_some()
    });
    let left = remaining(&ran.first()?.plan, phases);
    match left {
        Some(_) if are_counted_out => left,
        _ => Some(expected(ran, gone, phases)?.min(left.unwrap_or(u64::MAX))),
    }
}

/// The part of the run's number of operations that is left for absent lanes, as far as it falls
/// into the measured window; none if the run has no such number, or if that counts keys.
fn remaining(plan: &PlanRecord, phases: &Phases) -> Option<u64> {
    let ops_max = plan.ops_max.filter(|_| plan.unit() == RateUnit::Operations)?;
    let Phases { warmup, measure, cooldown, .. } = phases;
    let intended = [measure, warmup, cooldown].map(|phase| phase.totals.intended);
    let all = intended.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    let left = u128::from(ops_max.saturating_sub(all)) * u128::from(intended[0]);
    u64::try_from((left + u128::from(all / 2)) / u128::from(all.max(1))).ok()
}

/// Operations that the schedules of `gone` lanes call for in the longest window, by those that ran;
/// none where no schedule fixes the number.
fn expected(ran: &[&ShardRecord], gone: u32, phases: &Phases) -> Option<u64> {
    let planned = total(ran.iter().map(|shard| shard.planned))?;
    let plan = &ran.first()?.plan;
    let is_complete = ran.iter().all(|shard| !shard.partial);
    let longest = ran.iter().map(|shard| shard.window_ns).max()?;
    let (gone, there) = (f64::from(gone), ran.iter().map(|shard| f64::from(lanes(shard).count)));
    let expected = if plan.unit() == RateUnit::Keys {
        // The target counts keys: the lanes that ran tell how many operations these make.
        let there = there.zip(ran).map(|(lanes, shard)| match is_complete {
            true => lanes,
            false => lanes * (shard.window_ns as f64 / longest.max(1) as f64),
        });
        planned as f64 * gone / there.sum::<f64>()
    } else {
        let targets = ran.iter().map(|shard| shard.target());
        let target = targets.reduce(|a, b| Some(a? + b?)).flatten()?;
        let lanes: f64 = there.sum();
        let each = target.per_s / lanes * Span::from_ns(longest).as_s_f64();
        // With fixed arrivals all lanes together have an operation at each of equal steps, so the
        // rest belongs to the absent ones.
        match is_complete && plan.arrival == "fixed" {
            true => (each * (lanes + gone)).round() - phases.measure.totals.intended as f64,
            false => each * gone,
        }
    };
    // A negative number becomes 0.
    Some(expected.round() as u64)
}

/// The check that failed because shares are missing.
pub(super) fn check(missing: &MissingRecord, shards: &[&ShardRecord]) -> Check {
    let part = f64::from(count(&missing.lanes)) / f64::from(missing.lanes_total.max(1));
    Check {
        code: CheckKind::Shares,
        result: CheckResult::Failed,
        message: sentence(missing, shards, part),
        measured: Some(part),
        allowed: Some(0.0),
    }
}

/// Largest number of shares that are named one by one.
const NAMED_MAX: usize = 8;

/// Sentence on the missing shares: which they are, how much of the load, and their reasons, if
/// given.
fn sentence(missing: &MissingRecord, shards: &[&ShardRecord], part: f64) -> String {
    let of = shards[0].share.as_ref().map_or(0, |share| share.of);
    let percent = 100.0 * part;
    let numbers: BTreeSet<u32> = missing.shares.iter().copied().collect();
    let mut text = format!(
        "{} of {of} shares are missing, with {percent:.1} % of the load: share {} (lane {})",
        missing.shares.len(),
        ranges(&spans(&numbers)),
        ranges(&missing.lanes),
    );
    let mut why = shards.iter().filter_map(|shard| shard.share.as_ref()).filter_map(|share| {
        let why = share.not_run.as_ref().filter(|_| missing.shares.contains(&share.number))?;
        let agent = share.agent.as_ref().map(|agent| format!(" (agent {})", agent.name));
        Some(format!("share {}{} did not run: {why}", share.number, agent.unwrap_or_default()))
    });
    if let Some(first) = why.next() {
        text.push_str(&format!("; {first}"));
        match why.count() {
            0 => {}
            more => text.push_str(&format!(" (and {more} more)")),
        }
    }
    text
}

/// The first of these ranges, and the number of the others.
fn ranges(all: &[[u32; 2]]) -> String {
    let named = all.iter().take(NAMED_MAX).map(|[first, last]| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more ranges"),
    }
}

/// Joins numbers into ranges, each from its first to its last.
fn spans(numbers: &BTreeSet<u32>) -> Vec<[u32; 2]> {
    let mut spans: Vec<[u32; 2]> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some([_, last]) if *last + 1 == number => *last = number,
            _ => spans.push([number, number]),
        }
    }
    spans
}
