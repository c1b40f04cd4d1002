//! The output of the family's programs, byte for byte: tables, totals, samples and plots.
//!
//! Scripts parse this text, so a word, a width or a blank line is never improved here; memtide's
//! own figures are printed elsewhere. A formatter opens no file and computes no verdict.

mod report;

mod search;

mod samples;

mod plot;

mod material;

mod table;

mod format;

#[cfg(test)]
mod tests;

pub use format::Format;
pub use material::{Cpu, Material, Segment, TimeBasis, Whose};
pub use plot::{histogram_csv, histogram_name};
pub use report::{Formatter, Waveform};
pub use samples::{SavedOperations, sample_line};
pub use search::{SearchGoal, SearchStep, Trial, search_line};
pub use table::ScaledHistogram;
