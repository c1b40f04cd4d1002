//! Rows over time, by intended instant, in bounded memory.
//!
//! A row keeps its distribution in sparse form, so that neighbours can be merged exactly. When
//! there are too many rows, pairs of neighbours become one and the width doubles: memory does not
//! grow with the length of a run.

use crate::histogram::{Count, Histogram, Moments};
use crate::summary::{rank, samples_needed};
use memtide_base::Span;
use std::collections::BTreeMap;

/// At most this many rows are kept.
pub const ROWS_MAX: usize = 1024;
/// The most rows if the scenario sets their width.
pub const ROWS_ASKED_MAX: usize = 16_384;
/// At most this many distributions over time are exported in full.
pub const SLICES_MAX: usize = 64;

/// The operations intended in one interval of time, by their fates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Operations intended in this row.
    pub intended: u64,
    /// Intended operations that were answered.
    pub answered: u64,
    /// Intended operations that failed, timed out, were lost, dropped or abandoned.
    pub unanswered: u64,
    /// Keys found.
    pub hits: u64,
    /// Keys not found.
    pub misses: u64,
    /// Response times of answered operations: bucket value in ns → count.
    pub response: BTreeMap<u64, u64>,
    /// The times of the row's gets, if they are kept.
    pub gets: Option<Box<GetTimes>>,
}

/// The times of the answered gets of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetTimes {
    /// received − intended.
    pub response: Sparse,
    /// received − sent.
    pub service: Sparse,
}

/// A distribution by its buckets in use, with its exact moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparse {
    moments: Moments,
    buckets: BTreeMap<u64, u64>,
}

impl Sparse {
    /// Adds all values of `times`.
    pub fn absorb_times<C: Count>(&mut self, times: &Histogram<C>) {
        self.moments.absorb(times.moments());
        add_counts(&mut self.buckets, times.recorded());
    }

    /// The times as a histogram.
    pub fn histogram(&self) -> Histogram<u64> {
        Histogram::from_parts(&self.buckets, self.moments)
    }

    /// Adds all values of `other`, saturating.
    pub fn absorb(&mut self, other: &Self) {
        self.moments.absorb(&other.moments);
        add_counts(&mut self.buckets, copied(&other.buckets));
    }
}

impl Default for Sparse {
    fn default() -> Self {
        Self { moments: Moments::EMPTY, buckets: BTreeMap::new() }
    }
}

/// The memory of an entry of a row's distribution: a bucket in use, with its part of the tree.
const ENTRY_BYTES: f64 = 34.0;
/// Buckets that each doubling of a row's operations adds at most, if their times are exponential:
/// those of an octave and a quarter.
const ENTRIES_ADDED: f64 = 160.0;

impl Row {
    /// The estimated memory of a row of this number of operations, in bytes.
    pub fn bytes(operations: u64, get_times: bool) -> u64 {
        let entries = ENTRIES_ADDED * (1.0 + operations as f64 / ENTRIES_ADDED).log2();
        let entries = entries.min(operations as f64);
        let (times, gets) = if get_times { (3.0, size_of::<GetTimes>()) } else { (1.0, 0) };
        (size_of::<Self>() + gets) as u64 + (times * entries * ENTRY_BYTES) as u64
    }
}

impl Stretch for Row {
    /// Saturates: counts that were read from a file may be near the end of their type.
    fn absorb(&mut self, other: &Self) {
        let counts = [
            (&mut self.intended, other.intended),
            (&mut self.answered, other.answered),
            (&mut self.unanswered, other.unanswered),
            (&mut self.hits, other.hits),
            (&mut self.misses, other.misses),
        ];
        counts.into_iter().for_each(|(sum, part)| *sum = sum.saturating_add(part));
        add_counts(&mut self.response, copied(&other.response));
        if let Some(gets) = &other.gets {
            let sums = self.gets.get_or_insert_default();
            sums.response.absorb(&gets.response);
            sums.service.absorb(&gets.service);
        }
    }

    fn weight(&self) -> u64 {
        self.intended
    }
}

impl Row {
    /// Quantile `p` of response time over all operations; unanswered ones rank above the others.
    /// `None` if it falls among these, or if there are too few operations.
    pub fn response_quantile(&self, p: f64) -> Option<u64> {
        let total = self.answered.saturating_add(self.unanswered);
        let (rank, mut below) = (rank(p, total), 0u64);
        let mut buckets = self.response.iter().filter(|_| total >= samples_needed(p));
        let found = buckets.find(|(_, count)| {
            below = below.saturating_add(**count);
            below >= rank
        });
        found.map(|(value, _)| *value)
    }
}

/// Adds counts of bucket values to a distribution, saturating.
pub(crate) fn add_counts(
    buckets: &mut BTreeMap<u64, u64>,
    counts: impl Iterator<Item = (u64, u64)>,
) {
    for (value, count) in counts {
        let of_value = buckets.entry(value).or_default();
        *of_value = of_value.saturating_add(count);
    }
}

fn copied(buckets: &BTreeMap<u64, u64>) -> impl Iterator<Item = (u64, u64)> {
    buckets.iter().map(|(&value, &count)| (value, count))
}

/// Data of a stretch of time that can be merged with those of its neighbours.
pub trait Stretch: Clone + Default {
    /// Adds all of `other`.
    fn absorb(&mut self, other: &Self);
    /// The number of operations that it holds.
    fn weight(&self) -> u64;
}

/// Stretches of equal width from the start of the measured window: rows, or slices.
#[derive(Clone, Debug)]
pub struct Series<T = Row> {
    width: Span,
    shift: u32,
    rows_max: usize,
    rows: Vec<T>,
}

impl<T: Stretch> Series<T> {
    /// An empty series; `width` is that of the rows which workers number. At most `rows_max` rows
    /// (at least 1) are kept.
    pub fn new(width: Span, rows_max: usize) -> Self {
        assert!(rows_max > 0 && !width.is_zero(), "there is a row, and it has a width");
        Self { width, shift: 0, rows_max, rows: Vec::new() }
    }

    /// The row that holds the workers' row `number`; it is made if it does not exist.
    pub fn row_mut(&mut self, number: u64) -> &mut T {
        while (number >> self.shift) as usize >= self.rows_max {
            self.halve();
        }
        let at = (number >> self.shift) as usize;
        if at >= self.rows.len() {
            self.rows.resize(at + 1, T::default());
        }
        assert!(self.rows.len() <= self.rows_max, "rows are merged before there are too many");
        &mut self.rows[at]
    }

    /// Adds the rows without any operation that a window of this length lacks.
    pub fn cover(&mut self, window: Span) {
        if let Some(last) = window.ns().checked_sub(1) {
            self.row_mut(last / self.width.ns());
        }
    }

    /// The present width of a row.
    pub fn width(&self) -> Span {
        self.width * (1 << self.shift)
    }

    /// All rows, in time order; gaps are rows of zeros.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    fn halve(&mut self) {
        self.shift += 1;
        let halved = merged(&self.rows, 2);
        let [before, after] =
            [&self.rows, &halved].map(|rows| rows.iter().map(T::weight).sum::<u64>());
        assert_eq!(after, before, "merging rows loses nothing");
        self.rows = halved;
    }
}

impl Series {
    /// The rows merged into at most [`SLICES_MAX`] of equal width, and that width.
    pub fn slices(&self) -> (Span, Vec<Row>) {
        let per_slice = self.rows.len().div_ceil(SLICES_MAX).max(1);
        let slices = merged(&self.rows, per_slice);
        assert!(slices.len() <= SLICES_MAX, "rows are merged until slices are few");
        (self.width() * per_slice as u64, slices)
    }
}

/// `rows` with each `count` neighbours as one.
fn merged<T: Stretch>(rows: &[T], count: usize) -> Vec<T> {
    let merged = rows.chunks(count).map(|rows| {
        let mut sum = T::default();
        rows.iter().for_each(|row| sum.absorb(row));
        sum
    });
    merged.collect()
}

#[cfg(test)]
mod tests;
