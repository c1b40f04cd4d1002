//! twemperf's output, byte for byte: one report at the end of a run.
//!
//! Scripts parse this text, so a word, a place or a blank line is never improved here. Its numbers
//! are correct, in the units that the labels name. A formatter opens no file.

mod report;

mod material;

#[cfg(test)]
mod tests;

pub use material::{Cpu, Errors, Material, Replies, Spread};
pub use report::report;
