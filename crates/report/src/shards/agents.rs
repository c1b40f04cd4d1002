//! The table of the agents that made the load of a run.

use super::shard_verdict;
use crate::layout::{TextLayout, TextTable, wrapped};
use crate::number::{NONE, or_none, percent, signed_time, time};
use memtide_record::{Lanes, ShardRecord, ShareRecord};

/// Largest number of agents with a row; the record has all.
const ROWS_MAX: usize = 64;
/// Columns that a narrow terminal may omit, least needed first.
const DISPENSABLE: [&str; 3] = ["lanes", "began late", "master ahead"];

/// Adds a row for each agent; nothing if no agent made load.
pub(crate) fn agents(out: &mut TextLayout, shards: &[ShardRecord]) {
    let all: Vec<(&str, &ShardRecord)> =
        shards.iter().filter_map(|shard| Some((name(shard)?, shard))).collect();
    if all.is_empty() {
        return;
    }
    let heading =
        ["agent", "share", "lanes", "CPU", "lag p99", "began late", "master ahead", "believable"];
    let mut table = TextTable::new(&heading, &DISPENSABLE);
    for (name, shard) in all.iter().take(ROWS_MAX) {
        table.row(row(name, shard));
    }
    out.push('\n');
    table.render(out);
    if let Some(more) = all.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        wrapped(out, "", "", &format!("and {more} more agents"));
    }
}

/// Name of the agent that carried out a share; none without one.
pub(super) fn name(shard: &ShardRecord) -> Option<&str> {
    Some(shard.share.as_ref()?.agent.as_ref()?.name.as_str())
}

fn row(name: &str, shard: &ShardRecord) -> Vec<String> {
    let share = shard.share.as_ref();
    let number = share.map(|share| share.number);
    let busiest = shard.client.worker_busy.iter().copied().reduce(f64::max);
    let late = share.and_then(began_late_ns).map(|ns| time(ns as f64));
    let verdict = shard_verdict(shard);
    vec![
        name.to_owned(),
        or_none(number),
        shard.lanes.map_or_else(|| NONE.to_owned(), lanes),
        or_none(busiest.filter(|_| shard.has_run()).map(percent)),
        or_none(shard.lag_p99_ns.map(|ns| time(ns as f64))),
        or_none(late),
        or_none(clock(shard)),
        verdict.to_owned(),
    ]
}

fn began_late_ns(share: &ShareRecord) -> Option<u64> {
    share.agent.as_ref()?.began_late_ns
}

fn lanes(lanes: Lanes) -> String {
    match lanes.count {
        1 => lanes.first.to_string(),
        count => format!("{}-{}", lanes.first, lanes.first.saturating_add(count) - 1),
    }
}

/// Lead of the master's clock over the agent's, with its largest error.
fn clock(shard: &ShardRecord) -> Option<String> {
    let reference = shard.clock.as_ref()?.reference?;
    let (ahead, error) = (signed_time(reference.ahead_ns), time(reference.error_max_ns as f64));
    Some(format!("{ahead} ± {error}"))
}
