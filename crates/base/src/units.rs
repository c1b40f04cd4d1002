//! Numbers as people write them, `20k`, `1.5M`, `10s`, `64MiB`, `0.1%`, and as they read them,
//! `20 000/s`, `4.01 ms`, `318 µs`.
//!
//! Counts and rates: k, M, G are powers of 1 000. Sizes: k, M, G and KiB, MiB, GiB are powers of
//! 1 024, kB, MB, GB powers of 1 000. Spans: ns, us (or µs), ms, s, m (or min), h, d.

use crate::time::Span;
use std::fmt;

/// The error for a word that is not the expected number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The word as the user wrote it.
    pub given: String,
    /// A description of the expected number, with an example.
    pub expected: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}", self.given, self.expected)
    }
}

impl std::error::Error for UnitError {}

impl fmt::Display for Span {
    /// Writes the span as [`format_span`] does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_span(*self))
    }
}

const COUNT: &str = "a count such as 500, 20k or 1.5M";
const RATE: &str = "a rate per second such as 500, 20k or 1.5M";
const SIZE: &str = "a size such as 200, 64k or 1MiB";
const SPAN: &str = "a time with its unit, such as 500us, 10s or 2m";
const FRACTION: &str = "a fraction such as 0.2 or 20%";

/// A whole, non-negative count: `500`, `20k`, `1.5M`, `2G` (powers of 1 000).
pub fn parse_count(word: &str) -> Result<u64, UnitError> {
    let value = scaled(word, COUNT, decimal_factor)?;
    whole(value, word, COUNT)
}

/// A non-negative rate per second; a trailing `/s` is allowed.
pub fn parse_rate(word: &str) -> Result<f64, UnitError> {
    scaled(word.strip_suffix("/s").unwrap_or(word), RATE, decimal_factor)
        .map_err(|_| wrong(word, RATE))
}

/// A size in bytes: `200`, `64k`, `64KiB`, `1MB`; a trailing `B` is allowed.
pub fn parse_size(word: &str) -> Result<u64, UnitError> {
    let value = scaled(word, SIZE, |unit| match unit {
        "" | "B" => Some(1.0),
        "k" | "K" | "KiB" => Some(1024.0),
        "M" | "MiB" => Some(1024.0 * 1024.0),
        "G" | "GiB" => Some(1024.0 * 1024.0 * 1024.0),
        "kB" | "KB" => Some(1e3),
        "MB" => Some(1e6),
        "GB" => Some(1e9),
        _ => None,
    })?;
    whole(value, word, SIZE)
}

/// A span with its unit: `500us`, `1.5s`, `2m`. `0` needs no unit.
pub fn parse_span(word: &str) -> Result<Span, UnitError> {
    let seconds = scaled(word, SPAN, |unit| match unit {
        "ns" => Some(1e-9),
        "us" | "µs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        "d" => Some(86_400.0),
        "" if word.trim() == "0" => Some(1.0),
        _ => None,
    })?;
    Ok(Span::from_s_f64(seconds))
}

/// A fraction from 0 to 1: `0.2` or `20%`.
pub fn parse_fraction(word: &str) -> Result<f64, UnitError> {
    let value = match word.strip_suffix('%') {
        Some(percent) => scaled(percent, FRACTION, decimal_factor).map(|v| v / 100.0),
        None => scaled(word, FRACTION, decimal_factor),
    };
    match value {
        Ok(v) if v <= 1.0 => Ok(v),
        _ => Err(wrong(word, FRACTION)),
    }
}

/// A span as a word that parses back to it, in the largest unit that divides it.
pub fn span_word(span: Span) -> String {
    let ns = span.ns();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.into_iter().find(|(unit, _)| ns.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", ns / unit),
        None => format!("{ns}ns"),
    }
}

/// A span that a user chose, or an instant of a run: at most four significant digits and no zeros
/// behind them, such as `5 s`, `1.5 s` or `250 µs`.
pub fn format_span(span: Span) -> String {
    let (value, unit) = with_unit(span.ns() as f64);
    format!("{} {unit}", short(value))
}

/// A measured time in nanoseconds: three significant digits, such as `812 ns`, `90.3 µs`,
/// `4.01 ms` or `12.5 s`.
pub fn format_time(ns: f64) -> String {
    let (value, unit) = with_unit(ns);
    match unit {
        _ if ns == 0.0 => "0 ns".to_owned(),
        "ns" => format!("{value:.0} ns"),
        _ => format!("{} {unit}", three_digits(value)),
    }
}

/// A time in the largest unit in which it is at least 1, half a digit early, so that three digits
/// never round to 1000 of a unit.
fn with_unit(ns: f64) -> (f64, &'static str) {
    match ns {
        0.0 => (0.0, "s"),
        ns if ns < 999.5 => (ns, "ns"),
        ns if ns < 999.5e3 => (ns / 1e3, "µs"),
        ns if ns < 999.5e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    }
}

/// A rate per second: `20 000/s`, `12.5/s`.
pub fn format_rate(per_s: f64) -> String {
    rate_digits(per_s) + "/s"
}

/// A measured rate without its unit: `20 000`, `12.5`.
pub(crate) fn rate_digits(per_s: f64) -> String {
    match per_s < 100.0 {
        true => three_digits(per_s),
        false => format_whole(per_s.round() as u64),
    }
}

/// A rate that was given, without its unit and with all its digits: `20 000`, `1 000.5`.
pub(crate) fn exact_digits(per_s: f64) -> String {
    let digits = per_s.to_string();
    match digits.split_once('.') {
        Some((_, decimals)) => format!("{}.{decimals}", format_whole(per_s.trunc() as u64)),
        None => format_whole(per_s as u64),
    }
}

/// A whole number in groups of three digits: `36 887`.
pub fn format_whole(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A fraction in percent: `34 %`, `0.5 %`, `99.4 %`.
pub fn format_percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.fract().abs() < 0.05 || percent.fract().abs() > 0.95 {
        true => format!("{percent:.0} %"),
        false => format!("{percent:.1} %"),
    }
}

/// A relative change in percent with its sign, minus as U+2212: `+12.5 %`, `−5.0 %`.
pub fn format_change(fraction: f64, decimals: usize) -> String {
    format!("{:+.decimals$} %", fraction * 100.0).replace('-', "−")
}

/// A difference of two fractions in percentage points with its sign: `+27.0 points`,
/// `−0.03 points`.
pub fn format_points(fraction: f64) -> String {
    let points = fraction * 100.0;
    let decimals = if points.abs() < 1.0 { 2 } else { 1 };
    format!("{points:+.decimals$} points").replace('-', "−")
}

/// Three significant digits; above 1 000, all digits before the point.
fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// A count or rate with k, M or G and at most four significant digits: `20k`, `1.234M`.
pub fn format_count(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{unit}", short(scaled))
}

/// A size in bytes, kB, MB or GB (powers of 1 000).
pub fn format_bytes(bytes: u64) -> String {
    let value = bytes as f64;
    let (scaled, unit) = match bytes {
        0..10_000 => (value, "B"),
        10_000..10_000_000 => (value / 1e3, "kB"),
        10_000_000..10_000_000_000 => (value / 1e6, "MB"),
        _ => (value / 1e9, "GB"),
    };
    format!("{} {unit}", short(scaled))
}

/// At most four significant digits, no trailing zeros after the point.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn decimal_factor(unit: &str) -> Option<f64> {
    match unit {
        "" => Some(1.0),
        "k" | "K" => Some(1e3),
        "M" => Some(1e6),
        "G" => Some(1e9),
        _ => None,
    }
}

/// Splits `word` into a non-negative number and a unit, and multiplies.
fn scaled(
    word: &str,
    expected: &'static str,
    factor: impl Fn(&str) -> Option<f64>,
) -> Result<f64, UnitError> {
    let trimmed = word.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
    let split = split.unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(split);
    let number: f64 = digits.replace('_', "").parse().map_err(|_| wrong(word, expected))?;
    let factor = factor(unit.trim()).ok_or_else(|| wrong(word, expected))?;
    Ok(number * factor)
}

fn whole(value: f64, word: &str, expected: &'static str) -> Result<u64, UnitError> {
    if value.fract() == 0.0 && value <= 9.0e18 {
        Ok(value as u64)
    } else {
        Err(wrong(word, expected))
    }
}

fn wrong(given: &str, expected: &'static str) -> UnitError {
    UnitError { given: given.to_owned(), expected }
}

#[cfg(test)]
mod tests;
