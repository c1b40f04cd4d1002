//! Goals against a record: met, missed, or undecided where the sample cannot tell.
//!
//! Only what stands in the record is judged by, so that a merged record is judged as a run is.

use crate::kind::Kind;
use crate::record::{Distribution, GoalRecord, GoalResult, Record};
use crate::scenario::{Goal, Measure, Relation, Subject};
use memtide_base::{Span, units};
use memtide_metrics::{Quantile, quantile};

/// What became of each of `goals`, by the counts, times and rates of `record`.
pub fn judge(goals: &[Goal], record: &Record) -> Vec<GoalRecord> {
    let each = goals.iter().map(|goal| {
        let (result, measured, why) = judgement(goal, record);
        GoalRecord { goal: goal.to_string(), result, measured, why }
    });
    each.collect()
}

type Judgement = (GoalResult, Option<f64>, String);

fn judgement(goal: &Goal, record: &Record) -> Judgement {
    match goal.subject {
        Subject::Rate => decided(goal, record.rate.achieved_per_s, units::format_count),
        Subject::Errors if record.totals.intended == 0 => undecided("nothing was measured"),
        Subject::Errors => {
            let share = record.totals.unanswered() as f64 / record.totals.intended as f64;
            decided(goal, share, |share| format!("{:.4} %", share * 100.0))
        }
        Subject::Response { kind, measure } => response(goal, kind, measure, record),
    }
}

fn response(goal: &Goal, kind: Kind, measure: Measure, record: &Record) -> Judgement {
    let span = |ns: f64| units::format_span(Span::from_ns(ns as u64));
    let Some(response) = record.response.get(&kind) else {
        return undecided("no such operation was measured");
    };
    let (Some(mean), Some(max)) = (response.mean_ns, response.max_ns) else {
        return undecided("no such operation was answered");
    };
    match measure {
        Measure::Mean => decided(goal, mean, span),
        Measure::Max if response.unanswered > 0 => among_unanswered(goal),
        Measure::Max => decided(goal, max as f64, span),
        Measure::Percentile(percent) => match quantile_of(response, percent / 100.0) {
            Some(Quantile::Known(ns)) => decided(goal, ns as f64, span),
            Some(Quantile::Unanswered) => among_unanswered(goal),
            Some(Quantile::TooFew { needed }) => undecided(&format!(
                "{needed} operations are needed to tell, and {} were measured; measure longer",
                response.count
            )),
            None => undecided("the histogram of these times is damaged"),
        },
    }
}

fn quantile_of(response: &Distribution, p: f64) -> Option<Quantile> {
    Some(quantile(&response.times()?, response.unanswered, p))
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
