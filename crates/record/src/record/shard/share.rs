//! Facts about a run that several processes carried out together: the share of this process, and
//! the clock by which it measured.

use crate::record::Wide;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of a run that one process carried out: some of the lanes of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ShareRecord {
    /// Number of the share, from 0.
    pub number: u32,
    /// Number of shares of the run.
    pub of: u32,
    /// Number of consecutive shares that the process carried out, from `number` on; absent if 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub units: u32,
    /// SHA-256 of the scenario, in hexadecimal: equal for all shares of one run. Passwords and each
    /// machine's own decisions are not hashed.
    pub scenario_digest: String,
    /// Method by which the shares agreed on the beginning of their load.
    pub start: ShareStart,
    /// Reason why this share made no load, as a sentence without its full stop; absent if it made
    /// its load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// The agent that carried the share out for a master; absent unless an agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRecord>,
}

impl Default for ShareRecord {
    fn default() -> Self {
        Self {
            number: 0,
            of: 0,
            units: one(),
            scenario_digest: String::new(),
            start: ShareStart::default(),
            not_run: None,
            agent: None,
        }
    }
}

const fn one() -> u32 {
    1
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_one(units: &u32) -> bool {
    *units == 1
}

/// The agent that carried out a share for a master.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AgentRecord {
    /// Name of its machine.
    pub name: String,
    /// The run, in hexadecimal: equal for all shares of one run by agents, and for no other.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// Agreed instant of the beginning, by its monotonic clock in nanoseconds; none if no instant
    /// was agreed, as for a fill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub armed_ns: Option<Wide>,
    /// Delay of its schedules' beginning after the agreed instant, by its own clock, in
    /// nanoseconds; none if they did not begin.
    pub began_late_ns: Option<u64>,
}

/// Method by which the shares of a run agree on the beginning of their load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShareStart {
    /// None: each share begins when it is ready.
    #[default]
    WhenReady,
    /// At a time of day that the user sets.
    Time,
    /// Through their launcher's PMI-1.
    Pmi,
    /// Through a shared folder.
    Folder,
    /// At an instant that the master of its agents chose.
    Agents,
}

/// The clock by which a process measured, and its state at the beginning of the load.
///
/// Two processes with equal `boot_id` and `time_namespace` share one monotonic clock. Other clocks
/// can only be compared through a common master's clock, or by the time of day, as exactly as that
/// is synchronised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ClockRecord {
    /// Beginning of the measured window, in nanoseconds of the kernel's monotonic clock; none if
    /// nothing was measured.
    pub window_start_monotonic_ns: Option<Wide>,
    /// Random identifier of the machine's present boot, from the kernel; none if it cannot be read.
    pub boot_id: Option<String>,
    /// Number of the process's time namespace; none if the kernel has none.
    pub time_namespace: Option<u64>,
    /// True if the kernel considers its time of day synchronised (`adjtimex`); none if it does not
    /// report it.
    pub synchronised: Option<bool>,
    /// Largest error of the time of day by the kernel's own estimate; none unless `synchronised`.
    pub error_max_ns: Option<u64>,
    /// The master's monotonic clock compared with this one; absent unless an agent measured, and if
    /// the master did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceClock>,
}

/// The master's monotonic clock compared with an agent's, at the beginning of the agent's measured
/// window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReferenceClock {
    /// Lead of the master's clock in nanoseconds; negative if it is behind. By the master's clock
    /// the window began at `window_start_monotonic_ns` + `ahead_ns`.
    #[serde(with = "decimal")]
    #[cfg_attr(test, schemars(with = "decimal::Decimal"))]
    pub ahead_ns: i64,
    /// Largest error of `ahead_ns`.
    pub error_max_ns: u64,
}

/// A whole number that may exceed what JSON readers represent exactly; written as a decimal string.
mod decimal {
    #[cfg(test)]
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde::{Deserialize, Deserializer, Serializer, de};
    use std::borrow::Cow;

    pub(super) fn serialize<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(reader: D) -> Result<i64, D::Error> {
        let word = Cow::<str>::deserialize(reader)?;
        word.parse().map_err(|_| {
            de::Error::custom(format_args!("'{word}' is not a whole number of 64 bits"))
        })
    }

    /// The type of such a number in the JSON Schema.
    #[cfg(test)]
    pub(super) struct Decimal;

    #[cfg(test)]
    impl JsonSchema for Decimal {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Decimal".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "type": "string",
                "pattern": "^-?[0-9]{1,19}$",
                "description": "A whole number as a decimal string, because it may exceed 2^53."
            })
        }
    }
}
