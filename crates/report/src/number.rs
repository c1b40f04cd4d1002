//! Numbers as a report shows them: three significant digits, and a unit.
//!
//! Rounded for the eye; exact figures are in the record.

use std::fmt::Display;

/// Placeholder for a missing figure.
pub(crate) const NONE: &str = "—";

/// Formats a time: `812 ns`, `90.3 µs`, `1.25 ms`, `12.5 s`.
pub(crate) fn time(ns: f64) -> String {
    let units = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms")];
    for (scale, unit) in units {
        // Changes to the next unit half a digit early, so that nothing is rounded to 1000 of a
        // unit.
        if ns / scale < 999.5 {
            return format!("{} {unit}", three_digits(ns / scale, scale == 1.0));
        }
    }
    format!("{} s", three_digits(ns / 1e9, false))
}

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

/// Formats seconds that the user chose or waited for: `10 s`, `2.5 s`.
pub(crate) fn seconds(s: f64) -> String {
    match s < 1.0 {
        true => bound((s * 1e9).round().max(0.0) as u64),
        false => format!("{} s", (s * 100.0).round() / 100.0),
    }
}

/// Formats a whole number in groups of three: `36 887`.
pub(crate) fn whole(number: u64) -> String {
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

/// Formats a number per second: `20 000/s`, `12.5/s`.
pub(crate) fn rate(per_s: f64) -> String {
    match per_s < 100.0 {
        true => format!("{}/s", three_digits(per_s, false)),
        false => format!("{}/s", whole(per_s.round() as u64)),
    }
}

/// Formats a fraction in percent: `34 %`, `0.5 %`, `99.4 %`.
pub(crate) fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.fract().abs() < 0.05 || percent.fract().abs() > 0.95 {
        true => format!("{percent:.0} %"),
        false => format!("{percent:.1} %"),
    }
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

fn three_digits(value: f64, whole: bool) -> String {
    match value {
        _ if whole => format!("{value:.0}"),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_digits_and_never_reach_1000_of_a_unit() {
        let cases = [
            (0.0, "0 ns"),
            (812.0, "812 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (90_250.0, "90.2 µs"),
            (999_600.0, "1.00 ms"),
            (1_250_000.0, "1.25 ms"),
            (9_996_000.0, "10.0 ms"),
            (12.5e9, "12.5 s"),
            (3.6e12, "3600 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text);
        }
        assert_eq!(bound(5_000_000_000), "5 s");
        assert_eq!(bound(250_000_000), "250 ms");
        assert_eq!((seconds(10.0), seconds(0.5)), ("10 s".to_owned(), "500 ms".to_owned()));
    }

    #[test]
    fn counts_and_rates_are_grouped() {
        assert_eq!(whole(0), "0");
        assert_eq!(whole(999), "999");
        assert_eq!(whole(1_000), "1 000");
        assert_eq!(whole(1_234_567), "1 234 567");
        assert_eq!(rate(19_999.6), "20 000/s");
        assert_eq!(rate(12.5), "12.5/s");
        assert_eq!(percent(0.34), "34 %");
        assert_eq!(percent(0.9944), "99.4 %");
        assert_eq!(counted(1, "worker"), "1 worker");
        assert_eq!(counted(2000, "key"), "2 000 keys");
    }
}
