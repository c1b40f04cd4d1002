//! The crate from outside: what it prints is read back by a parser that was written apart.

#[path = "../parser/mod.rs"]
mod parser;

#[path = "../memaslap/mod.rs"]
mod slap;

mod round_trip;

mod published;

mod memaslap;
