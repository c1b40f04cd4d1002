//! Lines of a merged record: its parts, the start skew, and shares that are missing or conspicuous.

mod agents;

pub(crate) use agents::agents;

use crate::layout::{TextLayout, labelled};
use crate::number::{counted, time, whole};
use memtide_record::{AlignedBy, AlignmentRecord, Record, ShardRecord, Verdict};

/// Largest number of shares that are named as conspicuous.
const NAMED_MAX: usize = 3;

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
    let units = |shard: &&ShardRecord| shard.share.as_ref().map_or(1, |share| share.units);
    let there: u32 = ran.iter().map(units).sum();
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
            Some((shard.share.as_ref()?.number, agents::name(shard), why))
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

#[cfg(test)]
mod tests;
