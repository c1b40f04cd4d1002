//! Merges several records into one, as if one run had made them.
//!
//! A merged record holds exact sums, and its shards in one order; everything else is computed from
//! these, so merging is associative and commutative to the last bit. A share of a run is a shard
//! with lanes. Records that cannot be one run are refused.
//!
//! Pure: no file is opened and no clock is read. The list below is the reading order; `use` arrows
//! run only down it.
#![forbid(unsafe_code)]

mod judgement;
mod facts;
mod missing;
mod agree;
mod shares;
mod counters;
mod seconds;
mod rows;
mod clocks;
mod sum;

use agree::NumberedShard;
use clocks::Windows;
use memtide_record::{ClientRecord, EndedBy, Record, ServerCounters, ShardRecord, Slicing, Wide};
use memtide_scenario::Kind;
use shares::Shares;
use sum::Sums;

pub use agree::MergeError;
pub use judgement::beside;
pub use sum::check_histograms;

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
    sums: Sums,
    shards: Vec<NumberedShard>,
    /// What shares of one run add up beside the sums; none for whole runs, whose shards keep it.
    shares: Option<Shares>,
    /// The record of whole runs that was added alone: it stays as it is.
    only: Option<Box<Record>>,
    /// Number of records added.
    count: usize,
}

impl Merging {
    /// A merging of no records yet.
    pub fn new(scenarios: Scenarios) -> Self {
        Self {
            scenarios,
            sums: Sums::default(),
            shards: Vec::new(),
            shares: None,
            only: None,
            count: 0,
        }
    }

    /// Adds the next record. After an error this value is unusable; a clone made before can
    /// continue.
    ///
    /// # Errors
    /// If the record does not belong to the earlier ones, or is damaged.
    pub fn add(&mut self, record: Record) -> Result<(), MergeError> {
        let (at, is_share) = (self.count, shares::is_of_shares(&record));
        if record.own.is_some() {
            return Err(MergeError::TwoLoads { record: at });
        }
        if at > 0 && is_share != self.shares.is_some() {
            return Err(MergeError::Mixed { records: [0, at] });
        }
        let damaged = |why| MergeError::Damaged { record: at, why };
        agree::conserves(&record).map_err(damaged)?;
        self.sums.absorb(&record).map_err(damaged)?;
        let new = match record.shards.as_slice() {
            [] if is_share => vec![shard_of_share(&record)],
            [] => vec![shard_of_run(&record)],
            parts => parts.to_vec(),
        };
        let total = self.shards.len() + new.len();
        if !is_share && total > SHARDS_MAX {
            return Err(MergeError::TooMany { shards: total });
        }
        for shard in new {
            agree::plausible(&shard, is_share).map_err(damaged)?;
            let new = NumberedShard { record: at, shard };
            if let Some(first) = self.shards.first() {
                let words = match &self.shares {
                    Some(shares) => [&shares.scenario, &record.scenario],
                    None if is_share => [&record.scenario; 2],
                    None => [&first.shard.scenario, &new.shard.scenario],
                };
                agree::alike([first, &new], words, self.scenarios)?;
            }
            self.shards.push(new);
        }
        if is_share {
            let shares = self.shares.get_or_insert_with(|| Shares::new(&record));
            shares.absorb(&record).map_err(damaged)?;
        }
        self.only = (at == 0 && !is_share).then(|| Box::new(record));
        self.count += 1;
        Ok(())
    }

    /// The merged record. A single record of a whole run is returned unchanged.
    ///
    /// # Errors
    /// If the records do not belong together.
    ///
    /// # Panics
    ///
    /// If no record was added.
    pub fn finish(self) -> Result<Record, MergeError> {
        assert!(self.count > 0, "there is a record to merge");
        let shards = agree::in_order(self.shards)?;
        Ok(match self.only {
            Some(record) => *record,
            None => compose(shards, self.sums, self.shares),
        })
    }
}

/// Merges all the runs in `records`, as [`Merging`] does.
///
/// Counts and histograms add up, and percentiles are computed from the sums. The verdict is the
/// worst of the shards' verdicts; goals are judged by the merged numbers. Rates of whole runs are
/// divided by the union of the measured windows, and their rows are aligned by the time of day.
/// Shares of one run have one schedule: their rates and rows add up. The error says which records
/// do not belong together, or which one is damaged.
///
/// # Panics
///
/// If `records` is empty.
pub fn merge(records: &[Record], scenarios: Scenarios) -> Result<Record, MergeError> {
    let mut merging = Merging::new(scenarios);
    records.iter().try_for_each(|record| merging.add(record.clone()))?;
    merging.finish()
}

/// The shard made from the record of a whole run.
fn shard_of_run(record: &Record) -> ShardRecord {
    let lag = record.lag.get(&Kind::All);
    let is_of_agent = record.share.as_ref().is_some_and(|share| share.agent.is_some());
    ShardRecord {
        window_start_unix_ns: record.window_start_unix_ns,
        window_ns: record.window_ns,
        answered_until_s: record.answered_until_s,
        started_unix_ms: record.started_unix_ms,
        ended_unix_ms: record.ended_unix_ms,
        partial: record.partial,
        ended_by: record.ended_by,
        aborted: record.aborted.clone(),
        rate: record.rate.clone(),
        churn_target_per_s: record.churn.as_ref().and_then(|churn| churn.target_per_s),
        believable: record.believable.clone(),
        warnings: record.warnings.clone(),
        client: record.client.clone(),
        machine_cpu: record.machine_cpu.clone(),
        machine: record.machine.clone(),
        scenario: record.scenario.clone(),
        tags: record.tags.clone(),
        plan: record.plan.clone(),
        lanes: record.lanes,
        share: record.share.clone(),
        clock: record.clock.clone(),
        planned: record.planned,
        lag_p99_ns: lag.filter(|_| is_of_agent).and_then(|lag| lag.p99_ns),
        rows: None,
        server: record.server.clone(),
        intervals: record.intervals.clone(),
        slices: record.slices.clone(),
        seconds: record.seconds.clone(),
    }
}

/// The shard made from a share, whose rows, counters and words the merged record has.
fn shard_of_share(record: &Record) -> ShardRecord {
    let mut shard = shard_of_run(record);
    shard.rows = Some(rows::of_share(record));
    shard.scenario.clear();
    shard.server = ServerCounters::default();
    (shard.intervals, shard.slices, shard.seconds) = (Vec::new(), Vec::new(), Vec::new());
    shard.plan.why.clear();
    shard.plan.decided.clear();
    shard
}

/// The record of `shards`, which are in order, with the sums over them.
fn compose(shards: Vec<ShardRecord>, sums: Sums, shares: Option<Shares>) -> Record {
    assert!(shares.is_some() || shards.len() <= SHARDS_MAX, "more whole runs are an error");
    let all: Vec<&ShardRecord> = shards.iter().collect();
    let ran: Vec<&ShardRecord> = shards.iter().filter(|shard| shard.has_run()).collect();
    let windows = Windows::of(&ran, shares.is_some());
    let mut record = described(&all, &ran, &windows);
    sums.seal(&mut record);
    record.client = client(&ran);
    record.rate = windows.rate(&record.sent_once());
    if let Some(churn) = &mut record.churn {
        churn.target_per_s = windows.total(|shard| shard.churn_target_per_s);
    }
    match shares {
        Some(shares) => {
            record.missing = missing::of(&all, &ran, &record.phases);
            shares.seal(&mut record, &windows);
        }
        None => {
            // Whole runs have no common beginning.
            record.servers.iter_mut().for_each(|server| server.silence = None);
            record.scenario = agree::scenario(&all);
            record.server = counters::of_runs(&all);
            (record.intervals, record.slices) = rows::over_time(&windows);
            record.seconds = seconds::aligned(&shards, &record.phases);
            record.slicing = Some(Slicing::unusable("pooled runs have no common slices"));
        }
    }
    record.derive();
    record.settle_precision();
    let unreported = record.missing.as_ref().map_or(Some(0), |missing| missing.unreported);
    record.planned = missing::total(ran.iter().map(|shard| shard.planned).chain([unreported]));
    record.partial = record.missing.is_some() || ran.iter().any(|shard| shard.partial);
    judgement::judge(&mut record, &all, &ran);
    record.shards = shards;
    record
}

/// The facts about all shards that do not follow from sums.
fn described(all: &[&ShardRecord], ran: &[&ShardRecord], windows: &Windows<'_>) -> Record {
    // A share that never began has a plan, but may not know its machine.
    let known = if ran.is_empty() { all } else { ran };
    Record {
        ended_by: ran.iter().map(|s| s.ended_by).reduce(worse).unwrap_or(EndedBy::NotRun),
        aborted: ran.iter().find_map(|shard| shard.aborted.clone()),
        loop_kind: all[0].plan.loop_kind,
        tags: facts::tags(all),
        plan: facts::plan(all, known, windows),
        machine: facts::machine(known),
        started_unix_ms: all.iter().map(|s| s.started_unix_ms).fold(u64::MAX, u64::min),
        ended_unix_ms: all.iter().map(|s| s.ended_unix_ms).fold(0, u64::max),
        window_start_unix_ns: windows.start_unix_ns().map(|start| Wide(u128::from(start))),
        window_ns: windows.union().ns(),
        answered_until_s: windows.answered_until_s(),
        start_skew_ns: windows.skew_ns(),
        alignment: windows.alignment.clone(),
        machine_cpu: facts::machine_cpu(ran),
        ..Record::default()
    }
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

/// CPU time and memory of all processes; memory is that of the largest process.
fn client(ran: &[&ShardRecord]) -> ClientRecord {
    ClientRecord {
        cpu_user_s: ran.iter().map(|shard| shard.client.cpu_user_s).sum(),
        cpu_system_s: ran.iter().map(|shard| shard.client.cpu_system_s).sum(),
        rss_max_bytes: ran.iter().filter_map(|shard| shard.client.rss_max_bytes).max(),
        worker_busy: ran.iter().flat_map(|shard| shard.client.worker_busy.clone()).collect(),
        ..ClientRecord::default()
    }
}

#[cfg(test)]
mod tests;
