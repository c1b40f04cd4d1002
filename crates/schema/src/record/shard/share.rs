//! What a record says of a run that several processes carried out together: which share of it this
//! process had, and by which clock it measured.

use crate::record::Wide;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of a run that one process carried out: some of the lanes of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ShareRecord {
    /// The share's number, from 0.
    pub number: u32,
    /// How many shares the run has.
    pub of: u32,
    /// How many of them were carried out together: this one and those that follow it. Absent if it
    /// is one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub units: u32,
    /// The SHA-256 of the scenario, in hexadecimal: shares of one run agree in it. Passwords and
    /// what each machine decides for itself are left out.
    pub scenario_digest: String,
    /// How the shares agreed on the beginning of their load.
    pub start: ShareStart,
    /// Why this share made no load, as a sentence without its full stop; absent if it made its
    /// load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// The agent that carried it out for a master; absent unless one did.
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

// serde hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_one(units: &u32) -> bool {
    *units == 1
}

/// The agent that carried out a share for a master.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AgentRecord {
    /// What its machine is called.
    pub name: String,
    /// How much later than the agreed instant its schedules began, by its own clock, in
    /// nanoseconds; none when they did not begin.
    pub began_late_ns: Option<u64>,
}

/// How the shares of a run agree on the beginning of their load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShareStart {
    /// Not at all: each begins when it is ready.
    #[default]
    WhenReady,
    /// By a time of day that the user gave.
    Time,
    /// Through their launcher's PMI-1.
    Pmi,
    /// Through a shared folder.
    Folder,
    /// At an instant that the master of its agents chose.
    Agents,
}

/// The clock by which a process measured, and its state when the load began.
///
/// Two processes with equal `boot_id` and `time_namespace` share one monotonic clock. Others can
/// only be compared by the clock of a master that measured them all, or by the time of day, as
/// exactly as that is synchronised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ClockRecord {
    /// When the measured window began, in nanoseconds of the kernel's monotonic clock; none if
    /// nothing was measured.
    pub window_start_monotonic_ns: Option<Wide>,
    /// The kernel's random number of this start of the machine; none if it cannot be read.
    pub boot_id: Option<String>,
    /// The number of the process's time namespace; none if the kernel has none.
    pub time_namespace: Option<u64>,
    /// Whether the kernel considers its time of day synchronised (`adjtimex`); none if it does not
    /// say.
    pub synchronised: Option<bool>,
    /// The largest error of the time of day by the kernel's own estimate; none unless
    /// `synchronised`.
    pub error_max_ns: Option<u64>,
    /// How the master's monotonic clock compared with this one; absent unless an agent measured,
    /// and if the master did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceClock>,
}

/// The master's monotonic clock beside that of an agent, when the agent's measured window began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReferenceClock {
    /// How far the master's clock was ahead, in nanoseconds; negative when it was behind. The
    /// window began at `window_start_monotonic_ns` + `ahead_ns` of the master's clock.
    #[serde(with = "decimal")]
    #[cfg_attr(test, schemars(with = "decimal::Decimal"))]
    pub ahead_ns: i64,
    /// How wrong `ahead_ns` can be.
    pub error_max_ns: u64,
}

/// A whole number that may exceed what JSON readers hold exactly, as a decimal string.
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

    /// Its shape in the published schema.
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
