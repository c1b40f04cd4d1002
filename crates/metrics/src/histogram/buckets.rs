//! Counts in buckets with HdrHistogram's layout for two significant digits. Every operation counts
//! several times, so counting is one shift, one index and one addition. The library reads and
//! writes the file format.

use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::io::Read;
use std::ops::Range;

/// The largest distinguished value: one hour, in nanoseconds.
pub(super) const VALUE_MAX: u64 = 3_600_000_000_000;
/// Two significant digits distinguish 200 values, and 256 is the next power of two: buckets below
/// it are 1 wide, and the others are at most 1/128 of their value wide.
const DIGITS: u8 = 2;
const SINGLE_BITS: u32 = 8;
pub(super) const BUCKETS: usize = index(VALUE_MAX) + 1;
const _: () = assert!(range(BUCKETS - 1).0 <= VALUE_MAX, "the last bucket holds the largest");

/// The integer type of a tally's counts: narrow for an interval, wide for a run.
pub trait Count: Copy + Into<u64> {
    /// Zero.
    const NONE: Self;

    /// Adds one, saturating at the end of the type.
    fn increment(&mut self);

    /// Adds `more`, saturating at the end of the type.
    fn add(&mut self, more: u64);
}

impl Count for u32 {
    const NONE: Self = 0;

    #[inline]
    fn increment(&mut self) {
        *self = self.saturating_add(1);
    }

    fn add(&mut self, more: u64) {
        *self = self.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
    }
}

impl Count for u64 {
    const NONE: Self = 0;

    #[inline]
    fn increment(&mut self) {
        *self = self.saturating_add(1);
    }

    fn add(&mut self, more: u64) {
        *self = self.saturating_add(more);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Buckets<C> {
    counts: Box<[C]>,
}

/// The index of `value`'s bucket: the number of its doublings past the single values, in steps of
/// half as many, and its leading bits.
#[inline]
const fn index(value: u64) -> usize {
    let doublings = u64::BITS - SINGLE_BITS - (value | ((1 << SINGLE_BITS) - 1)).leading_zeros();
    ((doublings as usize) << (SINGLE_BITS - 1)) + (value >> doublings) as usize
}

/// The index of `value`'s bucket among buckets that are sixteen times as wide: eight per doubling.
#[inline]
pub(crate) const fn coarse(value: u64) -> u16 {
    let value = if value > VALUE_MAX { VALUE_MAX } else { value };
    (index(value) >> COARSE_BITS) as u16
}

/// The smallest value of a coarse bucket.
pub(crate) const fn coarse_floor(bucket: u16) -> u64 {
    range((bucket as usize) << COARSE_BITS).0
}

/// A coarse bucket holds this power of two of buckets.
const COARSE_BITS: u32 = 4;
/// The number of coarse buckets.
pub(crate) const COARSE_BUCKETS: usize = ((BUCKETS - 1) >> COARSE_BITS) + 1;

/// The smallest value of a bucket, and the number of its values.
const fn range(index: usize) -> (u64, u64) {
    let half = 1 << (SINGLE_BITS - 1);
    let doublings = (index / half).saturating_sub(1);
    (((index - doublings * half) as u64) << doublings, 1 << doublings)
}

impl<C: Count> Buckets<C> {
    pub(super) fn new() -> Self {
        Self { counts: vec![C::NONE; BUCKETS].into() }
    }

    /// Counts one value of at most [`VALUE_MAX`].
    #[inline]
    pub(super) fn record(&mut self, value: u64) {
        debug_assert!(value <= VALUE_MAX, "a larger value is counted apart");
        self.counts[index(value)].increment();
    }

    /// Counts a value `times` times; one above [`VALUE_MAX`] falls into the last bucket.
    #[inline(never)]
    pub(super) fn record_many(&mut self, value: u64, times: u64) {
        self.counts[index(value.min(VALUE_MAX))].add(times);
    }

    /// Clears the buckets from that of `least` to that of `most`.
    pub(super) fn clear_between(&mut self, least: u64, most: u64) {
        self.counts[index(least.min(VALUE_MAX))..=index(most.min(VALUE_MAX))].fill(C::NONE);
    }

    /// The buckets in use, ascending: the middle of each bucket, and its count.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recorded_between(0, VALUE_MAX)
    }

    /// The buckets in use from that of `least` to that of `most`.
    pub(super) fn recorded_between(
        &self,
        least: u64,
        most: u64,
    ) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (first, last) = (index(least.min(VALUE_MAX)), index(most.min(VALUE_MAX)));
        let counts = self.counts[first..=last].iter().map(|&count| count.into());
        (first..).zip(counts).filter(|&(_, count)| count > 0).map(|(index, count)| {
            let (smallest, width) = range(index);
            (smallest + width / 2, count)
        })
    }

    /// The buckets in use, ascending: the range of the bucket's values, and its count.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (Range<u64>, u64)> + '_ {
        let counts = self.counts.iter().map(|&count| count.into()).enumerate();
        counts.filter(|(_, count)| *count > 0).map(|(index, count)| {
            let (smallest, width) = range(index);
            (smallest..smallest + width, count)
        })
    }

    /// The smallest value of the bucket that holds `rank`, and the first value above the bucket;
    /// `None` if there are fewer values.
    pub(super) fn edges_at_rank(&self, rank: u64) -> Option<(u64, u64)> {
        let mut below = 0u64;
        let found = self.counts.iter().position(|&count| {
            below = below.saturating_add(count.into());
            below >= rank
        });
        found.map(|index| {
            let (smallest, width) = range(index);
            (smallest, smallest + width)
        })
    }

    /// Encodes the counts in HdrHistogram's V2 format with DEFLATE.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut library = library();
        self.recorded().for_each(|(value, count)| library.saturating_record_n(value, count));
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&library, &mut bytes)
            .expect("writing to memory succeeds");
        bytes
    }
}

impl Buckets<u64> {
    pub(super) fn absorb<C: Count>(&mut self, other: &Buckets<C>) {
        for (count, &more) in self.counts.iter_mut().zip(&other.counts) {
            count.add(more.into());
        }
    }

    /// Subtracts the counts of `earlier`; `None` if `earlier` holds counts that this does not.
    pub(super) fn without(mut self, earlier: &Self) -> Option<Self> {
        for (count, &fewer) in self.counts.iter_mut().zip(&earlier.counts) {
            *count = count.checked_sub(fewer)?;
        }
        Some(self)
    }

    /// As many counts as these, of which `from` are where `to` has them. No bucket has fewer than
    /// none: where `from` holds more than there are, the others move down.
    pub(super) fn moved(&self, from: &Self, to: &Self) -> Self {
        let total = self.count();
        let (mut below, mut placed, mut moved) = (0i128, 0u64, Self::new());
        for (index, count) in moved.counts.iter_mut().enumerate() {
            let [own, from, to] = [self, from, to].map(|of| i128::from(of.counts[index]));
            below += own - from + to;
            let reached = below.clamp(placed.into(), total.into()) as u64;
            *count = reached - placed;
            placed = reached;
        }
        moved
    }

    /// Decodes the output of [`Buckets::to_bytes`]; `None` for any other bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        // The library allocates as many bytes as the head claims, before it reads them.
        let mut head = [0; HEAD_BYTES];
        ZlibDecoder::new(bytes.get(OUTER_BYTES..)?).read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        // The library rounds its number of buckets up to a power of two.
        if length as usize > 2 * COUNT_BYTES_MAX * BUCKETS {
            return None;
        }
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).ok()?;
        // Bounds other than ours are refused here.
        let mut library = library();
        library.add(&read).ok()?;
        let mut buckets = Self::new();
        for step in library.iter_recorded() {
            buckets.record_many(step.value_iterated_to(), step.count_at_value());
        }
        Some(buckets)
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }
}

/// The length of the header before the compressed bytes: their kind and length. Source: the
/// HdrHistogram V2 encoding with DEFLATE.
const OUTER_BYTES: usize = 8;
/// The length of the header inside the compressed bytes: their kind, and the length of the rest.
const HEAD_BYTES: usize = 8;
/// The most bytes of one count (LEB128 of 64 bits).
const COUNT_BYTES_MAX: usize = 9;

fn library() -> Histogram<u64> {
    Histogram::new_with_bounds(1, VALUE_MAX, DIGITS)
        .expect("the bounds are constants that the library accepts")
}

#[cfg(test)]
mod tests;
