//! Places where measurements go: a record or the steps of a search as JSON, samples as CSV, wrong
//! values as lines of JSON.
//!
//! Each sink writes to whatever it is given; it opens nothing and starts no thread.
#![forbid(unsafe_code)]

mod csv;
mod details;
mod json;
mod steps;

pub use csv::SampleCsv;
pub use details::write_details;
pub use json::write_record;
pub use steps::StepsJson;
