//! The table: a heading and a row per kind of operation.
//!
//! Every figure is a finite number with one decimal; without a value it is 0.0.

use super::format::{Column, Statistic};
use memtide_metrics::histogram::Histogram;
use memtide_metrics::summary::rank;
use std::fmt::Write;

/// The content of a row: a distribution, and its scale to the table's unit.
///
/// Percentiles are nearest-rank and printed even for few samples, as in the originals.
#[derive(Clone, Debug)]
pub struct ScaledHistogram {
    values: Histogram<u64>,
    units: f64,
}

impl ScaledHistogram {
    /// A distribution of times in nanoseconds, printed in microseconds.
    pub const fn times(values: Histogram<u64>) -> Self {
        Self { values, units: 1e3 }
    }

    /// A distribution of plain counts.
    pub const fn counts(values: Histogram<u64>) -> Self {
        Self { values, units: 1.0 }
    }

    /// Adds all values of `other`.
    pub fn with(mut self, other: &Self) -> Self {
        self.values.absorb(&other.values);
        self
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.values.count()
    }

    /// The values themselves, in nanoseconds if they are times.
    pub const fn values(&self) -> &Histogram<u64> {
        &self.values
    }

    /// The exact mean; 0 without values.
    pub fn mean(&self) -> f64 {
        self.values.moments().mean().unwrap_or(0.0) / self.units
    }

    /// The exact deviation of the values (divided by n); 0 without values.
    pub(super) fn deviation(&self) -> f64 {
        let moments = self.values.moments();
        let count = u128::from(moments.count);
        // Whole numbers are exact; only sums beyond 2^128 need floating point.
        let squares = moments.sum_squares.checked_mul(count);
        let square = moments.sum.checked_mul(moments.sum);
        let spread = squares.zip(square).and_then(|(of, less)| of.checked_sub(less));
        let deviation = match spread {
            _ if count == 0 => 0.0,
            Some(spread) => (spread as f64).sqrt() / count as f64,
            None => moments.deviation().unwrap_or(0.0),
        };
        deviation / self.units
    }

    /// The exact minimum; 0 without values.
    pub(super) fn minimum(&self) -> f64 {
        let moments = self.values.moments();
        if moments.count == 0 { 0.0 } else { moments.min as f64 / self.units }
    }

    /// The value at or below which `percent` of the values lie, to the width of a bucket; 0 without
    /// values.
    pub fn percentile(&self, percent: f64) -> f64 {
        let rank = rank(percent / 100.0, self.count());
        self.values.value_at_rank(rank).unwrap_or(0) as f64 / self.units
    }

    fn statistic(&self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Mean => self.mean(),
            Statistic::Deviation => self.deviation(),
            Statistic::Minimum => self.minimum(),
            Statistic::Percentile(percent) => self.percentile(percent),
        }
    }
}

impl Default for ScaledHistogram {
    /// A distribution without values.
    fn default() -> Self {
        Self::times(Histogram::new())
    }
}

/// The heading over `columns`, without a line break.
pub(super) fn header(columns: &[Column]) -> String {
    let mut line = format!("{:<7}", "#type");
    for column in columns {
        write!(line, " {:>7}", column.label).expect("writing to a string succeeds");
    }
    line
}

/// The row `name` below `columns`, without a line break.
pub(super) fn row(name: &str, columns: &[Column], figures: &ScaledHistogram) -> String {
    let mut line = format!("{name:<7}");
    for column in columns {
        let value = figures.statistic(column.statistic);
        write!(line, " {value:>7.1}").expect("writing to a string succeeds");
    }
    line
}
