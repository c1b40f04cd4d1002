//! Merges shares of one run into one record.
//!
//! Everything here is a sum, a union or an order that does not depend on the order of arrival, so
//! that any grouping gives the same record. A share keeps no rows of its own: all shares have one
//! schedule, and row *i* of each is the same stretch of it.

mod clocks;
mod counters;
mod rows;
mod own;

pub use own::beside;

use super::sum::Sums;
use super::{MergeError, agree, exit, facts, judgement, worse};
use crate::judge::judge;
use crate::record::{
    Check, CheckKind, CheckResult, ClientRecord, EndedBy, Lanes, MissingRecord, RateRecord, Reason,
    Record, ServerCounters, ShardRecord, ShareRecord, Verdict, WarningRecord,
};
use clocks::Compared;
use memtide_base::Span;
use rows::Rows;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Shares read so far.
#[derive(Clone, Default)]
pub(super) struct Shares {
    sums: Sums,
    rows: Rows,
    server: ServerCounters,
    /// The words on which all shares agree.
    scenario: Option<Map<String, Value>>,
    decided: Option<BTreeMap<String, String>>,
    /// The shares, each with the number of the record that contained it.
    shards: Vec<(usize, ShardRecord)>,
}

/// True if `record` is a share of a run, or was merged from shares.
pub(super) fn is_of_shares(record: &Record) -> bool {
    record.share.is_some() || record.shards.first().is_some_and(|shard| shard.share.is_some())
}

impl Shares {
    /// Adds record number `at`: a share, or merged from shares.
    pub(super) fn absorb(&mut self, at: usize, record: Record) -> Result<(), MergeError> {
        let damaged = |why| MergeError::Damaged { record: at, why };
        record.check_conservation().map_err(damaged)?;
        if record.share.as_ref().is_some_and(|share| share.agent.is_some()) {
            record.check_servers().map_err(damaged)?;
        }
        self.sums.absorb(&record).map_err(damaged)?;
        self.rows.absorb(&record).map_err(damaged)?;
        counters::absorb(&mut self.server, &record.server);
        let new = match record.shards.is_empty() {
            true => vec![reduced(&record)],
            false => record.shards,
        };
        for shard in new {
            plausible(&shard).map_err(damaged)?;
            if let Some((one, first)) = self.shards.first() {
                let ours = self.scenario.as_ref().unwrap_or(&record.scenario);
                alike([(*one, first, ours), (at, &shard, &record.scenario)])?;
            }
            self.shards.push((at, shard));
        }
        match &mut self.scenario {
            Some(words) => words.retain(|name, word| record.scenario.get(name) == Some(word)),
            none => *none = Some(record.scenario),
        }
        match &mut self.decided {
            Some(words) => words.retain(|name, word| record.plan.decided.get(name) == Some(word)),
            none => *none = Some(record.plan.decided),
        }
        Ok(())
    }

    /// The merged record.
    pub(super) fn compose(mut self) -> Result<Record, MergeError> {
        self.shards.sort_by(|(_, a), (_, b)| order(a, b));
        apart(&self.shards)?;
        let shards: Vec<ShardRecord> = self.shards.into_iter().map(|(_, shard)| shard).collect();
        let there: u32 = shards.iter().filter(|s| s.has_run()).map(|s| lanes(s).count).sum();
        assert!(there <= LANES_MAX, "shares that overlap or have too many lanes are errors");
        let ran = || shards.iter().filter(|shard| shard.has_run());
        let compared = Compared::of(&shards);
        let rate = rate(&shards, &compared, &self.sums);
        let ended = ran().map(|shard| shard.ended_by).reduce(worse);
        let mut record = Record {
            ended_by: ended.unwrap_or(EndedBy::NotRun),
            aborted: shards.iter().find_map(|shard| shard.aborted.clone()),
            loop_kind: shards[0].plan.loop_kind,
            scenario: self.scenario.unwrap_or_default(),
            tags: facts::tags(&shards),
            plan: facts::plan_of_shares(&shards, self.decided.unwrap_or_default()),
            machine: facts::machine(&shards),
            started_unix_ms: shards.iter().map(|s| s.started_unix_ms).fold(u64::MAX, u64::min),
            ended_unix_ms: shards.iter().map(|s| s.ended_unix_ms).fold(0, u64::max),
            window_start_unix_ns: ran().filter_map(|s| s.window_start_unix_ns).min_by_key(|s| s.0),
            window_ns: compared.window_ns,
            measured_s: Span::from_ns(compared.window_ns).as_s_f64(),
            answered_until_s: ran().filter_map(|s| s.answered_until_s).reduce(f64::max),
            start_skew_ns: compared.skew_ns,
            alignment: Some(compared.alignment.clone()),
            server: self.server,
            rate,
            client: client(&shards, &self.sums.sent_in_window),
            machine_cpu: facts::machine_cpu(&shards),
            ..Record::default()
        };
        self.sums.seal(&mut record);
        let longest = ran().map(|shard| shard.window_ns).max().unwrap_or(0);
        self.rows.seal(&mut record, Span::from_ns(longest));
        record.missing = missing(&shards, record.totals.intended);
        record.planned = planned(&shards, &record);
        record.partial = record.missing.is_some() || ran().any(|shard| shard.partial);
        if let Some(churn) = &mut record.churn {
            churn.target_per_s = sum(ran().map(|shard| shard.churn_target_per_s));
        }
        judged(&mut record, &shards);
        record.shards = shards;
        Ok(record)
    }
}

/// Judges the record: verdict, warnings, goals and exit code.
fn judged(record: &mut Record, shards: &[ShardRecord]) {
    let ran: Vec<ShardRecord> = shards.iter().filter(|s| s.has_run()).cloned().collect();
    record.believable = judgement::believable(&ran);
    let warnings = judge_counters(record, &ran);
    let believable = &mut record.believable;
    if ran.is_empty() {
        believable.verdict = Verdict::No;
    }
    if let Some(missing) = &record.missing {
        let message = sentence(missing, shards);
        let gone: u32 = missing.lanes.iter().map(|[first, last]| last - first + 1).sum();
        let measured = Some(f64::from(gone) / f64::from(missing.lanes_total.max(1)));
        let (code, result) = (CheckKind::Shares, CheckResult::Failed);
        believable.reasons.push(Reason {
            code,
            message: message.clone(),
            measured,
            allowed: Some(0.0),
        });
        believable.checks.push(Check { code, result, message, measured, allowed: Some(0.0) });
        believable.verdict = believable.verdict.max(Verdict::Within);
    }
    record.warnings = judgement::warnings(&ran, record);
    record.warnings.retain(|it| !counters::JUDGED_ANEW.contains(&it.code.as_str()));
    record.warnings.extend(warnings);
    record.goals = judge(&agree::goals_of(&record.scenario), record);
    record.exit = exit(record);
    if record.exit == 0 && record.missing.is_some() {
        record.exit = crate::Exit::Failed.code();
    }
}

/// Compares the servers' counters with what was sent; returns a warning if they differ.
fn judge_counters(record: &mut Record, ran: &[ShardRecord]) -> Option<WarningRecord> {
    let believable = &mut record.believable;
    believable.checks.retain(|check| check.code != CheckKind::ServerCounters);
    believable.reasons.retain(|reason| reason.code != CheckKind::ServerCounters);
    let (check, warning) = counters::judged(record, ran);
    let believable = &mut record.believable;
    if check.result == CheckResult::Failed {
        believable.verdict = Verdict::No;
        believable.reasons.push(Reason {
            code: check.code,
            message: check.message.clone(),
            measured: check.measured,
            allowed: check.allowed,
        });
    }
    believable.checks.push(check);
    warning
}

/// Largest number of shares that are named one by one.
const NAMED_MAX: usize = 8;

/// Sentence on the missing shares: which they are, how much of the load, and their reasons, if
/// given.
///
/// Cause: `shares`: the record does not contain all shares of the run.
///
/// To do: Merge the records of all shares, or repeat the run.
fn sentence(missing: &MissingRecord, shards: &[ShardRecord]) -> String {
    let of = shards[0].share.as_ref().map_or(0, |share| share.of);
    let ranges = |all: &[[u32; 2]]| {
        let word = |&[first, last]: &[u32; 2]| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let named: Vec<String> = all.iter().take(NAMED_MAX).map(word).collect();
        let more = match all.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more ranges"),
        };
        format!("{}{more}", named.join(", "))
    };
    let gone: u64 = missing.lanes.iter().map(|[first, last]| u64::from(last - first) + 1).sum();
    let percent = 100.0 * gone as f64 / f64::from(missing.lanes_total.max(1));
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

/// The part of a share that a merged record keeps.
fn reduced(record: &Record) -> ShardRecord {
    let mut shard = ShardRecord::of(record);
    shard.rows = Some(rows::of(record));
    shard.scenario.clear();
    shard.server = ServerCounters::default();
    (shard.intervals, shard.slices, shard.seconds) = (Vec::new(), Vec::new(), Vec::new());
    shard.plan.why.clear();
    shard.plan.decided.clear();
    shard
}

/// Largest number of lanes of a run.
const LANES_MAX: u32 = u16::MAX as u32;
/// Largest length of an agent's name in bytes: that of a host name.
const NAME_MAX: usize = 253;

/// The lanes of a share that passed [`plausible`].
fn lanes(shard: &ShardRecord) -> Lanes {
    shard.lanes.unwrap_or_default()
}

/// Checks that the facts of a share about itself are possible.
///
/// Cause: The figures of a share contradict each other: its record was edited or cut off.
///
/// To do: Merge records as they were written.
fn plausible(shard: &ShardRecord) -> Result<(), String> {
    let (Some(share), Some(lanes)) = (&shard.share, &shard.lanes) else {
        return Err("the lanes of its share are missing".to_owned());
    };
    // Every share has the same number of lanes, and shares follow each other.
    let each = u64::from(lanes.count) / u64::from(share.units.max(1));
    let all = each * u64::from(share.of);
    let (first, count) = (each * u64::from(share.number), each * u64::from(share.units));
    let fits = [all, first, count] == [lanes.total, lanes.first, lanes.count].map(u64::from);
    let is_of_run = share.number < share.of && share.units <= share.of - share.number;
    if each == 0 || !fits || !is_of_run || lanes.total > LANES_MAX {
        return Err(format!(
            "share {} of {} cannot have {} lanes from {} on of {}",
            share.number, share.of, lanes.count, lanes.first, lanes.total
        ));
    }
    let agent = share.agent.as_ref();
    let is_name =
        |name: &str| (1..=NAME_MAX).contains(&name.len()) && !name.chars().any(char::is_control);
    if agent.is_some_and(|agent| !is_name(&agent.name)) {
        return Err(format!(
            "the name of its agent is not 1 to {NAME_MAX} bytes without control characters"
        ));
    }
    let start = shard.window_start_unix_ns.map_or(Some(0), |start| u64::try_from(start.0).ok());
    if start.and_then(|start| start.checked_add(shard.window_ns)).is_none() {
        return Err("the start of its window is not a valid time".to_owned());
    }
    Ok(())
}

/// The order by lanes; further keys only make the order total.
fn order(a: &ShardRecord, b: &ShardRecord) -> Ordering {
    let key = |shard: &ShardRecord| (lanes(shard).first, !shard.has_run(), lanes(shard).count);
    let text = |shard: &ShardRecord| serde_json::to_string(shard).ok();
    key(a).cmp(&key(b)).then_with(|| text(a).cmp(&text(b)))
}

type Known<'a> = (usize, &'a ShardRecord, &'a Map<String, Value>);

/// Checks that two shares belong to one run.
fn alike([(one, a, ours), (other, b, theirs)]: [Known<'_>; 2]) -> Result<(), MergeError> {
    let records = [one, other];
    let (Some(of_a), Some(of_b)) = (&a.share, &b.share) else { return Ok(()) };
    if of_a.scenario_digest != of_b.scenario_digest {
        let (field, words) = match agree::difference(ours, theirs) {
            Some(field) => (field, [ours, theirs].map(|words| agree::word(words.get(field)))),
            None => ("the digest", [of_a, of_b].map(|share| Some(share.scenario_digest.clone()))),
        };
        return Err(MergeError::Unlike { records, field: field.to_owned(), words });
    }
    let (x, y) = (lanes(a), lanes(b));
    if (x.total, of_a.of) != (y.total, of_b.of) {
        let words = [(x.total, of_a.of), (y.total, of_b.of)];
        let words = words.map(|(lanes, of)| Some(format!("{of} with {lanes} lanes")));
        return Err(MergeError::Unlike { records, field: "the number of shares".into(), words });
    }
    Ok(())
}

/// Checks that no lane is in two shares that ran. The shards are in order.
fn apart(shards: &[(usize, ShardRecord)]) -> Result<(), MergeError> {
    for pair in shards.windows(2) {
        let records = [pair[0].0.min(pair[1].0), pair[0].0.max(pair[1].0)];
        if pair[0].1 == pair[1].1 {
            return Err(MergeError::Twice { records });
        }
    }
    let ran: Vec<&(usize, ShardRecord)> = shards.iter().filter(|(_, s)| s.has_run()).collect();
    for pair in ran.windows(2) {
        let (a, b) = (lanes(&pair[0].1), lanes(&pair[1].1));
        if a.first + a.count > b.first {
            let records = [pair[0].0, pair[1].0];
            let last = (a.first + a.count).min(b.first + b.count) - 1;
            return Err(MergeError::Overlap { records, lanes: [b.first, last] });
        }
    }
    Ok(())
}

/// The shares that are absent or did not run; none if all ran.
fn missing(shards: &[ShardRecord], intended: u64) -> Option<MissingRecord> {
    let total = lanes(&shards[0]).total;
    let of = shards[0].share.as_ref()?.of;
    let mut gone = Vec::new();
    let mut next = 0;
    let ran = || shards.iter().filter(|shard| shard.has_run());
    for lanes in ran().map(lanes) {
        if next < lanes.first {
            gone.push([next, lanes.first - 1]);
        }
        next = next.max(lanes.first + lanes.count);
    }
    if next < total {
        gone.push([next, total - 1]);
    }
    assert!(gone.iter().all(|[first, last]| first <= last && *last < total), "gaps lie within");
    if gone.is_empty() {
        return None;
    }
    let numbers = |share: &ShareRecord| share.number..share.number + share.units;
    let there: BTreeSet<u32> =
        ran().filter_map(|shard| shard.share.as_ref()).flat_map(numbers).collect();
    Some(MissingRecord {
        shares: (0..of).filter(|number| !there.contains(number)).collect(),
        lanes_total: total,
        unreported: unreported(shards, &gone, intended),
        lanes: gone,
    })
}

/// Operations that the schedules of absent lanes called for.
fn unreported(shards: &[ShardRecord], gone: &[[u32; 2]], intended: u64) -> Option<u64> {
    let ran = || shards.iter().filter(|shard| shard.has_run());
    let lanes_there: u32 = ran().map(|shard| lanes(shard).count).sum();
    let lanes_gone: u32 = gone.iter().map(|[first, last]| last - first + 1).sum();
    sum_whole(ran().map(|shard| shard.planned))?;
    let target = sum(ran().map(|shard| shard.rate.target_per_s))?;
    let length = Span::from_ns(ran().map(|shard| shard.window_ns).max()?).as_s_f64();
    let each = target / f64::from(lanes_there.max(1)) * length;
    let complete = ran().all(|shard| !shard.partial);
    if complete && shards[0].plan.arrival == "fixed" {
        // All lanes together have an operation at each of equal steps, so the rest belongs to the
        // absent ones.
        let all = each * f64::from(lanes_there + lanes_gone);
        return Some((all.round() as u64).saturating_sub(intended));
    }
    Some((each * f64::from(lanes_gone)).round() as u64)
}

/// Intended operations, and those that the schedules of missing shares called for.
fn planned(shards: &[ShardRecord], record: &Record) -> Option<u64> {
    let ran = shards.iter().filter(|shard| shard.has_run());
    let there = sum_whole(ran.map(|shard| shard.planned))?;
    match &record.missing {
        Some(missing) => Some(there.saturating_add(missing.unreported?)),
        None => Some(there),
    }
}

fn sum(mut each: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let first = each.next()??;
    each.try_fold(first, |sum, next| Some(sum + next?))
}

fn sum_whole(mut each: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let first = each.next()??;
    each.try_fold(first, |sum, next| Some(sum.saturating_add(next?)))
}

/// The common rate of all shares, as far as they were one load.
fn rate(shards: &[ShardRecord], compared: &Compared, sums: &Sums) -> RateRecord {
    let ran = || shards.iter().filter(|shard| shard.has_run());
    let achieved = compared.rate_per_s(shards);
    let copies = |kind| sums.copies_in_window.get(kind).copied().unwrap_or(0);
    let sent = || sums.sent_in_window.iter();
    let once = |kind, count: u64| count.saturating_sub(copies(kind));
    let all: u64 = sent().fold(0, |sum, (kind, &count)| sum.saturating_add(once(kind, count)));
    let of_kind = |count: u64| achieved.map_or(f64::NAN, |rate| rate * part(count, all));
    let kinds = sent().map(|(kind, &count)| (*kind, of_kind(once(kind, count))));
    RateRecord {
        target_per_s: sum(ran().map(|shard| shard.rate.target_per_s)),
        achieved_per_s: achieved.unwrap_or(f64::NAN),
        kinds_per_s: kinds.filter(|(_, rate)| rate.is_finite()).collect(),
        keys_per_s: achieved.and_then(|_| sum(ran().map(|shard| shard.rate.keys_per_s))),
    }
}

fn part(count: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { count as f64 / of as f64 }
}

/// Cost of all processes. For thousands of workers only the busyness of each share is kept.
fn client(shards: &[ShardRecord], sent: &BTreeMap<crate::Kind, u64>) -> ClientRecord {
    let ran: Vec<ShardRecord> = shards.iter().filter(|s| s.has_run()).cloned().collect();
    super::client(&ran, sent)
}
