//! Places where measurements go: a record as JSON, samples as CSV, wrong values as lines of JSON.
//!
//! Each sink writes to whatever it is given; it opens nothing and starts no thread.
#![forbid(unsafe_code)]

mod csv;
mod details;
mod json;

pub use csv::SampleCsv;
pub use details::write_details;
pub use json::write_record;
