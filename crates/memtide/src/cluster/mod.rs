//! Runs that agents on other machines carry out: their master, and the agents themselves.
//!
//! What both say to each other, and when, is decided by memtide-cluster; this connects it to
//! sessions, files and signals.

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
