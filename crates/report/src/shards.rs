//! Lines of a merged record: its parts, the start skew, and shares that are missing or conspicuous;
//! and a row for each agent that made its load.

use crate::layout::{TextLayout, TextTable, labelled, wrapped};
use crate::number::{NONE, counted, or_none, percent, signed_time, time, whole};
use memtide_record::{
    AlignedBy, AlignmentRecord, Lanes, Record, ShardRecord, ShareRecord, Verdict,
};

/// Largest number of shares that are named as conspicuous.
const NAMED_MAX: usize = 3;
/// Largest number of agents with a row; the record has all.
const ROWS_MAX: usize = 64;
/// Columns that a narrow terminal may omit, least needed first.
const DISPENSABLE: [&str; 3] = ["lanes", "began late", "master ahead"];

/// Adds the lines of a merged record; none if the record was not merged.
pub(crate) fn shards(out: &mut TextLayout, record: &Record) {
    let count = record.shards.len() as u64;
    if count == 0 {
        return;
    }
    if let Some(alignment) = &record.alignment {
        return shares(out, record, alignment);
    }
    let mut text = format!("{} merged", counted(count, "run"));
    if !record.is_one_load() {
        text.push_str(
            "; they did not run at the same time, so each rate is a mean over the time in which at \
             least one of them measured",
        );
    } else if let Some(skew_ns) = record.start_skew_ns {
        text.push_str(&format!("; start skew {}", time(skew_ns as f64)));
    }
    labelled(out, "runs", &text);
}

/// Adds the lines of shares of one run.
fn shares(out: &mut TextLayout, record: &Record, alignment: &AlignmentRecord) {
    let ran: Vec<&ShardRecord> = record.shards.iter().filter(|shard| shard.has_run()).collect();
    let share = record.shards[0].share.as_ref();
    let of = share.map_or(0, |share| u64::from(share.of));
    let units = ran.iter().map(|shard| shard.share.as_ref().map_or(1, |share| share.units));
    let there: u32 = units.sum();
    let mut text = format!("{} of {} merged", whole(u64::from(there)), counted(of, "share"));
    let why = &alignment.why;
    match record.start_skew_ns {
        Some(skew_ns) if record.is_one_load() => {
            text.push_str(&format!("; start skew {}", time(skew_ns as f64)));
            let error_ns = alignment.error_max_ns.filter(|error_ns| *error_ns > 0);
            if let Some(error_ns) = error_ns {
                text.push_str(&format!(" (± {})", time(error_ns as f64)));
            }
        }
        _ if !record.is_one_load() && alignment.by == AlignedBy::Unknown => {
            text.push_str(
                "; they did not run at the same time, as far as their clocks can tell, so they \
                 are not one load",
            );
        }
        _ if !record.is_one_load() => {
            text.push_str("; they did not run at the same time, so they are not one load");
        }
        _ => text.push_str(&format!("; start skew unknown: {why}")),
    }
    if alignment.by == AlignedBy::Unknown && record.is_one_load() {
        text.push_str("; rows are compared by the schedule");
    }
    labelled(out, "shares", &text);
    worst(out, &ran);
}

/// Adds the shares with the worst figures, if some cannot be believed.
fn worst(out: &mut TextLayout, ran: &[&ShardRecord]) {
    let mut bad: Vec<(u32, Option<&str>, &str)> = ran
        .iter()
        .filter(|shard| !shard.believable.holds())
        .filter_map(|shard| {
            let why = shard.believable.reasons.first().map_or("", |reason| reason.message.as_str());
            Some((shard.share.as_ref()?.number, name(shard), why))
        })
        .collect();
    bad.sort_unstable();
    for (number, agent, why) in bad.iter().take(NAMED_MAX) {
        let who = match agent {
            Some(name) => format!("agent {name} (share {number})"),
            None => format!("share {number}"),
        };
        labelled(out, "", &format!("{who}: {why}"));
    }
    if bad.len() > NAMED_MAX {
        labelled(out, "", &format!("and {} more shares like these", bad.len() - NAMED_MAX));
    }
}

/// Verdict on the figures of one of several processes, in a word.
pub(crate) fn shard_verdict(shard: &ShardRecord) -> &'static str {
    match shard.believable.verdict {
        _ if !shard.has_run() => "did not run",
        Verdict::Yes => "yes",
        Verdict::Within => "within",
        Verdict::No => "no",
    }
}

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
fn name(shard: &ShardRecord) -> Option<&str> {
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

#[cfg(test)]
mod tests;
