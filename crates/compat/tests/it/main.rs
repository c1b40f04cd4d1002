//! The crate from outside: an independent parser reads its output back.

#[path = "../parser/mod.rs"]
mod parser;

#[path = "../memaslap/mod.rs"]
mod slap;

mod round_trip;

mod published;

mod memaslap;
