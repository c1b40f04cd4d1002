//! Words that carry no law of their own: switches, lists, and exact spans.
//!
//! Everything written here is read back to the very same value; rounding is for reports.

use memtide_base::Span;
use std::fmt::Display;
use std::str::FromStr;

/// `true` or `false`, in the spellings that environments and files use.
pub(crate) fn parse_switch(word: &str) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("'{word}' is neither true nor false")),
    }
}

/// The items of a comma list; an empty word is an empty list, an empty item is refused.
pub(crate) fn parse_list<T: FromStr>(word: &str) -> Result<Vec<T>, String>
where
    T::Err: Display,
{
    if word.trim().is_empty() {
        return Ok(Vec::new());
    }
    word.split(',').map(|item| item.trim().parse().map_err(|e: T::Err| e.to_string())).collect()
}

/// A span as a word that parses back to it: in the largest unit that divides it.
pub(crate) fn span_word(span: Span) -> String {
    let ns = span.ns();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.into_iter().find(|(unit, _)| ns.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", ns / unit),
        None => format!("{ns}ns"),
    }
}
