//! What a merged record keeps of each run that went into it: everything that does not add up.
//!
//! Counts and distributions are not here: their sums are the merged record's own.

mod merged;
mod share;

pub use merged::{AlignedBy, AlignmentRecord, MissingRecord, ShareRows};
pub use share::{AgentRecord, ClockRecord, ReferenceClock, ShareRecord, ShareStart};

use super::{
    Aborted, Believable, ClientRecord, EndedBy, IntervalRecord, Lanes, MachineCpu, MachineRecord,
    PlanRecord, RateRecord, Record, SecondRecord, ServerCounters, SliceRecord, WarningRecord, Wide,
};
use crate::kind::Kind;
use crate::scenario::Tags;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of several that were merged. Its members mean what they mean in a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ShardRecord {
    /// When its measured window began, in nanoseconds since 1970; none when nothing was measured.
    pub window_start_unix_ns: Option<Wide>,
    /// The length of its measured window.
    pub window_ns: u64,
    /// When the last answer to an operation of its measured window came, in seconds after that
    /// window's beginning; none when nothing was answered.
    #[serde(default)]
    pub answered_until_s: Option<f64>,
    /// When it began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub ended_unix_ms: u64,
    /// Whether it ended before its scenario was done.
    pub partial: bool,
    /// What ended it.
    pub ended_by: EndedBy,
    /// The condition of `abort-on` that ended it; absent unless one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
    /// The rate that was asked of it and the one that it achieved.
    pub rate: RateRecord,
    /// The rate of connections that was asked of it, where these were the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn_target_per_s: Option<f64>,
    /// Whether its numbers can be believed.
    pub believable: Believable,
    /// What was not as it should be.
    pub warnings: Vec<WarningRecord>,
    /// What its load cost its process.
    pub client: ClientRecord,
    /// How busy its machine's CPUs were, 0 to 1; none where that cannot be read.
    pub machine_cpu: Option<MachineCpu>,
    /// The machine that made its load.
    pub machine: MachineRecord,
    /// Its scenario as words; absent in a share, whose words are the merged record's.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub scenario: serde_json::Map<String, serde_json::Value>,
    /// The user's own words for it.
    #[serde(default)]
    pub tags: Tags,
    /// What was decided from it.
    pub plan: PlanRecord,
    /// The part of the run's one sequence of operations that it carried out; none when it does not
    /// say.
    #[serde(default)]
    pub lanes: Option<Lanes>,
    /// Which share of the run it was; absent if the run was not divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ShareRecord>,
    /// The clock that it measured by; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRecord>,
    /// Operations that its schedule called for in its measured window; none where no schedule says
    /// how many.
    #[serde(default)]
    pub planned: Option<u64>,
    /// The 99th percentile of its sent − intended; absent unless an agent carried it out, and if
    /// there were too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_p99_ns: Option<u64>,
    /// Its operations by slice; only in a share, whose rows are all in the merged record's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<ShareRows>,
    /// What the servers' own `stats` said to it; empty in a share.
    pub server: ServerCounters,
    /// Its measured window in pieces, by intended instant; empty in a share.
    pub intervals: Vec<IntervalRecord>,
    /// The window in at most 64 slices, with their whole distributions; empty in a share.
    pub slices: Vec<SliceRecord>,
    /// Its load in seconds, by what ended in them; empty in a share.
    #[serde(default)]
    pub seconds: Vec<SecondRecord>,
}

impl ShardRecord {
    /// Whether all of `shards` in which something was measured were measured at the same time, so
    /// that their loads were one. Runs one after the other are not.
    pub fn are_one_load(shards: &[Self]) -> bool {
        let windows =
            || shards.iter().filter_map(|shard| Some((shard.window_start_unix_ns?, shard)));
        let last_start = windows().map(|(start, _)| start.0).max();
        let first_end =
            windows().map(|(start, shard)| start.0.saturating_add(shard.window_ns.into())).min();
        last_start.zip(first_end).is_none_or(|(start, end)| start < end)
    }

    /// The shard that the record of a single run becomes.
    pub(crate) fn of(record: &Record) -> Self {
        let is_of_agent = record.share.as_ref().is_some_and(|share| share.agent.is_some());
        Self {
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
            lag_p99_ns: record
                .lag
                .get(&Kind::All)
                .filter(|_| is_of_agent)
                .and_then(|lag| lag.p99_ns),
            rows: None,
            server: record.server.clone(),
            intervals: record.intervals.clone(),
            slices: record.slices.clone(),
            seconds: record.seconds.clone(),
        }
    }

    /// Whether it is a share that made its load.
    pub fn has_run(&self) -> bool {
        self.ended_by != EndedBy::NotRun
    }
}
