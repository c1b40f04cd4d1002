//! Pictures: a histogram of times, and the curve of a scan or a search, as SVG text or PNG bytes.
//!
//! Figures come from the record; nothing is measured or judged here, and no file is written. Times
//! are in ms and rates per second, with as few digits as tell ticks apart. Texts use a font that is
//! part of the program, so a picture is the same on every machine.

mod canvas;
mod curve;
mod histogram;
#[cfg(test)]
mod tests;

use crate::axis::{Axis, Scale};
use canvas::{png, svg};
use memtide_base::choice::RateUnit;
use memtide_metrics::histogram::Histogram;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use std::ops::Range;

/// A curve of times over the rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Title above the curve.
    pub title: String,
    /// Unit of its rates.
    pub unit: RateUnit,
    /// Its points, in the order of their rates.
    pub points: Vec<CurvePoint>,
    /// A limit drawn across the curve; none without a goal.
    pub goal: Option<CurveGoal>,
}

/// Measured times at one rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurvePoint {
    /// Rate per second, in the unit of the curve.
    pub rate_per_s: f64,
    /// Median in ns; like every percentile none if unknown.
    pub p50_ns: Option<u64>,
    /// The 95th percentile, in ns.
    pub p95_ns: Option<u64>,
    /// The 99th percentile, in ns.
    pub p99_ns: Option<u64>,
}

/// The limit of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveGoal {
    /// The goal in words, such as `all.p95<10ms`.
    pub words: String,
    /// The limit, in ns.
    pub limit_ns: u64,
}

/// The histogram of `times` (in ns) under `title` as SVG: counts over a logarithmic axis in ms,
/// with lines at p50, p95 and p99.
pub fn histogram_svg(title: &str, times: &Histogram<u64>) -> String {
    svg(&histogram::Picture { title, times })
}

/// [`histogram_svg`] as an encoded PNG.
pub fn histogram_png(title: &str, times: &Histogram<u64>) -> Vec<u8> {
    png(&histogram::Picture { title, times })
}

/// `curve` as SVG: p50, p95 and p99 on a logarithmic axis in ms, over the rate.
pub fn curve_svg(curve: &Curve) -> String {
    svg(curve)
}

/// [`curve_svg`] as an encoded PNG.
pub fn curve_png(curve: &Curve) -> Vec<u8> {
    png(curve)
}

/// A logarithmic axis of times in ns. The library's own has ticks only at powers of ten, and so
/// none between two of them.
pub(super) fn time_axis(ns: impl Iterator<Item = u64>) -> Axis {
    Axis::over(Scale::Log, ns.map(|ns| ns.max(1) as f64), |ns| time_tick(&ns))
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (f64::from(to - from) * self.place(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.round_ticks(hint.max_num_points())
    }

    fn range(&self) -> Range<f64> {
        self.range()
    }
}

/// Range of a linear axis from 0 that contains all of `values`; never empty.
pub(super) fn count_range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    0.0..if most > 0.0 { most * 1.08 } else { 1.0 }
}

/// Label of a tick at a time in ns, as ms: `0.05`, `2`, `1500`.
pub(super) fn time_tick(ns: &f64) -> String {
    short(*ns / 1e6)
}

/// Label of a tick on an axis of counts or rates: `250`, `20k`, `1.5M`.
pub(super) fn count_tick(count: &f64) -> String {
    match *count {
        count if count >= 1e9 => format!("{}G", short(count / 1e9)),
        count if count >= 1e6 => format!("{}M", short(count / 1e6)),
        count if count >= 1e4 => format!("{}k", short(count / 1e3)),
        count => short(count),
    }
}

/// Formats a number with three significant digits, without trailing zeros.
fn short(number: f64) -> String {
    let digits = if number > 0.0 { number.log10().floor() as i32 } else { 0 };
    let decimals = (2 - digits).clamp(0, 9) as usize;
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
