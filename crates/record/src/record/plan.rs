//! Decisions made before the run, and the machine for which they were made.
//!
//! Words remain words; nothing is computed from them. Members named like a field take its words
//! from the table of fields: to add one, name it twice in this file.

use memtide_base::choice::RateUnit;
use memtide_base::{Rate, Span};
use memtide_scenario::field::find;
use memtide_scenario::{Scenario, Warmup};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Open or closed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// Open loop: intended instants come from a schedule.
    #[default]
    Open,
    /// Closed loop: an operation is intended when a slot becomes free.
    Closed,
}

impl fmt::Display for LoopKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Open => "open",
            Self::Closed => "closed",
        })
    }
}

/// Cause of the end of the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WarmupEnd {
    /// Its fixed length.
    #[default]
    Fixed,
    /// Not known yet: the load ended before, or did not begin. `warmup_s` is the longest.
    Open,
    /// The load was steady.
    Steady,
    /// The longest length of a warm-up, and the load was not steady yet.
    Unsteady,
}

impl WarmupEnd {
    fn is_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}

/// Condition for the end of a window that lasts until figures are narrow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PrecisionRecord {
    /// The figures, each with the largest half width of its range: `p99 5%`.
    pub asked: Vec<String>,
    /// The longest window.
    pub at_most_s: f64,
    /// True if all figures were as narrow when the window was closed; false if it ended before, or
    /// if a figure of the whole window is over 1.25 times as wide. None if it has not ended.
    pub reached: Option<bool>,
}

/// The decided plan of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PlanRecord {
    /// True if the embedded server is measured.
    pub embedded: bool,
    /// The servers.
    pub servers: Vec<PlannedServer>,
    /// Open or closed loop.
    #[serde(rename = "loop")]
    pub loop_kind: LoopKind,
    /// Target rate per second, in the unit of `rate_unit`; none in a closed loop, or if the wave
    /// sets the rate.
    pub rate_per_s: Option<f64>,
    /// Distribution of inter-arrival times.
    pub arrival: String,
    /// Rate over time.
    pub wave: String,
    /// Owner of each schedule: a worker, or a connection.
    pub schedule: String,
    /// Treatment of an operation that finds every connection full.
    pub on_full: String,
    /// Length of the measured window; none if the number of operations ends it.
    pub duration_s: Option<f64>,
    /// Condition for the end of a window that lasts until figures are narrow; none if its length is
    /// fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionRecord>,
    /// Length of the warm-up.
    pub warmup_s: f64,
    /// Cause of the end of the warm-up.
    #[serde(default, skip_serializing_if = "WarmupEnd::is_fixed")]
    pub warmup_end: WarmupEnd,
    /// Number of operations to issue; none if the duration ends the run.
    pub ops_max: Option<u64>,
    /// Plan of connection churn; none without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<ChurnPlanRecord>,
    /// Number of workers.
    pub workers: u32,
    /// CPU of each worker, or, if there are more of them than workers, those that all workers
    /// share; empty if workers may use any.
    pub cpus: Vec<u32>,
    /// CPU of the embedded server; none if it is not pinned, or if there is no embedded server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<u32>,
    /// Number of connections, over all servers.
    pub connections: u32,
    /// Pipeline depth: largest number of operations outstanding on one connection.
    pub depth: u32,
    /// When a full connection takes operations again; none if after each answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill: Option<String>,
    /// Way in which workers wait.
    pub wait: String,
    /// Interface of workers for input and output.
    pub io: String,
    /// Time from an operation's intended instant to its deadline.
    pub timeout_s: f64,
    /// Load sent while the last measured operations end.
    pub cooldown: String,
    /// Condition under which the servers are filled first.
    pub load: String,
    /// Number of different keys.
    pub keys: u64,
    /// Distribution of key lengths.
    pub key_size: String,
    /// Distribution of value lengths.
    pub value_size: String,
    /// Distribution of requests over keys.
    pub popularity: String,
    /// Form of a key, made from its number.
    #[serde(default)]
    pub key_form: String,
    /// Weights of the kinds of operation.
    pub mix: String,
    /// Number of keys in one get or gets.
    pub multiget: u16,
    /// Number of clients, each with one operation outstanding; none if connections are shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Servers and transports of the clients' writes and reads, in words; none if each client uses
    /// one server in one way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<String>,
    /// Objects in the window of each client; none without windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Unit of the rate and of the number of operations, unless it is operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_unit: Option<String>,
    /// Share of gets that request `multiget` keys; none if all do.
    #[serde(default)]
    pub multiget_share: Option<f64>,
    /// Pause of a connection after each answer.
    #[serde(default)]
    pub pause_after_reply_s: f64,
    /// Width of rows over time; none unless the scenario sets it.
    #[serde(default)]
    pub interval_s: Option<f64>,
    /// True if each row keeps the times of its gets.
    #[serde(default)]
    pub interval_times: bool,
    /// Wire format of requests.
    #[serde(default)]
    pub protocol: String,
    /// Back-off before reconnecting, or `never`: a lost connection ends the run.
    #[serde(default)]
    pub reconnect: String,
    /// True if TCP may delay small requests (Nagle's algorithm).
    #[serde(default)]
    pub nagle: bool,
    /// Command sent to every server before the load.
    #[serde(default)]
    pub before: Option<String>,
    /// Command sent to every server after the load.
    #[serde(default)]
    pub after: Option<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// The decided scenario, defaults included: each field's words, by the field's name. For merged
    /// shards, only the fields on which all agree. Outputs are left out.
    #[serde(default)]
    pub decided: BTreeMap<String, String>,
    /// Reasons for decisions, by the field's name.
    pub why: BTreeMap<String, String>,
}

/// Members that hold the words of the field with their name, grouped by how they hold them.
macro_rules! words_of_fields {
    (always $($always:ident)*; given $($given:ident)*; unusual $($unusual:ident)*) => {
        impl PlanRecord {
            /// Members that hold the words of a field of a decided scenario: always, if the field
            /// is given, or if it differs from its default.
            fn words(decided: BTreeMap<String, String>) -> Self {
                let word = |member: &str| decided.get(&member.replace('_', "-")).cloned();
                let other = |member: &str| {
                    let usual = find(member).map(|field| field.default);
                    word(member).filter(|word| usual != Some(&**word))
                };
                Self {
                    $($always: word(stringify!($always)).unwrap_or_default(),)*
                    $($given: word(stringify!($given)),)*
                    $($unusual: other(stringify!($unusual)),)*
                    decided,
                    ..Self::default()
                }
            }

            #[cfg(test)]
            const OF_FIELDS: &[&str] = &[
                $(stringify!($always),)* $(stringify!($given),)* $(stringify!($unusual),)*
            ];
        }
    };
}

words_of_fields! {
    always
        arrival wave schedule on_full wait io cooldown load key_size value_size popularity key_form
        mix protocol reconnect;
    given before after;
    unusual refill rate_unit
}

impl PlanRecord {
    /// Unit of the rate and of the number of operations.
    pub fn unit(&self) -> RateUnit {
        let word = self.rate_unit.as_deref();
        word.and_then(|word| word.parse().ok()).unwrap_or_default()
    }

    /// The unit in which the rates of all `plans` can be compared and added: their own, or
    /// operations if these differ.
    pub fn common_unit<'a>(mut plans: impl Iterator<Item = &'a Self>) -> RateUnit {
        match plans.all(|plan| plan.unit() == RateUnit::Keys) {
            true => RateUnit::Keys,
            false => RateUnit::Operations,
        }
    }

    /// Target rate; none in a closed loop, or if the wave sets the rate.
    pub fn rate(&self) -> Option<Rate> {
        self.rate_per_s.map(|per_s| Rate::new(per_s, self.unit()))
    }

    /// A plan's members that follow from the fields of a decided scenario: their words, counts and
    /// times. Members that need the machine or the servers keep their defaults.
    pub fn of(decided: &Scenario) -> Self {
        let duration = decided.duration.filter(|duration| *duration != Span::MAX);
        Self {
            duration_s: duration.map(Span::as_s_f64),
            precision: (!decided.precision.is_empty()).then(|| PrecisionRecord {
                asked: decided.precision.iter().map(ToString::to_string).collect(),
                at_most_s: decided.at_most().as_s_f64(),
                reached: None,
            }),
            warmup_s: decided.warmup.longest(duration).as_s_f64(),
            warmup_end: match decided.warmup {
                Warmup::Fixed(_) => WarmupEnd::Fixed,
                Warmup::Auto => WarmupEnd::Open,
            },
            ops_max: decided.ops_max,
            timeout_s: decided.timeout.as_s_f64(),
            multiget: decided.multiget,
            multiget_share: Some(decided.multiget_share).filter(|&share| share < 1.0),
            pause_after_reply_s: decided.pause_after_reply.as_s_f64(),
            interval_s: decided.interval.map(Span::as_s_f64),
            interval_times: decided.interval_times,
            nagle: decided.sockets.nagle,
            seed: decided.seed,
            ..Self::words(decided.spelled())
        }
    }
}

/// Plan of connection churn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ChurnPlanRecord {
    /// Target rate in connections per second; none if each opens when another has ended, or if the
    /// wave sets the rate.
    pub connection_rate_per_s: Option<f64>,
    /// Distribution of the gaps between connections; none if each opens when another has ended.
    pub connection_arrival: Option<String>,
    /// Number of connections; none if the duration ends the run.
    pub connections_total: Option<u64>,
    /// Calls per connection.
    pub calls: u64,
    /// Calls per second on each connection; none if each call follows the answer to the one before.
    pub call_rate_per_s: Option<f64>,
    /// Longest time to close a connection (SO_LINGER), 0 resets it; none for an orderly close.
    pub linger_s: Option<f64>,
}

/// A server of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PlannedServer {
    /// Name, as the user wrote it.
    pub name: String,
    /// Resolved addresses, in the order in which they are tried.
    pub addresses: Vec<String>,
}

/// The machine that made the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MachineRecord {
    /// Name of the operating system.
    pub os: String,
    /// Version of the kernel.
    pub kernel: String,
    /// Processor architecture.
    pub architecture: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// Number of CPUs in the process's affinity mask.
    pub cpus_allowed: u32,
    /// CPU quota of the control group, in CPUs; none without a quota.
    pub cpu_quota: Option<f64>,
    /// Model name of the CPUs; none if it cannot be read.
    pub cpu_model: Option<String>,
    /// Memory in bytes; none if it cannot be read.
    pub memory_bytes: Option<u64>,
    /// The kernel's clock source, such as `tsc`; none if it cannot be read, and in a simulation.
    #[serde(default)]
    pub clock_source: Option<String>,
    /// Version of memtide.
    pub memtide_version: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_holds_words_of_a_field_is_named_after_one() {
        for member in PlanRecord::OF_FIELDS {
            assert!(find(member).is_some(), "{member} is no field");
        }
        let usual = PlanRecord::of(&Scenario::default());
        assert_eq!((usual.refill, usual.rate_unit, usual.before), (None, None, None));
        assert_eq!(usual.on_full, Scenario::default().on_full.to_string());
    }
}
