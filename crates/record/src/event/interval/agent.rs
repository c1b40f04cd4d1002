//! What one agent's load did in a second, for views of a run under way. It is in no record and does
//! not travel.

use super::Interval;
use crate::record::SettledCounts;
use memtide_base::Span;
use memtide_metrics::quantile;
use memtide_scenario::Kind;

/// One second of one agent's load: figures in place of histograms, because a run may have hundreds
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
