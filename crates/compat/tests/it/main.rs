//! The crate from outside: an independent parser reads its output back.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../parser/mod.rs"]
mod parser;

#[path = "../memaslap/mod.rs"]
mod slap;

mod round_trip;

mod published;

mod memaslap;
