//! Rows over time, by intended instant, in bounded memory.
//!
//! A row keeps its distribution in sparse form, so that neighbours can be merged exactly. When
//! there are too many rows, pairs of neighbours become one and the width doubles: memory does not
//! grow with the length of a run.

use crate::histogram::{Count, Histogram, Moments};
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

impl GetTimes {
    /// Adds all values of `other`.
    pub fn absorb(&mut self, other: &Self) {
        self.response.absorb(&other.response);
        self.service.absorb(&other.service);
    }
}

impl Sparse {
    /// Adds all values of `times`.
    pub fn absorb_times<C: Count>(&mut self, times: &Histogram<C>) {
        self.moments.absorb(times.moments());
        for (value, count) in times.recorded() {
            *self.buckets.entry(value).or_default() += count;
        }
    }

    /// The times as a histogram.
    pub fn histogram(&self) -> Histogram<u64> {
        Histogram::from_parts(&self.buckets, self.moments)
    }

    /// Adds saturating, because counts that were read from a file may be near the end of their
    /// type.
    fn absorb(&mut self, other: &Self) {
        self.moments.absorb(&other.moments);
        for (&value, &count) in &other.buckets {
            let of_value = self.buckets.entry(value).or_default();
            *of_value = of_value.saturating_add(count);
        }
    }
}

impl Default for Sparse {
    fn default() -> Self {
        Self { moments: Moments::EMPTY, buckets: BTreeMap::new() }
    }
}

impl Row {
    /// Adds all of `other`.
    pub fn absorb(&mut self, other: &Self) {
        self.intended += other.intended;
        self.answered += other.answered;
        self.unanswered += other.unanswered;
        self.hits += other.hits;
        self.misses += other.misses;
        for (value, count) in &other.response {
            *self.response.entry(*value).or_default() += count;
        }
        if let Some(gets) = &other.gets {
            self.gets.get_or_insert_default().absorb(gets);
        }
    }

    /// The response time at `rank` (1 is the smallest); `None` if fewer operations were answered.
    pub fn response_at_rank(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        self.response.iter().find_map(|(value, count)| {
            below += count;
            (below >= rank).then_some(*value)
        })
    }
}

/// Rows of equal width from the start of the measured window.
#[derive(Clone, Debug)]
pub struct Series {
    width: Span,
    shift: u32,
    rows_max: usize,
    rows: Vec<Row>,
}

impl Series {
    /// An empty series; `width` is that of the rows which workers number. At most `rows_max` rows
    /// (at least 1) are kept.
    pub fn new(width: Span, rows_max: usize) -> Self {
        assert!(rows_max > 0 && !width.is_zero(), "there is a row, and it has a width");
        Self { width, shift: 0, rows_max, rows: Vec::new() }
    }

    /// The row that holds the workers' row `number`; it is made if it does not exist.
    pub fn row_mut(&mut self, number: u64) -> &mut Row {
        while (number >> self.shift) as usize >= self.rows_max {
            self.halve();
        }
        let at = (number >> self.shift) as usize;
        if at >= self.rows.len() {
            self.rows.resize(at + 1, Row::default());
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

    /// Adds response times to the workers' row `number`.
    pub fn absorb_times(&mut self, number: u64, times: &Histogram<u32>) {
        let row = self.row_mut(number);
        for (value, count) in times.recorded() {
            *row.response.entry(value).or_default() += count;
        }
    }

    /// The present width of a row.
    pub fn width(&self) -> Span {
        self.width * (1 << self.shift)
    }

    /// All rows, in time order; gaps are rows of zeros.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows merged into at most [`SLICES_MAX`] of equal width, and that width.
    pub fn slices(&self) -> (Span, Vec<Row>) {
        let per_slice = self.rows.len().div_ceil(SLICES_MAX).max(1);
        let slices = self.rows.chunks(per_slice).map(|rows| {
            let mut slice = Row::default();
            rows.iter().for_each(|row| slice.absorb(row));
            slice
        });
        let slices: Vec<Row> = slices.collect();
        assert!(slices.len() <= SLICES_MAX, "rows are merged until slices are few");
        (self.width() * per_slice as u64, slices)
    }

    fn halve(&mut self) {
        self.shift += 1;
        let halved = self.rows.chunks(2).map(|pair| {
            let mut row = pair[0].clone();
            pair.iter().skip(1).for_each(|next| row.absorb(next));
            row
        });
        let halved: Vec<Row> = halved.collect();
        let intended = |rows: &[Row]| rows.iter().map(|row| row.intended).sum::<u64>();
        assert_eq!(intended(&halved), intended(&self.rows), "merging rows loses nothing");
        self.rows = halved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_nothing_is_lost() {
        let mut series = Series::new(Span::from_s(1), ROWS_MAX);
        for number in 0..10_000u64 {
            let row = series.row_mut(number);
            row.intended += 1;
            *row.response.entry(number % 7).or_default() += 1;
            let mut time = Histogram::<u32>::new();
            time.record(number);
            row.gets.get_or_insert_default().service.absorb_times(&time);
        }
        assert!(series.rows().len() <= ROWS_MAX);
        assert_eq!(series.width(), Span::from_s(16));
        assert_eq!(series.rows().iter().map(|row| row.intended).sum::<u64>(), 10_000);
        let gets = series.rows()[10].gets.as_ref().unwrap().service.histogram();
        assert_eq!((gets.count(), gets.moments().min, gets.moments().max), (16, 160, 175));
        assert_eq!(gets.moments().mean(), Some(167.5));
        assert!(gets.value_at_rank(8).unwrap().abs_diff(167) <= 1);
        let (width, slices) = series.slices();
        assert!(slices.len() <= SLICES_MAX);
        assert_eq!(width, Span::from_s(160));
        assert_eq!(slices.iter().flat_map(|row| row.response.values()).sum::<u64>(), 10_000);
    }
}
