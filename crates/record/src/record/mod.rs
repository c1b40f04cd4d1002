//! The result of a run: `memtide.record/2`, the versioned JSON format that the program writes.
//!
//! Numbers only: verdicts and results of goals are decided elsewhere. A time is in nanoseconds if
//! its name ends in `_ns`, in seconds if it ends in `_s`.

mod gate;
mod count;
mod distribution;
mod judgement;
mod churn;
mod measured;
mod plan;
mod rate;
mod second;
mod server;
mod shard;

pub use churn::{ChurnCounts, ChurnRecord};
pub(crate) use count::add;
pub use count::{
    ConnectionCounts, DatagramCounts, Phase, PhaseCounts, Phases, Totals, VerificationCounts,
    add_counts,
};
pub use distribution::{
    Bounds, Counts, Distribution, Drifting, LagSplit, Lateness, Missing, OwnShare, Percentile,
    Slicing, Wide,
};
pub use judgement::{
    Aborted, Believable, Check, CheckKind, CheckResult, FloorRecord, GoalRecord, GoalResult,
    Reason, Responder, Verdict, WarningRecord,
};
pub(crate) use measured::read_histogram;
pub use measured::{mean_at_least, per_second};
pub use plan::{
    ChurnPlanRecord, LoopKind, MachineRecord, PlanRecord, PlannedServer, PrecisionRecord, WarmupEnd,
};
pub use rate::RateRecord;
pub(crate) use second::plus;
pub use second::{HostSecond, SecondRecord, ServerSecond, SettledCounts, UnderWay, WorkerSecond};
pub use server::{
    ExpectedCounter, ExpectedCounters, Figure, GONE_MS_MIN, Outage, Reconnects, Rhythm,
    ServerCounters, ServerLoad, ServerRecord, ServerReport, ServerSilence, ServerTotals,
    SilentTime,
};
pub use shard::{
    AgentRecord, AlignedBy, AlignmentRecord, ClockRecord, MissingRecord, ReferenceClock,
    ShardRecord, ShareRecord, ShareRows, ShareStart,
};

use memtide_base::choice::RateUnit;
use memtide_base::printable::printable;
use memtide_base::{Rate, Span};
use memtide_scenario::{Kind, STRICT, Tags, parse_strict};
#[cfg(test)]
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest number of seconds that a run keeps; beyond it, they are merged.
pub const SECONDS_MAX: usize = 1024;
/// Largest error of a beginning or length in seconds, which are rounded.
const ROUNDING_S: f64 = 1e-6;

/// True if stretches of time, as beginning and length in seconds, follow each other.
fn follow(mut stretches: impl Iterator<Item = (f64, f64)>) -> bool {
    let mut until = 0.0;
    stretches.all(|(start, length)| {
        let follows = start >= until - ROUNDING_S && length >= 0.0;
        until = start + length;
        follows && until.is_finite()
    })
}

/// The longest reason or warning of a record that is read, in characters.
const TEXT_CHARS_MAX: usize = 2_000;

/// Name and version of the JSON format of records. Unknown versions are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum SchemaName {
    /// The second version, the only one that is read.
    #[default]
    #[serde(rename = "memtide.record/2")]
    V2,
}

/// The result of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Record {
    /// Name and version of this format.
    pub schema: SchemaName,
    /// True if the run ended before its scenario was done, or if shares of it are missing.
    pub partial: bool,
    /// Event that ended the run.
    pub ended_by: EndedBy,
    /// The condition of `abort-on` that ended the run; absent unless one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
    /// Exit code of the run, before `--strict` is considered.
    pub exit: u8,
    /// Open or closed loop. Times of a closed loop are never comparable with those of an open loop.
    #[serde(rename = "loop")]
    pub loop_kind: LoopKind,
    /// The scenario as words: every field with a given or default value. A scenario file can be
    /// made from it.
    pub scenario: serde_json::Map<String, serde_json::Value>,
    /// The user's tags of the run.
    #[serde(default)]
    pub tags: Tags,
    /// Decisions made from the scenario.
    pub plan: PlanRecord,
    /// The part of the run's one sequence of operations that this process carried out; none in a
    /// merged record, whose shards have their own.
    #[serde(default)]
    pub lanes: Option<Lanes>,
    /// The share of the run that this process carried out; absent if the run was not divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ShareRecord>,
    /// The clock by which the process measured; none in a simulation, in a merged record, and if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRecord>,
    /// The machine that made the load.
    pub machine: MachineRecord,
    /// Start of the run, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// End of the run, in milliseconds since 1970.
    pub ended_unix_ms: u64,
    /// Beginning of the measured window, in nanoseconds since 1970; none if nothing was measured.
    pub window_start_unix_ns: Option<Wide>,
    /// Length of the measured window; in a merged record, of the union of its shards' windows. If
    /// the start skew of shares is unknown, that of the longest window.
    pub window_ns: u64,
    /// Length of the measured window, in seconds.
    pub measured_s: f64,
    /// Arrival of the last answer to a measured operation, in seconds after the window's beginning
    /// (it may be after the window's end); none if nothing was answered.
    #[serde(default)]
    pub answered_until_s: Option<f64>,
    /// Start skew: time from the first to the last beginning of the shards' windows. None if the
    /// record is not merged, or if the clocks of its shares cannot be compared.
    pub start_skew_ns: Option<u64>,
    /// Method by which the windows of shares were compared; absent unless merged from shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<AlignmentRecord>,
    /// The missing shares; absent unless merged from only some of a run's shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingRecord>,
    /// Record of the master's own load, made beside that of its agents; all else in this record
    /// describes the agents' load. Absent if the master made none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Box<Self>>,
    /// Operations that rows over time (`intervals`, `hlog`, points) hold and this record does not:
    /// those that agents reported before the loss of their records. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_without_record: Option<u64>,
    /// Operations that the schedule called for in the measured window; `totals.intended` counts
    /// those that became intended. None where no schedule fixes the number: in a closed loop, and
    /// under connection churn. For merged shares, `totals.intended` plus `missing.unreported`.
    #[serde(default)]
    pub planned: Option<u64>,
    /// Counts of the measured window.
    pub totals: Totals,
    /// Counts of each phase; all four are always present.
    pub phases: Phases,
    /// Results by server.
    pub servers: Vec<ServerRecord>,
    /// The servers' own counters, from `stats`.
    pub server: ServerCounters,
    /// Verdict on the numbers.
    pub believable: Believable,
    /// The goals and their results.
    pub goals: Vec<GoalRecord>,
    /// Target and achieved rate.
    pub rate: RateRecord,
    /// Operations sent during the measured window, by kind; rates are computed from these.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub sent_in_window: BTreeMap<Kind, u64>,
    /// Number of these that are second and further copies of a write (`--replicate all`), which no
    /// rate counts; absent if there were none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub copies_in_window: BTreeMap<Kind, u64>,
    /// Operations that were answered during the measured window, whenever they were due; all copies
    /// of a write count. Absent if the window was cut off, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_in_window: Option<u64>,
    /// Received − intended, by kind of operation: the headline figures.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Distribution>"))]
    pub response: BTreeMap<Kind, Distribution>,
    /// Received − intended of operations that were drawn, by kind of operation. At many wake-ups
    /// per second a part of them is drawn, and each operation counts as often as it stands for; an
    /// operation to which memtide may have added 0.5 ms is always drawn, and counts once. Absent in
    /// older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Distribution>"))]
    pub drawn: BTreeMap<Kind, Distribution>,
    /// The times in `drawn` without the most that memtide itself may have added, by kind of
    /// operation, counted as often as there. 0 where memtide may have added more than a quarter.
    /// Absent in older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Distribution>"))]
    pub punctual: BTreeMap<Kind, Distribution>,
    /// Received − sent, by kind of operation.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Distribution>"))]
    pub service: BTreeMap<Kind, Distribution>,
    /// Sent − intended, by kind of operation.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Distribution>"))]
    pub lag: BTreeMap<Kind, Distribution>,
    /// The lag by cause.
    pub lag_split: LagSplit,
    /// Time from the wake-up that delivered an answer to its receive timestamp.
    pub client_delay: Distribution,
    /// Operations outstanding on all connections of the worker at each send.
    pub in_flight_at_send: Counts,
    /// Operations outstanding on the operation's own connection at each send, itself included.
    #[serde(default)]
    pub outstanding_at_send: Counts,
    /// Figures of connection churn; none without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<ChurnRecord>,
    /// Sizes of requests and replies in bytes; none unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_sizes: Option<MessageSizes>,
    /// The first error with which a server replied, during the fill or the load; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Figures by the servers of the items that were read; none unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemFigures>,
    /// The measured window in rows, by intended instant.
    pub intervals: Vec<IntervalRecord>,
    /// The measured window in at most 64 slices, with their full distributions.
    pub slices: Vec<SliceRecord>,
    /// Figures of all operations that rose or fell during the window, by more than chance explains
    /// and by more than 3 %: the change from beginning to end, as a fraction. Absent if none did.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, f64>"))]
    pub drift: BTreeMap<Drifting, f64>,
    /// Slices from which the confidence intervals follow; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slicing: Option<Slicing>,
    /// The load by second, according to when operations ended. In a merged record, the shards'
    /// seconds aligned by the time of day; empty if these do not add up to its phases.
    #[serde(default)]
    pub seconds: Vec<SecondRecord>,
    /// Cost of the load to this process.
    pub client: ClientRecord,
    /// CPU load of the machine, 0 to 1; none if it cannot be read.
    pub machine_cpu: Option<MachineCpu>,
    /// Part of response times that memtide, the kernel and the way to the server contribute; absent
    /// unless it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorRecord>,
    /// Warnings.
    pub warnings: Vec<WarningRecord>,
    /// The runs that this record was merged from, ordered by the beginning of their windows; empty
    /// if it is the record of one run.
    pub shards: Vec<ShardRecord>,
}

/// The lanes of a run's sequence of operations that a process carried out: operation *i* is in lane
/// *i* modulo `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Lanes {
    /// First lane, from 0.
    pub first: u32,
    /// Number of consecutive lanes from `first` on: one for each worker.
    pub count: u32,
    /// Number of lanes of the whole run.
    pub total: u32,
}

/// Sizes of messages, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MessageSizes {
    /// Requests.
    pub requests: Counts,
    /// Replies, errors included.
    pub replies: Counts,
}

/// Figures by servers of the items that were read, from the flags of the meta protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ItemFigures {
    /// Seconds since the last access (`l`).
    pub age_s: Counts,
    /// Seconds until expiry, of the items that expire (`t`).
    pub ttl_s: Counts,
    /// 1 for an item that never expires (`t-1`), else 0: the sum is their number. Empty in records
    /// of older versions.
    #[serde(default)]
    pub never_expires: Counts,
    /// 1 for an item that was read before, else 0 (`h`): the mean is their share.
    pub read_before: Counts,
}

/// Event that ended a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The measured window ended.
    #[default]
    Duration,
    /// The last operation was issued; under connection churn, the last connection ended.
    Operations,
    /// The user interrupted the run.
    Interrupted,
    /// Every server was unreachable for longer than the timeout.
    ServersLost,
    /// A connection was lost, and the scenario forbids to reconnect.
    ConnectionLost,
    /// A condition of `abort-on` came true.
    Aborted,
    /// The run never began: this share was late, was started again, or waited in vain for the other
    /// shares.
    NotRun,
}

/// A row of the measured window, by intended instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct IntervalRecord {
    /// Beginning, in seconds after the window's beginning.
    pub start_s: f64,
    /// Length, in seconds; if whole runs were merged, the time that the rows counted in it stand
    /// for.
    pub length_s: f64,
    /// Operations intended in the row.
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
    /// Median response time; none if it cannot be printed.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of response time; none if it cannot be printed.
    pub response_p99_ns: Option<u64>,
    /// Times of the row's answered gets; none unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gets: Option<IntervalTimes>,
}

/// Times of the answered gets of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct IntervalTimes {
    /// Received − intended.
    pub response: Distribution,
    /// Received − sent.
    pub service: Distribution,
}

/// A longer stretch of the measured window with all of its response times, by intended instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SliceRecord {
    /// Beginning, in seconds after the window's beginning.
    pub start_s: f64,
    /// Length, in seconds.
    pub length_s: f64,
    /// Answered operations.
    pub answered: u64,
    /// Operations that failed, timed out, were lost, dropped or abandoned.
    pub unanswered: u64,
    /// Response times of the answered operations, as an HdrHistogram: V2, deflated, base64.
    pub histogram: String,
}

/// Cost of the load to this process, over the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ClientRecord {
    /// CPU seconds in user mode; none if unknown, as in a simulation.
    pub cpu_user_s: Option<f64>,
    /// CPU seconds in the kernel; none if unknown, as in a simulation.
    pub cpu_system_s: Option<f64>,
    /// CPU seconds per million operations sent; none if none were sent, or if CPU seconds are
    /// unknown.
    pub cpu_s_per_mops: Option<f64>,
    /// Largest resident memory of the process so far, in bytes; none in a simulation.
    pub rss_max_bytes: Option<u64>,
    /// Fraction of the time in which each worker was busy, 0 to 1.
    pub worker_busy: Vec<f64>,
}

impl ClientRecord {
    /// Sets the CPU time for each of the `sent` operations.
    pub(crate) fn set_cost(&mut self, sent: u64) {
        let both = self.cpu_user_s.zip(self.cpu_system_s).map(|(user, system)| user + system);
        self.cpu_s_per_mops = both.filter(|_| sent > 0).map(|cpu_s| cpu_s * 1e6 / sent as f64);
    }
}

/// CPU load of the machine over the measured window, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MachineCpu {
    /// Mean over all CPUs.
    pub avg: f64,
    /// Load of the idlest CPU.
    pub min: f64,
    /// Load of the busiest CPU.
    pub max: f64,
    /// Mean over all CPUs in the idlest second; none if the window was shorter than a second.
    #[serde(default)]
    pub least_of_1s: Option<f64>,
    /// Mean over all CPUs in the busiest second; none if the window was shorter than a second.
    #[serde(default)]
    pub most_of_1s: Option<f64>,
    /// Steal time of all CPUs together: work was ready, and the hypervisor ran something else.
    /// Included in `avg`. None if it was not read.
    #[serde(default)]
    pub stolen: Option<f64>,
    /// The process beside memtide that used most CPU time; none if none used a twentieth of a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<ProgramCpu>,
    /// Fraction of time in which the CPU quota of memtide's control group stopped its threads,
    /// added up over all CPUs, at most 1; none without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// The server on this machine that waited longest for a CPU; none if no server runs on this
    /// machine, or that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerCpu>,
}

/// A server on the machine that makes the load, and its wait for a CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerCpu {
    /// Its name; none for the embedded server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Fraction of time in which the thread that waited longest was ready to run while other
    /// threads had its CPU.
    pub waited: f64,
    /// The process beside memtide and its servers that used most CPU time; none if none used a
    /// twentieth of a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<ProgramCpu>,
}

/// A process, and the CPUs that it used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ProgramCpu {
    /// Its name.
    pub name: String,
    /// Its process id.
    pub id: u32,
    /// Its CPU time as a number of CPUs: 1 if it kept one busy all the time.
    pub cpus: f64,
    /// The CPUs that its threads may use; empty if unknown. Not in the record.
    #[serde(skip)]
    pub allowed: Vec<usize>,
    /// True if it is one of the servers that are measured. Not in the record.
    #[serde(skip)]
    pub is_server: bool,
}

impl ProgramCpu {
    /// True if it may run on one of `cpus`, or if one of the two is unknown.
    pub fn may_use(&self, cpus: &[usize]) -> bool {
        let is_unknown = self.allowed.is_empty() || cpus.is_empty();
        is_unknown || self.allowed.iter().any(|cpu| cpus.contains(cpu))
    }
}

/// The instant at which a load with this window and warm-up began, in ns since 1970.
pub(crate) fn load_began(window_start: Option<Wide>, plan: &PlanRecord) -> Option<u64> {
    let window_start = u64::try_from(window_start?.0).ok()?;
    window_start.checked_sub(Span::from_s_f64(plan.warmup_s).ns())
}

impl Record {
    /// The instant at which the load began, in ns since 1970: the origin of `seconds`. None if
    /// nothing was measured.
    pub fn load_began_unix_ns(&self) -> Option<u64> {
        load_began(self.window_start_unix_ns, &self.plan)
    }

    /// Sets the instant at which the load began, in ns since 1970, by the clock of who ordered it.
    pub fn set_load_began(&mut self, unix_ns: u64) {
        let window = unix_ns.saturating_add(Span::from_s_f64(self.plan.warmup_s).ns());
        if self.window_start_unix_ns.is_some() {
            self.window_start_unix_ns = Some(Wide(window.into()));
        }
    }

    /// The achieved rate in the unit of the schedule; not a number if shares of a run were not one
    /// load.
    pub fn achieved(&self) -> Rate {
        self.rate.achieved(self.plan.unit())
    }

    /// The target rate of the schedule; none in a closed loop.
    pub fn target(&self) -> Option<Rate> {
        self.rate.target(self.plan.unit())
    }

    /// Why the achieved rate in `unit` is unknown, as a clause; none if it is known.
    pub fn rate_missing(&self, unit: RateUnit) -> Option<&'static str> {
        if self.rate.achieved(unit).per_s.is_finite() {
            None
        } else if self.rate.achieved_per_s.is_finite() {
            Some("the record does not say how many keys were sent")
        } else {
            Some("the shares did not run at the same time")
        }
    }

    /// A rate of `per_s` operations in the unit of the schedule, by the keys of a mean operation.
    pub fn in_schedule_unit(&self, per_s: f64) -> Rate {
        let achieved = self.achieved();
        let each = achieved.per_s / self.rate.achieved_per_s;
        let each = if each.is_finite() && each > 0.0 { each } else { 1.0 };
        Rate::new(per_s * each, achieved.unit)
    }

    /// True if the loads of all shards were one load, and for a single run.
    pub fn is_one_load(&self) -> bool {
        match &self.alignment {
            Some(alignment) => alignment.common_ns > 0,
            None => ShardRecord::are_one_load(&self.shards),
        }
    }

    /// The record whose times are judged: that of the master's own load if it had one, else this
    /// record.
    pub fn judged(&self) -> &Self {
        self.own.as_deref().unwrap_or(self)
    }

    /// True if a verdict of no fails the run (`--strict`).
    pub fn is_strict(&self) -> bool {
        self.strict().is_some()
    }

    /// How far the judged figures must be known (`--strict`); none if the run is not strict.
    pub(crate) fn strict(&self) -> Option<f64> {
        match self.scenario.get("strict")? {
            serde_json::Value::Bool(on) => on.then_some(STRICT),
            word => parse_strict(word.as_str()?).ok().flatten(),
        }
    }

    /// The record as JSON for files and pipes: indented, ending in a line break.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        let mut text = text.expect("a record has only names as keys");
        text.push('\n');
        text
    }

    /// Reads a record. The error is a sentence that names the place at which
    /// `text` is not JSON, or not a record.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let mut record: Self = read_json("a record", text)?;
        record.renew();
        Ok(record)
    }

    /// Brings a record that was read into its present form.
    pub(crate) fn renew(&mut self) {
        self.shorten();
        self.renew_moments();
    }

    /// Cuts off sentences that are longer than any that memtide writes.
    fn shorten(&mut self) {
        let shares = self.shards.iter_mut().map(|shard| (&mut shard.share, &mut shard.warnings));
        for (share, warnings) in shares.chain([(&mut self.share, &mut self.warnings)]) {
            let reason = share.iter_mut().filter_map(|share| share.not_run.as_mut());
            let warnings = warnings.iter_mut();
            let texts = warnings.flat_map(|it| [&mut it.code, &mut it.message, &mut it.remedy]);
            for text in reason.chain(texts).filter(|text| text.len() > TEXT_CHARS_MAX) {
                *text = printable(text, TEXT_CHARS_MAX);
            }
        }
    }

    /// Checks that every intended operation of every phase has exactly one outcome, that the totals
    /// are those of the measured phase, and that the counts of connection churn add up. The error
    /// names the phase and the counts.
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
            // Records of other loads may have been merged into this one.
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

    /// Checks that the seconds and the rows over time of a run that is not merged follow each
    /// other, are as many as a run keeps, and add up to its load. The error names the figures.
    pub fn check_rows(&self) -> Result<(), String> {
        let ended = self
            .seconds
            .iter()
            .fold(SettledCounts::default(), |sum, second| sum.plus(&second.counts));
        let load = [&self.phases.warmup, &self.phases.measure, &self.phases.cooldown];
        let load = load.iter().fold(0, |sum: u64, phase| sum.saturating_add(phase.totals.intended));
        let in_rows =
            self.intervals.iter().fold(0, |sum: u64, row| sum.saturating_add(row.intended));
        let seconds = self.seconds.iter().map(|second| (second.start_s, second.length_s));
        let rows = self.intervals.iter().map(|row| (row.start_s, row.length_s));
        if self.seconds.len() > SECONDS_MAX || !follow(seconds) {
            return Err(format!("its {} seconds are not those of a load", self.seconds.len()));
        }
        if !follow(rows) {
            return Err(format!("its {} rows are not those of a window", self.intervals.len()));
        }
        if !self.seconds.is_empty() && ended.settled != load {
            let settled = ended.settled;
            return Err(format!(
                "{settled} operations ended in its seconds, and {load} in its load"
            ));
        }
        let in_window = self.totals.intended;
        if in_rows > in_window {
            return Err(format!("its rows have {in_rows} operations, and its window {in_window}"));
        }
        Ok(())
    }

    /// Checks that the servers' counts add up to the totals, for every count known of all servers.
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

/// Reads `what`, such as "a record", from JSON. The error is a clause that names the place at which
/// `text` is not JSON, or not `what`. It is the only way to read, because each costs the compiler
/// as much as a quarter of this crate.
pub(crate) fn read_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, String> {
    let text = gate::shortened_json(text);
    let text = gate::printable_json(&text);
    let mut reader = serde_json::Deserializer::from_str(&text);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        match path.as_str() {
            "." | "?" => format!("it is not {what}: {problem}"),
            _ => format!("it is not {what}: at {path}, {problem}"),
        }
    })?;
    reader.end().map_err(|problem| format!("text follows {what}: {problem}"))?;
    Ok(read)
}

#[cfg(test)]
pub(crate) mod tests;
