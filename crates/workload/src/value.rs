//! The bytes of the values, by key id. All values are slices of one shared pool of printable
//! bytes: making one costs nothing but its place. Those that are to be verified begin with a proof
//! (see `value/proof.rs`). What a server may answer is told by `value/oracle.rs`, and whether it
//! may answer at all by `value/lifetimes.rs`.

mod lifetimes;
mod oracle;
mod proof;

pub use lifetimes::{Expiring, Lifetimes};
pub use oracle::Oracle;
pub use proof::{Finding, ValueCheck, Version, Wrong};

use crate::size::SizeLaw;
use memtide_base::rng::{Random, Stream, below, hash, unit};
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

/// The values of a run. A clone shares the pool.
#[derive(Clone, Debug)]
pub struct ValueSpace {
    pool: Arc<[u8]>,
    size: SizeLaw,
    constant: Option<usize>,
    bytes_max: usize,
    /// Ids that leave the same rest when divided by this have the same size, if it is given.
    period: Option<NonZeroU64>,
    seed: u64,
}

/// What values are made of: a letter for each six bits.
const LETTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/// The pool is twice this at least, so that small values differ from each other.
const POOL_HALF_MIN: usize = 64 * 1024;

impl ValueSpace {
    /// Values with sizes by a law, clamped to `0..=bytes_max`. Allocates twice the largest of
    /// them, or 128 KiB.
    pub fn new(size: SizeLaw, bytes_max: usize, seed: u64) -> Self {
        let clamp = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX).min(bytes_max);
        let largest = size.bounds().1.map_or(bytes_max, clamp);
        let constant = size.constant().map(clamp);
        let pool = pool(2 * largest.max(POOL_HALF_MIN), seed);
        Self { pool, size, constant, bytes_max, period: None, seed }
    }

    /// The same space with sizes that repeat themselves after `period` ids.
    pub fn repeating(self, period: NonZeroU64) -> Self {
        Self { period: Some(period), ..self }
    }

    /// How long the value of key `id` is, in bytes.
    pub fn len(&self, id: u64) -> usize {
        match self.constant {
            Some(len) => len,
            None => {
                let id = self.period.map_or(id, |period| id % period);
                let drawn = self.size.size_at(unit(hash(self.seed, Stream::VALUE_SIZE, id)));
                usize::try_from(drawn).unwrap_or(usize::MAX).min(self.bytes_max)
            }
        }
    }

    /// The value of key `id`, without a proof.
    pub fn slice(&self, id: u64) -> &[u8] {
        &self.pool[self.pooled(id)]
    }

    /// Where in the pool the value of key `id` is, without a proof.
    pub fn pooled(&self, id: u64) -> Range<usize> {
        let len = self.len(id);
        let from = self.place(Stream::VALUE_BYTES, id, len);
        from..from + len
    }

    /// What all values are slices of.
    pub fn pool(&self) -> &Arc<[u8]> {
        &self.pool
    }

    /// Where in the pool a slice of `len` bytes begins, for draw `id` of `stream`.
    fn place(&self, stream: Stream, id: u64, len: usize) -> usize {
        let places = (self.pool.len() - len + 1) as u64;
        below(hash(self.seed, stream, id), places) as usize
    }
}

/// The value with which the numeric key `id` starts: ten digits, with room for two thousand
/// million steps down and a thousand million up before their number would change.
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
    // A draw of its own, past every key's.
    let mut random = Random::at(seed, Stream::VALUE_BYTES, u64::MAX);
    let mut pool = Vec::with_capacity(len + 10);
    while pool.len() < len {
        let bits = random.bits();
        pool.extend((0..10).map(|k| LETTERS[(bits >> (6 * k)) as usize & 63]));
    }
    pool.truncate(len);
    pool.into()
}

#[cfg(test)]
mod tests;
