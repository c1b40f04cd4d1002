//! Merges several records into one, as if one run had made them.
//!
//! A merged record holds exact sums, and its shards in one order; everything else is computed from
//! these, so merging is associative and commutative to the last bit. Records that cannot be one run
//! are refused: other scenarios, an open and a closed loop, the same shard twice.

mod agree;
mod judgement;
mod facts;
mod window;
mod seconds;
mod shares;
mod sum;

use crate::exit::Exit;
use crate::judge::judge;
use crate::record::{ClientRecord, EndedBy, GoalResult, RateRecord, Record, ShardRecord, Wide};
use memtide_base::Span;
use shares::Shares;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use sum::Sums;
use window::Windows;

pub use agree::MergeError;
pub use shares::beside;

/// Largest number of whole runs in one record, which keeps the rows of each. Shares of one run are
/// not limited: their rows are summed.
pub const SHARDS_MAX: usize = 1024;

/// Scenarios that may be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenarios {
    /// Equal scenarios only. They may differ in machine, servers and outputs.
    Same,
    /// Any scenarios; the user vouches that the numbers belong together.
    Any,
}

/// Merges records one after the other. Of shares of one run it keeps sums and little for each
/// share, so that thousands of shares need little memory.
#[derive(Clone)]
pub struct Merging {
    scenarios: Scenarios,
    /// Whole runs, which keep their rows.
    runs: Vec<Record>,
    shares: Option<Shares>,
    /// Number of shares read.
    count: usize,
}

impl Merging {
    /// A merging of no records yet.
    pub fn new(scenarios: Scenarios) -> Self {
        Self { scenarios, runs: Vec::new(), shares: None, count: 0 }
    }

    /// Adds the next record. After an error this value is unusable; a clone made before can
    /// continue.
    ///
    /// # Errors
    /// If the record does not belong to the earlier ones, or is damaged.
    pub fn add(&mut self, record: Record) -> Result<(), MergeError> {
        let is_share = shares::is_of_shares(&record);
        let at = self.runs.len() + self.count;
        if record.own.is_some() {
            return Err(MergeError::TwoLoads { record: at });
        }
        if at > 0 && is_share != self.shares.is_some() {
            return Err(MergeError::Mixed { records: [0, at] });
        }
        match is_share {
            true => {
                self.count += 1;
                self.shares.get_or_insert_default().absorb(at, record)
            }
            false if self.runs.len() >= SHARDS_MAX => {
                Err(MergeError::TooMany { shards: self.runs.len() + 1 })
            }
            false => {
                self.runs.push(record);
                Ok(())
            }
        }
    }

    /// The merged record. A single record of a whole run is returned unchanged.
    ///
    /// # Errors
    /// If the records do not belong together, or one is damaged.
    ///
    /// # Panics
    ///
    /// If no record was added.
    pub fn finish(self) -> Result<Record, MergeError> {
        match self.shares {
            Some(shares) => shares.compose(),
            None => merge_runs(&self.runs, self.scenarios),
        }
    }
}

/// Merges all the runs in `records`. A single record is returned unchanged.
///
/// Shares of one run are merged as [`Merging`] does; whole runs as follows.
///
/// Counts and histograms add up, and percentiles are computed from the sums. Rates are divided by
/// the union of the measured windows. Intervals and slices are aligned by the time of day. The
/// verdict is the worst of the shards' verdicts; goals are judged by the merged numbers. The error
/// says which records do not belong together, or which one is damaged.
///
/// # Panics
///
/// If `records` is empty.
pub fn merge(records: &[Record], scenarios: Scenarios) -> Result<Record, MergeError> {
    if !records.iter().any(shares::is_of_shares) {
        return merge_runs(records, scenarios);
    }
    let mut merging = Merging::new(scenarios);
    records.iter().try_for_each(|record| merging.add(record.clone()))?;
    merging.finish()
}

fn merge_runs(records: &[Record], scenarios: Scenarios) -> Result<Record, MergeError> {
    assert!(!records.is_empty(), "there is a record to merge");
    let mut sums = Sums::default();
    for (at, record) in records.iter().enumerate() {
        let damaged = |why| MergeError::Damaged { record: at, why };
        record.check_conservation().map_err(damaged)?;
        sums.absorb(record).map_err(damaged)?;
    }
    let shards = agree::shards(records, scenarios)?;
    match records {
        [record] => Ok(record.clone()),
        _ => compose(shards, sums),
    }
}

/// The order of shards: by the beginning of their windows. Further keys only make the order total.
fn order(a: &ShardRecord, b: &ShardRecord) -> Ordering {
    let key = |shard: &ShardRecord| (shard.window_start_unix_ns, shard.started_unix_ms);
    let text = |shard: &ShardRecord| serde_json::to_string(shard).ok();
    key(a).cmp(&key(b)).then_with(|| text(a).cmp(&text(b)))
}

/// The record of `shards`, which are in order, with the sums over them.
fn compose(shards: Vec<ShardRecord>, sums: Sums) -> Result<Record, MergeError> {
    assert!(shards.is_sorted_by(|a, b| order(a, b).is_le()), "the order of reading cannot show");
    assert!(shards.len() <= SHARDS_MAX, "more shards are an error");
    let windows = Windows::of(&shards);
    let first = &shards[0];
    let length = windows.union();
    let rate = rate(&shards, &windows, &sums);
    let mut record = Record {
        partial: shards.iter().any(|shard| shard.partial),
        ended_by: shards.iter().map(|shard| shard.ended_by).fold(first.ended_by, worse),
        aborted: shards.iter().find_map(|shard| shard.aborted.clone()),
        loop_kind: first.plan.loop_kind,
        scenario: agree::scenario(&shards),
        tags: facts::tags(&shards),
        plan: facts::plan(&shards),
        machine: facts::machine(&shards),
        started_unix_ms: shards.iter().map(|s| s.started_unix_ms).fold(u64::MAX, u64::min),
        ended_unix_ms: shards.iter().map(|s| s.ended_unix_ms).fold(0, u64::max),
        window_start_unix_ns: windows.start_unix_ns().map(|start| Wide(u128::from(start))),
        window_ns: length.ns(),
        measured_s: length.as_s_f64(),
        answered_until_s: windows.answered_until_s(&shards),
        start_skew_ns: windows.skew().map(Span::ns),
        planned: planned(&shards),
        server: facts::server_counters(&shards),
        believable: judgement::believable(&shards),
        rate,
        client: client(&shards, &sums.sent_in_window),
        machine_cpu: facts::machine_cpu(&shards),
        ..Record::default()
    };
    let (intervals, slices) = window::over_time(&shards, &windows);
    record.intervals = intervals;
    record.slices = slices;
    sums.seal(&mut record);
    record.seconds = seconds::aligned(&shards, &record.phases);
    if let Some(churn) = &mut record.churn {
        churn.target_per_s = mean_rate(&shards, &windows, |shard| shard.churn_target_per_s);
    }
    record.warnings = judgement::warnings(&shards, &record);
    record.goals = judge(&agree::goals(&shards), &record);
    record.exit = exit(&record);
    record.shards = shards;
    Ok(record)
}

/// Number of operations that all schedules called for; none if a shard does not state its number.
fn planned(shards: &[ShardRecord]) -> Option<u64> {
    shards.iter().map(|shard| shard.planned).reduce(|a, b| Some(a?.saturating_add(b?))).flatten()
}

/// The worse of two reasons for which a run ended.
const fn worse(a: EndedBy, b: EndedBy) -> EndedBy {
    const fn rank(ended_by: EndedBy) -> u8 {
        match ended_by {
            EndedBy::Duration => 0,
            EndedBy::Operations => 1,
            EndedBy::Interrupted => 2,
            EndedBy::Aborted => 3,
            EndedBy::ConnectionLost => 4,
            EndedBy::ServersLost => 5,
            EndedBy::NotRun => 6,
        }
    }
    if rank(a) < rank(b) { b } else { a }
}

/// The exit code of the merged run, by the rules for a single run.
fn exit(record: &Record) -> u8 {
    let missed = record.goals.iter().any(|goal| goal.result != GoalResult::Met);
    match record.ended_by {
        EndedBy::ServersLost | EndedBy::ConnectionLost => Exit::Unreachable.code(),
        EndedBy::Interrupted => Exit::Interrupted.code(),
        EndedBy::Aborted | EndedBy::NotRun => Exit::Failed.code(),
        EndedBy::Duration | EndedBy::Operations => {
            u8::from(missed || record.phases.verification().wrong() > 0)
        }
    }
}

fn rate(shards: &[ShardRecord], windows: &Windows, sums: &Sums) -> RateRecord {
    let length = windows.union();
    let per_second = |count| crate::record::per_second(count, length);
    let copies = |kind| sums.copies_in_window.get(kind).copied().unwrap_or(0);
    let sent = sums.sent_in_window.iter();
    let sent = sent.map(|(kind, &count)| (*kind, count.saturating_sub(copies(kind))));
    RateRecord {
        target_per_s: mean_rate(shards, windows, |shard| shard.rate.target_per_s),
        achieved_per_s: per_second(sent.clone().fold(0, |sum, (_, n)| sum.saturating_add(n))),
        kinds_per_s: sent.map(|(kind, count)| (kind, per_second(count))).collect(),
        keys_per_s: mean_rate(shards, windows, |shard| shard.rate.keys_per_s),
    }
}

/// Mean rate that the schedules of all shards called for, over the union of their windows.
fn mean_rate(
    shards: &[ShardRecord],
    windows: &Windows,
    of: impl Fn(&ShardRecord) -> Option<f64>,
) -> Option<f64> {
    let length = windows.union();
    let wanted = shards
        .iter()
        .filter_map(|shard| Some(of(shard)? * Span::from_ns(shard.window_ns).as_s_f64()));
    let wanted = wanted.reduce(|sum, part| sum + part).filter(|_| !length.is_zero());
    wanted.map(|count| count / length.as_s_f64())
}

/// CPU time and memory of all processes; memory is that of the largest process.
fn client(shards: &[ShardRecord], sent: &BTreeMap<crate::Kind, u64>) -> ClientRecord {
    let clients = || shards.iter().map(|shard| &shard.client);
    let user: Option<f64> = clients().map(|client| client.cpu_user_s).sum();
    let system: Option<f64> = clients().map(|client| client.cpu_system_s).sum();
    let both = user.zip(system).map(|(user, system)| user + system);
    let sent = sent.values().fold(0u64, |sum, &count| sum.saturating_add(count));
    ClientRecord {
        cpu_user_s: user,
        cpu_system_s: system,
        cpu_s_per_mops: both.filter(|_| sent > 0).map(|cpu_s| cpu_s * 1e6 / sent as f64),
        rss_max_bytes: clients().filter_map(|client| client.rss_max_bytes).max(),
        worker_busy: clients().flat_map(|client| client.worker_busy.clone()).collect(),
    }
}

#[cfg(test)]
mod tests;
