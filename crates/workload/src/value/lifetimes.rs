//! The keys that are stored with an expiry, and the times at which their values must be present or
//! gone. Calculates in whole seconds, as servers do; reads no clock.

use memtide_base::rng::{Stream, hash};
use memtide_base::{Instant, Span};
use std::sync::atomic::{AtomicU64, Ordering};

/// The keys that are stored with an expiry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expiring {
    /// All keys.
    #[default]
    All,
    /// The keys whose draw is below this.
    Below(u64),
}

impl Expiring {
    /// This share of the keys, from 0 to 1.
    pub fn part(part: f64) -> Self {
        // 2^64 as a double; the cast saturates.
        if part < 1.0 {
            Self::Below((part * 18_446_744_073_709_551_616.0) as u64)
        } else {
            Self::All
        }
    }

    /// True if key `id` of a run with this seed is stored with an expiry.
    pub fn includes(self, seed: u64, id: u64) -> bool {
        match self {
            Self::All => true,
            Self::Below(below) => hash(seed, Stream::EXPIRY, id) < below,
        }
    }
}

/// The largest difference between the server's expiry of a value and ours. The server counts whole
/// seconds with a clock that ticks once a second: the store and the read each lose up to one
/// second.
const SLACK: Span = Span::from_s(2);

/// The times at which the keys of windows were last stored. A slot holds one key at a time, and
/// only the client that stores it reads it, so the answer is always unique.
#[derive(Debug)]
pub struct Lifetimes {
    seed: u64,
    expiring: Expiring,
    expiry: Span,
    slots: Box<[Stored]>,
}

/// The interval in which the server carried out a store; unknown if there was none.
#[derive(Debug)]
struct Stored {
    sent_ns: AtomicU64,
    /// Its lowest bit is set for every second key that takes the slot.
    answered_ns: AtomicU64,
}

/// No store is known.
const UNKNOWN: u64 = u64::MAX;

impl Lifetimes {
    /// Lifetimes of keys by slot, which is the id modulo `slots` (at least 1). Keys of `expiring`
    /// expire `expiry` after their store. Allocates 16 bytes for each slot.
    pub fn new(slots: u64, expiry: Span, expiring: Expiring, seed: u64) -> Self {
        let unknown =
            |_| Stored { sent_ns: AtomicU64::new(UNKNOWN), answered_ns: AtomicU64::new(UNKNOWN) };
        Self { seed, expiring, expiry, slots: (0..slots.max(1)).map(unknown).collect() }
    }

    /// The memory of `slots` slots, in bytes.
    pub const fn bytes_of(slots: u64) -> u64 {
        slots.saturating_mul(size_of::<Stored>() as u64)
    }

    /// True if key `id` is stored with an expiry.
    pub fn includes(&self, id: u64) -> bool {
        self.expiring.includes(self.seed, id)
    }

    /// Announces a store of key `id` before it is sent: nothing is known until it is answered.
    pub fn announce(&self, id: u64) {
        self.slot(id).sent_ns.store(UNKNOWN, Ordering::Relaxed);
    }

    /// Records that a store of key `id`, sent and answered at these instants, was carried out.
    pub fn stored(&self, id: u64, sent: Instant, answered: Instant) {
        let slot = self.slot(id);
        slot.answered_ns.store(answered.ns() & !1 | self.odd(id), Ordering::Relaxed);
        slot.sent_ns.store(sent.ns(), Ordering::Relaxed);
    }

    /// True if a read of key `id` that was answered at `answered` must have found it. Nothing is
    /// known of a key whose slot another one took, although its client does not know it.
    pub fn must_be_there(&self, id: u64, answered: Instant) -> bool {
        let slot = self.slot(id);
        let sent_ns = slot.sent_ns.load(Ordering::Relaxed);
        let is_of_it = slot.answered_ns.load(Ordering::Relaxed) & 1 == self.odd(id);
        let is_known = sent_ns != UNKNOWN && is_of_it;
        is_known && answered + SLACK <= Instant::from_ns(sent_ns) + self.expiry
    }

    /// True if a read of key `id` that was sent at `sent` must not have found it.
    pub fn must_be_gone(&self, id: u64, sent: Instant) -> bool {
        let slot = self.slot(id);
        let answered = Instant::from_ns(slot.answered_ns.load(Ordering::Relaxed));
        let is_known = slot.sent_ns.load(Ordering::Relaxed) != UNKNOWN;
        is_known && self.includes(id) && sent >= answered + self.expiry + SLACK
    }

    /// 1 for every second key that takes a slot, else 0.
    const fn odd(&self, id: u64) -> u64 {
        (id / self.slots.len() as u64) & 1
    }

    fn slot(&self, id: u64) -> &Stored {
        &self.slots[(id % self.slots.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests;
