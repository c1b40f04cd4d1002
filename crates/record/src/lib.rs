//! The output of memtide: events, warnings and samples during a run, the record at its end, and the
//! comparing of records.
//!
//! Pure data: no file is opened, no clock is read, nothing is printed here. Every format of data
//! that the program writes is defined here. The list below is the reading order; `use` arrows run
//! only down it.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use files"))]

pub mod event;

pub mod steps;

pub mod compare;

pub mod judge;

mod run_figure;

mod agreement;

pub mod belief;

pub mod warning;

mod exit;

mod record;

pub mod sample;

#[cfg(test)]
#[path = "../../base/tests/pages/mod.rs"]
mod pages;

#[cfg(test)]
#[path = "../../base/tests/prose/mod.rs"]
mod prose;

#[cfg(test)]
#[path = "../../base/tests/schemas/mod.rs"]
mod schemas;

pub use agreement::{Agreement, Circumstances, Readings};
pub use belief::{Channel, GradedFigure, LATE, Ranged, joined};
pub use compare::{Comparison, Rule, compare};
pub use event::{AgentSecond, Event, Interval, LoadSoFar, Progress, Shared, StepBegun, TimesSoFar};
pub use exit::Exit;
pub use judge::judge;
pub use memtide_belief::Grade;
pub use memtide_belief::grade::YES_MAX;
pub use record::*;
pub use sample::{CellForm, Column, Sample, SampleOutcome, WrongValue, WrongValues};
pub use warning::{LateCause, Means, Warning, natively};
