//! Runs by agents on other machines: the master, and the agents.
//!
//! memtide-cluster decides what both send, and when; this module connects it to sessions, files and
//! signals.

pub(crate) mod master_world;
pub(crate) mod master_runner;
mod window;
pub(crate) mod own_outputs;
pub(crate) mod serving;
mod share;
pub(crate) mod records;
pub(crate) mod folder;
