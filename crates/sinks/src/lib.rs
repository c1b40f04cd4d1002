//! Places where measurements go: a record as JSON, samples as CSV.
//!
//! Each sink writes to whatever it is given; it opens nothing and starts no thread.
#![forbid(unsafe_code)]

mod csv;
mod json;

pub use csv::SampleCsv;
pub use json::write_record;
