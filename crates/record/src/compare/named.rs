//! What a rule or a trial can name: the figures of goals.

use crate::compare::{RunFigure, Unit};
use crate::judge::{Measured, figure_word, measured};
use crate::record::Record;
use memtide_base::choice::RateUnit;
use memtide_base::units;
use memtide_scenario::{FigureName, Goal, Measure, Relation, Subject, parse_subject};
use std::fmt;

/// The widest bucket of a histogram of times: its upper end divided by its lower one.
const BUCKET: f64 = 1.0 + 1.0 / 128.0;

/// How exactly a rate of answers is known at best: which answers come before the window's ends is
/// chance, and no smaller difference is of use.
const ENDS: f64 = 1.001;

/// A figure, by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named(Subject);

impl From<Subject> for Named {
    fn from(subject: Subject) -> Self {
        Self(subject)
    }
}

impl Named {
    /// Parses a name. The error is a clause that says what is allowed.
    pub fn parse(name: &str) -> Result<Self, String> {
        parse_subject(name).map(Self)
    }

    /// Its unit, where a rate counts `counted`.
    pub(super) fn unit(self, counted: RateUnit) -> Unit {
        match (self.0, counted) {
            (Subject::Figure(name), _) => RunFigure::named(name).unit,
            (Subject::Errors, _) => Unit::Fraction,
            (Subject::Rate, RateUnit::Operations) => Unit::PerS,
            (Subject::Rate, RateUnit::Keys) => Unit::KeysPerS,
            (Subject::Response { .. } | Subject::StartSkew, _) => Unit::Ns,
        }
    }

    /// True if it is a rate of answers.
    const fn is_answered(self) -> bool {
        matches!(self.0, Subject::Figure(FigureName::Answered))
    }

    /// True if a higher figure is better: rates, what was found and time without an operation; not
    /// times, errors and costs.
    pub(super) const fn more_is_better(self) -> bool {
        use FigureName::{Answered, HitRatio, Hits, NoneInFlight};
        matches!(self.0, Subject::Rate | Subject::Figure(Answered | Hits | HitRatio | NoneInFlight))
    }

    /// True if it is a fraction, whose bound in percent is the figure itself.
    pub(super) fn is_fraction(self) -> bool {
        self.unit(RateUnit::Operations) == Unit::Fraction
    }

    /// Parses a bound in the unit of the figure. The error is a clause.
    pub(super) fn parse_bound(self, word: &str) -> Result<f64, String> {
        self.0.parse_bound(word)
    }

    /// A bound as a user writes it.
    pub(super) fn bound_word(self, bound: f64) -> String {
        let goal = Goal { subject: self.0, relation: Relation::Less, bound }.to_string();
        goal.split_once('<').map_or_else(String::new, |(_, word)| word.to_owned())
    }

    /// The figure in `record`, a rate in `unit`; times are those of the judged load.
    pub(super) fn of(self, record: &Record, unit: RateUnit) -> Measured {
        let is_time = matches!(self.0, Subject::Response { .. });
        measured(self.0, if is_time { record.judged() } else { record }, unit)
    }

    /// The 95 % interval of the figure in `record`, a rate in `unit`; none if it has none.
    pub(super) fn interval(self, record: &Record, unit: RateUnit) -> Option<[f64; 2]> {
        match self.0 {
            Subject::Rate if unit != RateUnit::Operations => None,
            // Like its value, that of all loads together.
            Subject::Rate => record.rate_figure().interval,
            // Answers scatter as what is sent does.
            Subject::Figure(name) if self.is_answered() => {
                let ends = record.rate_figure().interval?;
                let part = RunFigure::named(name).of(record).value? / record.rate.achieved_per_s;
                Some(ends.map(|end| end * part)).filter(|ends| ends[1].is_finite())
            }
            subject => record.judged().figure_of(subject)?.interval,
        }
    }

    /// The most of the figure in `record` that may be memtide's own delay, as a fraction; none if
    /// it is unknown.
    pub(super) fn own(self, record: &Record) -> Option<f64> {
        record.judged().figure_of(self.0)?.own
    }

    /// The factor between neighbouring values of the figure: percentiles are the middles of a
    /// histogram's buckets, and the ends of the window leave some answers to chance.
    pub(super) const fn step(self) -> f64 {
        match self.0 {
            Subject::Response { measure: Measure::Percentile(_), .. } => BUCKET,
            _ if self.is_answered() => ENDS,
            _ => 1.0,
        }
    }

    /// Why `record` has no interval of such a figure although it kept the slices from which one
    /// follows, as a clause; none if it has one, or kept nothing.
    pub(super) fn refusal(self, record: &Record, unit: RateUnit) -> Option<String> {
        let is_refused = self.is_sampled()
            && record.judged().has_slices()
            && self.interval(record, unit).is_none();
        is_refused.then(|| {
            let figure = record.judged().figure_of(self.0);
            let reason = figure.and_then(|figure| figure.reason);
            reason.unwrap_or_else(|| "measure longer".to_owned())
        })
    }

    /// True if it is of times, of which a run has a sample.
    pub(super) fn is_sampled(self) -> bool {
        matches!(self.0, Subject::Response { measure, .. } if measure != Measure::Max)
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
        use FigureName::{Hits, Misses};
        matches!(self.0, Subject::Errors | Subject::Figure(Hits | Misses))
    }

    /// True if such a figure says itself whether a run was the load that was asked for, so that
    /// runs that were not say most about it.
    pub(super) const fn is_of_load(self) -> bool {
        self.is_answered() || matches!(self.0, Subject::Rate | Subject::Errors)
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
        figure_word(self.0, figure, unit)
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
