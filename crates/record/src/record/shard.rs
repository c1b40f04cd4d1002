//! Facts of each run that a merged record keeps: everything that does not add up.
//!
//! Counts and distributions are not here: their sums are in the merged record.

mod share;

pub use share::{AgentRecord, ClockRecord, ReferenceClock, ShareRecord, ShareStart};

use super::{
    Aborted, Believable, ClientRecord, EndedBy, IntervalRecord, Lanes, MachineCpu, MachineRecord,
    PlanRecord, RateRecord, SecondRecord, ServerCounters, SliceRecord, WarningRecord, Wide,
    load_began,
};
use memtide_base::Rate;
use memtide_scenario::Tags;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several merged runs. Members have the meaning of those in a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ShardRecord {
    /// Beginning of its measured window, in nanoseconds since 1970; none if nothing was measured.
    pub window_start_unix_ns: Option<Wide>,
    /// Length of its measured window.
    pub window_ns: u64,
    /// Arrival of the last answer to one of its measured operations, in seconds after its window's
    /// beginning; none if nothing was answered.
    #[serde(default)]
    pub answered_until_s: Option<f64>,
    /// Start, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// End, in milliseconds since 1970.
    pub ended_unix_ms: u64,
    /// True if it ended before its scenario was done.
    pub partial: bool,
    /// Event that ended it.
    pub ended_by: EndedBy,
    /// The condition of `abort-on` that ended it; absent unless one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
    /// Its target and achieved rate.
    pub rate: RateRecord,
    /// Its target rate of connections, under connection churn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn_target_per_s: Option<f64>,
    /// Verdict on its numbers.
    pub believable: Believable,
    /// Its warnings.
    pub warnings: Vec<WarningRecord>,
    /// Cost of its load to its process.
    pub client: ClientRecord,
    /// CPU load of its machine, 0 to 1; none if it cannot be read.
    pub machine_cpu: Option<MachineCpu>,
    /// The machine that made its load.
    pub machine: MachineRecord,
    /// Its scenario as words; absent in a share, which has the merged record's.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub scenario: serde_json::Map<String, serde_json::Value>,
    /// The user's tags of the run.
    #[serde(default)]
    pub tags: Tags,
    /// Decisions made from its scenario.
    pub plan: PlanRecord,
    /// The part of the run's one sequence of operations that it carried out; none if unknown.
    #[serde(default)]
    pub lanes: Option<Lanes>,
    /// The share of the run that it carried out; absent if the run was not divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ShareRecord>,
    /// The clock by which it measured; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRecord>,
    /// Operations that its schedule called for in its measured window; none where no schedule fixes
    /// the number.
    #[serde(default)]
    pub planned: Option<u64>,
    /// 99th percentile of its lag (sent − intended); absent unless an agent carried it out, and if
    /// there were too few operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_p99_ns: Option<u64>,
    /// Its operations by slice; only in a share, whose rows are summed in the merged record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<ShareRows>,
    /// The servers' own counters as it received them (`stats`); empty in a share.
    pub server: ServerCounters,
    /// Its measured window in rows, by intended instant; empty in a share.
    pub intervals: Vec<IntervalRecord>,
    /// Its measured window in at most 64 slices, with their full distributions; empty in a share.
    pub slices: Vec<SliceRecord>,
    /// Its load by second, according to when operations ended; empty in a share.
    #[serde(default)]
    pub seconds: Vec<SecondRecord>,
}

impl ShardRecord {
    /// Its achieved rate in the unit of its schedule; not a number if its shares were not one load.
    pub fn achieved(&self) -> Rate {
        self.rate.achieved(self.plan.unit())
    }

    /// Its target rate; none in a closed loop.
    pub fn target(&self) -> Option<Rate> {
        self.rate.target(self.plan.unit())
    }

    /// True if all `shards` that measured something did so at the same time, so that their loads
    /// were one. Runs one after the other are not one load.
    pub fn are_one_load(shards: &[Self]) -> bool {
        let windows = shards.iter().filter_map(|shard| Some((shard.window_start_unix_ns?, shard)));
        let last_start = windows.clone().map(|(start, _)| start.0).max();
        let first_end =
            windows.map(|(start, shard)| start.0.saturating_add(shard.window_ns.into())).min();
        last_start.zip(first_end).is_none_or(|(start, end)| start < end)
    }

    /// The instant at which its load began, in ns since 1970: the origin of its `seconds`. None if
    /// nothing was measured.
    pub fn load_began_unix_ns(&self) -> Option<u64> {
        load_began(self.window_start_unix_ns, &self.plan)
    }

    /// True if it is a share that made its load.
    pub fn has_run(&self) -> bool {
        self.ended_by != EndedBy::NotRun
    }
}

/// The shares of a run that are absent from a merged record, or made no load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MissingRecord {
    /// Numbers of the shares, ascending.
    pub shares: Vec<u32>,
    /// Lanes of the shares, as ranges from the first to the last, ascending.
    pub lanes: Vec<[u32; 2]>,
    /// Number of lanes of the whole run.
    pub lanes_total: u32,
    /// Operations that the missing shares' schedules called for in the measured window: exact for
    /// fixed arrivals, and without a warm-up if the number of operations ended the run; otherwise
    /// the expected number. None where no schedule fixes the number.
    pub unreported: Option<u64>,
}

/// Comparison of the shares' windows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AlignmentRecord {
    /// Clock by which they were compared.
    pub by: AlignedBy,
    /// Largest error of the start skew; none if unknown.
    pub error_max_ns: Option<u64>,
    /// Source of the start skew, or why it is unknown, as a clause for people.
    pub why: String,
    /// Time in which all shares measured; 0 if they were not one load. If the skew is unknown, the
    /// shortest window, because rows are then compared by the schedule alone.
    pub common_ns: u64,
}

/// The clock by which shares are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlignedBy {
    /// The monotonic clock that all shares read.
    Monotonic,
    /// The monotonic clock of the common master, with which each share's clock was compared.
    Reference,
    /// Synchronised times of day.
    TimeOfDay,
    /// No clock that can be trusted.
    #[default]
    Unknown,
}

/// Operations of a share in each slice of its measured window, from which the common rate of all
/// shares is computed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ShareRows {
    /// Width of a slice; none with fewer than two slices.
    pub width_ns: Option<u64>,
    /// Operations intended in each slice that have ended.
    pub ended: Vec<u64>,
    /// Operations sent during the measured window, without second and further copies of writes.
    pub sent: u64,
}
