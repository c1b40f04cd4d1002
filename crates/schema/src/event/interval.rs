//! A second of the load, which workers end together and agents tell their master.

mod judged;
mod log;
mod progress;
mod rows;
mod sum;
mod travel;

pub use log::{log_head, log_of};
pub use progress::LoadSoFar;
pub use rows::IntervalRow;

use crate::kind::Kind;
use crate::record::{ServerReport, ServerSecond, SettledCounts, UnderWay, WorkerSecond};
use memtide_base::Span;
use memtide_metrics::Histogram;
use std::collections::BTreeMap;

/// What ended in about a second of the load, over all workers, and what was under way at its end.
/// Counts and times of all intervals add up to those of the load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// From the beginning of the load to the interval's beginning.
    pub start: Span,
    /// How long it was.
    pub length: Span,
    /// Operations that ended in it.
    pub counts: SettledCounts,
    /// Received − intended of the measured operations that were answered in it, by kind, as in a
    /// record; a kind without any is missing.
    pub response: BTreeMap<Kind, Histogram<u64>>,
    /// Received − sent of the same.
    pub service: BTreeMap<Kind, Histogram<u64>>,
    /// Sent − intended of the measured operations that were sent in it.
    pub lag: BTreeMap<Kind, Histogram<u64>>,
    /// Measured operations that ended in it and rank above those in `response`, by kind; a kind
    /// without any is missing.
    pub unanswered: BTreeMap<Kind, u64>,
    /// What was under way at its end.
    pub under_way: UnderWay,
    /// What ended of each server's operations, in the plan's order of servers: these and
    /// `no_server` add up to `counts`.
    pub servers: Vec<ServerSecond>,
    /// What ended of operations that no server was chosen for.
    pub no_server: SettledCounts,
    /// What each worker had under way at its end, in their order; empty of what is left when they
    /// have finished.
    pub workers: Vec<WorkerSecond>,
    /// What servers said of themselves in it, by name: counters since their answers before. They
    /// are asked shortly before a second ends. Empty where none was asked.
    pub reports: BTreeMap<String, ServerReport>,
    /// Whether the load was over at its end: the measured window had ended, or all operations were
    /// issued. What ended then says nothing about the load.
    pub is_over: bool,
}

#[cfg(test)]
mod tests;
