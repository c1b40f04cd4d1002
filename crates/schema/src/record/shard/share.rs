//! What a record says of a run that several processes carried out together: which share of it this
//! process had, and by which clock it measured.

use crate::record::Wide;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of a run that one process carried out: some of the lanes of one scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ShareRecord {
    /// The share's number, from 0.
    pub number: u32,
    /// How many shares the run has.
    pub of: u32,
    /// The SHA-256 of the scenario, in hexadecimal: shares of one run agree in it. Passwords and
    /// what each machine decides for itself are left out.
    pub scenario_digest: String,
    /// How the shares agreed on the beginning of their load.
    pub start: ShareStart,
    /// Why this share made no load, as a sentence without its full stop; absent if it made its
    /// load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
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
}

/// The clock by which a process measured, and its state when the load began.
///
/// Two processes with equal `boot_id` and `time_namespace` share one monotonic clock. Others can
/// only be compared by the time of day, as exactly as that is synchronised.
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
}
