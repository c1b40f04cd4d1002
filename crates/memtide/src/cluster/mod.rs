//! Runs by agents on other machines: the master, and the agents.
//!
//! memtide-cluster decides what both send, and when; this module connects it to sessions, files and
//! signals.

pub(crate) mod session;
pub(crate) mod master;
mod merged;
pub(crate) mod rows;
pub(crate) mod points;
pub(crate) mod agent;
mod worker;
pub(crate) mod kept;
pub(crate) mod records;
mod folder;
