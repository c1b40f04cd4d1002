//! The content of values, and a secret that is never printed.
//!
//! Choices between a few words are in [`memtide_base::choice`].

use memtide_base::Span;
use memtide_base::units::{UnitError, parse_span, span_word};
use std::fmt;
use std::str::FromStr;

/// Length of the load before the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// This long.
    Fixed(Span),
    /// Until the load is steady, and at most 30 % of the duration.
    Auto,
}

impl Warmup {
    /// No warm-up.
    pub const NONE: Self = Self::Fixed(Span::ZERO);

    /// The longest warm-up that is found, as a fraction of the duration.
    const PART_MAX: f64 = 0.3;

    /// The longest that it may take before a window of `duration`.
    pub fn longest(self, duration: Option<Span>) -> Span {
        match self {
            Self::Fixed(span) => span,
            Self::Auto => {
                let most = duration.unwrap_or(Span::ZERO).as_s_f64() * Self::PART_MAX;
                Span::from_s_f64(most)
            }
        }
    }
}

impl fmt::Display for Warmup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(span) => f.pad(&span_word(*span)),
            Self::Auto => f.pad("auto"),
        }
    }
}

impl FromStr for Warmup {
    type Err = UnitError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word.trim() {
            "auto" => Ok(Self::Auto),
            word => parse_span(word).map(Self::Fixed),
        }
    }
}

/// Content of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFill {
    /// Random letters, drawn by the seed.
    Drawn,
    /// This printable ASCII letter, repeated.
    Letter(u8),
}

impl fmt::Display for ValueFill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drawn => f.pad("drawn"),
            Self::Letter(letter) => write!(f, "{}", char::from(*letter)),
        }
    }
}

impl FromStr for ValueFill {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word.as_bytes() {
            b"drawn" => Ok(Self::Drawn),
            [letter] if letter.is_ascii_graphic() => Ok(Self::Letter(*letter)),
            _ => Err(format!("'{word}' is neither drawn nor one letter or digit such as 0")),
        }
    }
}

/// A secret: it prints as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `word`.
    pub fn new(word: &str) -> Self {
        Self(word.to_owned())
    }

    /// The word itself, for the code that must send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
