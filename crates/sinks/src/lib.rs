//! Destinations of results: a record or the steps of a search as JSON, samples, seconds and whole
//! runs as rows, wrong values as lines of JSON; and the queues through which events reach them.
//!
//! Each sink writes to a writer that it is passed and opens nothing, except for the spool of points
//! for InfluxDB. [`Outlets`] starts a thread for each sink, and [`Delivery`] one that posts points.
#![forbid(unsafe_code)]

mod outlet;
mod csv;
mod lines;
mod intervals;
#[cfg(feature = "parquet")]
mod columnar;
mod details;
mod json;
mod steps;
mod summary;
mod influx;
mod sink;

#[cfg(feature = "parquet")]
pub use columnar::{ParquetIntervals, ParquetRun, ParquetSamples};
pub use csv::SampleCsv;
pub use details::DetailsJson;
pub use influx::{
    Answer, Delivered, Delivery, Feed, InfluxIntervals, InfluxOperations, InfluxRun, Post, Spool,
};
pub use intervals::{IntervalLog, IntervalRows};
pub use json::RecordJson;
pub use lines::SampleLines;
pub use outlet::{Ending, Outlets};
pub use sink::{Document, Sink};
pub use steps::StepsJson;
pub use summary::SummaryRows;
