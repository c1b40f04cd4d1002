//! The input of memtide (a scenario of fields) and its output (a record; events, warnings and
//! samples during a run), and the merging of several records into one.
//!
//! Pure data: no file is opened, no clock is read, nothing is printed here. This is the only crate
//! that derives serde, so it defines every data format that the program writes. The list below is
//! the reading order; `use` arrows run only down it.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use files"))]

pub mod event;

pub mod steps;

pub mod merge;

pub mod compare;

pub mod judge;

pub mod warning;

pub mod record;

pub mod sample;

mod exit;

#[cfg(test)]
mod page;

mod file;

pub mod field;

pub mod scenario;

pub mod kind;

#[cfg(test)]
#[path = "../../base/tests/prose/mod.rs"]
mod prose;

pub use compare::{Comparison, Rule, compare};
pub use event::{Event, Interval, LoadSoFar, Progress, StepBegun, TimesSoFar};
pub use exit::Exit;
pub use field::{AgentRule, FIELDS, Field, FieldError, Layer, Origin, Section, scenario_file};
pub use file::from_toml;
pub use judge::judge;
pub use kind::Kind;
pub use merge::{MergeError, Merging, Scenarios, beside, merge};
pub use record::Record;
pub use sample::{CellForm, Column, Sample, SampleOutcome, WrongValue, WrongValues};
pub use scenario::{
    Output, OutputKind, Outputs, RowForm, RowText, Scenario, Settings, scenario_digest,
};
pub use warning::{LateCause, Warning, natively};
