//! Facts that only a record merged from shares has: the missing shares, and the start skew.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
