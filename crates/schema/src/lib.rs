//! What a user asks for (a scenario of fields) and what a run answers (a record, with events,
//! warnings and samples on the way).
//!
//! Pure data: no file is opened, no clock is read, nothing is printed here. This is the only
//! crate that derives serde, so every shape that leaves the program is found in it.
//! The list below is the reading order; `use` arrows run only down it.
#![forbid(unsafe_code)]

pub mod event;

pub mod warning;

pub mod record;

pub mod sample;

#[cfg(test)]
mod page;

mod file;

pub mod field;

pub mod scenario;

pub mod kind;

pub use event::{Event, Progress};
pub use field::{FIELDS, Field, FieldError, Layer, Origin, Section};
pub use file::from_toml;
pub use kind::Kind;
pub use record::Record;
pub use sample::{Sample, SampleOutcome};
pub use scenario::Scenario;
pub use warning::Warning;
