//! What a run answers: `memtide.record/2`, the versioned shape that leaves the program as JSON.
//!
//! Numbers only, no judgement of its own: verdicts and goals arrive decided. Every time is in
//! nanoseconds when its name ends in `_ns`, in seconds when it ends in `_s`.

pub(crate) mod base64;
mod count;
mod distribution;
mod judgement;
mod churn;
mod measured;
mod plan;
mod second;
mod server;
mod shard;
pub(crate) mod version_one;

pub use churn::{ChurnCounts, ChurnRecord};
pub use count::{
    ConnectionCounts, DatagramCounts, Phase, PhaseCounts, Phases, Totals, VerificationCounts,
};
pub(crate) use count::{add, add_counts};
pub use distribution::{Bounds, Counts, Distribution, LagSplit, Missing, Percentile, Wide};
pub use judgement::{
    Aborted, Believable, Check, CheckKind, CheckResult, GoalRecord, GoalResult, Reason, Verdict,
    WarningRecord,
};
pub(crate) use measured::{are_possible, per_second};
pub use plan::{ChurnPlanRecord, LoopKind, MachineRecord, PlanRecord, PlannedServer};
pub use second::{SecondRecord, ServerSecond, SettledCounts, UnderWay, WorkerSecond};
pub use server::{
    ExpectedCounter, ExpectedCounters, Figure, Outage, Reconnects, ServerCounters, ServerLoad,
    ServerRecord, ServerReport, ServerTotals,
};
pub use shard::{
    AgentRecord, AlignedBy, AlignmentRecord, ClockRecord, MissingRecord, ReferenceClock,
    ShardRecord, ShareRecord, ShareRows, ShareStart,
};

use crate::kind::Kind;
use crate::scenario::Tags;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name of the shape. A record of another version is refused when it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum SchemaName {
    /// The second shape. The first is read as well, and becomes the second.
    #[default]
    #[serde(rename = "memtide.record/2")]
    V2,
}

/// The result of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Record {
    /// The name and version of this shape.
    pub schema: SchemaName,
    /// Whether the run ended before its scenario was done.
    pub partial: bool,
    /// What ended the run.
    pub ended_by: EndedBy,
    /// The condition of `abort-on` that ended it; absent unless one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
    /// The exit code that the run calls for, before `--strict` is considered.
    pub exit: u8,
    /// Whether the load waited for answers. Times of a closed loop are never comparable with an
    /// open loop's.
    #[serde(rename = "loop")]
    pub loop_kind: LoopKind,
    /// The scenario as words, every given or defaulted field; a scenario file can be made of it.
    pub scenario: serde_json::Map<String, serde_json::Value>,
    /// The user's own words for the run.
    #[serde(default)]
    pub tags: Tags,
    /// What was decided from it.
    pub plan: PlanRecord,
    /// The part of the run's one sequence of operations that this process carried out; none in a
    /// merged record, whose shards say theirs.
    #[serde(default)]
    pub lanes: Option<Lanes>,
    /// The share of the run that this process had; absent if the run was not divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ShareRecord>,
    /// The clock that the process measured by; none in a simulation, in a merged record, and if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRecord>,
    /// The machine that made the load.
    pub machine: MachineRecord,
    /// When the run began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub ended_unix_ms: u64,
    /// When the measured window began, in nanoseconds since 1970; none when nothing was measured.
    pub window_start_unix_ns: Option<Wide>,
    /// The length of the measured window; of a merged record the length of the union of its
    /// shards' windows.
    pub window_ns: u64,
    /// The length of the measured window in seconds.
    pub measured_s: f64,
    /// When the last answer to an operation of the measured window came, in seconds after the
    /// window's beginning, and so possibly after its end; none when nothing was answered.
    #[serde(default)]
    pub answered_until_s: Option<f64>,
    /// How far apart the first and the last window of the shards began; none when this is not a
    /// merged record, and when the clocks of shares cannot tell.
    pub start_skew_ns: Option<u64>,
    /// How the windows of the shares were compared; absent unless it was merged from shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<AlignmentRecord>,
    /// The shares that are missing; absent unless it was merged from some of a run's shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingRecord>,
    /// What the master measured by a load of its own, beside that of its agents, of whom all else
    /// tells; absent unless it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Box<Self>>,
    /// Operations that the schedule called for in the measured window; `totals.intended` is what
    /// was seen of them. None where no schedule says how many: in a closed loop, and where
    /// connections are the load. Of merged shares it is `totals.intended` and `missing.unreported`.
    #[serde(default)]
    pub planned: Option<u64>,
    /// Counts of the measured window.
    pub totals: Totals,
    /// Counts of each phase; all four are always here.
    pub phases: Phases,
    /// A row per server.
    pub servers: Vec<ServerRecord>,
    /// What the servers' own `stats` said.
    pub server: ServerCounters,
    /// Whether the numbers can be believed.
    pub believable: Believable,
    /// The goals and what became of them.
    pub goals: Vec<GoalRecord>,
    /// The rate that was asked for and the one that was achieved.
    pub rate: RateRecord,
    /// Operations sent while the measured window lasted, by kind: what the rates are made of.
    pub sent_in_window: BTreeMap<Kind, u64>,
    /// Of these, copies of writes beyond the first of each (`--replicate all`), which no rate
    /// counts; absent where there were none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub copies_in_window: BTreeMap<Kind, u64>,
    /// Received − intended, by kind of operation: the headline.
    pub response: BTreeMap<Kind, Distribution>,
    /// Received − sent, by kind of operation.
    pub service: BTreeMap<Kind, Distribution>,
    /// Sent − intended, by kind of operation.
    pub lag: BTreeMap<Kind, Distribution>,
    /// Whose the lag was.
    pub lag_split: LagSplit,
    /// From the wake-up that brought an answer to the stamp of its receipt.
    pub client_delay: Distribution,
    /// How many operations were outstanding on all connections of a worker when one was sent.
    pub in_flight_at_send: Counts,
    /// How many were outstanding on its own connection when one was sent, itself included.
    #[serde(default)]
    pub outstanding_at_send: Counts,
    /// What became of connections; none unless these were the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<ChurnRecord>,
    /// How long requests and replies were, in bytes; none unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_sizes: Option<MessageSizes>,
    /// The measured window in pieces, by intended instant.
    pub intervals: Vec<IntervalRecord>,
    /// The measured window in at most 64 slices, with their whole distributions.
    pub slices: Vec<SliceRecord>,
    /// The load in seconds, by what ended in them; in a merged record those of its shards side by
    /// side by the time of day, empty where these do not add up to its phases.
    #[serde(default)]
    pub seconds: Vec<SecondRecord>,
    /// What the load cost this process.
    pub client: ClientRecord,
    /// How busy the machine's CPUs were, 0 to 1; none where that cannot be read.
    pub machine_cpu: Option<MachineCpu>,
    /// What was not as it should be.
    pub warnings: Vec<WarningRecord>,
    /// The runs that this record was merged from, by the beginning of their windows; empty when
    /// it is the record of one run.
    pub shards: Vec<ShardRecord>,
}

/// The lanes of one sequence of operations that a process carried out: operation *i* is in lane
/// *i* modulo `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Lanes {
    /// The first of them, from 0.
    pub first: u32,
    /// How many there are from there on: one for each worker.
    pub count: u32,
    /// Lanes of the whole run.
    pub total: u32,
}

/// How long messages were, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MessageSizes {
    /// Requests.
    pub requests: Counts,
    /// Replies to them, errors included.
    pub replies: Counts,
}

/// What ended a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The measured window was over.
    #[default]
    Duration,
    /// The last operation was issued, or the last connection had ended where these are the load.
    Operations,
    /// The user interrupted it.
    Interrupted,
    /// Every server was gone for longer than the timeout.
    ServersLost,
    /// A connection was lost, and none was to be opened again.
    ConnectionLost,
    /// A condition of `abort-on` came true.
    Aborted,
    /// It never began: this share of a run was late, was started again, or waited in vain for the
    /// others.
    NotRun,
}

/// The rate that was asked for and the one that was achieved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RateRecord {
    /// The mean rate of the schedule over the measured window, in its unit; none in a closed loop.
    pub target_per_s: Option<f64>,
    /// Operations sent while the measured window lasted, per second of it; several copies of a
    /// write are one. Not a number (in JSON: null) when shares of a run were not one load.
    #[serde(deserialize_with = "null_is_nan")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub achieved_per_s: f64,
    /// Rates per kind of operation.
    #[serde(default)]
    pub kinds_per_s: BTreeMap<Kind, f64>,
    /// The achieved rate in keys; none unless the schedule counts keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_per_s: Option<f64>,
}

/// A piece of the measured window, by intended instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct IntervalRecord {
    /// Where it begins, in seconds after the window's beginning.
    pub start_s: f64,
    /// How long it is, in seconds.
    pub length_s: f64,
    /// Operations intended in it.
    #[serde(default)]
    pub intended: u64,
    /// Answered operations.
    pub ops: u64,
    /// Operations that failed, timed out, were lost, dropped or abandoned.
    #[serde(default)]
    pub unanswered: u64,
    /// Answered operations per second.
    pub rate_per_s: f64,
    /// Keys found.
    pub hits: u64,
    /// Keys not found.
    pub misses: u64,
    /// The median response; none when not printable.
    pub response_p50_ns: Option<u64>,
    /// The 99th percentile of response; none when not printable.
    pub response_p99_ns: Option<u64>,
    /// The times of its answered gets; none unless they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gets: Option<IntervalTimes>,
}

/// The times of the answered gets of an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct IntervalTimes {
    /// Received − intended.
    pub response: Distribution,
    /// Received − sent.
    pub service: Distribution,
}

/// A longer piece of the measured window with all of its response times, by intended instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SliceRecord {
    /// Where it begins, in seconds after the window's beginning.
    pub start_s: f64,
    /// How long it is, in seconds.
    pub length_s: f64,
    /// Answered operations.
    pub answered: u64,
    /// Operations that failed, timed out, were lost, dropped or abandoned.
    pub unanswered: u64,
    /// Response times of the answered, as an HdrHistogram: V2, deflated, in base64.
    pub histogram: String,
}

/// What the load cost this process, over the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ClientRecord {
    /// CPU seconds in user mode; none where that cannot be told, as in a simulation.
    pub cpu_user_s: Option<f64>,
    /// CPU seconds in the kernel; none where that cannot be told, as in a simulation.
    pub cpu_system_s: Option<f64>,
    /// CPU seconds per million operations sent; none when none were, or without CPU seconds.
    pub cpu_s_per_mops: Option<f64>,
    /// The largest resident memory of the process so far, in bytes; none in a simulation.
    pub rss_max_bytes: Option<u64>,
    /// For each worker, the part of the time in which it was busy, 0 to 1.
    pub worker_busy: Vec<f64>,
}

/// How busy the machine's CPUs were over the measured window, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MachineCpu {
    /// The mean over all CPUs.
    pub avg: f64,
    /// The idlest CPU.
    pub min: f64,
    /// The busiest CPU.
    pub max: f64,
    /// All CPUs together in the idlest second; none when the window was shorter than that.
    #[serde(default)]
    pub least_of_1s: Option<f64>,
    /// All CPUs together in the busiest second; none when the window was shorter than that.
    #[serde(default)]
    pub most_of_1s: Option<f64>,
    /// The time in which work was ready and the hypervisor ran something else (steal time), of all
    /// CPUs together; it is within `avg`. None where it was not asked for.
    #[serde(default)]
    pub stolen: Option<f64>,
}

impl Record {
    /// Whether the loads of all its shards were one; true of a single run.
    pub fn is_one_load(&self) -> bool {
        match &self.alignment {
            Some(alignment) => alignment.common_ns > 0,
            None => ShardRecord::are_one_load(&self.shards),
        }
    }

    /// The record whose times are judged: that of the master's own load, if it had one.
    pub fn judged(&self) -> &Self {
        self.own.as_deref().unwrap_or(self)
    }

    /// The record as JSON for files and pipes: indented, ending with a line break.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        let mut text = text.expect("a record has only names as keys");
        text.push('\n');
        text
    }

    /// Reads a record back, of version 1 as well. The error is a sentence that names the place at
    /// which `text` is no JSON, or no record.
    pub fn from_json(text: &str) -> Result<Self, String> {
        if version_one::is_in(text) {
            let mut value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            version_one::upgrade(&mut value);
            let mut record = serde_path_to_error::deserialize(value).map_err(no_record)?;
            version_one::fields::rename(&mut record);
            return Ok(record);
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let mut record = serde_path_to_error::deserialize(&mut reader).map_err(no_record)?;
        reader.end().map_err(|problem| format!("text follows the record: {problem}"))?;
        version_one::fields::rename(&mut record);
        Ok(record)
    }

    /// Whether every intended operation of every phase ended in exactly one outcome, and the
    /// totals are those of the measured phase; and the same of connections that were the load. The
    /// error names the phase and the counts.
    pub fn check_conservation(&self) -> Result<(), String> {
        if let Some(planned) = self.planned.filter(|planned| *planned < self.totals.intended) {
            let intended = self.totals.intended;
            return Err(format!("{intended} operations were intended of {planned} planned"));
        }
        for (phase, counts) in self.phases.each() {
            counts.totals.check_conservation().map_err(|why| format!("{phase}: {why}"))?;
        }
        if let Some(churn) = &self.churn {
            churn.check_conservation()?;
            // Records of other loads may have been merged into one.
            if self.shards.is_empty() && churn.calls_intended != ChurnRecord::calls_of(&self.phases)
            {
                return Err("the calls of connections are not the operations".to_owned());
            }
        }
        match self.totals == self.phases.measure.totals {
            true => Ok(()),
            false => Err("the totals are not those of the measured phase".to_owned()),
        }
    }

    /// Whether the counts of all servers add up to the totals, each that is known of every server.
    /// The error shows both.
    pub fn check_servers(&self) -> Result<(), String> {
        if self.servers.is_empty() {
            return Ok(());
        }
        let (mut sum, mut unknown) = (Totals::default(), Totals::default());
        for server in &self.servers {
            sum.add(&server.totals.totals());
            unknown.add(&server.totals.unknown());
        }
        let sum = ServerTotals::of(sum, &unknown);
        let totals = ServerTotals::of(self.totals.clone(), &unknown);
        match sum == totals {
            true => Ok(()),
            false => Err(format!("the servers' counts add up to {sum:?}, not to {totals:?}")),
        }
    }
}

/// JSON has no word for what is not a number but null.
fn null_is_nan<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(reader)?.unwrap_or(f64::NAN))
}

fn no_record(error: serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = error.path().to_string();
    let problem = error.into_inner();
    match path.as_str() {
        "." => format!("it is not a record: {problem}"),
        _ => format!("it is not a record: at {path}, {problem}"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
