//! Samples and seconds of the load as Parquet: typed, compressed columns, with the scenario beside
//! them. A file is complete only with its end, so it is put in its place only then.

mod intervals;
mod samples;
mod table;

pub use intervals::ParquetIntervals;
pub use samples::ParquetSamples;

use memtide_scenario::Tags;

/// Facts of the run that a Parquet file holds beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParquetRun {
    /// A scenario file that reproduces the load.
    pub scenario: String,
    /// The version of memtide that made the measurement.
    pub version: String,
    /// The user's tags of the run.
    pub tags: Tags,
}

#[cfg(test)]
mod tests;
