//! Whole runs from outside: scenario in, record out, over a fleet in virtual time.

#[path = "../../../engine/tests/world/mod.rs"]
#[allow(dead_code, reason = "the engine's own tests look closer than these")]
mod world;

mod course;
mod cpus;
mod figures;
mod goals;
mod lowering;
mod plans;
mod toy;
mod trouble;
