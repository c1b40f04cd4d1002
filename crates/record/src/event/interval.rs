//! One second of the load: workers end it together, and agents report it to their master.

mod agent;
mod judged;
mod log;
mod progress;
mod rows;
mod kept;
mod sum;
mod travel;

pub use agent::AgentSecond;
pub use log::{log_end, log_head, log_of};
pub use progress::LoadSoFar;
pub use rows::IntervalRow;

use crate::record::{
    HostSecond, ServerReport, ServerSecond, SettledCounts, UnderWay, WorkerSecond,
};
use memtide_base::Span;
use memtide_metrics::Histogram;
use memtide_scenario::Kind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

const SECOND_NS: u64 = 1_000_000_000;
/// An interval that begins or ends as near to the end of a row does not pass over it.
const OVER_NS: u64 = SECOND_NS / 4;

/// Results of about one second of the load over all workers: outcomes in it, and the state at its
/// end. Counts and times of all intervals add up to those of the load.
///
/// A master ignores members that it does not know, so an agent may say more. What a known member
/// means never changes without another `PROTOCOL` of the crate cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Time from the beginning of the load to the interval's beginning.
    #[serde(rename = "start_ns", with = "travel::nanoseconds")]
    pub start: Span,
    /// Length of the interval.
    #[serde(rename = "length_ns", with = "travel::nanoseconds")]
    pub length: Span,
    /// Operations that ended in the interval.
    pub counts: SettledCounts,
    /// Keys of the operations sent in the interval; an operation without keys counts as one. None
    /// unless the schedule counts keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_sent: Option<u64>,
    /// Received − intended of measured operations answered in the interval, by kind, as in a
    /// record; a kind without any is absent.
    #[serde(with = "travel::times")]
    pub response: BTreeMap<Kind, Histogram<u64>>,
    /// Received − sent of measured operations answered in the interval, by kind.
    #[serde(with = "travel::times")]
    pub service: BTreeMap<Kind, Histogram<u64>>,
    /// Sent − intended of measured operations sent in the interval, by kind.
    #[serde(with = "travel::times")]
    pub lag: BTreeMap<Kind, Histogram<u64>>,
    /// Measured operations that ended unanswered in the interval, by kind; a kind without any is
    /// absent. They rank above all times in `response`.
    pub unanswered: BTreeMap<Kind, u64>,
    /// In flight and backlog at the end of the interval.
    pub under_way: UnderWay,
    /// Outcomes by server, in the plan's order of servers. These and `no_server` add up to
    /// `counts`.
    pub servers: Vec<ServerSecond>,
    /// Outcomes of operations for which no server was chosen.
    pub no_server: SettledCounts,
    /// State of each worker at the end of the interval, in the order of workers. Workers that have
    /// finished report nothing in flight and no backlog.
    pub workers: Vec<WorkerSecond>,
    /// Reports of the servers by name: growth of their counters since their previous `stats` reply.
    /// Servers are queried shortly before a second ends. Empty if none was queried.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reports: BTreeMap<String, ServerReport>,
    /// The machine that made the load; none if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSecond>,
    /// The parts of the agents that make the load, by number; empty without agents. They do not
    /// travel.
    #[serde(skip)]
    pub agents: Vec<AgentSecond>,
    /// True if the load was over at the interval's end: the measured window had ended, or all
    /// operations were issued. Later outcomes say nothing about the load.
    pub is_over: bool,
    /// True if the interval holds the load of a master's agents, and not the master's own beside
    /// it. The master knows; no agent says it.
    #[serde(skip)]
    pub is_of_agents: bool,
}

impl Interval {
    /// Time from the beginning of the load to the interval's end.
    pub const fn end(&self) -> Span {
        Span::from_ns(self.start.ns().saturating_add(self.length.ns()))
    }

    /// The whole second of the load that holds the interval's middle, by which it is placed among
    /// the intervals of other processes. It ends shortly after a whole second, or anywhere if its
    /// process stood still or its load was over.
    pub const fn second(&self) -> u64 {
        self.start.ns().saturating_add(self.length.ns() / 2) / SECOND_NS
    }

    /// The whole seconds of the load at which no row can end, because a good part of the interval
    /// is before and another after them: what is in it cannot be divided.
    pub fn passed_over(&self) -> Range<u64> {
        let first = self.start.ns().saturating_add(OVER_NS) / SECOND_NS + 1;
        first..self.end().ns().saturating_sub(OVER_NS).div_ceil(SECOND_NS)
    }
}

#[cfg(test)]
mod tests;
