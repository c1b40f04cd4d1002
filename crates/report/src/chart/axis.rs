//! Axes of pictures: ranges that contain every figure, and labels of ticks.
//!
//! Times are shown in ms and rates per second, with as few digits as tell ticks apart.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use std::ops::Range;

/// A logarithmic axis in ms. The library's own has ticks only at powers of ten, and so none between
/// two of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimeAxis(Range<f64>);

impl TimeAxis {
    /// An axis whose range contains all of `ns`; never empty, never from 0.
    pub(super) fn over(ns: impl Iterator<Item = u64>) -> Self {
        let (least, most) =
            ns.fold((u64::MAX, 0), |(least, most), ns| (least.min(ns), most.max(ns)));
        if least > most {
            return Self(0.01..100.0);
        }
        let least = milliseconds(least.max(1)) / 1.25;
        Self(least..(milliseconds(most) * 1.25).max(least * 2.0))
    }

    /// At most `ticks_max` round values within the range, ascending.
    pub(super) fn ticks(&self, ticks_max: usize) -> Vec<f64> {
        let decades = self.0.start.log10().floor() as i32..=self.0.end.log10().ceil() as i32;
        let at = |digits: &'static [f64]| -> Vec<f64> {
            let of_decade = |decade: i32| digits.iter().map(move |d| d * 10f64.powi(decade));
            decades.clone().flat_map(of_decade).filter(|ms| self.0.contains(ms)).collect()
        };
        let (fine, coarse) = (at(&[1.0, 2.0, 5.0]), at(&[1.0]));
        match fine.len() {
            0..3 => self.even_ticks(ticks_max.min(5)),
            count if count <= ticks_max => fine,
            _ => {
                let step = coarse.len().div_ceil(ticks_max.max(1)).max(1);
                coarse.into_iter().step_by(step).collect()
            }
        }
    }

    /// Evenly spaced values, for a narrow range.
    fn even_ticks(&self, ticks_max: usize) -> Vec<f64> {
        let span = self.0.end - self.0.start;
        let wanted = span / ticks_max.max(1) as f64;
        let decade = 10f64.powf(wanted.log10().floor());
        let digits = [1.0, 2.0, 5.0, 10.0].into_iter().find(|d| d * decade >= wanted);
        let step = digits.unwrap_or(10.0) * decade;
        let first = (self.0.start / step).ceil() as u64;
        let ticks = (first..).map(|tick| tick as f64 * step);
        ticks.take_while(|ms| self.0.contains(ms)).take(ticks_max).collect()
    }
}

impl Ranged for TimeAxis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, ms: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (ms / self.0.start).ln() / (self.0.end / self.0.start).ln();
        from + (f64::from(to - from) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.max_num_points())
    }

    fn range(&self) -> Range<f64> {
        self.0.clone()
    }
}

/// Range of a linear axis from 0 that contains all of `values`; never empty.
pub(super) fn count_range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    0.0..if most > 0.0 { most * 1.08 } else { 1.0 }
}

/// Converts a time to ms.
pub(super) fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Label of a tick on an axis in ms: `0.05`, `2`, `1500`.
pub(super) fn time_tick(ms: &f64) -> String {
    short(*ms)
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
