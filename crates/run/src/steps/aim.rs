//! The criterion for a step: the scenario's goals, or one figure of its record.

use memtide_belief::Confidence;
use memtide_metrics::Histogram;
use memtide_metrics::summary::rank;
use memtide_record::judge::{placed, result_of};
use memtide_record::{Distribution, GoalRecord, GoalResult, Ranged, Record};
use memtide_scenario::{Goal, Kind, Measure, Subject};
use std::collections::BTreeMap;
use std::iter;

/// Criterion by which a step is judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Aim {
    /// All of the scenario's goals.
    Goals,
    /// One figure that must not exceed a bound.
    AtMost {
        /// The figure.
        measured: Measured,
        /// The bound, in ns.
        bound_ns: f64,
    },
}

/// A figure that summarises many times: the largest value of one measure over several kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Kinds of operation; kinds without operations are ignored.
    pub kinds: Vec<Kind>,
    /// Measure of the times. Percentiles are taken even from few operations.
    pub measure: Measure,
    /// Response or service time.
    pub time: Time,
    /// Kinds for which the agents' operations count, too, if their master has its own load: the
    /// figure is that of both together.
    pub with_agents: Vec<Kind>,
}

/// Span of an operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// From the intended instant to the answer; unanswered operations rank above all others.
    Response,
    /// From sending to the answer; unanswered operations are left out.
    Service,
}

impl Aim {
    /// Result for a run with these goals, with this confidence; none without goals.
    pub(super) fn judge(
        &self,
        goals: &[Goal],
        record: &Record,
        confidence: Confidence,
    ) -> Option<GoalResult> {
        match self {
            Self::Goals => {
                let each = goals.iter().zip(&record.goals);
                let each =
                    each.map(|(goal, judged)| judge(goal, judged, record.judged(), confidence));
                each.max_by_key(|result| match result {
                    GoalResult::Met => 0,
                    GoalResult::Undecided => 1,
                    GoalResult::Missed => 2,
                })
            }
            Self::AtMost { measured, bound_ns } => Some(match measured.figure_ns(record) {
                Some(ns) if ns <= *bound_ns => GoalResult::Met,
                Some(_) => GoalResult::Missed,
                None => GoalResult::Undecided,
            }),
        }
    }

    /// What stands in the way of a decision about these goals with this confidence.
    pub(super) fn reach(&self, goals: &[Goal], record: &Record, confidence: Confidence) -> Reach {
        if *self != Self::Goals {
            return Reach::default();
        }
        let record = record.judged();
        let ranges = goals.iter().filter_map(|goal| Some((goal, range(goal, record)?)));
        let ranges: Vec<(&Goal, Ranged)> = ranges.collect();
        let own_hides = ranges.iter().any(|(goal, range)| {
            !goal.relation.holds(range.low, goal.bound)
                && goal.relation.holds(range.own_low, goal.bound)
        });
        let own = [&record.lag_split.generator, &record.lag_split.client_busy];
        let longest = own.into_iter().filter_map(|lag| lag.max_ns).max();
        let off = ranges
            .iter()
            .map(|(goal, range)| [range.own_low, range.high].map(|end| (end / goal.bound).ln()));
        let placed = goals.iter().filter_map(|goal| placed(goal, record, confidence));
        let longer = placed.filter_map(|it| it.longer);
        let nearest = off.max_by(|one, other| one[1].total_cmp(&other[1]));
        Reach {
            off: nearest.filter(|ends| ends.iter().all(|end| end.is_finite())),
            high_ns: ranges.first().map(|(_, range)| range.high),
            pause_ns: longest.filter(|_| own_hides).map(|ns| ns as f64),
            longer: longer.reduce(f64::max),
        }
    }

    /// The figure of a single-figure criterion, in ns; infinite if it falls among unanswered
    /// operations.
    pub(super) fn figure_ns(&self, record: &Record) -> Option<f64> {
        match self {
            Self::Goals => None,
            Self::AtMost { measured, .. } => measured.figure_ns(record),
        }
    }
}

/// Result of one goal: met or missed if the step tells on which side of its bound the figure lies.
/// What is no time is decided as in the record. A server that carries less than is due misses every
/// goal on a time: its queue would grow without end.
fn judge(goal: &Goal, judged: &GoalRecord, record: &Record, confidence: Confidence) -> GoalResult {
    if matches!(goal.subject, Subject::Response { .. }) && record.overload().is_some() {
        return GoalResult::Missed;
    }
    match placed(goal, record, confidence) {
        Some(placement) => result_of(goal, &placement),
        None => by_value(goal, judged),
    }
}

/// Result of a goal by the value of its figure alone.
fn by_value(goal: &Goal, judged: &GoalRecord) -> GoalResult {
    match judged.measured {
        Some(figure) if goal.relation.holds(figure, goal.bound) => GoalResult::Met,
        Some(_) => GoalResult::Missed,
        None => judged.result,
    }
}

/// The interval of a goal's figure, if it is a time that has one.
fn range(goal: &Goal, record: &Record) -> Option<Ranged> {
    let Subject::Response { kind, measure } = goal.subject else { return None };
    record.response_range(kind, measure, Confidence::P98)
}

/// What stands in the way of a step's goals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reach {
    /// How far the figure that is nearest to breaking its goal is from its bound, as the interval
    /// of a logarithm.
    pub(super) off: Option<[f64; 2]>,
    /// Upper end of the figure of the first goal that names a time, in ns.
    pub(super) high_ns: Option<f64>,
    /// The longest delay of memtide's own, in ns, if a goal would be missed without what it may
    /// have added.
    pub(super) pause_ns: Option<f64>,
    /// How much longer a step would probably decide all goals; none if that is unknown.
    pub(super) longer: Option<f64>,
}

impl Measured {
    fn figure_ns(&self, record: &Record) -> Option<f64> {
        let figures = self.kinds.iter().filter_map(|&kind| {
            let has_agents = record.own.is_some() && self.with_agents.contains(&kind);
            let records = iter::once(record.judged()).chain(has_agents.then_some(record));
            let times: Vec<_> = records.filter_map(|it| self.by_kind(it).get(&kind)).collect();
            self.of_all(&times)
        });
        figures.max_by(f64::total_cmp)
    }

    fn by_kind<'a>(&self, record: &'a Record) -> &'a BTreeMap<Kind, Distribution> {
        match self.time {
            Time::Response => &record.response,
            Time::Service => &record.service,
        }
    }

    /// The measure of all operations in `times`; none if there were none. Service is judged by the
    /// operations that were answered, as the old programs do, and so is every mean.
    fn of_all(&self, times: &[&Distribution]) -> Option<f64> {
        let answered: u64 = times.iter().map(|of| of.count.saturating_sub(of.unanswered)).sum();
        let above = match self.time {
            Time::Response => times.iter().map(|of| of.unanswered).sum(),
            Time::Service => 0,
        };
        match self.measure {
            Measure::Mean => {
                let sum: f64 = times.iter().map(|of| of.sum_ns.0 as f64).sum();
                (answered > 0).then(|| sum / answered as f64)
            }
            Measure::Max if above > 0 => Some(f64::INFINITY),
            Measure::Max => {
                let longest = times.iter().filter_map(|of| of.longest_answered()).max();
                longest.map(|ns| ns as f64)
            }
            Measure::Percentile(percent) => {
                let count = answered + above;
                if count == 0 {
                    return None;
                }
                let mut all = Histogram::<u64>::new();
                for of in times {
                    all.absorb(&of.times()?);
                }
                let ns = all.value_at_rank(rank(percent / 100.0, count));
                Some(ns.map_or(f64::INFINITY, |ns| ns as f64))
            }
        }
    }
}

#[cfg(test)]
mod tests;
