//! The items: a hash table with chains, and the order of their last use. Knows no command, no time
//! and no limit. Positions stay valid until the item there is removed.

mod outgoing;

pub(crate) use outgoing::empty;
pub use outgoing::{Outgoing, ReplyBuffer};

use memtide_base::rng;
use memtide_codec::text;
use std::sync::Arc;

/// No position.
const NONE: u32 = u32::MAX;

/// The hash that selects a key's shard and bucket. It is no defence against keys that were chosen
/// to collide.
pub(crate) fn hash(key: &[u8]) -> u64 {
    let (words, tail) = key.as_chunks::<8>();
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    let start = rng::mix(key.len() as u64 + 1);
    let hash = words.iter().fold(start, |hash, word| rng::mix(hash ^ u64::from_le_bytes(*word)));
    rng::mix(hash ^ u64::from_le_bytes(last))
}

/// One key and its value.
#[derive(Debug)]
pub(crate) struct Item {
    /// The hash of the key.
    pub hash: u64,
    /// The cas number.
    pub cas: u64,
    /// The Unix second in which it expires.
    pub ends_s: u64,
    /// The Unix second in which it was last stored.
    pub stored_s: u64,
    /// The Unix second of the last use, exact to a minute.
    pub used_s: u64,
    /// The client's flags.
    pub flags: u32,
    /// The marks of the meta protocol, and that it was read.
    pub marks: Marks,
    key_bytes: u32,
    bytes: Bytes,
}

/// What an item remembers beside its value, as memcached does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// It was read.
    pub read: bool,
    /// It is stale ("Meta Delete").
    pub stale: bool,
    /// A client has won the right to replace it ("Meta Get").
    pub won: bool,
    /// Its key was written in base64.
    pub base64: bool,
}

/// A key and its value.
#[derive(Debug)]
enum Bytes {
    /// The key, then the value: one allocation for both.
    Together(Box<[u8]>),
    /// A large value, which is sent without a copy.
    Apart(Box<Apart>),
}

#[derive(Debug)]
struct Apart {
    key: Box<[u8]>,
    value: Arc<[u8]>,
}

/// Values from this length on are sent without a copy; copying shorter ones is cheaper.
const LARGE_BYTES_MIN: usize = 16 << 10;

impl Bytes {
    fn new(key: &[u8], value: &[u8]) -> Self {
        if value.len() < LARGE_BYTES_MIN {
            Self::Together([key, value].concat().into())
        } else {
            Self::Apart(Box::new(Apart { key: key.into(), value: value.into() }))
        }
    }
}

impl Item {
    /// An item without flags, expiry and cas number.
    pub fn new(hash: u64, key: &[u8], value: &[u8]) -> Self {
        Self {
            hash,
            cas: 0,
            ends_s: 0,
            stored_s: 0,
            used_s: 0,
            flags: 0,
            marks: Marks::default(),
            key_bytes: key.len() as u32,
            bytes: Bytes::new(key, value),
        }
    }

    /// Its key.
    pub fn key(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Together(bytes) => &bytes[..self.key_bytes as usize],
            Bytes::Apart(apart) => &apart.key,
        }
    }

    /// Its value.
    pub fn value(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Together(bytes) => &bytes[self.key_bytes as usize..],
            Bytes::Apart(apart) => &apart.value,
        }
    }

    /// Its value, if the value is sent without a copy.
    pub fn large_value(&self) -> Option<&Arc<[u8]>> {
        match &self.bytes {
            Bytes::Together(_) => None,
            Bytes::Apart(apart) => Some(&apart.value),
        }
    }

    /// Replaces the value; in place if the length stays and it is not being sent.
    pub fn set_value(&mut self, value: &[u8]) {
        let place = match &mut self.bytes {
            Bytes::Together(bytes) => Some(&mut bytes[self.key_bytes as usize..]),
            Bytes::Apart(apart) => Arc::get_mut(&mut apart.value),
        };
        match place.filter(|old| old.len() == value.len()) {
            Some(old) => old.copy_from_slice(value),
            None => self.bytes = Bytes::new(self.key(), value),
        }
    }

    /// The bytes that memcached would count for it.
    pub fn counted_bytes(&self) -> u64 {
        text::item_bytes(self.key().len(), self.value().len(), self.flags) as u64
    }
}

/// The position of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At(u32);

#[derive(Debug)]
struct Entry {
    /// The item; none if the entry is free.
    item: Option<Item>,
    /// The next entry in the bucket's chain, or the next free one.
    next: u32,
    newer: u32,
    older: u32,
}

/// Items by key and by last use.
#[derive(Debug)]
pub(crate) struct ItemTable {
    /// The first position of each chain; a power of two.
    buckets: Box<[u32]>,
    entries: Vec<Entry>,
    waiting: u32,
    newest: u32,
    oldest: u32,
    items: usize,
    bytes: u64,
}

impl ItemTable {
    /// A table without items.
    pub fn new() -> Self {
        let buckets = vec![NONE; 64].into();
        let (waiting, newest, oldest) = (NONE, NONE, NONE);
        Self { buckets, entries: Vec::new(), waiting, newest, oldest, items: 0, bytes: 0 }
    }

    /// The number of items.
    pub fn items(&self) -> usize {
        self.items
    }

    /// The bytes that memcached would count for all items.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The position of the item with this key.
    pub fn find(&self, hash: u64, key: &[u8]) -> Option<At> {
        let mut at = self.buckets[self.bucket(hash)];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if let Some(item) = &entry.item
                && item.hash == hash
                && item.key() == key
            {
                return Some(At(at));
            }
            at = entry.next;
        }
        None
    }

    /// The item at a position.
    pub fn item(&self, at: At) -> &Item {
        self.entries[at.0 as usize].item.as_ref().expect("a position is given for an item only")
    }

    /// At most `count` items, starting at a position derived from `bits`.
    pub fn some_items(&self, bits: u64, count: usize) -> impl Iterator<Item = &Item> {
        let first = rng::below(bits, self.entries.len().max(1) as u64) as usize;
        let entries = self.entries[first..].iter().chain(&self.entries[..first]);
        entries.filter_map(|entry| entry.item.as_ref()).take(count)
    }

    /// Changes the item at a position, but never its key.
    pub fn update(&mut self, at: At, change: impl FnOnce(&mut Item)) {
        let item = self.entries[at.0 as usize].item.as_mut();
        let item = item.expect("a position is given for an item only");
        let before = item.counted_bytes();
        change(item);
        self.bytes = self.bytes - before + item.counted_bytes();
    }

    /// Adds an item with a new key, as the most recently used one.
    pub fn insert(&mut self, item: Item) {
        if self.items >= self.buckets.len() {
            self.grow();
        }
        let bucket = self.bucket(item.hash);
        self.bytes += item.counted_bytes();
        self.items += 1;
        let next = self.buckets[bucket];
        let entry = Entry { item: Some(item), next, newer: NONE, older: NONE };
        let at = match self.waiting {
            NONE => {
                self.entries.push(entry);
                // Four thousand million items need far more memory than a shard ever gets.
                u32::try_from(self.entries.len() - 1).expect("positions fit in 32 bits")
            }
            at => {
                self.waiting = self.entries[at as usize].next;
                self.entries[at as usize] = entry;
                at
            }
        };
        self.buckets[bucket] = at;
        self.link_newest(at);
    }

    /// Removes the item at a position.
    pub fn remove(&mut self, at: At) {
        let At(at) = at;
        self.unlink(at);
        let item = self.entries[at as usize].item.take();
        let item = item.expect("a position is given for an item only");
        self.bytes -= item.counted_bytes();
        self.items -= 1;
        let after = std::mem::replace(&mut self.entries[at as usize].next, self.waiting);
        self.waiting = at;
        let bucket = self.bucket(item.hash);
        if self.buckets[bucket] == at {
            self.buckets[bucket] = after;
            return;
        }
        let mut before = self.buckets[bucket];
        while self.entries[before as usize].next != at {
            before = self.entries[before as usize].next;
        }
        self.entries[before as usize].next = after;
    }

    /// The least recently used item.
    pub fn oldest(&self) -> Option<At> {
        (self.oldest != NONE).then_some(At(self.oldest))
    }

    /// Makes the item at a position the most recently used one.
    pub fn use_now(&mut self, at: At) {
        if self.newest != at.0 {
            self.unlink(at.0);
            self.link_newest(at.0);
        }
    }

    fn bucket(&self, hash: u64) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    fn grow(&mut self) {
        self.buckets = vec![NONE; self.buckets.len() * 2].into();
        for at in 0..self.entries.len() {
            if let Some(item) = &self.entries[at].item {
                let bucket = self.bucket(item.hash);
                self.entries[at].next = std::mem::replace(&mut self.buckets[bucket], at as u32);
            }
        }
    }

    fn link_newest(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        (entry.newer, entry.older) = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = at,
            newest => {
                debug_assert_eq!(self.entries[newest as usize].newer, NONE, "the newest is last");
                self.entries[newest as usize].newer = at;
            }
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let Entry { newer, older, .. } = self.entries[at as usize];
        match newer {
            NONE => self.newest = older,
            newer => {
                debug_assert_eq!(self.entries[newer as usize].older, at, "linked both ways");
                self.entries[newer as usize].older = older;
            }
        }
        match older {
            NONE => self.oldest = newer,
            older => {
                debug_assert_eq!(self.entries[older as usize].newer, at, "linked both ways");
                self.entries[older as usize].newer = newer;
            }
        }
    }
}

#[cfg(test)]
mod tests;
