//! The agents of a run in their last second, a row each.

use super::{EACH_SHOWN_MAX, Live, time_word, unanswered};
use crate::number::{NONE, or_none, percent, rate, whole};
use memtide_record::{AgentSecond, Interval, per_second};
use std::cmp::Reverse;

/// What [`rows`] says.
pub(crate) const AGENT_COLUMNS: [&str; 9] =
    ["agent", "answered", "errors", "p50", "p99", "lag p99", "backlog", "worker", "CPUs"];

/// An agent, and whether it has reported the last second of the run.
#[derive(Clone, Debug)]
pub(super) struct LiveAgent {
    last: AgentSecond,
    is_silent: bool,
}

impl Live {
    /// Notes what the agents did in `second`.
    pub(super) fn agents_second(&mut self, second: &Interval) {
        self.agents.values_mut().for_each(|agent| agent.is_silent = true);
        for agent in &second.agents {
            let now = LiveAgent { last: agent.clone(), is_silent: false };
            self.agents.insert(agent.name.clone(), now);
        }
    }

    /// A row for each agent by name, and the number of those left out; of too many, those with the
    /// longest times.
    pub(crate) fn agent_rows(&self) -> (Vec<Vec<String>>, usize) {
        let mut shown: Vec<&LiveAgent> = self.agents.values().collect();
        let more = shown.len().saturating_sub(EACH_SHOWN_MAX);
        if more > 0 {
            shown.sort_by_key(|agent| Reverse(agent.last.response_ns_p99.unwrap_or(u64::MAX)));
            shown.truncate(EACH_SHOWN_MAX);
            shown.sort_by(|a, b| a.last.name.cmp(&b.last.name));
        }
        (shown.into_iter().map(LiveAgent::row).collect(), more)
    }

    /// The agent with the largest value of `figure` in the last second, if there are agents.
    pub(super) fn worst_agent(&self, figure: fn(&AgentSecond) -> Option<f64>) -> Option<&str> {
        let speaking = self.agents.values().filter(|agent| !agent.is_silent);
        let each = speaking.filter_map(|agent| Some((figure(&agent.last)?, &agent.last.name)));
        each.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name.as_str())
    }
}

impl LiveAgent {
    fn row(&self) -> Vec<String> {
        let AgentSecond { name, length, counts, .. } = &self.last;
        if self.is_silent {
            let rest = std::iter::repeat_n(NONE.to_owned(), AGENT_COLUMNS.len() - 2);
            return [name.clone(), "no report".to_owned()].into_iter().chain(rest).collect();
        }
        let age = self.last.oldest_due_s.map(|s| (s * 1e9) as u64);
        vec![
            name.clone(),
            rate(per_second(counts.answered, *length)),
            whole(unanswered(counts)),
            time_word(self.last.response_ns_p50),
            time_word(self.last.response_ns_p99),
            time_word(self.last.lag_ns_p99),
            time_word(age.filter(|age| *age > 0)),
            or_none(self.last.busy.map(percent)),
            or_none(self.last.cpu_busy.map(percent)),
        ]
    }
}
