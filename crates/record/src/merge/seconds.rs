//! Aligns the seconds of shards by the time of day, as their rows are.
//!
//! A second is counted whole, in the merged second that holds its middle, so that sums stay exact.

use super::window::{covered, extend};
use crate::record::{
    Phases, SecondRecord, ServerReport, ServerSecond, SettledCounts, ShardRecord, UnderWay,
};
use memtide_base::Span;
use std::collections::BTreeMap;

/// Largest number of merged seconds.
const SECONDS_MAX: u64 = 1024;

/// A second of a shard: its beginning and end in ns since 1970, and its counts.
struct ShareSecond<'a> {
    start: u64,
    end: u64,
    shard: usize,
    second: &'a SecondRecord,
}

/// Facts about all shards that are needed repeatedly.
struct Loads {
    /// Beginning and end of each shard's seconds.
    extents: BTreeMap<usize, (u64, u64)>,
    /// Number of servers if all shards have the same number; else 0.
    servers: usize,
    /// By server, the shard whose reports are kept: the first that queried it.
    asked: BTreeMap<String, usize>,
}

/// The seconds of all shards together; none if they would not add up to `phases` because a shard
/// has no seconds or does not say when they were.
pub(super) fn aligned(shards: &[ShardRecord], phases: &Phases) -> Vec<SecondRecord> {
    let each = shards.iter().enumerate().flat_map(|(number, shard)| parts(number, shard));
    let parts: Vec<ShareSecond<'_>> = each.collect();
    let (Some(zero), Some(end)) =
        (parts.iter().map(|part| part.start).min(), parts.iter().map(|part| part.end).max())
    else {
        return Vec::new();
    };
    let mut width = parts.iter().map(|part| part.end - part.start).max().unwrap_or(0).max(1);
    while (end - zero).div_ceil(width) > SECONDS_MAX {
        width *= 2;
    }
    let mut rows: BTreeMap<u64, Vec<&ShareSecond<'_>>> = BTreeMap::new();
    for part in &parts {
        let middle = part.start + (part.end - part.start) / 2;
        rows.entry((middle - zero) / width).or_default().push(part);
    }
    let loads = Loads::of(shards, &parts);
    let seal = |(number, of): (&u64, &Vec<&ShareSecond<'_>>)| {
        let start = Span::from_ns(number.saturating_mul(width));
        let mut when = BTreeMap::new();
        of.iter().for_each(|part| extend(&mut when, part.shard, part.start..part.end));
        merged(of, &loads, (start, covered(&when)))
    };
    let seconds: Vec<SecondRecord> = rows.iter().map(seal).collect();
    let sum = seconds.iter().fold(SettledCounts::default(), |sum, of| sum.plus(&of.counts));
    if sum == of_load(phases) { seconds } else { Vec::new() }
}

/// The seconds of a shard; none if it does not say when its load began.
fn parts(number: usize, shard: &ShardRecord) -> impl Iterator<Item = ShareSecond<'_>> {
    let window = shard.window_start_unix_ns.and_then(|start| u64::try_from(start.0).ok());
    let warmup = Span::from_s_f64(shard.plan.warmup_s).ns();
    let load = window.and_then(|start| start.checked_sub(warmup));
    shard.seconds.iter().filter_map(move |second| {
        let start = load?.checked_add(Span::from_s_f64(second.start_s).ns())?;
        let end = start.checked_add(Span::from_s_f64(second.length_s).ns())?;
        Some(ShareSecond { start, end, shard: number, second })
    })
}

/// Outcomes over the whole load.
pub(super) fn of_load(phases: &Phases) -> SettledCounts {
    let Phases { warmup, measure, cooldown, .. } = phases;
    let each = [warmup, measure, cooldown].map(|phase| SettledCounts::from(&phase.totals));
    each.iter().fold(SettledCounts::default(), |sum, of| sum.plus(of))
}

impl Loads {
    fn of(shards: &[ShardRecord], parts: &[ShareSecond<'_>]) -> Self {
        let mut extents: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for part in parts {
            let extent = extents.entry(part.shard).or_insert((part.start, part.end));
            *extent = (extent.0.min(part.start), extent.1.max(part.end));
        }
        let names = |shard: &ShardRecord| -> Vec<String> {
            shard.plan.servers.iter().map(|server| server.name.clone()).collect()
        };
        let first = shards.first().map(names).unwrap_or_default();
        let alike = shards.iter().all(|shard| names(shard) == first);
        let mut asked = BTreeMap::new();
        for (number, shard) in shards.iter().enumerate() {
            for server in shard.server.during.keys() {
                asked.entry(server.clone()).or_insert(number);
            }
        }
        Self { extents, servers: if alike { first.len() } else { 0 }, asked }
    }

    /// The last second in `row` of each shard that was running then; none if a shard has no second
    /// there, so that its in flight and backlog are unknown.
    fn ends<'a>(&self, row: &[&ShareSecond<'a>]) -> Option<Vec<&'a SecondRecord>> {
        let (from, until) =
            (row.iter().map(|of| of.start).min()?, row.iter().map(|of| of.end).max()?);
        let mut last: BTreeMap<usize, &ShareSecond<'a>> = BTreeMap::new();
        for part in row {
            let known = last.entry(part.shard).or_insert(part);
            if known.end < part.end {
                *known = part;
            }
        }
        let running = self.extents.iter().filter(|(_, of)| of.0 < until && of.1 > from);
        running.map(|(shard, _)| Some(last.get(shard)?.second)).collect()
    }
}

/// One merged second of those in `row`, with what was in flight in each shard at the end of its
/// last one.
fn merged(row: &[&ShareSecond<'_>], loads: &Loads, (start, length): (Span, Span)) -> SecondRecord {
    let counts = row.iter().fold(SettledCounts::default(), |sum, of| sum.plus(&of.second.counts));
    let ends = loads.ends(row);
    let (servers, no_server) = by_server(row, loads.servers, ends.as_deref());
    SecondRecord {
        start_s: start.as_s_f64(),
        length_s: length.as_s_f64(),
        counts,
        under_way: ends.as_deref().map(under_way).unwrap_or_default(),
        servers,
        no_server,
        reports: reports(row, loads),
        ..SecondRecord::default()
    }
}

/// Each server's report to the shard whose reports are kept.
fn reports(row: &[&ShareSecond<'_>], loads: &Loads) -> BTreeMap<String, ServerReport> {
    let mut reports = BTreeMap::new();
    for part in row {
        let told = part.second.reports.iter();
        let told = told.filter(|(server, _)| loads.asked.get(*server) == Some(&part.shard));
        let told = told.map(|(server, report)| (server.clone(), *report)).collect();
        ServerReport::append(&mut reports, &told);
    }
    reports
}

fn under_way(ends: &[&SecondRecord]) -> UnderWay {
    let each = || ends.iter().map(|second| &second.under_way);
    let sum = |of: fn(&UnderWay) -> Option<u64>| {
        each().map(of).reduce(|a, b| Some(a?.saturating_add(b?))).flatten()
    };
    UnderWay {
        in_flight: sum(|of| of.in_flight),
        backlog: sum(|of| of.backlog),
        oldest_due_s: each().map(|of| of.oldest_due_s).reduce(|a, b| Some(a?.max(b?))).flatten(),
        connections_open: sum(|of| of.connections_open),
    }
}

/// The counts of each of the `servers`, if all seconds in `row` have them.
fn by_server(
    row: &[&ShareSecond<'_>],
    servers: usize,
    ends: Option<&[&SecondRecord]>,
) -> (Vec<ServerSecond>, Option<SettledCounts>) {
    if !row.iter().all(|of| of.second.servers.len() == servers) {
        return (Vec::new(), None);
    }
    let server = |number: usize| ServerSecond {
        counts: row
            .iter()
            .fold(SettledCounts::default(), |sum, of| sum.plus(&of.second.servers[number].counts)),
        connections_open: ends.and_then(|ends| {
            let open = ends.iter().map(|second| second.servers.get(number)?.connections_open);
            open.reduce(|a, b| Some(a?.saturating_add(b?))).flatten()
        }),
    };
    let none = row.iter().filter_map(|of| of.second.no_server).reduce(|a, b| a.plus(&b));
    ((0..servers).map(server).collect(), none)
}
