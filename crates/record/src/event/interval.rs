//! One second of the load: workers end it together, and agents report it to their master.

mod judged;
mod log;
mod progress;
mod rows;
mod sum;
mod travel;

pub use log::{log_end, log_head, log_of};
pub use progress::LoadSoFar;
pub use rows::IntervalRow;

use crate::record::{
    HostSecond, SecondRecord, ServerReport, ServerSecond, SettledCounts, UnderWay, WorkerSecond,
};
use memtide_base::Span;
use memtide_metrics::{Histogram, quantile};
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

    /// The second as a record keeps it; `times` has the response times of its measured operations.
    /// Their percentiles are none if the times are unknown.
    pub fn record(&self, times: &Histogram<u64>) -> SecondRecord {
        let above = self.unanswered.get(&Kind::All).copied().unwrap_or(0);
        let [response_p50_ns, response_p99_ns] =
            [0.5, 0.99].map(|p| quantile(times, above, p).known());
        SecondRecord {
            start_s: self.start.as_s_f64(),
            length_s: self.length.as_s_f64(),
            counts: self.counts,
            response_p50_ns,
            response_p99_ns,
            under_way: self.under_way,
            servers: self.servers.clone(),
            no_server: Some(self.no_server).filter(|none| *none != SettledCounts::default()),
            workers: self.workers.clone(),
            reports: self.reports.clone(),
            host: self.host.clone(),
        }
    }

    /// The second of a record, without the state of single workers. Its times are unknown.
    pub fn of_record(second: &SecondRecord) -> Self {
        Self {
            start: Span::from_s_f64(second.start_s),
            length: Span::from_s_f64(second.length_s),
            counts: second.counts,
            under_way: second.under_way,
            servers: second.servers.clone(),
            no_server: second.no_server.unwrap_or_default(),
            reports: second.reports.clone(),
            host: second.host.clone(),
            ..Self::default()
        }
    }
}

/// One second of one agent's load, for views of a run under way; it is in no record and does not
/// travel. It has figures in place of histograms, because a run may have hundreds
/// of agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSecond {
    /// The agent's name.
    pub name: String,
    /// Length of the second; longer if the agent stood still.
    pub length: Span,
    /// Operations that ended in it.
    pub counts: SettledCounts,
    /// 50th percentile of response times in ns; none if too few operations were answered.
    pub response_ns_p50: Option<u64>,
    /// 99th percentile of response times in ns.
    pub response_ns_p99: Option<u64>,
    /// 99th percentile of lag in ns.
    pub lag_ns_p99: Option<u64>,
    /// Age of its backlog in seconds; none if that is unknown.
    pub oldest_due_s: Option<f64>,
    /// The busiest worker's busy share.
    pub busy: Option<f64>,
    /// The largest share of a worker without its CPU.
    pub kept: Option<f64>,
    /// The busy share of its machine's CPUs.
    pub cpu_busy: Option<f64>,
}

impl AgentSecond {
    /// The agent's part of a second, as it reported it.
    pub fn of(name: &str, second: &Interval) -> Self {
        let above = second.unanswered.get(&Kind::All).copied().unwrap_or(0);
        let [response_ns_p50, response_ns_p99] =
            [0.5, 0.99].map(|p| quantile(second.response.get(&Kind::All)?, above, p).known());
        let lag = second.lag.get(&Kind::All);
        let workers = second.workers.iter();
        Self {
            name: name.to_owned(),
            length: second.length,
            counts: second.counts,
            response_ns_p50,
            response_ns_p99,
            lag_ns_p99: lag.and_then(|lag| quantile(lag, 0, 0.99).known()),
            oldest_due_s: second.under_way.oldest_due_s,
            busy: workers.clone().filter_map(|worker| worker.busy).reduce(f64::max),
            kept: workers.filter_map(|worker| worker.kept).reduce(f64::max),
            cpu_busy: second.host.as_ref().and_then(|host| host.cpu_busy),
        }
    }
}

#[cfg(test)]
mod tests;
