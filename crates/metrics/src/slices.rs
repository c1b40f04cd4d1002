//! Slices of a measured window, by intended instant: from the scatter of their counts follows how
//! far a figure of the whole run may be off.
//!
//! A slice has one eighth of a doubling per bucket, which is enough for its scatter. Nothing is
//! derived here.

mod kept;

use crate::histogram;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
pub(crate) use kept::bounds;
pub use kept::{SERVERS_MAX, SLICES_KEPT, SliceSet, first_width};
use std::collections::BTreeMap;
use std::io::Read;

/// The most slices that a channel of times has.
pub(crate) const SLICES_OF_TIMES_MAX: usize = 256;

/// The operations of one channel (such as the gets) that were intended in one slice of the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Answered operations by coarse bucket ([`coarse`]).
    pub buckets: BTreeMap<u16, u64>,
    /// Number of answered operations.
    pub answered: u64,
    /// Operations that failed, timed out, were lost, dropped or abandoned.
    pub unanswered: u64,
    /// Sum of the answered operations' times, in ns.
    pub sum_ns: u128,
}

/// The coarse bucket of a time: the index of its bucket in a histogram, divided by sixteen. It has
/// eight buckets per doubling; times above an hour are in the last one.
pub const fn coarse(ns: u64) -> u16 {
    histogram::coarse(ns)
}

/// The smallest time of a coarse bucket, in ns.
pub const fn coarse_floor(bucket: u16) -> u64 {
    histogram::coarse_floor(bucket)
}

impl Slice {
    /// Adds all of `other`, saturating: counts that were read from a file may be near the end of
    /// their type.
    pub fn absorb(&mut self, other: &Self) {
        for (&bucket, &count) in &other.buckets {
            let sum = self.buckets.entry(bucket).or_default();
            *sum = sum.saturating_add(count);
        }
        self.answered = self.answered.saturating_add(other.answered);
        self.unanswered = self.unanswered.saturating_add(other.unanswered);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }

    /// Number of operations, answered or not.
    pub const fn count(&self) -> u64 {
        self.answered.saturating_add(self.unanswered)
    }
}

/// The slices of a channel as text: numbers of seven bits per byte, deflated, base64.
pub fn to_text(slices: &[Slice]) -> String {
    let mut bytes = Vec::new();
    for slice in slices {
        put(&mut bytes, slice.unanswered.into());
        put(&mut bytes, slice.sum_ns);
        put(&mut bytes, slice.buckets.len() as u128);
        let mut before = 0;
        for (&bucket, &count) in &slice.buckets {
            put(&mut bytes, u128::from(bucket - before));
            put(&mut bytes, count.into());
            before = bucket;
        }
    }
    let mut deflated = Vec::new();
    let mut reader = ZlibEncoder::new(&bytes[..], Compression::default());
    reader.read_to_end(&mut deflated).expect("reading from memory succeeds");
    BASE64_STANDARD.encode(deflated)
}

/// Reads back [`to_text`]; `None` if the text is not that of `count` slices.
pub fn from_text(text: &str, count: usize) -> Option<Vec<Slice>> {
    if count > SLICES_OF_TIMES_MAX {
        return None;
    }
    let deflated = BASE64_STANDARD.decode(text).ok()?;
    let mut bytes = Vec::new();
    let most = (count * SLICE_BYTES_MAX) as u64;
    ZlibDecoder::new(&deflated[..]).take(most).read_to_end(&mut bytes).ok()?;
    let mut rest = &bytes[..];
    let slices: Option<Vec<Slice>> = (0..count).map(|_| slice(&mut rest)).collect();
    slices.filter(|_| rest.is_empty())
}

/// The most bytes of one slice: every bucket in use, and every number of the greatest length.
const SLICE_BYTES_MAX: usize = 10 * (4 + 2 * (BUCKET_MAX as usize + 1));
/// The last coarse bucket.
const BUCKET_MAX: u16 = coarse(u64::MAX);

fn slice(bytes: &mut &[u8]) -> Option<Slice> {
    let mut slice = Slice { unanswered: short(bytes)?, sum_ns: take(bytes)?, ..Slice::default() };
    let mut bucket = 0u64;
    for nth in 0..take(bytes)? {
        let step = short(bytes)?;
        bucket = bucket.checked_add(step).filter(|&it| it <= BUCKET_MAX.into())?;
        let count = short(bytes)?;
        if nth > 0 && step == 0 {
            return None;
        }
        slice.answered = slice.answered.checked_add(count)?;
        slice.buckets.insert(bucket as u16, count);
    }
    Some(slice)
}

/// Appends a number: seven bits per byte, the lowest first.
fn put(bytes: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number off the front; `None` if it does not end, or is above 128 bits.
fn take(bytes: &mut &[u8]) -> Option<u128> {
    let mut number = 0u128;
    for shift in (0..128).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u128::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn short(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes)?.try_into().ok()
}

#[cfg(test)]
mod tests;
