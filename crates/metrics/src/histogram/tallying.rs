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
mod tests {
    use super::*;
    use memtide_base::Random;

    #[test]
    fn what_comes_in_a_row_is_counted_like_all_else() {
        let seed = 0x7A11;
        let mut random = Random::new(seed);
        let (mut tallying, mut plain) = (Tallying::default(), Histogram::<u32>::new());
        for round in 0..2_000 {
            let value = random.bits() >> (20 + random.below(44));
            for _ in 0..random.below(4) {
                tallying.record(value);
                plain.record(value);
            }
            let many = random.below(3);
            tallying.record_many(value ^ 1, many);
            (0..many).for_each(|_| plain.record(value ^ 1));
            match random.below(50) {
                0 => {
                    tallying.clear();
                    plain.clear();
                }
                1 => assert!(*tallying.settled() == plain, "round {round} of seed {seed}"),
                _ => {}
            }
        }
        assert!(*tallying.settled() == plain, "at the end, of seed {seed}");
        assert!(*tallying.settled() == plain, "and asked again, of seed {seed}");
    }
}
