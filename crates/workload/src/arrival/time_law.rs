//! Laws of times, as users write them. A time is a function of one uniform number.

use crate::word::{Grammar, WordError, split};
use memtide_base::law::Law;
use memtide_base::{Span, units};
use std::fmt;
use std::str::FromStr;

/// A law of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLaw {
    /// Always the same.
    Fixed(Span),
    /// Evenly between two times.
    Uniform(Span, Span),
    /// Exponential, with this mean.
    Exponential(Span),
}

/// The longest time that a law may name.
const LONGEST: Span = Span::from_s(3600);

const GRAMMAR: Grammar = Grammar {
    what: "a law of times",
    names: &["fixed", "uniform", "exponential"],
    forms: "a time up to 1h (such as 5ms), fixed:TIME, uniform:LEAST,MOST or exponential:MEAN",
};

impl TimeLaw {
    /// No time at all.
    pub const ZERO: Self = Self::Fixed(Span::ZERO);

    /// The time for `u` in (0, 1).
    pub fn at(&self, u: f64) -> Span {
        let law = match *self {
            Self::Fixed(time) => return time,
            Self::Uniform(least, most) => Law::Uniform(least.ns() as f64, most.ns() as f64),
            Self::Exponential(mean) => Law::Exponential(mean.ns() as f64),
        };
        // A cast saturates: negative numbers become zero.
        Span::from_ns(law.quantile(u) as u64)
    }
}

impl Default for TimeLaw {
    fn default() -> Self {
        Self::ZERO
    }
}

impl FromStr for TimeLaw {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let (name, arguments) = split(word);
        match name {
            "fixed" | "exponential" => {
                let [argument] = GRAMMAR.arguments(word, arguments)?;
                let law = if name == "fixed" { Self::Fixed } else { Self::Exponential };
                time(word, argument).map(law)
            }
            "uniform" => {
                let [least, most] = GRAMMAR.arguments(word, arguments)?;
                match (time(word, least)?, time(word, most)?) {
                    (least, most) if least <= most => Ok(Self::Uniform(least, most)),
                    _ => Err(GRAMMAR.wrong(word, "the least time is above the greatest")),
                }
            }
            _ if arguments.is_none() && name.starts_with(|c: char| c.is_ascii_digit()) => {
                time(word, name).map(Self::Fixed)
            }
            _ => Err(GRAMMAR.unknown(word, name)),
        }
    }
}

/// Parses a time of the law `word`.
fn time(word: &str, argument: &str) -> Result<Span, WordError> {
    match units::parse_span(argument) {
        Ok(time) if time <= LONGEST => Ok(time),
        Ok(_) => Err(GRAMMAR.wrong(word, format!("'{argument}' is above 1h"))),
        Err(error) => Err(GRAMMAR.wrong(word, error.to_string())),
    }
}

impl fmt::Display for TimeLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(time) => write!(f, "fixed:{}", units::span_word(*time)),
            Self::Uniform(least, most) => {
                write!(f, "uniform:{},{}", units::span_word(*least), units::span_word(*most))
            }
            Self::Exponential(mean) => write!(f, "exponential:{}", units::span_word(*mean)),
        }
    }
}

#[cfg(test)]
mod tests;
