//! Pictures: a histogram of times, and the curve of a scan or a search, as SVG text or PNG bytes.
//!
//! Figures come from the record; nothing is measured or judged here, and no file is written. Texts
//! use a font that is part of the program, so a picture is the same on every machine.

mod axis;
mod canvas;
mod curve;
mod histogram;
#[cfg(test)]
mod tests;

use canvas::{png, svg};
use memtide_base::choice::RateUnit;
use memtide_metrics::histogram::Histogram;

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
