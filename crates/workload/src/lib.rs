//! What to request from a server, and when.
//!
//! Everything here is a function of a seed and an index: operation i, its keys, their bytes and its
//! intended instant do not depend on the caller or the order of calls. Only a window also remembers
//! what was stored. This crate knows no protocol, clock or socket. The list below is the reading
//! order; `use` arrows run only down it.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use files"))]

pub mod source;

pub mod schedule;

pub mod mix;

pub mod popularity;

pub mod key;

pub mod value;

pub mod size;

pub mod arrival;

pub mod wave;

pub mod op;

mod word;

#[cfg(test)]
mod tests;

pub use arrival::{Arrival, TimeLaw};
pub use key::{KeyError, KeyForm, KeyShape, KeySpace, share_cut};
pub use mix::{Mix, MixOrder};
pub use op::{Action, Op, OpKind, Outcome};
pub use popularity::{KeyPart, KeyPicker, Popularity};
pub use schedule::{Due, Lane, Schedule};
pub use size::{Draws, SizeLaw};
pub use source::{MixSource, Next, Pick, PlannedSource, Source, SourcePlan, WindowLaw, WindowPlan};
pub use value::{
    Expiring, Finding, Lifetimes, Oracle, ValueCheck, ValueSpace, Version, Wrong, numeric_value,
};
pub use wave::{RateCurve, Wave};
