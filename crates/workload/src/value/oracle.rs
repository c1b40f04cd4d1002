//! The versions that one server may return: for a bounded sample of its keys, the versions that all
//! workers together have written. Lock-free; uses neither times nor connections.
//!
//! A write that may still be carried out shares its version with all writes issued meanwhile. Of
//! two different versions it is therefore always certain which came first.

use memtide_base::rng::{Stream, below, hash};
use std::sync::atomic::{AtomicU64, Ordering};

/// The versions of one server's keys. A write is announced before it is sent and answered at most
/// once. A write that is never answered stays open, and its key's version no longer changes.
#[derive(Debug)]
pub struct Oracle {
    seed: u64,
    keys: u64,
    /// True if ids continue beyond `keys`, each in the slot of its id modulo `keys`.
    endless: bool,
    /// One key in each group of this many ids is in the sample.
    group: u64,
    states: Box<[AtomicU64]>,
}

/// The state of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// The version of the last writes; 0 before the first.
    issued: u32,
    /// The highest version that was certainly carried out.
    done: u32,
    /// The number of unanswered writes of the last version, up to [`UNCOUNTED`]; there it stays.
    open: u16,
    /// True if the last write that was carried out was of an odd key of its slot.
    odd: bool,
}

/// At this number of unanswered writes, counting ends. It leaves a bit for the key of a slot.
const UNCOUNTED: u16 = u16::MAX >> 1;

/// The bit of [`State::odd`].
const ODD: u64 = 1 << 15;
/// The bits of a version, as many as a value's proof has room for.
const NUMBER_BITS: u32 = 24;
const NUMBER_MAX: u32 = super::Version::NUMBER_MAX;

impl State {
    const fn unpack(bits: u64) -> Self {
        Self {
            issued: (bits >> (64 - NUMBER_BITS)) as u32,
            done: (bits >> 16) as u32 & NUMBER_MAX,
            open: bits as u16 & UNCOUNTED,
            odd: bits & ODD != 0,
        }
    }

    const fn pack(self) -> u64 {
        let odd = if self.odd { ODD } else { 0 };
        let done = (self.done as u64) << 16;
        (self.issued as u64) << (64 - NUMBER_BITS) | done | odd | self.open as u64
    }

    /// The state after one more write is issued.
    fn issue(self) -> Self {
        match self.open {
            0 if self.issued < NUMBER_MAX => Self { issued: self.issued + 1, open: 1, ..self },
            // Versions are used up: from here on none can be told apart.
            0 => Self { open: UNCOUNTED, ..self },
            open => Self { open: (open + 1).min(UNCOUNTED), ..self },
        }
    }

    /// The state after one of the open writes, of an odd key of its slot or not, is answered.
    fn answer(self, done: bool, odd: bool) -> Self {
        assert!(self.open > 0, "only an announced write is answered, and only once");
        let open = if self.open == UNCOUNTED { UNCOUNTED } else { self.open - 1 };
        if done { Self { done: self.issued, odd, open, ..self } } else { Self { open, ..self } }
    }
}

impl Oracle {
    /// For a server with keys `0..keys`, of which at most `keys_max` (at least 1) are sampled.
    /// Allocates 8 bytes for each of these.
    pub fn new(keys: u64, keys_max: u64, seed: u64) -> Self {
        let group = keys.max(1).div_ceil(keys_max.max(1));
        let states = (0..Self::sampled(keys, keys_max)).map(|_| AtomicU64::new(0)).collect();
        Self { seed, keys, endless: false, group, states }
    }

    /// For servers that hold one key per slot, which is the id modulo `slots`. Each key that takes
    /// a slot has higher versions than the one before. Allocates 8 bytes for each slot.
    pub fn of_slots(slots: u64) -> Self {
        Self { endless: true, ..Self::new(slots, slots, 0) }
    }

    /// The number of keys of [`Self::new`] that are sampled.
    pub fn sampled(keys: u64, keys_max: u64) -> u64 {
        let group = keys.max(1).div_ceil(keys_max.max(1));
        keys.max(1).div_ceil(group)
    }

    /// The memory of `keys` sampled keys, in bytes.
    pub const fn bytes_of(keys: u64) -> u64 {
        keys.saturating_mul(size_of::<AtomicU64>() as u64)
    }

    /// Announces a write or delete of key `id` before it is sent; returns the version that its
    /// value must carry. 0 for a key that is not sampled.
    pub fn issue(&self, id: u64) -> u32 {
        self.change(id, State::issue).issued
    }

    /// Reports that an announced write of key `id` was answered: it was carried out or, if not
    /// `done`, refused for good.
    pub fn answer(&self, id: u64, done: bool) {
        let odd = self.is_odd(id);
        self.change(id, |state| state.answer(done, odd));
    }

    /// The oldest version that a read of key `id`, issued from now on, may return; a lower one is
    /// stale. 0 if every version is allowed, as for a key whose slot another one took whose write
    /// was carried out, although its client does not know it.
    pub fn oldest(&self, id: u64) -> u32 {
        let state = self.state_of(id).map(|state| State::unpack(state.load(Ordering::Acquire)));
        state.filter(|state| state.odd == self.is_odd(id)).map_or(0, |state| state.done)
    }

    /// True for every second key that takes a slot.
    const fn is_odd(&self, id: u64) -> bool {
        self.endless && id / self.keys % 2 == 1
    }

    /// Changes the state of a key and returns the new state.
    fn change(&self, id: u64, change: impl Fn(State) -> State) -> State {
        let Some(state) = self.state_of(id) else { return State::default() };
        let mut before = state.load(Ordering::Relaxed);
        loop {
            let after = change(State::unpack(before));
            debug_assert!(after.done <= after.issued, "carried out before it was issued");
            debug_assert!(after.issued <= NUMBER_MAX, "a version has more bits than a proof");
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            match state.compare_exchange_weak(before, after.pack(), success, failure) {
                Ok(_) => return after,
                Err(meanwhile) => before = meanwhile,
            }
        }
    }

    /// The state of key `id`, if it is sampled.
    fn state_of(&self, id: u64) -> Option<&AtomicU64> {
        let id = if self.endless { id % self.keys } else { id };
        if id >= self.keys {
            return None;
        }
        let group = id / self.group;
        let first = group * self.group;
        let size = self.group.min(self.keys - first);
        let chosen = first + below(hash(self.seed, Stream::VERIFY_KEYS, group), size);
        (id == chosen).then(|| &self.states[group as usize])
    }
}

#[cfg(test)]
mod tests;
