//! What a record merged from shares says beyond a single run's: which shares are missing, and
//! how the beginnings of their windows compare.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The shares of a run that are not in a merged record, or made no load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MissingRecord {
    /// Their numbers, ascending.
    pub shares: Vec<u32>,
    /// Their lanes, as ranges from the first to the last, ascending.
    pub lanes: Vec<[u32; 2]>,
    /// How many lanes the whole run has.
    pub lanes_total: u32,
    /// Operations that their schedules called for in the measured window: exact for fixed
    /// arrivals, otherwise the expected number. None where no schedule says how many.
    pub unreported: Option<u64>,
}

/// How the windows of shares are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AlignmentRecord {
    /// By which clock.
    pub by: AlignedBy,
    /// How wrong the start skew can be; none when it is unknown.
    pub error_max_ns: Option<u64>,
    /// How the start skew is known, or why it is not, as a clause for people.
    pub why: String,
    /// How long all shares measured at the same time; 0 when they were not one load. When the skew
    /// is unknown, the shortest window, because rows are then compared by the schedule alone.
    pub common_ns: u64,
}

/// The clock by which shares are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlignedBy {
    /// The monotonic clock that all of them read.
    Monotonic,
    /// The monotonic clock of the master of all of them, which each share's was compared with.
    Reference,
    /// Synchronised times of day.
    TimeOfDay,
    /// None that can be trusted.
    #[default]
    Unknown,
}

/// How many operations of a share belong to each slice of its measured window, for the rate that
/// all shares had together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ShareRows {
    /// How long a slice is; none when there are fewer than two.
    pub width_ns: Option<u64>,
    /// Operations intended in each slice that ended.
    pub ended: Vec<u64>,
    /// Operations sent while the measured window lasted, copies of writes left out.
    pub sent: u64,
}
