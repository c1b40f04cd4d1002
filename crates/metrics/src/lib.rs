//! The measurements of a run: counters, HDR histograms with exact moments, and rows over time whose
//! memory does not grow with the run.
//!
//! Recording allocates nothing and takes no lock. This crate knows no protocol and no operation:
//! a kind is a position in a table. The list below is the reading order.
#![forbid(unsafe_code)]

pub mod interval;
pub mod times;
pub mod slices;
pub mod series;
pub mod summary;
pub mod churn;
pub mod mismatch;
pub mod absence;
pub mod counter;
pub mod table;
pub mod histogram;

pub use absence::{Absence, Absences, Returns};
pub use churn::{Churn, ChurnCounters, ChurnFate};
pub use counter::{Counters, DatagramClass, ErrorClass, Fate, ReplyClass, VerifyClass};
pub use histogram::Histogram;
pub use interval::{Answer, Tally, TallySum, UnansweredCount};
pub use mismatch::{Mismatch, Mismatches};
pub use series::{Row, Series};
pub use slices::{Slice, SliceSet};
pub use summary::{Quantile, quantile};
pub use times::{LATE_CLASSES, LATE_MIN_NS, Lateness, Shape, Times};
