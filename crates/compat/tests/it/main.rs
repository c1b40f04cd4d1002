//! The crate from outside: what it prints is read back by a parser that was written apart.

#[path = "../parser/mod.rs"]
mod parser;

mod round_trip;

mod published;
