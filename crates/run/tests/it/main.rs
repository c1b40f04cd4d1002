//! Whole runs from outside: scenario in, record out, over a fleet in virtual time.
#![expect(clippy::disallowed_methods, reason = "tests use files")]

mod course;
mod cpus;
mod figures;
mod goals;
mod knee;
mod lowering;
mod plans;
mod seconds;
mod trouble;
mod world;
