//! Places where results go: a record or the steps of a search as JSON, samples as CSV, wrong values
//! as lines of JSON; and the queues by which events get to them.
//!
//! Each sink writes to what it is given and opens nothing. Only [`Outlets`] starts threads.
#![forbid(unsafe_code)]

mod outlet;
mod csv;
mod lines;
mod intervals;
mod details;
mod json;
mod steps;
mod sink;

pub use csv::SampleCsv;
pub use details::DetailsJson;
pub use intervals::{IntervalLog, IntervalRows, RowForm};
pub use json::RecordJson;
pub use lines::SampleLines;
pub use outlet::{Ending, Outlets};
pub use sink::{Document, Sink};
pub use steps::StepsJson;
