//! Judges goals by a record: met, missed, or undecided if the run does not tell on which side of
//! its bound the figure lies.
//!
//! Uses only what the record contains, so that a merged record is judged like that of one run.

use crate::belief::SOME_UNANSWERED;
use crate::record::{Distribution, GoalRecord, GoalResult, Record};
use crate::run_figure::{RunFigure, Unit, Value};
use crate::warning::exact_percent;
use memtide_base::choice::RateUnit;
use memtide_base::{Rate, units};
use memtide_belief::{Confidence, Placement, Side};
use memtide_metrics::{Quantile, quantile};
use memtide_scenario::{Goal, Kind, Measure, Relation, Subject};

/// Result of each of `goals`, judged by the counts, times and rates of `record`.
pub fn judge(goals: &[Goal], record: &Record) -> Vec<GoalRecord> {
    let each = goals.iter().map(|goal| {
        let Judgement { result, measured, why } = judgement(goal, record);
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

impl Measured {
    fn missing(why: &str) -> Self {
        Self::Missing(why.to_owned())
    }
}

/// The figure that `subject` names, taken from the counts, times and rates of `record`; a rate in
/// `unit`.
pub fn measured(subject: Subject, record: &Record, unit: RateUnit) -> Measured {
    match subject {
        Subject::Rate if !record.is_one_load() && record.alignment.is_some() => {
            Measured::missing("the shares did not run at the same time")
        }
        Subject::Rate => match record.rate_missing(unit) {
            Some(why) => Measured::missing(why),
            None => Measured::Known(record.rate.achieved(unit).per_s),
        },
        Subject::StartSkew => match (record.start_skew_ns, &record.alignment) {
            (Some(skew_ns), _) => Measured::Known(skew_ns as f64),
            (None, Some(alignment)) => Measured::missing(&alignment.why),
            (None, None) => {
                Measured::missing("a single run has no start skew; merge the shares of a run")
            }
        },
        Subject::Errors if record.totals.intended == 0 => Measured::missing("nothing was measured"),
        Subject::Errors => match record.totals.tried() {
            // Noreply operations alone: none of them can have an error.
            (0, _) if record.totals.unacknowledged > 0 => Measured::Known(0.0),
            (0, _) => Measured::missing("no operation expected a reply"),
            (tried, failed) => Measured::Known(failed as f64 / tried as f64),
        },
        Subject::Response { kind, measure } => response(kind, measure, record),
        Subject::Figure(name) => {
            let Value { value, missing: why, .. } = RunFigure::named(name).of(record);
            value.map_or_else(
                || Measured::missing(why.as_deref().unwrap_or_default()),
                Measured::Known,
            )
        }
    }
}

/// Formats a figure for people, in the unit of its subject; a rate counts `unit`.
pub fn figure_word(subject: Subject, figure: f64, unit: RateUnit) -> String {
    match subject {
        Subject::Response { .. } | Subject::StartSkew => units::format_time(figure),
        Subject::Rate => Rate::new(figure, unit).to_string(),
        Subject::Errors => exact_percent(figure),
        Subject::Figure(name) => match RunFigure::named(name).unit {
            Unit::Fraction => exact_percent(figure),
            // The mean of several runs.
            Unit::Count if figure.fract() > 0.0 => format!("{figure:.1}"),
            Unit::Count => units::format_whole(figure as u64),
            Unit::PerS => Rate::new(figure, RateUnit::Operations).to_string(),
            _ => format!("{figure:.2} s per million operations"),
        },
    }
}

/// What a record says about one goal.
struct Judgement {
    result: GoalResult,
    measured: Option<f64>,
    why: String,
}

fn judgement(goal: &Goal, record: &Record) -> Judgement {
    // The bound of a rate counts what the rate of the scenario counts.
    let unit = record.plan.unit();
    let measured = measured(goal.subject, record, unit);
    let figure = if let Measured::Known(figure) = measured { Some(figure) } else { None };
    let by_side = placed(goal, record, Confidence::P95);
    let was = match (&measured, by_side) {
        (Measured::Known(figure), _) => {
            format!("it was {}", figure_word(goal.subject, *figure, unit))
        }
        (Measured::Unanswered, _) => {
            "it falls among the operations that were not answered".to_owned()
        }
        (Measured::Missing(_), Some(Placement { side: Some(Side::Above), .. })) => {
            format!("more operations took longer than {} than may", bound_word(goal, unit))
        }
        (Measured::Missing(_), Some(Placement { side: Some(Side::Below), .. })) => {
            format!("fewer operations took longer than {} than may", bound_word(goal, unit))
        }
        (Measured::Missing(why), _) => match mean_at_least(goal.subject, record) {
            Some(least) => format!("it was at least {}: {why}", units::format_time(least)),
            None => why.clone(),
        },
    };
    let (result, why) = match (by_side, measured) {
        (Some(placement), measured) => {
            let is_known = !matches!(measured, Measured::Missing(_));
            let why = open_reason(goal, record, &placement).filter(|_| is_known);
            (result_of(goal, &placement), why)
        }
        (None, Measured::Missing(_)) => (by_least(goal, record), None),
        (None, Measured::Known(figure)) => by_value(goal, record, figure),
        // The figure is larger than every measured time.
        (None, Measured::Unanswered) => {
            let holds = matches!(goal.relation, Relation::Greater | Relation::GreaterEq);
            (if holds { GoalResult::Met } else { GoalResult::Missed }, None)
        }
    };
    let why = why.map_or(was.clone(), |why| format!("{was}{why}"));
    Judgement { result, measured: figure, why }
}

/// Result of a goal for a figure on this side of its bound.
pub fn result_of(goal: &Goal, placement: &Placement) -> GoalResult {
    let is_upper = matches!(goal.relation, Relation::Less | Relation::LessEq);
    match placement.side {
        None => GoalResult::Undecided,
        Some(side) if (side == Side::Below) == is_upper => GoalResult::Met,
        Some(_) => GoalResult::Missed,
    }
}

/// The side of a goal's bound on which its time lies, with this confidence; none of what is no time
/// or has no interval.
pub fn placed(goal: &Goal, record: &Record, confidence: Confidence) -> Option<Placement> {
    let Subject::Response { kind, measure } = goal.subject else { return None };
    // A time at the bound itself keeps `<=` and `>=`; times are whole nanoseconds.
    let at_bound = match goal.relation {
        Relation::Less | Relation::GreaterEq => 0.5,
        Relation::LessEq | Relation::Greater => 0.0,
    };
    record.placed(kind, measure, goal.bound - at_bound, confidence)
}

/// Result of a goal by its figure, and by the range of a rate.
fn by_value(goal: &Goal, record: &Record, figure: f64) -> (GoalResult, Option<String>) {
    let met = goal.relation.holds(figure, goal.bound);
    let result = if met { GoalResult::Met } else { GoalResult::Missed };
    let Some(range) = straddled(goal, record) else { return (result, None) };
    let unit = record.plan.unit();
    let [low, high] = range.map(|end| figure_word(goal.subject, end, unit));
    (GoalResult::Undecided, Some(format!(", and may have been from {low} to {high}")))
}

/// Why a goal on a time is undecided, as the end of a clause; none if it is decided.
fn open_reason(goal: &Goal, record: &Record, placement: &Placement) -> Option<String> {
    let Subject::Response { measure, .. } = goal.subject else { return None };
    let Placement { side, share, by_own, .. } = *placement;
    let bound = bound_word(goal, record.plan.unit());
    match (side, share, measure) {
        (Some(_), ..) => None,
        _ if by_own => Some(", and memtide's own delay may be the reason".to_owned()),
        (None, Some([low, high]), Measure::Percentile(percent)) => {
            let [low, high, may] = [low, high, 1.0 - percent / 100.0].map(exact_percent);
            Some(format!(
                "; between {low} and {high} of the operations took over {bound} ({may} may)"
            ))
        }
        _ => {
            Some(", and how far that holds is unknown: operations depend on each other".to_owned())
        }
    }
}

/// Result of a goal whose figure is unknown: of a mean by the least that it can be, because nothing
/// bounds it from above.
fn by_least(goal: &Goal, record: &Record) -> GoalResult {
    let Some(least) = mean_at_least(goal.subject, record) else { return GoalResult::Undecided };
    let is_less = matches!(goal.relation, Relation::Less | Relation::LessEq);
    match (is_less, goal.relation.holds(least, goal.bound)) {
        (true, false) => GoalResult::Missed,
        (false, true) => GoalResult::Met,
        (true, true) | (false, false) => GoalResult::Undecided,
    }
}

/// The lower bound of the mean that `subject` names, if some of its operations were not answered.
fn mean_at_least(subject: Subject, record: &Record) -> Option<f64> {
    let Subject::Response { kind, measure: Measure::Mean } = subject else { return None };
    record.response.get(&kind)?.mean_at_least_ns
}

/// The bound of a goal for people.
fn bound_word(goal: &Goal, unit: RateUnit) -> String {
    figure_word(goal.subject, goal.bound, unit)
}

/// The range of a rate, in the goal's unit, if the goal holds at one of its ends alone.
fn straddled(goal: &Goal, record: &Record) -> Option<[f64; 2]> {
    let figure = record.figure_of(goal.subject).filter(|_| goal.subject == Subject::Rate)?;
    // The range counts operations, and the bound what the rate of the scenario counts.
    let each = record.achieved().per_s / figure.value?;
    let range = figure.range?.map(|end| end * each);
    let [low, high] = range.map(|end| goal.relation.holds(end, goal.bound));
    (low != high).then_some(range)
}

fn response(kind: Kind, measure: Measure, record: &Record) -> Measured {
    let Some(response) = record.response.get(&kind) else {
        return Measured::missing("no such operation was measured");
    };
    if response.count == 0 {
        return Measured::missing("no such operation was measured");
    }
    // If nothing was answered, every time is longer than any bound.
    if response.count == response.unanswered {
        return Measured::Unanswered;
    }
    match measure {
        Measure::Mean => {
            response.mean_ns.map_or_else(|| Measured::missing(SOME_UNANSWERED), Measured::Known)
        }
        Measure::Max => match response.max_ns.filter(|_| response.unanswered == 0) {
            Some(max) => Measured::Known(max as f64),
            None => Measured::Unanswered,
        },
        Measure::Percentile(percent) => match quantile_of(response, percent / 100.0) {
            Some(Quantile::Known(ns)) => Measured::Known(ns as f64),
            Some(Quantile::Unanswered) => Measured::Unanswered,
            Some(Quantile::TooFew { needed }) => Measured::missing(&format!(
                "it needs {needed} operations, and {} were measured; measure longer",
                response.count
            )),
            None => Measured::missing("the histogram of these times is damaged"),
        },
    }
}

fn quantile_of(response: &Distribution, p: f64) -> Option<Quantile> {
    Some(quantile(&response.times()?, response.unanswered, p))
}
