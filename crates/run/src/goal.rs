//! Goals against what was measured: met, missed, or undecided where the sample cannot tell.

use memtide_base::units;
use memtide_metrics::{Histogram, Quantile, quantile};
use memtide_schema::Kind;
use memtide_schema::record::{GoalRecord, GoalResult};
use memtide_schema::scenario::{Goal, Measure, Relation, Subject};

/// What goals are judged by.
pub(crate) struct Measured<'a> {
    /// Response times of a kind and how many of its operations rank above them.
    pub(crate) response: &'a dyn Fn(Kind) -> Option<(Histogram<u64>, u64)>,
    /// Achieved operations per second.
    pub(crate) rate_per_s: f64,
    /// Operations that ended without a good answer.
    pub(crate) unanswered: u64,
    /// All measured operations.
    pub(crate) intended: u64,
}

/// Judges one goal.
pub(crate) fn judge(goal: &Goal, measured: &Measured<'_>) -> GoalRecord {
    let (result, value, why) = match goal.subject {
        Subject::Rate => decided(goal, measured.rate_per_s, units::format_count),
        Subject::Errors if measured.intended == 0 => undecided("nothing was measured"),
        Subject::Errors => {
            let share = measured.unanswered as f64 / measured.intended as f64;
            decided(goal, share, |share| format!("{:.4} %", share * 100.0))
        }
        Subject::Response { kind, measure } => match (measured.response)(kind) {
            Some((times, unanswered)) => response(goal, measure, &times, unanswered),
            None => undecided("no such operation was measured"),
        },
    };
    GoalRecord { goal: goal.to_string(), result, measured: value, why }
}

type Judgement = (GoalResult, Option<f64>, String);

fn response(goal: &Goal, measure: Measure, times: &Histogram<u64>, unanswered: u64) -> Judgement {
    let span = |ns: f64| units::format_span(memtide_base::Span::from_ns(ns as u64));
    let moments = times.moments();
    if moments.count == 0 {
        return undecided("no such operation was answered");
    }
    match measure {
        Measure::Mean => decided(goal, moments.mean().unwrap_or(0.0), span),
        Measure::Max if unanswered > 0 => among_unanswered(goal),
        Measure::Max => decided(goal, moments.max as f64, span),
        Measure::Percentile(percent) => match quantile(times, unanswered, percent / 100.0) {
            Quantile::Known(ns) => decided(goal, ns as f64, span),
            Quantile::Unanswered => among_unanswered(goal),
            Quantile::TooFew { needed } => undecided(&format!(
                "it takes {needed} operations to tell, there were {}; measure longer",
                moments.count + unanswered
            )),
        },
    }
}

fn decided(goal: &Goal, value: f64, show: impl Fn(f64) -> String) -> Judgement {
    let met = goal.relation.holds(value, goal.bound);
    let result = if met { GoalResult::Met } else { GoalResult::Missed };
    (result, Some(value), format!("it was {}", show(value)))
}

/// The value is longer than anything that was measured.
fn among_unanswered(goal: &Goal) -> Judgement {
    let met = matches!(goal.relation, Relation::Greater | Relation::GreaterEq);
    let result = if met { GoalResult::Met } else { GoalResult::Missed };
    (result, None, "it falls among the operations that were not answered".to_owned())
}

fn undecided(why: &str) -> Judgement {
    (GoalResult::Undecided, None, why.to_owned())
}
