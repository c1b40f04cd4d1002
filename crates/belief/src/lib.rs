//! How far a figure of one run can be believed: its 95 % confidence interval from slices of the
//! window, the part of it that may be memtide's own, a grade, and what the machine does to it. Of
//! several runs, by how much two arms differ.
//!
//! Pure: no clock is read, and no record is known here. docs/measurement.md derives the
//! methods and says where they do not hold. The list below is the reading order.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use files"))]

pub mod machine;
pub mod grade;
mod drift;
pub mod paired;
pub mod repeats;
mod warmup;
pub mod own;
mod placement;
pub mod interval;
mod shape;
mod longrun;
mod law;

pub use drift::{Drift, growth};
pub use grade::Grade;
pub use interval::{Confidence, Interval, Ranks, Refusal, Sample};
pub use own::Own;
pub use paired::Paired;
pub use placement::{Bound, Placement, Side};
pub use repeats::Repeated;
pub use warmup::{Settling, WarmupSlice};
