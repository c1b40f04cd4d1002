//! Judges goals by a record: met, missed, or undecided if the sample is too small or the range in
//! which the figure lies holds the bound.
//!
//! Uses only what the record contains, so that a merged record is judged like that of one run.

use crate::belief::SOME_UNANSWERED;
use crate::record::{Distribution, GoalRecord, GoalResult, Record};
use crate::warning::exact_percent;
use memtide_base::choice::RateUnit;
use memtide_base::{Rate, units};
use memtide_metrics::{Quantile, quantile};
use memtide_scenario::{Goal, Kind, Measure, Relation, Subject};

/// Result of each of `goals`, judged by the counts, times and rates of `record`.
pub fn judge(goals: &[Goal], record: &Record) -> Vec<GoalRecord> {
    let each = goals.iter().map(|goal| {
        let (result, measured, why) = judgement(goal, record);
        GoalRecord { goal: goal.to_string(), result, measured, why }
    });
    each.collect()
}

/// A figure that a goal can name, taken from a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// The value in its own unit: nanoseconds, operations (or what `rate-unit` says) per second, or
    /// a fraction.
    Known(f64),
    /// A percentile among unanswered operations, or any time if none was answered: larger than
    /// every measured time.
    Unanswered,
    /// Unknown; the reason, as a clause.
    Missing(String),
}

/// The figure that `subject` names, taken from the counts, times and rates of `record`; a rate in
/// `unit`.
pub fn measured(subject: Subject, record: &Record, unit: RateUnit) -> Measured {
    let missing = |why: &str| Measured::Missing(why.to_owned());
    match subject {
        Subject::Rate if !record.is_one_load() && record.alignment.is_some() => {
            missing("the shares did not run at the same time")
        }
        Subject::Rate => match record.rate_missing(unit) {
            Some(why) => missing(why),
            None => Measured::Known(record.rate.achieved(unit).per_s),
        },
        Subject::StartSkew => match (record.start_skew_ns, &record.alignment) {
            (Some(skew_ns), _) => Measured::Known(skew_ns as f64),
            (None, Some(alignment)) => missing(&alignment.why),
            (None, None) => missing("a single run has no start skew; merge the shares of a run"),
        },
        Subject::Errors if record.totals.intended == 0 => missing("nothing was measured"),
        Subject::Errors => match record.totals.tried() {
            // Noreply operations alone: none of them can have an error.
            (0, _) if record.totals.unacknowledged > 0 => Measured::Known(0.0),
            (0, _) => missing("no operation expected a reply"),
            (tried, failed) => Measured::Known(failed as f64 / tried as f64),
        },
        Subject::Response { kind, measure } => response(kind, measure, record),
    }
}

/// Formats a figure for people, in the unit of its subject; a rate counts `unit`.
pub fn figure_word(subject: Subject, figure: f64, unit: RateUnit) -> String {
    match subject {
        Subject::Response { .. } | Subject::StartSkew => units::format_time(figure),
        Subject::Rate => Rate::new(figure, unit).to_string(),
        Subject::Errors => exact_percent(figure),
    }
}

type Judgement = (GoalResult, Option<f64>, String);

fn judgement(goal: &Goal, record: &Record) -> Judgement {
    // The bound of a rate counts what the rate of the scenario counts.
    let unit = record.plan.unit();
    let (met, figure, why) = match measured(goal.subject, record, unit) {
        Measured::Missing(why) => return unknown(goal, record, why),
        Measured::Known(figure) => {
            let why = format!("it was {}", figure_word(goal.subject, figure, unit));
            let met = goal.relation.holds(figure, goal.bound);
            if let Some(range) = straddled(goal, record) {
                let [low, high] = range.map(|end| figure_word(goal.subject, end, unit));
                let why = format!("{why}, and may have been from {low} to {high}");
                return (GoalResult::Undecided, Some(figure), why);
            }
            if let Some(unknown) = unranged(goal, record) {
                let why = format!("{why}, and how far that holds is unknown: {unknown}");
                return (GoalResult::Undecided, Some(figure), why);
            }
            (met, Some(figure), why)
        }
        // The figure is larger than every measured time.
        Measured::Unanswered => {
            let why = "it falls among the operations that were not answered".to_owned();
            (matches!(goal.relation, Relation::Greater | Relation::GreaterEq), None, why)
        }
    };
    (if met { GoalResult::Met } else { GoalResult::Missed }, figure, why)
}

/// Judges a goal of an unknown figure. A mean is judged by the least that it can be: nothing bounds
/// it from above.
fn unknown(goal: &Goal, record: &Record, why: String) -> Judgement {
    let Some(least) = mean_at_least(goal.subject, record) else {
        return (GoalResult::Undecided, None, why);
    };
    let is_less = matches!(goal.relation, Relation::Less | Relation::LessEq);
    let result = match (is_less, goal.relation.holds(least, goal.bound)) {
        (true, false) => GoalResult::Missed,
        (false, true) => GoalResult::Met,
        (true, true) | (false, false) => GoalResult::Undecided,
    };
    (result, None, format!("it was at least {}: {why}", units::format_time(least)))
}

/// The lower bound of the mean that `subject` names, if some of its operations were not answered.
fn mean_at_least(subject: Subject, record: &Record) -> Option<f64> {
    let Subject::Response { kind, measure: Measure::Mean } = subject else { return None };
    record.response.get(&kind)?.mean_at_least_ns
}

/// The range of the goal's figure, in the goal's unit, if the goal holds at one of its ends alone.
fn straddled(goal: &Goal, record: &Record) -> Option<[f64; 2]> {
    let figure = record.figure_of(goal.subject)?;
    let each = match goal.subject {
        // The range counts operations, and the bound what the rate of the scenario counts.
        Subject::Rate => record.achieved().per_s / figure.value?,
        _ => 1.0,
    };
    let range = figure.range?.map(|end| end * each);
    let [low, high] = range.map(|end| goal.relation.holds(end, goal.bound));
    (low != high).then_some(range)
}

/// Why the goal's time has no range although slices were kept, unless already the shortest and the
/// longest time decide the goal.
fn unranged(goal: &Goal, record: &Record) -> Option<String> {
    let Subject::Response { kind, measure } = goal.subject else { return None };
    if measure == Measure::Max || !record.has_slices() {
        return None;
    }
    let figure = record.response_figure(kind, measure)?;
    let times = record.response.get(&kind)?;
    let longest = if times.unanswered > 0 { f64::INFINITY } else { times.max_ns? as f64 };
    let ends = [times.min_ns? as f64, longest];
    let [low, high] = ends.map(|ns| goal.relation.holds(ns, goal.bound));
    (figure.range.is_none() && low != high)
        .then(|| figure.reason.unwrap_or_else(|| "there are too few operations".to_owned()))
}

fn response(kind: Kind, measure: Measure, record: &Record) -> Measured {
    let missing = |why: &str| Measured::Missing(why.to_owned());
    let Some(response) = record.response.get(&kind) else {
        return missing("no such operation was measured");
    };
    if response.count == 0 {
        return missing("no such operation was measured");
    }
    // If nothing was answered, every time is longer than any bound.
    if response.count == response.unanswered {
        return Measured::Unanswered;
    }
    match measure {
        Measure::Mean => response.mean_ns.map_or_else(|| missing(SOME_UNANSWERED), Measured::Known),
        Measure::Max => match response.max_ns.filter(|_| response.unanswered == 0) {
            Some(max) => Measured::Known(max as f64),
            None => Measured::Unanswered,
        },
        Measure::Percentile(percent) => match quantile_of(response, percent / 100.0) {
            Some(Quantile::Known(ns)) => Measured::Known(ns as f64),
            Some(Quantile::Unanswered) => Measured::Unanswered,
            Some(Quantile::TooFew { needed }) => missing(&format!(
                "it needs {needed} operations, and {} were measured; measure longer",
                response.count
            )),
            None => missing("the histogram of these times is damaged"),
        },
    }
}

fn quantile_of(response: &Distribution, p: f64) -> Option<Quantile> {
    Some(quantile(&response.times()?, response.unanswered, p))
}
