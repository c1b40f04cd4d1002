//! From a scenario to a plan, through the phases of a run, to a record.
//!
//! Pure decisions over a [`memtide_world::Fleet`]: it owns no thread, no socket and no clock, and
//! cannot tell the real world from a simulated one. The list below is the reading order.
#![forbid(unsafe_code)]

pub mod steps;
mod controller;
mod seal;
mod fill;
mod run_plan;
mod doctor;
mod survey;
pub mod lower;
mod observer;
mod share;
mod failure;

#[cfg(test)]
#[path = "../../base/tests/prose/mod.rs"]
mod prose;

pub use controller::{RunOutcome, run};
pub use failure::Failure;
pub use lower::{
    CpuChoice, CpuPlacement, Doors, Lowered, PlanSizes, Planner, SampledServers, Surroundings,
    Unplannable, Wanted, lower,
};
pub use observer::Observer;
pub use run_plan::{SharedClosing, SharedWarmup, load_max, tried};
pub use seal::record_not_run;
pub use share::{Barrier, NotRun, Share};
