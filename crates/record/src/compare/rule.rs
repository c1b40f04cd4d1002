//! Rules that fail a comparison, such as `all.p99>+5%`: the figures of goals and the other rows of
//! a comparison, with a bound on the change since the first record.

use super::trial_figure::{FEW, mean};
use super::{Named, RuleOutcome, RuleResult, TrialFigure};
use crate::judge::Measured;
use crate::record::{PlanRecord, Record};
use memtide_base::choice::RateUnit;
use memtide_base::units;
use memtide_belief::paired::{self, PAIRS_MIN};
use memtide_scenario::{Goal, Relation};
use std::fmt;
use std::str::FromStr;

/// Runs of equal set-ups differ by this factor at most, nearly always: fresh connections, memory.
const RUN_EFFECT: f64 = 1.05;
const ONE_RUN_EACH: &str = "one run each does not tell; use memtide ab";
const BY_VALUE: &str = "by the values alone, because a record has no interval of it";
const PICKED: &str =
    "the runs that count are the best of a group that often did not carry the load";
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

/// What a rule must know of both groups, or of the arms of pairs, beside the figure that it is
/// about.
pub(super) struct Sides {
    /// The figure in the runs of A and of B that count.
    pub(super) counted: [Vec<f64>; 2],
    /// True if a run of A and one of B are a pair, in order.
    pub(super) are_pairs: bool,
    /// By which part of the figure the machine may have changed from A to B; 0 if their runs
    /// alternate.
    pub(super) drift: f64,
    /// The figure in all runs of B; none where it is unknown.
    pub(super) all_of_b: Vec<Option<f64>>,
    /// Runs of B whose servers did not carry the load.
    pub(super) overloaded: usize,
    /// How often the servers of A and of B did not carry the load, as fractions.
    pub(super) short: [f64; 2],
    /// Number of figures that are looked at.
    pub(super) figures: usize,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        parse(word).map_err(|why| format!("'{word}' is not {GRAMMAR}: {why}"))
    }
}

fn parse(word: &str) -> Result<Rule, String> {
    let (name, relation, bound) = Goal::split(word)?;
    let subject = Named::parse(name)?;
    Ok(Rule { subject, relation, bound: parse_bound(subject, bound)? })
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

    /// `names`, and the figures whose change `rules` are about.
    pub(super) fn with_figures(rules: &[Self], names: &[Named]) -> Vec<Named> {
        let mut all = names.to_vec();
        for rule in rules.iter().filter(|rule| rule.is_of_change()) {
            if !all.contains(&rule.subject) {
                all.push(rule.subject);
            }
        }
        all
    }

    /// True if it is about the change since the first record, not about the figure itself.
    pub(super) const fn is_of_change(&self) -> bool {
        !matches!(self.bound, Bound::Figure(_))
    }

    /// Judges the rule for `other`, the record with this letter.
    pub(super) fn judge(&self, letter: char, first: &Record, other: &Record) -> RuleResult {
        let unit = PlanRecord::common_unit([&first.plan, &other.plan].into_iter());
        let [was, is] = [first, other].map(|record| self.subject.of(record, unit));
        // What is not answered is longer than all that is, without any interval.
        let is_sure =
            is == Measured::Unanswered || self.is_of_change() && was == Measured::Unanswered;
        let ByValue { outcome: by_value, change, why } = self.compare(was, is, letter, unit);
        let (result, why) = match by_value {
            RuleOutcome::Passed | RuleOutcome::Failed if !is_sure => {
                self.by_intervals(by_value, why, [first, other], unit)
            }
            _ => (by_value, why),
        };
        RuleResult { rule: self.to_string(), record: letter, result, change, why }
    }

    /// The result by the intervals of one run each, with the reason; `by_value` if they have none.
    fn by_intervals(
        &self,
        by_value: RuleOutcome,
        why: String,
        records: [&Record; 2],
        unit: RateUnit,
    ) -> (RuleOutcome, String) {
        let intervals = records.map(|record| self.subject.interval(record, unit));
        let refusal = records.into_iter().find_map(|record| self.subject.refusal(record, unit));
        match (self.established(intervals), refusal) {
            (Some(RuleOutcome::Undecided), _) => {
                (RuleOutcome::Undecided, format!("{why}; {ONE_RUN_EACH}"))
            }
            (Some(outcome), _) => (outcome, why),
            (None, Some(refusal)) => {
                (RuleOutcome::Undecided, format!("{why}; a run knows it too little: {refusal}"))
            }
            (None, None) if self.subject.is_sampled() => (by_value, format!("{why}; {BY_VALUE}")),
            (None, None) => (by_value, why),
        }
    }

    /// What the intervals of one run each establish; none if either has none.
    fn established(&self, intervals: [Option<[f64; 2]>; 2]) -> Option<RuleOutcome> {
        let [was, is] = intervals;
        let [is_low, is_high] = is?;
        let range = match self.bound {
            Bound::Figure(_) => [is_low, is_high],
            Bound::Share(_) => {
                let [low, high] = was.filter(|[_, high]| *high > 0.0)?;
                // A range that begins at 0 does not say how much larger another one is at most.
                let most = if low > 0.0 { is_high / low } else { f64::INFINITY };
                [is_low / high / RUN_EFFECT - 1.0, most * RUN_EFFECT - 1.0]
            }
            Bound::Change(_) => {
                let [low, high] = was?;
                [is_low / RUN_EFFECT - high, is_high * RUN_EFFECT - low]
            }
        };
        Some(self.over(range, self.number()))
    }

    /// The number of the bound.
    const fn number(&self) -> f64 {
        let (Bound::Share(number) | Bound::Change(number) | Bound::Figure(number)) = self.bound;
        number
    }

    /// The outcome if the quantity that is compared with `bound` lies in this range.
    fn over(&self, range: [f64; 2], bound: f64) -> RuleOutcome {
        match range.map(|end| self.relation.holds(end, bound)) {
            [true, true] => RuleOutcome::Failed,
            [false, false] => RuleOutcome::Passed,
            _ => RuleOutcome::Undecided,
        }
    }

    /// Judges the rule for group B, or for arm B of pairs: a change by the range of `figure`, a
    /// bound on the figure itself by all runs of B.
    pub(super) fn judge_groups(&self, figure: &TrialFigure, sides: &Sides) -> RuleResult {
        let (result, why) = match self.is_of_change() {
            true => self.judge_change(figure, sides),
            false => self.bound_all(&sides.all_of_b),
        };
        // A difference in the unit is no fraction of A's figure.
        let was = figure.medians[0].filter(|was| *was > 0.0);
        let change = match figure.in_unit {
            true => figure.change.zip(was).map(|(change, was)| change / was),
            false => figure.change,
        };
        RuleResult { rule: self.to_string(), record: 'B', result, change, why }
    }

    /// A bound on the figure itself, in all runs of B; none where it is unknown.
    fn bound_all(&self, of_b: &[Option<f64>]) -> (RuleOutcome, String) {
        let known: Option<Vec<f64>> = of_b.iter().copied().collect();
        let Some(values) = known.filter(|values| !values.is_empty()) else {
            return (RuleOutcome::Missing, "a run of B does not know it".to_owned());
        };
        let broken = values.iter().filter(|value| self.relation.holds(**value, self.number()));
        let broken: Vec<&f64> = broken.collect();
        // What was counted, or not answered, is no matter of chance.
        let is_certain = self.subject.is_exact() || broken.iter().any(|value| value.is_infinite());
        let result = match broken.len() {
            0 => RuleOutcome::Passed,
            all if all == values.len() => RuleOutcome::Failed,
            _ if is_certain => RuleOutcome::Failed,
            _ => RuleOutcome::Undecided,
        };
        (result, format!("it is so in {} of {} runs of B", broken.len(), values.len()))
    }

    /// A bound on the change since group A.
    fn judge_change(&self, figure: &TrialFigure, sides: &Sides) -> (RuleOutcome, String) {
        let Some((result, why)) = self.by_change(figure, sides) else {
            return self.unjudged(figure, sides);
        };
        let why = match sides.drift > 0.0 {
            true => format!("{why}; {}", drift_clause(sides.drift)),
            false => why,
        };
        let (count, overloaded) = (sides.all_of_b.len(), sides.overloaded);
        match result {
            _ if sides.are_pairs && (figure.pairs as usize) < PAIRS_MIN => {
                let pairs = figure.pairs;
                let why =
                    format!("{why}; {pairs} pairs count, and fewer than {PAIRS_MIN} do not tell");
                (RuleOutcome::Undecided, why)
            }
            // The runs that carried the load say nothing good of those that did not.
            RuleOutcome::Passed if overloaded > 0 && !self.subject.is_of_load() => {
                let why =
                    format!("{why}; {overloaded} of {count} runs of B did not carry the load");
                (RuleOutcome::Undecided, why)
            }
            RuleOutcome::Failed if self.is_by_best(sides.short) => {
                let why = format!("{why}; {PICKED}");
                (RuleOutcome::Undecided, why)
            }
            RuleOutcome::Passed if sides.all_of_b.contains(&None) => {
                (RuleOutcome::Missing, format!("{why}; a run of B does not know it"))
            }
            result => (result, why),
        }
    }

    /// Why the change is not known.
    fn unjudged(&self, figure: &TrialFigure, sides: &Sides) -> (RuleOutcome, String) {
        let why = match (&figure.missing, figure.pairs, sides.are_pairs) {
            (Some(missing), ..) => &format!("no pair has it: {missing}"),
            (None, 0..2, true) => "it is not known in two pairs that count",
            (None, 0..2, false) => "it is not known in two runs of each group",
            (None, ..) => "its operations were not answered in some runs",
        };
        (RuleOutcome::Missing, why.to_owned())
    }

    /// True if a rule fails by the best runs of a group: by those that are left of the one that
    /// more often did not carry the load.
    fn is_by_best(&self, [a, b]: [f64; 2]) -> bool {
        let more = if self.is_up() == self.subject.more_is_better() { b - a } else { a - b };
        more > FEW && !self.subject.is_of_load()
    }

    /// True if it fails by what is above its bound.
    const fn is_up(&self) -> bool {
        matches!(self.relation, Relation::Greater | Relation::GreaterEq)
    }

    /// The outcome by the range of the change, and by what it is; none if it is not known.
    fn by_change(&self, figure: &TrialFigure, sides: &Sides) -> Option<(RuleOutcome, String)> {
        if let (Bound::Share(share), true) = (self.bound, figure.in_unit) {
            return self.by_means(share, sides);
        }
        let (range, was) = (figure.range?, figure.medians[0]?);
        let factor = match self.bound {
            Bound::Change(_) if !figure.in_unit => was,
            _ => 1.0,
        };
        // The allowance is a part of A's figure, in what the range is in.
        let of_a = if matches!(self.bound, Bound::Share(_)) { 1.0 } else { was };
        let result = self.beside_drift(range.map(|end| end * factor), sides.drift * of_a);
        let [low, high] =
            range.map(|end| self.subject.change_word(end, figure.in_unit, RateUnit::Operations));
        let number = figure.pairs;
        let by = if sides.are_pairs { "pairs" } else { "runs each or more" };
        Some((result, format!("{low} to {high} compared with A, by {number} {by}")))
    }

    /// The outcome if the change lies in this range, of which the machine may have caused so much.
    /// Only what is beyond that fails.
    fn beside_drift(&self, range: [f64; 2], allowance: f64) -> RuleOutcome {
        let bound = if self.is_up() { allowance } else { -allowance };
        let beyond = self.over(range, self.number() + bound);
        match self.over(range, self.number()) {
            RuleOutcome::Failed if beyond != RuleOutcome::Failed => RuleOutcome::Undecided,
            result => result,
        }
    }

    /// A bound on the change, as a fraction of A's figure, by the means of A and B: for what is
    /// compared by differences. None if it is not known.
    fn by_means(&self, share: f64, sides: &Sides) -> Option<(RuleOutcome, String)> {
        let allowed = if self.is_up() { share + sides.drift } else { share - sides.drift };
        let beyond = self.over_share(allowed, sides)?;
        let result = match self.over_share(share, sides)? {
            RuleOutcome::Failed if beyond != RuleOutcome::Failed => RuleOutcome::Undecided,
            result => result,
        };
        let [a, b] = sides.counted.each_ref().map(|values| mean(values));
        let [a, b] = [a, b].map(|mean| self.subject.word(mean, RateUnit::Operations));
        Some((result, format!("it is {a} in A and {b} in B on average")))
    }

    /// The outcome if the change is compared with this share. B is more than a share above A if it
    /// is more than that factor times A.
    fn over_share(&self, share: f64, sides: &Sides) -> Option<RuleOutcome> {
        let [a, b] = &sides.counted;
        let range = match sides.are_pairs {
            true => paired::contrast_of_pairs(a, b, 1.0 + share, sides.figures)?,
            false => paired::contrast(a, b, 1.0 + share, sides.figures)?,
        };
        Some(self.over(range, 0.0))
    }

    fn compare(&self, was: Measured, is: Measured, letter: char, unit: RateUnit) -> ByValue {
        use Measured::{Known, Missing, Unanswered};
        let upward = self.is_up();
        let among = "falls among operations that were not answered";
        if let (Bound::Figure(bound), Known(is)) = (self.bound, &is) {
            let why = format!("it is {}", self.subject.word(*is, unit));
            return ByValue::of(self.relation.holds(*is, bound), why);
        }
        match (was, is) {
            (_, Missing(why)) => ByValue::missing(format!("it is not known in {letter}: {why}")),
            (_, Unanswered) if matches!(self.bound, Bound::Figure(_)) => {
                ByValue::of(upward, format!("it {among}"))
            }
            (Missing(why), _) => ByValue::missing(format!("it is not known in A: {why}")),
            (Unanswered, Unanswered) => ByValue::missing(format!("in A and {letter} it {among}")),
            (Unanswered, Known(is)) => {
                let is = self.subject.word(is, unit);
                ByValue::of(!upward, format!("it is {is}, and in A it {among}"))
            }
            (Known(was), Unanswered) => {
                let was = self.subject.word(was, unit);
                ByValue::of(upward, format!("it {among}, and in A it is {was}"))
            }
            (Known(was), Known(is)) => self.change(was, is, unit),
        }
    }

    /// The result if both figures are known.
    fn change(&self, was: f64, is: f64, unit: RateUnit) -> ByValue {
        let share = share(was, is);
        let (changed, bound) = match self.bound {
            // Growth from zero exceeds every percentage.
            Bound::Share(bound) => (share.unwrap_or(f64::INFINITY), bound),
            Bound::Change(bound) | Bound::Figure(bound) => (is - was, bound),
        };
        let by = match share {
            Some(share) => units::format_change(share, 1),
            None => "up from zero,".to_owned(),
        };
        let [was, is] = [was, is].map(|figure| self.subject.word(figure, unit));
        let why = format!("it is {is}, {by} compared with {was} in A");
        ByValue { change: share, ..ByValue::of(self.relation.holds(changed, bound), why) }
    }
}

/// A result by the values of one run each.
struct ByValue {
    outcome: RuleOutcome,
    /// The change as a fraction.
    change: Option<f64>,
    why: String,
}

impl ByValue {
    fn of(breaks: bool, why: String) -> Self {
        let outcome = if breaks { RuleOutcome::Failed } else { RuleOutcome::Passed };
        Self { outcome, change: None, why }
    }

    fn missing(why: String) -> Self {
        Self { outcome: RuleOutcome::Missing, change: None, why }
    }
}

/// What is said of the machine's part in a change.
fn drift_clause(drift: f64) -> String {
    format!(
        "a drift of the machine of {} is allowed for, because A and B were measured one after the \
         other",
        units::format_percent(drift)
    )
}

/// Change from `was` to `is` as a fraction of `was`; none for growth from zero.
fn share(was: f64, is: f64) -> Option<f64> {
    match was == is {
        true => Some(0.0),
        false => Some((is - was) / was).filter(|share| share.is_finite()),
    }
}
