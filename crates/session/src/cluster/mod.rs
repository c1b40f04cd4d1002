//! Runs by agents on other machines: the master's world, and the sessions of agents.
//!
//! memtide-cluster decides what both send, and when; this module connects it to sessions, files and
//! signals.

mod master_world;
mod master_runner;
mod window;
mod own_outputs;
mod serving;
mod share;
mod folder;

pub use folder::{own_key, records};
pub use master_world::MasterWorld;
pub use own_outputs::OwnPoints;
pub use serving::{MakeLog, Own, Setup, serve};
