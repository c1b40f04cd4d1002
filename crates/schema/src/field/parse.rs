//! Parsers of single words, shared by the sections of the table.
//!
//! Each error names the given word and what is allowed, but not the field: the caller, which knows
//! the origin, adds it.

use crate::scenario::span_word;
use memtide_base::{Span, units};
use std::fmt::Display;
use std::str::FromStr;

/// Parses a word by the grammar of its type.
pub(super) fn parsed<T: FromStr>(word: &str) -> Result<T, String>
where
    T::Err: Display,
{
    word.trim().parse().map_err(|e: T::Err| e.to_string())
}

/// Parses a count that fits its type; the error names the largest.
pub(super) fn count<T: TryFrom<u64> + Bounded>(word: &str) -> Result<T, String> {
    let count = units::parse_count(word).map_err(|e| e.to_string())?;
    T::try_from(count).map_err(|_| format!("'{word}' is above {}", T::LARGEST))
}

/// A type with a largest value.
pub(super) trait Bounded {
    /// The largest value of the type.
    const LARGEST: u64;
}

impl Bounded for u16 {
    const LARGEST: u64 = Self::MAX as u64;
}

impl Bounded for u32 {
    const LARGEST: u64 = Self::MAX as u64;
}

impl Bounded for u64 {
    const LARGEST: u64 = Self::MAX;
}

/// Parses a length of time.
pub(super) fn span(word: &str) -> Result<Span, String> {
    units::parse_span(word).map_err(|e| e.to_string())
}

/// Parses a 64-bit whole number, decimal or hexadecimal, without suffixes.
pub(super) fn bits(word: &str) -> Result<u64, String> {
    let word = word.trim();
    let number = match word.strip_prefix("0x") {
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    number.ok_or_else(|| format!("'{word}' is not a whole number below 2^64, such as 42 or 0x2a"))
}

/// Parses the destination of an output: a path, or `-` for stdout.
pub(super) fn output_path(word: &str) -> Result<Option<String>, String> {
    match word.is_empty() || word.contains('\0') {
        true => Err(format!("{word:?} is not a file's path, nor - for stdout")),
        false => Ok(Some(word.to_owned())),
    }
}

/// Largest length of a server command, in bytes.
const COMMAND_BYTES_MAX: usize = 1024;

/// Parses a server command: one line of limited length.
pub(super) fn command_line(word: &str) -> Result<String, String> {
    let allowed = (1..=COMMAND_BYTES_MAX).contains(&word.len())
        && !word.contains(['\r', '\n', '\0'])
        && word.trim() == word;
    match allowed {
        true => Ok(word.to_owned()),
        false => Err(format!(
            "{word:?} is not one line of 1 to {COMMAND_BYTES_MAX} bytes that begins and ends with \
             a word"
        )),
    }
}

/// Formats an optional value as words.
pub(super) fn given<T: ToString>(value: &Option<T>) -> Vec<String> {
    value.iter().map(ToString::to_string).collect()
}

/// Formats an optional span as words.
pub(super) fn given_span(value: Option<Span>) -> Vec<String> {
    value.map(span_word).into_iter().collect()
}

/// Formats a value as one word.
pub(super) fn one(value: impl ToString) -> Vec<String> {
    vec![value.to_string()]
}
