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
    /// Ids that leave the same rest when divided by this have the same size, if it is given.
    period: Option<NonZeroU64>,
    /// How much incr and decr change a number by; 1 without a law.
    deltas: Option<Sizes>,
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
        let sizes = Sizes::new(size, bytes_max as u64, seed, Stream::VALUE_SIZE);
        let pool = pool(2 * (sizes.largest() as usize).max(POOL_HALF_MIN), seed);
        Self { pool, sizes, period: None, deltas: None, seed }
    }

    /// The same space with sizes that repeat themselves after `period` ids.
    pub fn repeating(self, period: NonZeroU64) -> Self {
        Self { period: Some(period), ..self }
    }

    /// The same with sizes, and what incr and decr change a number by, drawn in another way.
    pub fn with_draws(self, draws: Draws) -> Self {
        let deltas = self.deltas.map(|deltas| deltas.with_draws(draws));
        Self { sizes: self.sizes.with_draws(draws), deltas, ..self }
    }

    /// The same with values that consist of one letter.
    pub fn filled_with(self, letter: u8) -> Self {
        Self { pool: vec![letter; self.pool.len()].into(), ..self }
    }

    /// The same where incr and decr change a number by a draw of `law`, not by 1.
    pub fn with_deltas(self, law: SizeLaw) -> Self {
        let deltas = Sizes::new(law, u64::MAX, self.seed, Stream::DELTA);
        Self { deltas: Some(deltas.with_draws(self.sizes.draws())), ..self }
    }

    /// How much operation `index` changes a number by.
    pub fn delta(&self, index: u64) -> u64 {
        self.deltas.as_ref().map_or(1, |deltas| deltas.at(index))
    }

    /// How long the value of key `id` is, in bytes.
    pub fn len(&self, id: u64) -> usize {
        self.sizes.at(self.period.map_or(id, |period| id % period)) as usize
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
