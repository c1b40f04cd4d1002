//! Seconds of several runs or shares as one load's.
//!
//! A second is counted whole, so that sums stay exact: in the merged second that holds its middle,
//! by the time of day for whole runs, and by the time since the common beginning for shares.

use super::rows::{Gaps, Stretches, covered, extend};
use memtide_base::Span;
use memtide_metrics::Histogram;
use memtide_record::{
    Interval, Phases, Record, SECONDS_MAX, SecondRecord, SettledCounts, ShardRecord, UnderWay,
};
use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

/// A second of a whole run: its beginning and end in ns since 1970, and its figures.
struct Placed {
    start: u64,
    end: u64,
    shard: usize,
    second: Interval,
}

/// Facts about all whole runs that are needed repeatedly.
struct Loads {
    /// From the beginning of each shard's seconds to their end.
    extents: Stretches,
    /// By server, the shard whose reports are kept: the first that queried it.
    asked: BTreeMap<String, usize>,
}

/// The seconds of all whole runs together; none if they would not add up to `phases` because a
/// shard has no seconds or does not say when they were.
pub(super) fn aligned(shards: &[ShardRecord], phases: &Phases) -> Vec<SecondRecord> {
    let each = shards.iter().enumerate().flat_map(|(number, shard)| placed(number, shard));
    let mut all: Vec<Placed> = each.collect();
    let (Some(zero), Some(end)) =
        (all.iter().map(|part| part.start).min(), all.iter().map(|part| part.end).max())
    else {
        return Vec::new();
    };
    // Counts by server add up only if all runs name the same servers.
    let mut names = shards.iter().map(|shard| shard.plan.servers.iter().map(|it| &it.name));
    let first = names.next();
    if names.any(|names| first.clone().is_some_and(|first| !names.eq(first))) {
        all.iter_mut().for_each(|part| part.second.servers.clear());
    }
    let mut width = all.iter().map(|part| part.end - part.start).max().unwrap_or(0).max(1);
    while (end - zero).div_ceil(width) > SECONDS_MAX as u64 {
        width *= 2;
    }
    let mut rows: BTreeMap<u64, Vec<&Placed>> = BTreeMap::new();
    for part in &all {
        let middle = part.start + (part.end - part.start) / 2;
        rows.entry((middle - zero) / width).or_default().push(part);
    }
    let loads = Loads::of(shards, &all);
    let mut gaps = Gaps::new(width);
    let mut seconds = Vec::new();
    for (number, of) in rows {
        let mut when = Stretches::new();
        of.iter()
            .for_each(|part| extend(&mut when, part.shard, part.start - zero..part.end - zero));
        let gap = gaps.before(number, &when);
        seconds.extend(gap.map(|start| Interval { start, ..Interval::default() }));
        let start = Span::from_ns(number.saturating_mul(width));
        seconds.push(Interval { start, length: covered(&when), ..loads.together(&of) });
    }
    checked(seconds, phases)
}

/// The seconds of a whole run; none if it does not say when its load began.
fn placed(number: usize, shard: &ShardRecord) -> impl Iterator<Item = Placed> {
    let load = shard.load_began_unix_ns();
    shard.seconds.iter().filter_map(move |second| {
        let second = Interval::of_record(second);
        let start = load?.checked_add(second.start.ns())?;
        let end = start.checked_add(second.length.ns())?;
        Some(Placed { start, end, shard: number, second })
    })
}

/// `seconds` as a record has them; none if they do not add up to `phases`.
fn checked(seconds: Vec<Interval>, phases: &Phases) -> Vec<SecondRecord> {
    let Phases { warmup, measure, cooldown, .. } = phases;
    let load = [warmup, measure, cooldown].map(|phase| SettledCounts::from(&phase.totals));
    // Records keep no times of seconds.
    let unknown = Histogram::new();
    let seconds: Vec<SecondRecord> = seconds.iter().map(|it| it.record(&unknown)).collect();
    match total(seconds.iter().map(|it| it.counts)) == total(load.into_iter()) {
        true => seconds,
        false => Vec::new(),
    }
}

fn total(all: impl Iterator<Item = SettledCounts>) -> SettledCounts {
    all.fold(SettledCounts::default(), |sum, of| sum.plus(&of))
}

impl Loads {
    fn of(shards: &[ShardRecord], all: &[Placed]) -> Self {
        let mut extents = Stretches::new();
        all.iter().for_each(|part| extend(&mut extents, part.shard, part.start..part.end));
        let mut asked = BTreeMap::new();
        for (number, shard) in shards.iter().enumerate() {
            for server in shard.server.during.keys() {
                asked.entry(server.clone()).or_insert(number);
            }
        }
        Self { extents, asked }
    }

    /// One merged second of those in `row`: first those of each shard, then of all shards.
    fn together(&self, row: &[&Placed]) -> Interval {
        let mut shards: BTreeMap<usize, Interval> = BTreeMap::new();
        for part in row {
            let sum = shards.entry(part.shard);
            sum.and_modify(|sum| sum.then(&part.second)).or_insert_with(|| part.second.clone());
        }
        for (shard, second) in &mut shards {
            second.reports.retain(|server, _| self.asked.get(server) == Some(shard));
        }
        let mut sum = Interval::merged(shards.values()).unwrap_or_default();
        // A shard that was running and has no second here leaves the state at the end unknown.
        let (from, until) = row
            .iter()
            .fold((u64::MAX, 0), |(from, until), part| (from.min(part.start), until.max(part.end)));
        let running = self.extents.iter().filter(|(_, of)| of.start < until && of.end > from);
        if running.map(|(shard, _)| shard).any(|shard| !shards.contains_key(shard)) {
            sum.under_way = UnderWay::default();
            sum.servers.iter_mut().for_each(|server| server.connections_open = None);
        }
        sum
    }
}

/// The seconds of shares of one run, by the time since the common beginning: rows that follow each
/// other. A share that stood still has a long one, and the row that holds it is as long.
#[derive(Clone, Default)]
pub(super) struct Shared(Vec<Interval>);

impl Shared {
    /// Adds the seconds of a record: a share, or merged from shares.
    pub(super) fn absorb(&mut self, record: &Record) {
        let rows = mem::take(&mut self.0);
        let own: Vec<Interval> = record.seconds.iter().map(Interval::of_record).collect();
        let passed_over = joined(rows.iter().chain(&own).map(Interval::passed_over).collect());
        // By the whole second at which a row ends, first what was there and then what is added.
        let mut parts: BTreeMap<u64, [Option<Interval>; 2]> = BTreeMap::new();
        for (side, parts_of) in [rows, own].into_iter().enumerate() {
            for part in parts_of {
                let end = row_end(part.second(), &passed_over);
                match &mut parts.entry(end).or_default()[side] {
                    Some(sum) => sum.then(&part),
                    none => *none = Some(part),
                }
            }
        }
        let mut until = Span::ZERO;
        for of_row in parts.into_values() {
            let start = until;
            until = of_row.iter().flatten().map(Interval::end).fold(until, Span::max);
            let sum = Interval::merged(of_row.iter().flatten()).unwrap_or_default();
            self.0.push(Interval { start, length: until.saturating_sub(start), ..sum });
        }
    }

    /// The sums as a record has them; none if they do not add up to `phases`.
    pub(super) fn seal(self, phases: &Phases) -> Vec<SecondRecord> {
        checked(self.0, phases)
    }
}

/// These ranges in order, those that touch each other as one; empty ones are left out.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

/// The first whole second after `second` that is not `passed_over`.
fn row_end(second: u64, passed_over: &[Range<u64>]) -> u64 {
    let end = second.saturating_add(1);
    let next = passed_over.partition_point(|range| range.end <= end);
    passed_over.get(next).filter(|range| range.contains(&end)).map_or(end, |range| range.end)
}
