//! The content of values, and a secret that is never printed.
//!
//! Choices between a few words are in [`memtide_base::choice`].

use std::fmt;
use std::str::FromStr;

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
