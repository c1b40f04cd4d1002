//! One distribution: an HDR histogram for quantiles, and exact moments beside it.
//!
//! Buckets are at most 0.8 % wide from 1 ns to an hour; a larger value is counted in the last
//! bucket and reported as saturated. The exact minimum, maximum, sum and sum of squares are kept
//! apart because the histogram's own are rounded to its buckets.

mod buckets;
mod tallying;

use base64::prelude::{BASE64_STANDARD, Engine as _};
pub use buckets::Count;
use buckets::{Buckets, VALUE_MAX};
pub(crate) use buckets::{COARSE_BUCKETS, coarse, coarse_floor};
pub use tallying::Tallying;

/// A distribution of nanoseconds (or of plain counts), recorded with counters of type `C`.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram<C> {
    buckets: Buckets<C>,
    moments: Moments,
}

/// The exact figures of a distribution, independent of the width of the buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    /// The number of values recorded.
    pub count: u64,
    /// The number of values above one hour.
    pub saturated: u64,
    /// The smallest value; `u64::MAX` if there are no values.
    pub min: u64,
    /// The largest value; 0 if there are no values.
    pub max: u64,
    /// The sum of all values.
    pub sum: u128,
    /// The sum of the squares of all values.
    pub sum_squares: u128,
}

/// Values above a bound; those in the bound's own bucket may be on either side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Above {
    /// Values in buckets that lie above it.
    pub surely: u64,
    /// Values in buckets that reach above it.
    pub possibly: u64,
}

impl Moments {
    /// The moments of a distribution without values.
    pub const EMPTY: Self =
        Self { count: 0, saturated: 0, min: u64::MAX, max: 0, sum: 0, sum_squares: 0 };

    /// Counts a value of at most [`VALUE_MAX`].
    #[inline]
    fn record(&mut self, value: u64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.sum_squares += u128::from(value) * u128::from(value);
    }

    fn record_many(&mut self, value: u64, times: u64) {
        self.count += times;
        self.saturated += if value > VALUE_MAX { times } else { 0 };
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value) * u128::from(times);
        self.sum_squares += u128::from(value).pow(2) * u128::from(times);
    }

    /// Adds saturating, because values that were read from a file may be near the end of their
    /// type.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.saturated = self.saturated.saturating_add(other.saturated);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
    }

    /// The mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The standard deviation of the values (divided by n); `None` without values.
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let mean_square = self.sum_squares as f64 / self.count as f64;
        Some((mean_square - mean * mean).max(0.0).sqrt())
    }
}

impl<C: Count> Histogram<C> {
    /// An empty distribution. Allocates once, about 4 700 counters.
    pub fn new() -> Self {
        Self { buckets: Buckets::new(), moments: Moments::EMPTY }
    }

    /// The memory that [`Self::new`] allocates, in bytes.
    pub(crate) const fn bytes() -> u64 {
        (buckets::BUCKETS * size_of::<C>()) as u64
    }

    /// Counts one value. Never fails and never allocates.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if value > VALUE_MAX {
            return self.record_many(value, 1);
        }
        self.moments.record(value);
        self.buckets.record(value);
    }

    /// Counts one value `times` times, at least once. Never allocates.
    fn record_many(&mut self, value: u64, times: u64) {
        self.moments.record_many(value, times);
        self.buckets.record_many(value, times);
    }

    /// The exact moments.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The number of values recorded.
    pub fn count(&self) -> u64 {
        self.moments.count
    }

    /// The buckets in use, ascending: the middle of the bucket, and its count.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.recorded()
    }

    /// The value at `rank` (1 is the smallest), to the width of a bucket and never outside the
    /// exact minimum and maximum. `None` if fewer than `rank` values were recorded.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        for (value, count) in self.recorded() {
            below += count;
            if below >= rank {
                return Some(value.clamp(self.moments.min, self.moments.max));
            }
        }
        None
    }

    /// The edges of the bucket that holds the value at `rank` (1 is the smallest): its smallest
    /// value, and the first value above it. `None` if fewer than `rank` values were recorded.
    pub fn edges_at_rank(&self, rank: u64) -> Option<(u64, u64)> {
        self.buckets.edges_at_rank(rank.max(1))
    }

    /// How many values are above `bound`, as far as the buckets tell.
    pub fn above(&self, bound: f64) -> Above {
        let mut above = Above::default();
        for (edges, count) in self.buckets.ranges() {
            above.surely += if edges.start as f64 > bound { count } else { 0 };
            above.possibly += if (edges.end - 1) as f64 > bound { count } else { 0 };
        }
        // The exact extremes know more than their buckets.
        if self.moments.max as f64 <= bound {
            above.possibly = 0;
        }
        if self.moments.count > 0 && self.moments.min as f64 > bound {
            above.surely = above.possibly;
        }
        above
    }

    /// True if the buckets hold as many values as the moments count.
    fn is_whole(&self) -> bool {
        let counted = self.recorded().map(|(_, count)| count).sum::<u64>();
        self.moments.count == 0 || counted == self.moments.count
    }

    /// The buckets in HdrHistogram's V2 format with DEFLATE and base64, as other tools read it.
    pub fn to_text(&self) -> String {
        assert!(self.is_whole(), "buckets hold what the moments count");
        BASE64_STANDARD.encode(self.buckets.to_bytes())
    }
}

impl Histogram<u32> {
    /// Removes all values; keeps the memory. Only what was written is written again: the rest of
    /// the counters never takes a page of memory.
    pub fn clear(&mut self) {
        let Moments { count, min, max, .. } = self.moments;
        if count > 0 {
            self.buckets.clear_between(min, max);
            self.moments = Moments::EMPTY;
        }
    }

    /// The buckets in use, ascending, as [`Self::recorded`] has them. It looks only between the
    /// exact minimum and maximum, which a tally's values have.
    pub(crate) fn tallied(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let Moments { min, max, .. } = self.moments;
        self.buckets.recorded_between(min.min(max), max)
    }
}

impl Histogram<u64> {
    /// Adds all values of a tally's distribution.
    pub(crate) fn absorb_tallied(&mut self, tally: &Histogram<u32>) {
        self.moments.absorb(&tally.moments);
        for (value, count) in tally.tallied() {
            self.buckets.record_many(value, count);
        }
    }

    /// Rebuilds a distribution from bucket values and counts. Its moments are only as exact as the
    /// buckets.
    pub fn from_recorded(recorded: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut histogram = Self::new();
        for (value, count) in recorded {
            histogram.record_many(value, count);
        }
        histogram
    }

    /// Rebuilds a distribution from bucket values and counts, and its exact moments.
    pub(crate) fn from_parts<'a>(
        recorded: impl IntoIterator<Item = (&'a u64, &'a u64)>,
        moments: Moments,
    ) -> Self {
        let mut histogram = Self::new();
        for (&value, &count) in recorded {
            histogram.buckets.record_many(value, count);
        }
        histogram.moments = moments;
        histogram
    }

    /// Counts `times` zeros, for values that are known to be 0 without being recorded one by one.
    pub fn record_zeros(&mut self, times: u64) {
        if times > 0 {
            self.record_many(0, times);
        }
    }

    /// Adds all values of `other`.
    pub fn absorb<C: Count>(&mut self, other: &Histogram<C>) {
        self.moments.absorb(&other.moments);
        if other.moments.count > 0 {
            self.buckets.absorb(&other.buckets);
        }
    }

    /// The values recorded since this distribution was `earlier`. All figures are exact except the
    /// minimum and maximum, which are as exact as the buckets unless they equal those of the whole.
    ///
    /// # Panics
    /// If `earlier` holds values that this distribution does not.
    pub fn since(&self, earlier: &Self) -> Self {
        let without = self.buckets.clone().without(&earlier.buckets);
        let buckets = without.expect("what was recorded stays recorded");
        let mut later = Self { buckets, moments: self.moments };
        let (whole, before) = (&self.moments, &earlier.moments);
        assert!(before.count <= whole.count, "what was recorded stays recorded");
        if whole.count == before.count {
            return Self { buckets: later.buckets, moments: Moments::EMPTY };
        }
        let (sum, count) = (whole.sum - before.sum, whole.count - before.count);
        let least = later.recorded().next().map_or(whole.min, |(middle, _)| middle);
        let greatest = later.recorded().last().map_or(whole.max, |(middle, _)| middle);
        // The middle of a bucket may lie beyond the only values in it; none lies beyond the mean.
        let mean = (sum / u128::from(count)) as u64;
        later.moments = Moments {
            count,
            saturated: whole.saturated - before.saturated,
            min: if whole.min < before.min { whole.min } else { least.min(mean).max(whole.min) },
            max: if whole.max > before.max { whole.max } else { greatest.max(mean).min(whole.max) },
            sum,
            sum_squares: whole.sum_squares - before.sum_squares,
        };
        later
    }

    /// These values, of which those of `from` are replaced by those of `to`: as many, none of which
    /// is larger than the one that it replaces. `from` and `to` may be estimates. If they hold more
    /// than there is to replace, the result is too small rather than too large.
    pub fn moved(&self, from: &Self, to: &Self) -> Self {
        debug_assert_eq!(from.count(), to.count(), "each value is replaced by one");
        let buckets = self.buckets.moved(&from.buckets, &to.buckets);
        let (own, from, to) = (&self.moments, &from.moments, &to.moments);
        let moments = Moments {
            count: buckets.count(),
            min: own.min.min(to.min),
            sum: own.sum.saturating_sub(from.sum.saturating_sub(to.sum)),
            sum_squares: own
                .sum_squares
                .saturating_sub(from.sum_squares.saturating_sub(to.sum_squares)),
            ..*own
        };
        Self { buckets, moments }
    }

    /// Reads back [`Histogram::to_text`] together with its exact moments. `None` if the text is no
    /// valid histogram or holds a different number of values than the moments.
    pub fn from_text(text: &str, moments: Moments) -> Option<Self> {
        let buckets = Buckets::from_bytes(&BASE64_STANDARD.decode(text).ok()?)?;
        (buckets.count() == moments.count).then_some(Self { buckets, moments })
    }
}

impl<C: Count> Default for Histogram<C> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
