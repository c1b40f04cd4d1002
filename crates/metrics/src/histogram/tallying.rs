//! A distribution while a worker records it.

use super::Histogram;

/// A distribution in small counters that counts a value repeated in a row once: operations sent or
/// received together have equal times.
#[derive(Clone, Debug, Default)]
pub struct Tallying {
    settled: Histogram<u32>,
    /// The last value and its repetitions, which are not yet in the histogram.
    value: u64,
    times: u64,
}

impl Tallying {
    /// Counts one value. Never fails and never allocates.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts one value `times` times. Never fails and never allocates.
    #[inline]
    pub fn record_many(&mut self, value: u64, times: u64) {
        if value == self.value {
            self.times += times;
        } else {
            self.settle();
            (self.value, self.times) = (value, times);
        }
    }

    /// All values recorded, the pending one included.
    pub fn settled(&mut self) -> &Histogram<u32> {
        self.settle();
        self.times = 0;
        &self.settled
    }

    /// The number of values recorded, the pending one included.
    pub fn count(&self) -> u64 {
        self.settled.count() + self.times
    }

    /// Removes all values; keeps the memory.
    pub fn clear(&mut self) {
        self.times = 0;
        self.settled.clear();
    }

    #[inline]
    fn settle(&mut self) {
        match self.times {
            0 => {}
            1 => self.settled.record(self.value),
            times => self.settled.record_many(self.value, times),
        }
    }
}

#[cfg(test)]
mod tests;
