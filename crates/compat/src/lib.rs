//! The faces of older load generators: their command lines, parsed by their own rules into values,
//! and their output.
//!
//! Pure: words in, values and text out. Makes no load, opens nothing, reads no clock.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use files"))]

mod mcperf;
pub mod mutilate;
pub mod memaslap;
pub mod twemperf;
mod said;
mod printed;
mod words;
mod server;
pub mod getopt;
mod number;

#[cfg(test)]
mod tests;

pub use mcperf::Mcperf;
pub use printed::{Printed, Stop};
pub use words::{FAMILY_WORDS, FaceWords, SLAP_WORDS, TWEMPERF_WORDS};
