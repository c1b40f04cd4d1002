//! What one server may answer: the versions of a bounded sample of its keys, as all workers
//! together wrote them. Lock-free; needs to know neither times nor connections.
//!
//! A write that may still be carried out shares its version with all writes issued meanwhile, so
//! that of two different versions it is always certain which came first.

use memtide_base::rng::{Stream, below, hash};
use std::sync::atomic::{AtomicU64, Ordering};

/// The versions of one server's keys. A write is announced before it is sent and answered at most
/// once; one that nobody answers is open for ever, and its key's version then stays as it is.
#[derive(Debug)]
pub struct Oracle {
    seed: u64,
    keys: u64,
    /// Whether ids go on beyond `keys`, each in the place of the one that leaves the same rest.
    endless: bool,
    /// One key of each group of this many ids is in the sample.
    group: u64,
    states: Box<[AtomicU64]>,
}

/// What is known of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// The version of the latest writes; 0 before the first.
    issued: u32,
    /// The highest version of which a write was carried out for certain.
    done: u32,
    /// Writes of the latest version that were not answered; at the highest number for ever.
    open: u16,
}

/// Versions have as many bits as a value's proof has room for.
const NUMBER_BITS: u32 = 24;
const NUMBER_MAX: u32 = super::Version::NUMBER_MAX;

impl State {
    const fn unpack(bits: u64) -> Self {
        Self {
            issued: (bits >> (64 - NUMBER_BITS)) as u32,
            done: (bits >> 16) as u32 & NUMBER_MAX,
            open: bits as u16,
        }
    }

    const fn pack(self) -> u64 {
        (self.issued as u64) << (64 - NUMBER_BITS) | (self.done as u64) << 16 | self.open as u64
    }

    /// One more write is issued.
    fn issue(self) -> Self {
        match self.open {
            0 if self.issued < NUMBER_MAX => Self { issued: self.issued + 1, open: 1, ..self },
            // There are no more versions: nothing is told apart from here on.
            0 => Self { open: u16::MAX, ..self },
            open => Self { open: open.saturating_add(1), ..self },
        }
    }

    /// One of the open writes was answered.
    fn answer(self, done: bool) -> Self {
        assert!(self.open > 0, "only an announced write is answered, and only once");
        let open = if self.open == u16::MAX { u16::MAX } else { self.open - 1 };
        Self { done: if done { self.issued } else { self.done }, open, ..self }
    }
}

impl Oracle {
    /// Of a server that will hold keys `0..keys`, of which at most `keys_max` (at least 1) are
    /// sampled. Allocates 8 bytes for each of these.
    pub fn new(keys: u64, keys_max: u64, seed: u64) -> Self {
        let group = keys.max(1).div_ceil(keys_max.max(1));
        let sampled = keys.max(1).div_ceil(group);
        let states = (0..sampled).map(|_| AtomicU64::new(0)).collect();
        Self { seed, keys, endless: false, group, states }
    }

    /// Of servers that will hold one key of each of `places` at a time: the id of a key, divided
    /// by `places`, leaves the place as its rest. Each key that comes to a place has higher
    /// versions than the one before. Allocates 8 bytes for each place.
    pub fn of_places(places: u64) -> Self {
        Self { endless: true, ..Self::new(places, places, 0) }
    }

    /// A write (or delete) of key `id` is about to be sent; its value must say this version. 0 for
    /// a key that is not sampled.
    pub fn issue(&self, id: u64) -> u32 {
        self.change(id, State::issue).issued
    }

    /// An announced write of key `id` was answered: it was carried out, or (not `done`) refused
    /// and never will be.
    pub fn answer(&self, id: u64, done: bool) {
        self.change(id, |state| state.answer(done));
    }

    /// The oldest version that a read of key `id` may find which is issued from now on; a lower
    /// one is stale. 0 when all are allowed.
    pub fn oldest(&self, id: u64) -> u32 {
        self.state_of(id).map_or(0, |state| State::unpack(state.load(Ordering::Acquire)).done)
    }

    /// Changes what is known of a key, and returns what is known then.
    fn change(&self, id: u64, change: impl Fn(State) -> State) -> State {
        let Some(state) = self.state_of(id) else { return State::default() };
        let change = |bits| change(State::unpack(bits));
        let mut before = state.load(Ordering::Relaxed);
        loop {
            let after = change(before);
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            match state.compare_exchange_weak(before, after.pack(), success, failure) {
                Ok(_) => return after,
                Err(meanwhile) => before = meanwhile,
            }
        }
    }

    /// Where the state of key `id` is, if the key is sampled.
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
