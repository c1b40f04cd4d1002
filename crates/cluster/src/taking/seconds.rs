//! The seconds of all agents on one axis of time, and the rows that they make.
//!
//! Each agent reports stretches of its load, by the time since its load was armed. All loads are
//! armed at one instant by the compared clocks, so these times are comparable. A stretch is about a
//! second long, or longer if the agent stood still. A stretch cannot be divided, so a row is as
//! long as the longest stretch in it; rows follow each other without gaps and never overlap.

use memtide_base::Span;
use memtide_record::{AgentSecond, Interval};
use std::collections::{BTreeMap, VecDeque};

/// Largest number of stretches of one agent that wait for those of other agents.
const SECONDS_AHEAD_MAX: usize = 64;
/// The most that wait of an agent until rows are made, which may be a turn of the master later.
const WAITING_MAX: usize = 2 * SECONDS_AHEAD_MAX;
/// Time by which a stretch may seem to end in the future. The comparison of clocks over a slow
/// network is less exact than that only if the agent also counts as silent.
const FUTURE_MAX: Span = crate::AGENT_SILENT_MAX;
const SECOND_NS: u64 = 1_000_000_000;

/// The reported stretches that are in no row yet.
#[derive(Debug, Default)]
pub(super) struct Seconds {
    agents: BTreeMap<u32, Reported>,
    /// End of the last row of all, and of the last one without the master's own load.
    until: Span,
    until_of_agents: Span,
}

/// What one agent has reported.
#[derive(Debug, Default)]
struct Reported {
    waiting: VecDeque<Interval>,
    /// End of its last stretch.
    until: Span,
    /// Number of its operations in rows.
    shown: u64,
}

impl Seconds {
    /// Adds the next stretch of an agent's load, when `passed` has passed since all loads were
    /// armed.
    pub(super) fn add(
        &mut self,
        number: u32,
        interval: Interval,
        passed: Span,
    ) -> Result<(), String> {
        let agent = self.agents.entry(number).or_default();
        let end = interval.end();
        if interval.start < agent.until {
            return Err(format!("it reported {} of its load twice", agent.until));
        }
        if end.saturating_sub(passed) > FUTURE_MAX {
            return Err(format!("it reported its load until {end}, but only {passed} have passed"));
        }
        if agent.waiting.len() == WAITING_MAX {
            return Err(format!("it reported {WAITING_MAX} stretches of its load at once"));
        }
        agent.until = end;
        agent.waiting.push_back(interval);
        Ok(())
    }

    /// The next row, once every agent in `loading` has reported so far, or one is far ahead: of all
    /// loads, and of all but that of the agent `own`, which may have none. The latter has a part
    /// for each agent, with the name that `names` has for it.
    pub(super) fn row(
        &mut self,
        loading: &[u32],
        own: Option<u32>,
        names: &[String],
    ) -> Option<(Interval, Option<Interval>)> {
        let at = self.boundary(loading)?;
        let agents = self.agents.iter_mut();
        let parts: Vec<(u32, Interval)> =
            agents.filter_map(|(number, agent)| Some((*number, agent.take(at)?))).collect();
        let others = parts.iter().filter(|(number, _)| Some(*number) != own);
        let each = others.clone().map(|(number, part)| {
            let name = names.get(*number as usize).map_or("", String::as_str);
            AgentSecond::of(name, part)
        });
        let agents = merged(others.clone().map(|(_, part)| part), &mut self.until_of_agents);
        let agents = agents.map(|sum| Interval { agents: each.collect(), ..sum });
        Some((merged(parts.iter().map(|(_, part)| part), &mut self.until)?, agents))
    }

    /// The number of an agent's operations that are in rows.
    pub(super) fn shown(&self, number: u32) -> u64 {
        self.agents.get(&number).map_or(0, |agent| agent.shown)
    }

    /// The whole second at which the next row can end: no stretch of any agent passes over it, and
    /// every agent in `loading` has reported until then.
    fn boundary(&self, loading: &[u32]) -> Option<u64> {
        let waiting: Vec<&Interval> =
            self.agents.values().flat_map(|agent| &agent.waiting).collect();
        let most = self.agents.values().map(|agent| agent.waiting.len()).max().unwrap_or(0);
        assert!(most <= WAITING_MAX, "an agent that reports more at once is lost");
        let first = waiting.iter().map(|it| it.second()).min()? + 1;
        if most > SECONDS_AHEAD_MAX {
            return Some(first);
        }
        let last = waiting.iter().map(|it| it.second()).max()? + 1;
        let reported = loading.iter().map(|number| self.agents.get(number));
        let reported = reported.map(|agent| agent.map_or(0, |it| it.until.ns() / SECOND_NS));
        let complete = reported.min().unwrap_or(u64::MAX);
        (first..=last.min(complete))
            .find(|at| !waiting.iter().any(|it| it.passed_over().contains(at)))
    }
}

/// Stretches as one that begins at `until`, which becomes their end; none without stretches.
fn merged<'a>(
    parts: impl Iterator<Item = &'a Interval> + Clone,
    until: &mut Span,
) -> Option<Interval> {
    let sum = Interval::merged(parts.clone())?;
    let start = *until;
    *until = parts.map(Interval::end).fold(start, Span::max);
    Some(Interval { start, length: until.saturating_sub(start), ..sum })
}

impl Reported {
    /// Its stretches before the end of a row `at` this second, as one; none if there are none.
    fn take(&mut self, at: u64) -> Option<Interval> {
        let mut sum: Option<Interval> = None;
        while self.waiting.front().is_some_and(|it| it.second() < at) {
            let next = self.waiting.pop_front()?;
            self.shown = self.shown.saturating_add(next.counts.settled);
            match &mut sum {
                None => sum = Some(next),
                Some(sum) => sum.then(&next),
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests;
