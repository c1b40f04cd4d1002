//! The input of memtide: fields as flags, files and variables spell them, and the scenario, outputs
//! and placement that they set.
//!
//! Pure words and values: nothing is decided for a machine, no file is opened, nothing is printed.
//! The list below is the reading order; `use` arrows run only down it.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use files"))]

#[cfg(test)]
#[path = "../tests/page/mod.rs"]
mod page;

mod file;

mod advice;

pub mod field;

mod scenario;

mod kind;

#[cfg(test)]
#[path = "../../base/tests/pages/mod.rs"]
mod pages;

#[cfg(test)]
#[path = "../../base/tests/prose/mod.rs"]
mod prose;

#[cfg(test)]
#[path = "../../base/tests/table/mod.rs"]
mod table;

pub use advice::{Advice, Change};
pub use field::{
    AgentRule, FIELDS, Field, FieldError, Layer, Origin, Section, given_fields, is_near,
    scenario_file,
};
pub use file::from_toml;
pub use kind::Kind;
pub use scenario::*;
