//! The bytes of values, by key id. All values are slices of one shared pool of printable bytes, so
//! making one costs only its position. Values to be verified begin with a proof (`value/proof.rs`).
//! `value/oracle.rs` knows which versions a server may return, `value/lifetimes.rs` whether a value
//! may be there at all.

mod lifetimes;
mod oracle;
mod proof;

pub use lifetimes::{Expiring, Lifetimes};
pub use oracle::Oracle;
pub use proof::{Finding, ValueCheck, Version, Wrong};

use crate::size::{Draws, SizeLaw, Sizes};
use memtide_base::rng::{Random, Stream, below, hash};
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

/// The values of a run. A clone shares the pool.
#[derive(Clone, Debug)]
pub struct ValueSpace {
    pool: Arc<[u8]>,
    sizes: Sizes,
    /// Ids that are equal modulo this number have the same size, if it is given.
    period: Option<NonZeroU64>,
    /// The amount that incr and decr change a number by; 1 without a law.
    deltas: Option<Sizes>,
    seed: u64,
}

/// The alphabet of values: a letter for each six bits.
const LETTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/// The pool is at least twice this long, so that small values differ from each other.
const POOL_HALF_MIN: u64 = 64 * 1024;

impl ValueSpace {
    /// Values with sizes by a law, clamped to `0..=bytes_max`. Allocates twice the largest size, or
    /// 128 KiB if that is more.
    pub fn new(size: SizeLaw, bytes_max: usize, seed: u64) -> Self {
        let bytes = Self::bytes(&size, bytes_max as u64) as usize;
        let sizes = Sizes::new(size, bytes_max as u64, seed, Stream::VALUE_SIZE);
        let pool = pool(bytes, seed);
        Self { pool, sizes, period: None, deltas: None, seed }
    }

    /// The memory that [`Self::new`] allocates for sizes by this law up to `bytes_max`, in bytes.
    pub fn bytes(size: &SizeLaw, bytes_max: u64) -> u64 {
        size.largest(bytes_max).max(POOL_HALF_MIN).saturating_mul(2)
    }

    /// The mean size of the first `count` values, without the memory of a space.
    pub fn mean_len(size: SizeLaw, bytes_max: usize, seed: u64, count: u64) -> f64 {
        let sizes = Sizes::new(size, bytes_max as u64, seed, Stream::VALUE_SIZE);
        (0..count).map(|id| sizes.at(id)).sum::<u64>() as f64 / count as f64
    }

    /// This space with sizes that repeat after `period` ids.
    pub fn repeating(self, period: NonZeroU64) -> Self {
        Self { period: Some(period), ..self }
    }

    /// This space with another source of draws for sizes and for the amounts of incr and decr.
    pub fn with_draws(self, draws: Draws) -> Self {
        let deltas = self.deltas.map(|deltas| deltas.with_draws(draws));
        Self { sizes: self.sizes.with_draws(draws), deltas, ..self }
    }

    /// This space with values that consist of one letter.
    pub fn filled_with(self, letter: u8) -> Self {
        let len = self.pool.len();
        // The letters replace the pool, which is freed first.
        drop(self.pool);
        Self { pool: of_letter(letter, len), ..self }
    }

    /// This space with amounts of incr and decr drawn by `law` instead of 1.
    pub fn with_deltas(self, law: SizeLaw) -> Self {
        let deltas = Sizes::new(law, u64::MAX, self.seed, Stream::DELTA);
        Self { deltas: Some(deltas.with_draws(self.sizes.draws())), ..self }
    }

    /// The amount that operation `index` changes a number by.
    pub fn delta(&self, index: u64) -> u64 {
        self.deltas.as_ref().map_or(1, |deltas| deltas.at(index))
    }

    /// The length of the value of key `id`, in bytes.
    pub fn len(&self, id: u64) -> usize {
        self.sizes.at(self.period.map_or(id, |period| id % period)) as usize
    }

    /// The value of key `id`, without a proof.
    pub fn slice(&self, id: u64) -> &[u8] {
        &self.pool[self.pooled(id)]
    }

    /// The position in the pool of key `id`'s value, without a proof.
    #[inline]
    pub fn pooled(&self, id: u64) -> Range<usize> {
        let len = self.len(id);
        let from = self.pool_offset(Stream::VALUE_BYTES, id, len);
        from..from + len
    }

    /// The pool that all values are slices of.
    pub fn pool(&self) -> &Arc<[u8]> {
        &self.pool
    }

    /// The start in the pool of a slice of `len` bytes, for draw `id` of `stream`.
    fn pool_offset(&self, stream: Stream, id: u64, len: usize) -> usize {
        debug_assert!(len <= self.pool.len(), "the pool holds the largest value");
        let offsets = (self.pool.len() - len + 1) as u64;
        below(hash(self.seed, stream, id), offsets) as usize
    }
}

/// The initial value of numeric key `id`: ten digits, which can be decremented two thousand million
/// times and incremented a thousand million times before the number of digits changes.
pub fn numeric_value(id: u64, seed: u64) -> [u8; 10] {
    let mut rest = 3_000_000_000 + below(hash(seed, Stream::VALUE_BYTES, id), 6_000_000_000);
    let mut digits = [b'0'; 10];
    for digit in digits.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

/// Printable random bytes: ten letters of six bits each from one draw.
fn pool(len: usize, seed: u64) -> Arc<[u8]> {
    // A draw beyond every key's.
    let mut random = Random::at(seed, Stream::VALUE_BYTES, u64::MAX);
    let mut pool = of_letter(0, len);
    let bytes = Arc::get_mut(&mut pool).expect("it is not shared yet");
    for ten in bytes.chunks_mut(10) {
        let bits = random.bits();
        let letters = (0..10).map(|k| LETTERS[(bits >> (6 * k)) as usize & 63]);
        ten.iter_mut().zip(letters).for_each(|(byte, letter)| *byte = letter);
    }
    pool
}

/// A pool of one letter, allocated once: the length of the iterator is known.
fn of_letter(letter: u8, len: usize) -> Arc<[u8]> {
    std::iter::repeat_n(letter, len).collect()
}

#[cfg(test)]
mod tests;
