//! Axes of pictures, for the library that draws them, and labels of ticks.
//!
//! Times are shown in ms and rates per second, with as few digits as tell ticks apart.

use crate::axis::{Axis, Scale};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use std::ops::Range;

/// A logarithmic axis of times in ns. The library's own has ticks only at powers of ten, and so none
/// between two of them.
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
