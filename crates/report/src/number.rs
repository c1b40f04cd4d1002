//! Numbers as a report shows them: three significant digits, and a unit.
//!
//! Rounded for the eye; exact figures are in the record. The forms are those of `memtide_base`,
//! which every text of the program uses.

pub(crate) use memtide_base::units::{
    format_percent as percent, format_rate as rate, format_time as time, format_whole as whole,
};
use std::fmt::Display;

/// Placeholder for a missing figure.
pub(crate) const NONE: &str = "—";

/// Formats a bound that the user chose, such as `5 s`: a time without trailing zeros.
pub(crate) fn bound(ns: u64) -> String {
    let text = time(ns as f64);
    match text.split_once(' ') {
        Some((digits, unit)) if digits.contains('.') => {
            format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// Formats a lower bound: `> 5 s`, for unanswered operations.
pub(crate) fn above(at_least_ns: u64) -> String {
    format!("> {}", bound(at_least_ns))
}

/// Formats the least that a figure can be: `≥ 5 s`.
pub(crate) fn at_least(words: &str) -> String {
    format!("≥ {words}")
}

/// Formats seconds that the user chose or waited for: `10 s`, `2.5 s`.
pub(crate) fn seconds(s: f64) -> String {
    match s < 1.0 {
        true => bound((s * 1e9).round().max(0.0) as u64),
        false => format!("{} s", (s * 100.0).round() / 100.0),
    }
}

/// A measured difference of two instants, with a true minus.
pub(crate) fn signed_time(ns: i64) -> String {
    let sign = if ns < 0 { "−" } else { "" };
    format!("{sign}{}", time(ns.unsigned_abs() as f64))
}

/// Formats a count and its noun, in the plural unless it is one.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", whole(count)),
    }
}

/// Formats an optional figure; a dash if it is missing.
pub(crate) fn or_none(figure: Option<impl Display>) -> String {
    figure.map_or_else(|| NONE.to_owned(), |figure| figure.to_string())
}

#[cfg(test)]
mod tests;
