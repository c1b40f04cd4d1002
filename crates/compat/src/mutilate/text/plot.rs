//! The histogram as a file of numbers, as memcache-perf writes it beside its plot.
//!
//! Bins are those of its sampler, 8 % wide; another module draws the picture.

use memtide_metrics::histogram::Histogram;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The ratio of the widths of two neighbouring bins.
const GROWTH: f64 = 1.08;

/// The name of the plot number `number` of the row `tag`: `histogram_read_00.csv`.
pub fn histogram_name(tag: &str, number: u32, extension: &str) -> String {
    format!("histogram_{tag}_{number:02}.{extension}")
}

/// Times in ns as bins: the lower edge in ms and the count, from the first bin in use to the one
/// after the last, including empty ones. The first line has `rate_per_s`.
pub fn histogram_csv(times: &Histogram<u64>, rate_per_s: f64) -> String {
    let thousands = times.count() / 1000;
    let rate = rate_per_s / 1000.0;
    let mut text = format!("# Latency Histogram (Total={thousands}K QPS={rate:.6}K)\n");
    let mut bins: BTreeMap<i32, u64> = BTreeMap::new();
    for (ns, count) in times.recorded() {
        *bins.entry(bin(ns)).or_default() += count;
    }
    let (Some((&first, _)), Some((&last, _))) = (bins.first_key_value(), bins.last_key_value())
    else {
        return text;
    };
    for bin in first..=last + 1 {
        let edge_ms = GROWTH.powf(f64::from(bin)) / 1000.0;
        let count = bins.get(&bin).copied().unwrap_or(0) as f64;
        let (edge, count) = (scientific(edge_ms), scientific(count));
        writeln!(text, "{edge}, {count}").expect("writing to a string succeeds");
    }
    text
}

/// The bin of a time: bin 0 begins at 1 µs, and includes shorter times.
fn bin(ns: u64) -> i32 {
    let us = (ns as f64 / 1e3).max(1.0);
    (us.ln() / GROWTH.ln()).floor() as i32
}

/// Formats as C's `%.18e`: the exponent has a sign and at least two digits.
fn scientific(number: f64) -> String {
    let text = format!("{number:.18e}");
    let (digits, exponent) = text.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a whole number");
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}
