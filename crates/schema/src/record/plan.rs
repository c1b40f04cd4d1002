//! What was decided before the run, and the machine it was decided for.
//!
//! Words stay words here; nothing is computed from them. Those of a field are taken from the table
//! of fields: one more is named twice in this file and nowhere else.

use crate::field::find;
use crate::scenario::Scenario;
use memtide_base::Span;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Whether the load waits for answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// Intended instants come from a schedule.
    #[default]
    Open,
    /// An operation is intended when a slot becomes free.
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

/// The decided plan of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PlanRecord {
    /// Whether the embedded server is measured.
    pub embedded: bool,
    /// The servers.
    pub servers: Vec<PlannedServer>,
    /// Whether the load waits for answers.
    #[serde(rename = "loop")]
    pub loop_kind: LoopKind,
    /// Operations per second; none in a closed loop or when the wave says it.
    pub rate_per_s: Option<f64>,
    /// The law of gaps.
    pub arrival: String,
    /// The rate over time.
    pub wave: String,
    /// Who owns a schedule.
    pub schedule: String,
    /// What an operation does that finds every connection full.
    pub on_full: String,
    /// The length of the measured window; none when the number of operations ends it.
    pub duration_s: Option<f64>,
    /// The length of the warm-up.
    pub warmup_s: f64,
    /// How many operations are issued; none when the duration ends the run.
    pub ops_max: Option<u64>,
    /// Connections as the load; none when they stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<ChurnPlanRecord>,
    /// Workers.
    pub workers: u32,
    /// The CPU of each worker; empty when they are not pinned.
    pub cpus: Vec<u32>,
    /// The CPU of the embedded server; none when it is not pinned, or when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<u32>,
    /// Connections in all.
    pub connections: u32,
    /// Operations outstanding on one connection at most.
    pub depth: u32,
    /// When a connection that has been full takes operations again; none when at each answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill: Option<String>,
    /// How workers wait.
    pub wait: String,
    /// How they do input and output.
    pub io: String,
    /// Deadline of an operation after its intended instant.
    pub timeout_s: f64,
    /// What goes on while the last measured operations end.
    pub cooldown: String,
    /// Whether the server is filled first.
    pub load: String,
    /// Different keys.
    pub keys: u64,
    /// The law of key lengths.
    pub key_size: String,
    /// The law of value lengths.
    pub value_size: String,
    /// Which keys are asked for how often.
    pub popularity: String,
    /// How a key is made of its number.
    #[serde(default)]
    pub key_form: String,
    /// The weights of kinds of operation.
    pub mix: String,
    /// Keys in one get or gets.
    pub multiget: u16,
    /// Clients with one operation outstanding each; none when connections are everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Which servers and transports their writes and reads take, in words; none where each uses
    /// one server in one way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<String>,
    /// Objects in the window of each of them; none without windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// What the rate and the number of operations count, if not operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_unit: Option<String>,
    /// Share of gets that request `multiget` keys; none if all do.
    #[serde(default)]
    pub multiget_share: Option<f64>,
    /// How long a connection rests after an answer.
    #[serde(default)]
    pub pause_after_reply_s: f64,
    /// The length of rows over time that the scenario sets, if it does.
    #[serde(default)]
    pub interval_s: Option<f64>,
    /// Whether each row keeps the times of its gets.
    #[serde(default)]
    pub interval_times: bool,
    /// What requests look like on the wire.
    #[serde(default)]
    pub protocol: String,
    /// The waits before a lost connection is opened again, or that it ends the run.
    #[serde(default)]
    pub reconnect: String,
    /// Whether TCP may hold back small requests.
    #[serde(default)]
    pub nagle: bool,
    /// What every server is told before the load.
    #[serde(default)]
    pub before: Option<String>,
    /// What every server is told after it.
    #[serde(default)]
    pub after: Option<String>,
    /// The seed.
    pub seed: u64,
    /// The scenario with all that its user left open decided, in the words of its fields, by the
    /// field's name; of merged shards those fields on which all agree. Where results go is left
    /// out.
    #[serde(default)]
    pub decided: BTreeMap<String, String>,
    /// Why decided fields are what they are, by the field's name.
    pub why: BTreeMap<String, String>,
}

/// The members that are words of the field that they are named after, by how they hold them.
macro_rules! words_of_fields {
    (always $($always:ident)*; given $($given:ident)*; unusual $($unusual:ident)*) => {
        impl PlanRecord {
            /// The members that hold the words of a field, of a scenario that is decided; those
            /// that are given, where it is; and those that are unusual, where it is not as it is
            /// by default.
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
    /// What fields say of a plan, of a scenario that is decided: their words, and what counts or
    /// measures one of them. Where it will run, and who makes it of what, is left open.
    pub fn of(decided: &Scenario) -> Self {
        let duration = decided.duration.filter(|duration| *duration != Span::MAX);
        Self {
            duration_s: duration.map(Span::as_s_f64),
            warmup_s: decided.warmup.as_s_f64(),
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

/// How connections come and go, where they are the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ChurnPlanRecord {
    /// Connections per second; none when each comes when another has ended, or the wave says it.
    pub connection_rate_per_s: Option<f64>,
    /// The law of the gaps between them; none when each comes when another has ended.
    pub connection_arrival: Option<String>,
    /// How many there are; none when the duration ends the run.
    pub connections_total: Option<u64>,
    /// Calls of each.
    pub calls: u64,
    /// Calls per second on each; none when a call comes when another has its answer.
    pub call_rate_per_s: Option<f64>,
    /// How long closing one may take, 0 resets it; none when it is closed in good order.
    pub linger_s: Option<f64>,
}

/// A server of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PlannedServer {
    /// Its name, as it was given.
    pub name: String,
    /// The addresses it resolved to, in the order in which they are tried.
    pub addresses: Vec<String>,
}

/// The machine that made the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MachineRecord {
    /// The operating system's name.
    pub os: String,
    /// Its kernel's version.
    pub kernel: String,
    /// The processor architecture.
    pub architecture: String,
    /// CPUs of the machine.
    pub cpus: u32,
    /// CPUs this process may use, by its mask.
    pub cpus_allowed: u32,
    /// CPUs' worth of time its control group allows; none without a quota.
    pub cpu_quota: Option<f64>,
    /// The CPUs' name for themselves; none where it cannot be read.
    pub cpu_model: Option<String>,
    /// Memory, in bytes; none where it cannot be read.
    pub memory_bytes: Option<u64>,
    /// What the kernel makes its clocks from, such as `tsc`; none where it cannot be read, and in a
    /// simulation.
    #[serde(default)]
    pub clock_source: Option<String>,
    /// The version of memtide.
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
