//! Rules that fail a comparison, such as `all.p99>+5%`: the figures of goals and the other rows of
//! a comparison, with a bound on the change since the first record.

use super::{Named, RuleOutcome, RuleResult, TrialFigure};
use crate::judge::Measured;
use crate::record::{PlanRecord, Record};
use memtide_base::choice::RateUnit;
use memtide_base::units;
use memtide_scenario::{Goal, Relation};
use std::fmt;
use std::str::FromStr;

/// Runs of equal set-ups differ by this factor at most, nearly always: fresh connections, memory.
const RUN_EFFECT: f64 = 1.05;
const ONE_RUN_EACH: &str = "one run each does not tell; use memtide ab";
const NO_INTERVAL: &str = "a run had too few operations to know it; measure longer";
const GRAMMAR: &str = "a rule such as all.p99>+5%, rate<-3%, hit_ratio<95% or server_cpu>+10%";

/// A rule; a comparison fails if its condition is true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    subject: Named,
    relation: Relation,
    bound: Bound,
}

/// Quantity that a rule compares, with its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// The change since the first record, as a fraction of its figure.
    Share(f64),
    /// The change since the first record, in the figure's unit.
    Change(f64),
    /// The figure itself.
    Figure(f64),
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let read = || {
            let (name, relation, bound) = Goal::split(word)?;
            let subject = Named::parse(name)?;
            Ok(Self { subject, relation, bound: parse_bound(subject, bound)? })
        };
        read().map_err(|why: String| format!("'{word}' is not {GRAMMAR}: {why}"))
    }
}

fn parse_bound(subject: Named, word: &str) -> Result<Bound, String> {
    let (sign, size) = match (word.strip_prefix('+'), word.strip_prefix(['-', '−'])) {
        (Some(size), _) => (1.0, size.trim()),
        (_, Some(size)) => (-1.0, size.trim()),
        (None, None) if word.ends_with('%') && !subject.is_fraction() => {
            return Err(format!("{word} needs a sign: a change since the first record is +{word}"));
        }
        (None, None) => return subject.parse_bound(word).map(Bound::Figure),
    };
    if size.starts_with(['+', '-', '−']) {
        return Err(format!("{word} has two signs"));
    }
    match size.strip_suffix('%') {
        None => subject.parse_bound(size).map(|bound| Bound::Change(sign * bound)),
        Some(percent) => match percent.trim().parse::<f64>() {
            Ok(percent) if percent.is_finite() && percent >= 0.0 => {
                Ok(Bound::Share(sign * percent / 100.0))
            }
            _ => Err(format!("'{word}' is not a change in percent, such as +5% or -0.5%")),
        },
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, relation, bound } = *self;
        match bound {
            Bound::Share(share) => write!(f, "{subject}{relation}{}", percent_word(share)),
            Bound::Figure(figure) => write!(f, "{subject}{relation}{}", subject.bound_word(figure)),
            // A percentage would be read as one of the first record's figure.
            Bound::Change(change) if subject.is_fraction() => {
                write!(f, "{subject}{relation}{change:+}")
            }
            Bound::Change(change) => {
                let sign = if change.is_sign_negative() { '-' } else { '+' };
                write!(f, "{subject}{relation}{sign}{}", subject.bound_word(change.abs()))
            }
        }
    }
}

/// Formats a fraction as a signed percentage: `+5%`, `-0.5%`.
fn percent_word(share: f64) -> String {
    // Rounding removes the floating-point error of the digits that a user typed.
    let percent = (share * 1e10).round() / 1e8;
    format!("{percent:+}%")
}

impl Rule {
    /// The figure that it is about.
    pub(super) const fn subject(&self) -> Named {
        self.subject
    }

    /// Judges the rule for `other`, the record with this letter.
    pub(super) fn judge(&self, letter: char, first: &Record, other: &Record) -> RuleResult {
        let unit = PlanRecord::common_unit([&first.plan, &other.plan].into_iter());
        let [was, is] = [first, other].map(|record| self.subject.of(record, unit));
        let intervals = [first, other].map(|record| self.subject.interval(record, unit));
        let (result, change, why) = match self.compare(was, is, letter, unit) {
            (by_value @ (RuleOutcome::Passed | RuleOutcome::Failed), change, why) => {
                match self.established(intervals) {
                    Some(RuleOutcome::Undecided) => {
                        (RuleOutcome::Undecided, change, format!("{why}; {ONE_RUN_EACH}"))
                    }
                    Some(outcome) => (outcome, change, why),
                    None if [first, other].iter().any(|it| self.subject.is_refused(it, unit)) => {
                        (RuleOutcome::Undecided, change, format!("{why}; {NO_INTERVAL}"))
                    }
                    None => (by_value, change, why),
                }
            }
            unknown => unknown,
        };
        RuleResult { rule: self.to_string(), record: letter, result, change, why }
    }

    /// What the intervals of one run each establish; none if either has none.
    fn established(&self, intervals: [Option<[f64; 2]>; 2]) -> Option<RuleOutcome> {
        let [was, is] = intervals;
        let [is_low, is_high] = is?;
        let range = match self.bound {
            Bound::Figure(_) => [is_low, is_high],
            Bound::Share(_) => {
                let [low, high] = was.filter(|[low, _]| *low > 0.0)?;
                [is_low / high / RUN_EFFECT - 1.0, is_high / low * RUN_EFFECT - 1.0]
            }
            Bound::Change(_) => {
                let [low, high] = was?;
                [is_low / RUN_EFFECT - high, is_high * RUN_EFFECT - low]
            }
        };
        Some(self.over(range))
    }

    /// The outcome if the quantity that the rule compares lies in this range.
    fn over(&self, range: [f64; 2]) -> RuleOutcome {
        let (Bound::Share(bound) | Bound::Change(bound) | Bound::Figure(bound)) = self.bound;
        match range.map(|end| self.relation.holds(end, bound)) {
            [true, true] => RuleOutcome::Failed,
            [false, false] => RuleOutcome::Passed,
            _ => RuleOutcome::Undecided,
        }
    }

    /// Judges the rule for group B by the figure's change since group A, whose medians and range
    /// are known from several runs each; a bound on the figure itself by all runs `of_b`.
    pub(super) fn judge_groups(&self, figure: &TrialFigure, of_b: &[f64]) -> RuleResult {
        let least = of_b.iter().copied().fold(f64::INFINITY, f64::min);
        let most = of_b.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = match (self.bound, figure.range, figure.medians[0]) {
            (Bound::Figure(_), ..) if !of_b.is_empty() => Some([least, most]),
            (Bound::Share(_), range, _) => range,
            (Bound::Change(_), Some(range), Some(was)) => Some(range.map(|end| end * was)),
            _ => None,
        };
        let word = |[low, high]: [f64; 2]| {
            let [low, high] = [low, high].map(|end| units::format_change(end, 1));
            format!("{low} to {high} compared with A, by {} runs each or more", figure.pairs)
        };
        let (result, why) = match (range, figure.range) {
            (None, _) => {
                let why = match figure.pairs {
                    0 | 1 => "it is not known in two runs of each group",
                    _ => "it is 0 in some runs, or was not answered, so no ratio says how much",
                };
                (RuleOutcome::Missing, why.to_owned())
            }
            (Some(range), Some(change)) => (self.over(range), word(change)),
            (Some(range), None) => (self.over(range), "by every run of B".to_owned()),
        };
        RuleResult { rule: self.to_string(), record: 'B', result, change: figure.change, why }
    }

    fn compare(
        &self,
        was: Measured,
        is: Measured,
        letter: char,
        unit: RateUnit,
    ) -> (RuleOutcome, Option<f64>, String) {
        use Measured::{Known, Missing, Unanswered};
        let word = |figure| self.subject.word(figure, unit);
        let upward = matches!(self.relation, Relation::Greater | Relation::GreaterEq);
        let outcome = |holds| if holds { RuleOutcome::Failed } else { RuleOutcome::Passed };
        let missing = |why: String| (RuleOutcome::Missing, None, why);
        let among = "falls among operations that were not answered";
        if let (Bound::Figure(bound), Known(is)) = (self.bound, &is) {
            return (
                outcome(self.relation.holds(*is, bound)),
                None,
                format!("it is {}", word(*is)),
            );
        }
        match (was, is) {
            (_, Missing(why)) => missing(format!("it is not known in {letter}: {why}")),
            (_, Unanswered) if matches!(self.bound, Bound::Figure(_)) => {
                (outcome(upward), None, format!("it {among}"))
            }
            (Missing(why), _) => missing(format!("it is not known in A: {why}")),
            (Unanswered, Unanswered) => missing(format!("in A and {letter} it {among}")),
            (Unanswered, Known(is)) => {
                let why = format!("it is {}, and in A it {among}", word(is));
                (outcome(!upward), None, why)
            }
            (Known(was), Unanswered) => {
                (outcome(upward), None, format!("it {among}, and in A it is {}", word(was)))
            }
            (Known(was), Known(is)) => self.change(was, is, unit),
        }
    }

    /// Result, change as a fraction, and reason, if both figures are known.
    fn change(&self, was: f64, is: f64, unit: RateUnit) -> (RuleOutcome, Option<f64>, String) {
        let share = share(was, is);
        let (changed, bound) = match self.bound {
            // Growth from zero exceeds every percentage.
            Bound::Share(bound) => (share.unwrap_or(f64::INFINITY), bound),
            Bound::Change(bound) | Bound::Figure(bound) => (is - was, bound),
        };
        let word = |figure| self.subject.word(figure, unit);
        let by = match share {
            Some(share) => units::format_change(share, 1),
            None => "up from zero,".to_owned(),
        };
        let why = format!("it is {}, {by} compared with {} in A", word(is), word(was));
        let holds = self.relation.holds(changed, bound);
        (if holds { RuleOutcome::Failed } else { RuleOutcome::Passed }, share, why)
    }
}

/// Change from `was` to `is` as a fraction of `was`; none for growth from zero.
fn share(was: f64, is: f64) -> Option<f64> {
    match was == is {
        true => Some(0.0),
        false => Some((is - was) / was).filter(|share| share.is_finite()),
    }
}
