//! Samples and seconds of the load as Parquet: typed columns that are compressed, with the scenario
//! beside them. A file is whole only with its end, so nothing is in its place before.

mod intervals;
mod samples;
mod table;

pub use intervals::ParquetIntervals;
pub use samples::ParquetSamples;

use memtide_schema::scenario::Tags;

/// What a Parquet file says of the run beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParquetRun {
    /// A scenario file that runs the same load again.
    pub scenario: String,
    /// The version of memtide that measured.
    pub version: String,
    /// The user's own words for the run.
    pub tags: Tags,
}

#[cfg(test)]
mod tests;
