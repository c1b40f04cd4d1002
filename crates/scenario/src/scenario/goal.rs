//! Goals: conditions on the result, such as `get.p99<1ms`, `rate>=50k` or `errors<0.1%`.
//!
//! Only parsing; goals are judged where the measurements are.

use super::figure::FigureName;
use super::{Scenario, span_word};
use crate::kind::Kind;
use memtide_base::{Span, units};
use std::fmt;
use std::str::FromStr;

const GRAMMAR: &str = "a goal such as get.p99<1ms, all.mean<=500us, rate>=50k or errors<0.1%";

/// One goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Figure that is compared.
    pub subject: Subject,
    /// Comparison.
    pub relation: Relation,
    /// Bound: nanoseconds of a response time, operations per second, a fraction or a number.
    pub bound: f64,
}

/// Figure that a goal is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subject {
    /// A measure of the response times of one kind of operation.
    Response {
        /// Kind of the operations.
        kind: Kind,
        /// Measure of their response times.
        measure: Measure,
    },
    /// The achieved rate, in operations per second.
    Rate,
    /// Fraction of intended operations that did not get a good answer.
    Errors,
    /// Start skew: time from the first to the last beginning of the shares, in nanoseconds.
    StartSkew,
    /// Another figure of the whole run.
    Figure(FigureName),
}

/// A figure whose origin a report explains: `p99`, `get.p99.9`, `service.mean` or `rate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Explained {
    /// A measure of the response times of one kind of operation.
    Response {
        /// Kind of the operations; all, if the word names none.
        kind: Kind,
        /// Measure of their response times.
        measure: Measure,
    },
    /// A measure of the service times of all operations.
    Service(Measure),
    /// The achieved rate.
    Rate,
}

impl FromStr for Explained {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let word = word.trim();
        let found = match (word, word.strip_prefix("service.")) {
            ("rate", _) => Some(Self::Rate),
            (_, Some(measure)) => parse_measure(measure).ok().map(Self::Service),
            _ => match parse_measure(word) {
                Ok(measure) => Some(Self::Response { kind: Kind::All, measure }),
                Err(_) => word.split_once('.').and_then(|(kind, measure)| {
                    let (kind, measure) = (kind.parse().ok()?, parse_measure(measure).ok()?);
                    Some(Self::Response { kind, measure })
                }),
            },
        };
        found.filter(|found| !found.is_of(Measure::Max)).ok_or_else(|| {
            format!("'{word}' is not a figure such as p99, mean, get.p99.9, service.p50 or rate")
        })
    }
}

impl Explained {
    fn is_of(self, other: Measure) -> bool {
        match self {
            Self::Response { measure, .. } | Self::Service(measure) => measure == other,
            Self::Rate => false,
        }
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response { kind: Kind::All, measure } => write!(f, "{measure}"),
            Self::Response { kind, measure } => write!(f, "{kind}.{measure}"),
            Self::Service(measure) => write!(f, "service.{measure}"),
            Self::Rate => f.write_str("rate"),
        }
    }
}

/// How narrowly a figure must be known: `p99 5%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// The figure.
    pub subject: Subject,
    /// The largest half width of the range in which it lies, as a fraction.
    pub half_width: f64,
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        parse_precision(word).ok_or_else(|| {
            format!(
                "'{word}' is not a figure and a fraction such as p99 5%, get.p99.9 10% or rate 1%"
            )
        })
    }
}

fn parse_precision(word: &str) -> Option<Precision> {
    let (figure, bound) = word.trim().split_once(char::is_whitespace)?;
    let subject = match figure.parse().ok()? {
        Explained::Response { kind, measure } => Subject::Response { kind, measure },
        Explained::Rate => Subject::Rate,
        Explained::Service(_) => return None,
    };
    let half_width = units::parse_fraction(bound.trim()).ok()?;
    (half_width > 0.0).then_some(Precision { subject, half_width })
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            Subject::Response { kind: Kind::All, measure } => write!(f, "{measure}")?,
            subject => write!(f, "{subject}")?,
        }
        write!(f, " {}", fraction_word(self.half_width))
    }
}

/// A measure that summarises many response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// A percentile, above 0 and below 100.
    Percentile(f64),
    /// The mean of the answered operations.
    Mean,
    /// The maximum.
    Max,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Less,
    /// `<=`
    LessEq,
    /// `>`
    Greater,
    /// `>=`
    GreaterEq,
}

impl Relation {
    /// How each is written; one that begins with another stands before it.
    const SIGNS: [(&'static str, Self); 4] =
        [("<=", Self::LessEq), (">=", Self::GreaterEq), ("<", Self::Less), (">", Self::Greater)];

    /// True if `measured` stands in this relation to `bound`.
    pub fn holds(self, measured: f64, bound: f64) -> bool {
        match self {
            Self::Less => measured < bound,
            Self::LessEq => measured <= bound,
            Self::Greater => measured > bound,
            Self::GreaterEq => measured >= bound,
        }
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        parse_goal(word).map_err(|why| format!("'{word}' is not {GRAMMAR}: {why}"))
    }
}

fn parse_goal(word: &str) -> Result<Goal, String> {
    let (subject, relation, bound) = Goal::split(word)?;
    let subject = parse_subject(subject)?;
    Ok(Goal { subject, relation, bound: subject.parse_bound(bound)? })
}

impl Goal {
    /// Splits a comparison such as `get.p99<1ms` into its three parts; subject and bound remain
    /// text.
    ///
    /// # Errors
    /// A clause that says what is missing.
    pub fn split(word: &str) -> Result<(&str, Relation, &str), String> {
        let at = word.find(['<', '>']).ok_or("a comparison such as < or >= is missing")?;
        let (subject, rest) = word.split_at(at);
        let (relation, bound) = split_relation(rest);
        Ok((subject.trim(), relation, bound))
    }
}

impl Subject {
    /// Parses a bound in the unit of this figure: nanoseconds, operations per second, or a
    /// fraction.
    ///
    /// # Errors
    /// A clause that says what is wrong with the word, and what is allowed.
    pub fn parse_bound(self, word: &str) -> Result<f64, String> {
        let bound = match self {
            Self::Response { .. } | Self::StartSkew => {
                units::parse_span(word).map(|span| span.ns() as f64)
            }
            Self::Rate => units::parse_rate(word),
            Self::Errors => units::parse_fraction(word),
            Self::Figure(name) => return name.parse_bound(word),
        };
        bound.map_err(|error| error.to_string())
    }

    /// True if it is known of each second while the load runs.
    pub const fn is_of_second(self) -> bool {
        use FigureName::Answered;
        matches!(self, Self::Response { .. } | Self::Rate | Self::Errors | Self::Figure(Answered))
    }

    /// True if a higher rate makes it larger, so that a search can look for a bound of it.
    pub const fn grows_with_rate(self) -> bool {
        use FigureName::{MachineCpu, WorkerBusy};
        let is_busy = matches!(self, Self::Figure(MachineCpu | WorkerBusy));
        is_busy || matches!(self, Self::Response { .. } | Self::Errors)
    }
}

/// Splits off the relation; `rest` must begin with `<` or `>`.
fn split_relation(rest: &str) -> (Relation, &str) {
    let found = Relation::SIGNS.iter().find_map(|(sign, of)| Some((*of, rest.strip_prefix(sign)?)));
    let (relation, bound) = found.expect("it begins with a relation");
    (relation, bound.trim())
}

/// Parses the name of a figure of [`FIGURE_LIST`](super::FIGURE_LIST).
pub fn parse_subject(word: &str) -> Result<Subject, String> {
    match word {
        "rate" => return Ok(Subject::Rate),
        "errors" => return Ok(Subject::Errors),
        "start_skew" => return Ok(Subject::StartSkew),
        _ => {}
    }
    if let Some(name) = FigureName::ALL.into_iter().find(|figure| figure.name() == word) {
        return Ok(Subject::Figure(name));
    }
    if let Ok(measure) = parse_measure(word) {
        return Ok(Subject::Response { kind: Kind::All, measure });
    }
    let (kind, measure) = word.split_once('.').ok_or_else(|| {
        let names = FigureName::ALL.map(FigureName::name).join(", ");
        format!(
            "'{word}' is neither rate, errors, start_skew, {names} nor a measure such as p99 or \
             get.mean"
        )
    })?;
    Ok(Subject::Response { kind: kind.parse()?, measure: parse_measure(measure)? })
}

fn parse_measure(word: &str) -> Result<Measure, String> {
    match word {
        "mean" => return Ok(Measure::Mean),
        "max" => return Ok(Measure::Max),
        _ => {}
    }
    let number = word.strip_prefix('p');
    let number = number.filter(|p| p.chars().all(|c| c.is_ascii_digit() || c == '.'));
    match number.map(str::parse) {
        Some(Ok(p)) if p > 0.0 && p < 100.0 => Ok(Measure::Percentile(p)),
        _ => Err(format!(
            "'{word}' is not a measure; use mean, max or a percentile such as p50 or p99.9"
        )),
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, relation, bound } = self;
        match subject {
            Subject::Response { .. } | Subject::StartSkew => {
                write!(f, "{subject}{relation}{}", span_word(Span::from_ns(*bound as u64)))
            }
            Subject::Rate => write!(f, "{subject}{relation}{bound}"),
            Subject::Errors => write!(f, "{subject}{relation}{}", fraction_word(*bound)),
            Subject::Figure(name) if name.is_fraction() => {
                write!(f, "{subject}{relation}{}", fraction_word(*bound))
            }
            Subject::Figure(_) => write!(f, "{subject}{relation}{bound}"),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response { kind, measure } => write!(f, "{kind}.{measure}"),
            Self::Rate => f.write_str("rate"),
            Self::Errors => f.write_str("errors"),
            Self::StartSkew => f.write_str("start_skew"),
            Self::Figure(name) => f.write_str(name.name()),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(p) => write!(f, "p{p}"),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = Self::SIGNS.iter().find(|(_, of)| of == self);
        f.write_str(sign.map_or("", |(sign, _)| sign))
    }
}

/// Default for the largest fraction of operations without a good answer in a believable result.
const ERRORS_MAX: f64 = 0.01;

impl Scenario {
    /// Largest fraction of operations without a good answer in a believable result: the given one,
    /// else the strictest upper bound in a goal, else 1 %.
    pub fn errors_allowed(&self) -> f64 {
        let upper = self.goals.iter().filter(|goal| {
            goal.subject == Subject::Errors
                && matches!(goal.relation, Relation::Less | Relation::LessEq)
        });
        let strictest = upper.map(|goal| goal.bound).min_by(f64::total_cmp);
        self.trust.errors_max.or(strictest).unwrap_or(ERRORS_MAX)
    }
}

/// Formats a fraction in percent if that reads back exactly, else as a number.
pub(crate) fn fraction_word(fraction: f64) -> String {
    let percent = format!("{}%", fraction * 100.0);
    match units::parse_fraction(&percent) {
        Ok(back) if back == fraction => percent,
        _ => fraction.to_string(),
    }
}
