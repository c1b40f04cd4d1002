//! memaslap's output, byte for byte: header, periodic statistics, statistics and counters at the
//! end.
//!
//! Scripts parse this text, so a word, a width or a blank line is never improved here. A formatter
//! opens no file and computes no verdict.

mod report;

mod blocks;

mod figures;

#[cfg(test)]
mod tests;

pub use figures::{Kinds, Period, TimeFigures};
pub use report::{Formatter, RunCounts, failure};
