//! twemperf, Twitter's `mcperf` 0.1.1: its command line as values, and the report that it prints.
//!
//! No relative of the `mcperf` that descends from mutilate, whose options mean other things.

mod lower;
mod args;
mod page;
mod options;
mod distribution;
pub mod text;

pub use args::parse;
pub(crate) use args::reading;
pub use distribution::Distribution;
pub use lower::lower;
pub use options::{Keys, Load, Method, Options, Output, Request, Sizes, Socket, Target};
