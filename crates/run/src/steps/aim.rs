//! What a step is held against: the scenario's goals, or one figure of its record.

use memtide_metrics::Histogram;
use memtide_metrics::summary::rank;
use memtide_schema::record::{Distribution, GoalRecord, GoalResult};
use memtide_schema::scenario::{Goal, Measure, Relation, Subject};
use memtide_schema::{Kind, Record};
use std::collections::BTreeMap;
use std::iter;

/// What a step is held against.
#[derive(Clone, Debug, PartialEq)]
pub enum Aim {
    /// The scenario's goals, all of them.
    Goals,
    /// One figure that is not to exceed a bound.
    AtMost {
        /// Which figure.
        measured: Measured,
        /// The bound, in ns.
        bound_ns: f64,
    },
}

/// A figure that stands for many times: the highest of the same measure of several kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Kinds of operation; of which there were none is left out.
    pub kinds: Vec<Kind>,
    /// Which measure of their times. Percentiles are taken however few operations there were.
    pub measure: Measure,
    /// Which of their times.
    pub time: Time,
    /// Kinds of which the agents' operations count too, where their master has a load of its own:
    /// the figure is that of all of them together.
    pub with_agents: Vec<Kind>,
}

/// From where to where an operation is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// From its intended instant to its answer; operations without one rank above all others.
    Response,
    /// From its sending to its answer; operations without one have none.
    Service,
}

impl Aim {
    /// What became of it in a run with these goals; none when it is about nothing.
    pub(super) fn judge(&self, goals: &[Goal], record: &Record) -> Option<GoalResult> {
        match self {
            Self::Goals => {
                let each = goals.iter().zip(&record.goals);
                each.map(|(goal, judged)| judge(goal, judged, record.judged())).max_by_key(
                    |result| match result {
                        GoalResult::Met => 0,
                        GoalResult::Undecided => 1,
                        GoalResult::Missed => 2,
                    },
                )
            }
            Self::AtMost { measured, bound_ns } => Some(match measured.figure_ns(record) {
                Some(ns) if ns <= *bound_ns => GoalResult::Met,
                Some(_) => GoalResult::Missed,
                None => GoalResult::Undecided,
            }),
        }
    }

    /// The one figure that this is about, in ns; infinite among operations without an answer.
    pub(super) fn figure_ns(&self, record: &Record) -> Option<f64> {
        match self {
            Self::Goals => None,
            Self::AtMost { measured, .. } => measured.figure_ns(record),
        }
    }
}

/// What became of one goal. Too few operations to tell a percentile are enough when even the
/// longest of them kept the bound: then no percentile could have exceeded it.
fn judge(goal: &Goal, judged: &GoalRecord, record: &Record) -> GoalResult {
    let Subject::Response { kind, measure: Measure::Percentile(_) } = goal.subject else {
        return judged.result;
    };
    let upper = matches!(goal.relation, Relation::Less | Relation::LessEq);
    let all_within = record.response.get(&kind).is_some_and(|times| {
        let longest = times.max_ns.filter(|_| times.unanswered == 0);
        longest.is_some_and(|ns| goal.relation.holds(ns as f64, goal.bound))
    });
    match judged.result {
        GoalResult::Undecided if upper && all_within => GoalResult::Met,
        result => result,
    }
}

impl Measured {
    fn figure_ns(&self, record: &Record) -> Option<f64> {
        let figures = self.kinds.iter().filter_map(|&kind| {
            let has_agents = record.own.is_some() && self.with_agents.contains(&kind);
            let records = iter::once(record.judged()).chain(has_agents.then_some(record));
            let times: Vec<_> = records.filter_map(|it| self.by_kind(it).get(&kind)).collect();
            figure_ns(&times, self.measure)
        });
        figures.max_by(f64::total_cmp)
    }

    fn by_kind<'a>(&self, record: &'a Record) -> &'a BTreeMap<Kind, Distribution> {
        match self.time {
            Time::Response => &record.response,
            Time::Service => &record.service,
        }
    }
}

/// A figure of all operations in `times`; none if there were none.
fn figure_ns(times: &[&Distribution], measure: Measure) -> Option<f64> {
    let count = times.iter().map(|times| times.count).sum();
    match measure {
        Measure::Mean => {
            let answered =
                |times: &Distribution| times.count.saturating_sub(times.unanswered) as f64;
            let means = times.iter().filter_map(|times| Some((times.mean_ns?, answered(times))));
            let (sum, all) = means
                .fold((0.0, 0.0), |(sum, all), (mean, count)| (sum + mean * count, all + count));
            (all > 0.0).then(|| sum / all)
        }
        Measure::Max if times.iter().any(|times| times.unanswered > 0) => Some(f64::INFINITY),
        Measure::Max => times.iter().filter_map(|times| times.max_ns).max().map(|ns| ns as f64),
        Measure::Percentile(_) if count == 0 => None,
        Measure::Percentile(percent) => {
            let mut answered = Histogram::<u64>::new();
            for times in times {
                answered.absorb(&times.times()?);
            }
            let ns = answered.value_at_rank(rank(percent / 100.0, count));
            Some(ns.map_or(f64::INFINITY, |ns| ns as f64))
        }
    }
}

#[cfg(test)]
mod tests;
