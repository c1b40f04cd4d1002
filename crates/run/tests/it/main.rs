//! Whole runs from outside: scenario in, record out, over a fleet in virtual time.

mod course;
mod cpus;
mod figures;
mod goals;
mod lowering;
mod plans;
mod seconds;
mod trouble;
mod world;
