//! What a step is held against: the scenario's goals, or one figure of its record.

use memtide_metrics::summary::rank;
use memtide_schema::record::{Distribution, GoalRecord, GoalResult};
use memtide_schema::scenario::{Goal, Measure, Relation, Subject};
use memtide_schema::{Kind, Record};

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
        let record = record.judged();
        let by = match self.time {
            Time::Response => &record.response,
            Time::Service => &record.service,
        };
        let kinds = self.kinds.iter().filter_map(|kind| by.get(kind));
        kinds.filter_map(|times| figure_ns(times, self.measure)).max_by(f64::total_cmp)
    }
}

fn figure_ns(times: &Distribution, measure: Measure) -> Option<f64> {
    match measure {
        Measure::Mean => times.mean_ns,
        Measure::Max if times.unanswered > 0 => Some(f64::INFINITY),
        Measure::Max => times.max_ns.map(|ns| ns as f64),
        Measure::Percentile(_) if times.count == 0 => None,
        Measure::Percentile(percent) => {
            let answered = times.times()?;
            let ns = answered.value_at_rank(rank(percent / 100.0, times.count));
            Some(ns.map_or(f64::INFINITY, |ns| ns as f64))
        }
    }
}

#[cfg(test)]
mod tests;
