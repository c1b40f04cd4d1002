//! What a rule or a trial can name: a figure of goals, or another row of a comparison.

use crate::compare::{FIGURES, RunFigure, Unit};
use crate::judge::{Measured, figure_word, measured};
use crate::record::Record;
use memtide_base::choice::RateUnit;
use memtide_base::{Rate, units};
use memtide_scenario::{Goal, Measure, Relation, Subject, parse_subject};
use std::fmt;

/// The widest bucket of a histogram of times: its upper end divided by its lower one.
const BUCKET: f64 = 1.0 + 1.0 / 128.0;

/// How exactly a rate of answers is known at best: which answers come before the window's ends is
/// chance, and no smaller difference is of use.
const ENDS: f64 = 1.001;

/// A figure, by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Named {
    /// One that goals can name.
    Goal(Subject),
    /// One that they cannot.
    Plain(&'static RunFigure),
}

impl Named {
    /// Parses a name. The error is a clause that says what is allowed.
    pub fn parse(name: &str) -> Result<Self, String> {
        if let Some(figure) = FIGURES.iter().find(|figure| figure.name == name) {
            return Ok(Self::Plain(figure));
        }
        // A measure alone is that of all operations.
        let subject = parse_subject(name).or_else(|why| match name.contains('.') {
            true => Err(why),
            false => parse_subject(&format!("all.{name}")).map_err(|_| why),
        });
        subject.map(Self::Goal).map_err(|why| match name.contains('.') {
            true => why,
            false => {
                let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
                format!("{why}; other figures are {}", names.join(", "))
            }
        })
    }

    /// Its unit, where a rate counts `counted`.
    pub(super) fn unit(self, counted: RateUnit) -> Unit {
        match (self, counted) {
            (Self::Plain(plain), _) => plain.unit,
            (Self::Goal(Subject::Errors), _) => Unit::Fraction,
            (Self::Goal(Subject::Rate), RateUnit::Operations) => Unit::PerS,
            (Self::Goal(Subject::Rate), RateUnit::Keys) => Unit::KeysPerS,
            (Self::Goal(Subject::Response { .. } | Subject::StartSkew), _) => Unit::Ns,
        }
    }

    /// True if a higher figure is better: rates, what was found and time without an operation; not
    /// times, errors and costs.
    pub(super) fn more_is_better(self) -> bool {
        const MORE: [&str; 4] = ["answered", "hits", "hit_ratio", "none_in_flight"];
        match self {
            Self::Goal(subject) => subject == Subject::Rate,
            Self::Plain(plain) => MORE.contains(&plain.name),
        }
    }

    /// True if it is a fraction, whose bound in percent is the figure itself.
    pub(super) fn is_fraction(self) -> bool {
        match self {
            Self::Goal(subject) => subject == Subject::Errors,
            Self::Plain(plain) => plain.unit == Unit::Fraction,
        }
    }

    /// Parses a bound in the unit of the figure. The error is a clause.
    pub(super) fn parse_bound(self, word: &str) -> Result<f64, String> {
        match self {
            Self::Goal(subject) => subject.parse_bound(word),
            Self::Plain(_) if self.is_fraction() => Subject::Errors.parse_bound(word),
            Self::Plain(_) => match word.parse::<f64>() {
                Ok(bound) if bound.is_finite() && bound >= 0.0 => Ok(bound),
                _ => Err(format!("'{word}' is not a number from 0 on, such as 1000 or 6.5")),
            },
        }
    }

    /// A bound as a user writes it.
    pub(super) fn bound_word(self, bound: f64) -> String {
        let of_goal = |subject: Subject| {
            let goal = Goal { subject, relation: Relation::Less, bound }.to_string();
            goal.split_once('<').map_or_else(String::new, |(_, word)| word.to_owned())
        };
        match self {
            Self::Goal(subject) => of_goal(subject),
            Self::Plain(_) if self.is_fraction() => of_goal(Subject::Errors),
            Self::Plain(_) => bound.to_string(),
        }
    }

    /// The figure in `record`, a rate in `unit`; times are those of the judged load.
    pub(super) fn of(self, record: &Record, unit: RateUnit) -> Measured {
        match self {
            Self::Goal(subject @ Subject::Response { .. }) => {
                measured(subject, record.judged(), unit)
            }
            Self::Goal(subject) => measured(subject, record, unit),
            Self::Plain(plain) => {
                let value = plain.of(record);
                let missing = value.missing.unwrap_or_default();
                value.value.map_or(Measured::Missing(missing), Measured::Known)
            }
        }
    }

    /// The 95 % interval of the figure in `record`, a rate in `unit`; none if it has none.
    pub(super) fn interval(self, record: &Record, unit: RateUnit) -> Option<[f64; 2]> {
        match self {
            Self::Goal(Subject::Rate) if unit != RateUnit::Operations => None,
            // Like its value, that of all loads together.
            Self::Goal(Subject::Rate) => record.rate_figure().interval,
            Self::Goal(subject) => record.judged().figure_of(subject)?.interval,
            // Answers scatter as what is sent does.
            Self::Plain(plain) if plain.unit == Unit::PerS => {
                let ends = record.rate_figure().interval?;
                let part = plain.of(record).value? / record.rate.achieved_per_s;
                Some(ends.map(|end| end * part)).filter(|ends| ends[1].is_finite())
            }
            Self::Plain(_) => None,
        }
    }

    /// The most of the figure in `record` that may be memtide's own delay, as a fraction; none if
    /// it is unknown.
    pub(super) fn own(self, record: &Record) -> Option<f64> {
        match self {
            Self::Goal(subject) => record.judged().figure_of(subject)?.own,
            Self::Plain(_) => None,
        }
    }

    /// The factor between neighbouring values of the figure: percentiles are the middles of a
    /// histogram's buckets, and the ends of the window leave some answers to chance.
    pub(super) fn step(self) -> f64 {
        match self {
            Self::Plain(plain) if plain.unit == Unit::PerS => ENDS,
            Self::Goal(Subject::Response { measure: Measure::Percentile(_), .. }) => BUCKET,
            Self::Goal(_) | Self::Plain(_) => 1.0,
        }
    }

    /// Why `record` has no interval of such a figure although it kept the slices from which one
    /// follows, as a clause; none if it has one, or kept nothing.
    pub(super) fn refusal(self, record: &Record, unit: RateUnit) -> Option<String> {
        let is_refused = self.is_sampled()
            && record.judged().has_slices()
            && self.interval(record, unit).is_none();
        let Self::Goal(subject) = self else { return None };
        let reason = || record.judged().figure_of(subject)?.reason;
        is_refused.then(|| reason().unwrap_or_else(|| "measure longer".to_owned()))
    }

    /// True if it is of times, of which a run has a sample.
    pub(super) fn is_sampled(self) -> bool {
        match self {
            Self::Goal(Subject::Response { measure, .. }) => measure != Measure::Max,
            Self::Goal(_) | Self::Plain(_) => false,
        }
    }

    /// A change of the figure for people, with its sign: a difference in its unit, or a fraction of
    /// the first one's.
    pub(super) fn change_word(self, change: f64, is_difference: bool, unit: RateUnit) -> String {
        match is_difference {
            false => units::format_change(change, 1),
            true if self.is_fraction() => units::format_points(change),
            true => {
                let sign = if change < 0.0 { "−" } else { "+" };
                format!("{sign}{}", self.word(change.abs(), unit))
            }
        }
    }

    /// True if a run knows it without error: what it counted, not what it sampled.
    pub(super) const fn is_exact(self) -> bool {
        match self {
            Self::Goal(subject) => matches!(subject, Subject::Errors),
            Self::Plain(plain) => matches!(plain.unit, Unit::Count),
        }
    }

    /// True if such a figure says itself whether a run was the load that was asked for, so that
    /// runs that were not say most about it.
    pub(super) const fn is_of_load(self) -> bool {
        match self {
            Self::Goal(subject) => matches!(subject, Subject::Rate | Subject::Errors),
            // The rate of answers.
            Self::Plain(plain) => matches!(plain.unit, Unit::PerS),
        }
    }

    /// The figure of one record, a rate in its own unit; none if it is unknown.
    pub fn value(self, record: &Record) -> Option<f64> {
        match self.of(record, record.plan.unit()) {
            Measured::Known(value) => Some(value),
            Measured::Missing(_) | Measured::Unanswered => None,
        }
    }

    /// A value of the figure for people; a rate counts `unit`.
    pub(super) fn word(self, figure: f64, unit: RateUnit) -> String {
        match self {
            Self::Goal(subject) => figure_word(subject, figure, unit),
            Self::Plain(plain) => match plain.unit {
                Unit::Fraction => figure_word(Subject::Errors, figure, unit),
                // The mean of several runs.
                Unit::Count if figure.fract() > 0.0 => format!("{figure:.1}"),
                Unit::Count => units::format_whole(figure as u64),
                Unit::PerS => Rate::new(figure, RateUnit::Operations).to_string(),
                _ => format!("{figure:.2} s per million operations"),
            },
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Goal(subject) => subject.fmt(f),
            Self::Plain(plain) => f.write_str(plain.name),
        }
    }
}
