//! The commands on the keys of one shard: what memcached answers, counts and evicts. The caller
//! holds the lock and passes the time.

mod meta;

use crate::counter::Counters;
use crate::table::{At, Item, ItemTable, Marks, ReplyBuffer};
use memtide_base::Random;
use memtide_codec::text::{self, encode};
use memtide_codec::{ErrorKind, ErrorReply, Reply, Verb};
use std::sync::atomic::{AtomicU64, Ordering};

const NON_NUMERIC: Reply<'static> = Reply::Error(ErrorReply {
    kind: ErrorKind::Client,
    message: b"cannot increment or decrement non-numeric value",
});
/// memcached records the time of a use if the last recorded one is older than these seconds.
const USES_APART_S_MIN: u64 = 60;
/// The most items that are searched for another value.
const OTHERS_MAX: usize = 64;
const NO_MEMORY: Reply<'static> =
    Reply::Error(ErrorReply { kind: ErrorKind::Server, message: b"out of memory storing object" });

/// The key and the time of a command.
#[derive(Clone, Copy)]
pub(crate) struct KeyAccess<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Its hash.
    pub hash: u64,
    /// The present Unix second.
    pub now_s: u64,
    /// Items stored up to this Unix second are invalid from it on; 0 for none.
    pub flush_s: u64,
    /// The source of new cas numbers.
    pub cas_source: &'a AtomicU64,
    /// The cas number that the request gives the item instead of a new one.
    pub cas: Option<u64>,
}

impl KeyAccess<'_> {
    fn new_cas(&self) -> u64 {
        self.cas.unwrap_or_else(|| self.cas_source.fetch_add(1, Ordering::Relaxed))
    }

    fn has_expired(&self, item: &Item) -> bool {
        item.ends_s <= self.now_s
    }

    fn is_there(&self, item: &Item) -> bool {
        !self.has_expired(item) && !self.is_flushed(item)
    }

    fn is_flushed(&self, item: &Item) -> bool {
        self.flush_s != 0 && self.flush_s <= self.now_s && item.stored_s <= self.flush_s
    }
}

/// The contents of a storage command.
#[derive(Clone, Copy)]
pub(crate) struct Incoming<'a> {
    /// The command.
    pub verb: Verb,
    /// The client's flags.
    pub flags: u32,
    /// The Unix second in which the value expires.
    pub ends_s: u64,
    /// The value.
    pub value: &'a [u8],
    /// The cas number that must still be valid.
    pub cas: Option<u64>,
}

/// A part of all keys.
#[derive(Debug)]
pub(crate) struct Shard {
    table: ItemTable,
    counters: Counters,
    memory_bytes_max: u64,
    item_bytes_max: usize,
}

impl Shard {
    /// A shard without items.
    pub fn new(memory_bytes_max: u64, item_bytes_max: usize) -> Self {
        let (table, counters) = (ItemTable::new(), Counters::default());
        Self { table, counters, memory_bytes_max, item_bytes_max }
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Sets the counters to zero.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    /// The number of items, and the bytes that memcached would count for them.
    pub fn items_and_bytes(&self) -> (u64, u64) {
        (self.table.items() as u64, self.table.bytes())
    }

    /// Removes every item.
    pub fn clear(&mut self) {
        self.table = ItemTable::new();
    }

    /// get and gets: writes the value if the key has one.
    pub fn get(&mut self, target: &KeyAccess<'_>, with_cas: bool, out: &mut impl ReplyBuffer) {
        match self.find(target) {
            Some(at) => {
                self.counters.get_hits += 1;
                self.read_now(target, at);
                write_value(self.table.item(at), with_cas, out);
            }
            None => self.counters.get_misses += 1,
        }
    }

    /// gat and gats: as get, and sets a new expiry. Counted as touch, not as get.
    pub fn get_and_touch(
        &mut self,
        target: &KeyAccess<'_>,
        ends_s: u64,
        with_cas: bool,
        out: &mut impl ReplyBuffer,
    ) {
        if let Some(at) = self.touch_found(target, ends_s) {
            write_value(self.table.item(at), with_cas, out);
        }
    }

    /// touch: sets a new expiry.
    pub fn touch(&mut self, target: &KeyAccess<'_>, ends_s: u64) -> Reply<'static> {
        match self.touch_found(target, ends_s) {
            Some(_) => Reply::Touched,
            None => Reply::NotFound,
        }
    }

    /// delete.
    pub fn delete(&mut self, target: &KeyAccess<'_>) -> Reply<'static> {
        match self.find(target) {
            Some(at) => {
                self.counters.delete_hits += 1;
                self.table.remove(at);
                Reply::Deleted
            }
            None => {
                self.counters.delete_misses += 1;
                Reply::NotFound
            }
        }
    }

    /// Removes the item that a set with too large a value would have replaced: memcached prefers no
    /// value to an old one.
    pub fn forget(&mut self, target: &KeyAccess<'_>) {
        if let Some(at) = self.find(target) {
            self.table.remove(at);
        }
    }

    /// set, add, replace, append, prepend and cas.
    pub fn store(&mut self, target: &KeyAccess<'_>, incoming: &Incoming<'_>) -> Reply<'static> {
        self.counters.cmd_set += 1;
        match (incoming.verb, self.find(target)) {
            (Verb::Set, Some(at)) | (Verb::Replace, Some(at)) => self.replace(target, at, incoming),
            (Verb::Set, None) | (Verb::Add, None) => self.make(target, incoming),
            (Verb::Add, Some(at)) => {
                self.use_now(target, at);
                Reply::NotStored
            }
            (Verb::Append, Some(at)) => {
                let value = [self.table.item(at).value(), incoming.value].concat();
                self.lengthen(target, at, &value)
            }
            (Verb::Prepend, Some(at)) => {
                let value = [incoming.value, self.table.item(at).value()].concat();
                self.lengthen(target, at, &value)
            }
            (Verb::Cas, Some(at)) if incoming.cas == Some(self.table.item(at).cas) => {
                self.counters.cas_hits += 1;
                self.replace(target, at, incoming)
            }
            (Verb::Cas, Some(_)) => {
                self.counters.cas_badval += 1;
                Reply::Exists
            }
            (Verb::Cas, None) => {
                self.counters.cas_misses += 1;
                Reply::NotFound
            }
            _ => Reply::NotStored,
        }
    }

    /// incr and decr. A result shorter than the previous value is padded with spaces.
    pub fn count(&mut self, target: &KeyAccess<'_>, verb: Verb, delta: u64) -> Reply<'static> {
        let up = verb == Verb::Incr;
        let Some(at) = self.find(target) else {
            let misses =
                if up { &mut self.counters.incr_misses } else { &mut self.counters.decr_misses };
            *misses += 1;
            return Reply::NotFound;
        };
        self.count_found(target, at, up, delta).map_or(NON_NUMERIC, Reply::Number)
    }

    /// Adds to the number of an item or subtracts from it; returns the new number. `None` if the
    /// value is none.
    fn count_found(&mut self, target: &KeyAccess<'_>, at: At, up: bool, delta: u64) -> Option<u64> {
        let before = number_in(self.table.item(at).value())?;
        let Counters { incr_hits, decr_hits, .. } = &mut self.counters;
        *if up { incr_hits } else { decr_hits } += 1;
        let after = if up { before.wrapping_add(delta) } else { before.saturating_sub(delta) };
        let mut digits = after.to_string().into_bytes();
        let item = self.table.item(at);
        let value_bytes = item.value().len();
        if digits.len() > value_bytes {
            self.counters.total_items += 1;
            self.rewrite(target, at, &digits);
        } else {
            // The item stays, with its marks.
            let marks = item.marks;
            digits.resize(value_bytes, b' ');
            self.rewrite(target, at, &digits);
            self.table.update(at, |item| item.marks = marks);
        }
        Some(after)
    }

    /// The value of the key; the access is neither counted nor a use.
    pub fn value(&self, target: &KeyAccess<'_>) -> Option<Vec<u8>> {
        let item = self.table.item(self.table.find(target.hash, target.key)?);
        target.is_there(item).then(|| item.value().to_vec())
    }

    /// Flags, cas number and value of the key if it has expired and is still held.
    pub fn expired(&self, target: &KeyAccess<'_>) -> Option<(u32, u64, Vec<u8>)> {
        let item = self.table.item(self.table.find(target.hash, target.key)?);
        let is_late = target.has_expired(item) && !target.is_flushed(item);
        is_late.then(|| (item.flags, item.cas, item.value().to_vec()))
    }

    /// The first value of another key that differs from `value`, beginning with any item. Only a
    /// few items are searched.
    pub fn other_value(
        &self,
        target: &KeyAccess<'_>,
        value: &[u8],
        random: &mut Random,
    ) -> Option<Vec<u8>> {
        let others = self.table.some_items(random.bits(), OTHERS_MAX);
        let mut others = others.filter(|item| item.key() != target.key && item.value() != value);
        others.find(|item| target.is_there(item)).map(|item| item.value().to_vec())
    }

    /// The position of the key's item. An expired item is removed.
    fn find(&mut self, target: &KeyAccess<'_>) -> Option<At> {
        let at = self.table.find(target.hash, target.key)?;
        let item = self.table.item(at);
        if target.is_flushed(item) {
            self.counters.get_flushed += 1;
        } else if target.has_expired(item) {
            self.counters.get_expired += 1;
        } else {
            return Some(at);
        }
        self.table.remove(at);
        None
    }

    fn touch_found(&mut self, target: &KeyAccess<'_>, ends_s: u64) -> Option<At> {
        let at = self.find(target);
        match at {
            Some(at) => {
                self.counters.touch_hits += 1;
                self.table.update(at, |item| item.ends_s = ends_s);
                self.read_now(target, at);
            }
            None => self.counters.touch_misses += 1,
        }
        at
    }

    fn make(&mut self, target: &KeyAccess<'_>, incoming: &Incoming<'_>) -> Reply<'static> {
        if !self.has_room_for(target, incoming) {
            return NO_MEMORY;
        }
        debug_assert!(self.table.find(target.hash, target.key).is_none(), "a key has one item");
        let mut item = Item::new(target.hash, target.key, incoming.value);
        item.cas = target.new_cas();
        item.ends_s = incoming.ends_s;
        item.stored_s = target.now_s;
        item.used_s = target.now_s;
        item.flags = incoming.flags;
        self.counters.total_items += 1;
        self.table.insert(item);
        self.make_room(target);
        Reply::Stored
    }

    fn replace(
        &mut self,
        target: &KeyAccess<'_>,
        at: At,
        incoming: &Incoming<'_>,
    ) -> Reply<'static> {
        if !self.has_room_for(target, incoming) {
            self.table.remove(at);
            return NO_MEMORY;
        }
        self.counters.total_items += 1;
        self.table.update(at, |item| {
            item.flags = incoming.flags;
            item.ends_s = incoming.ends_s;
        });
        self.rewrite(target, at, incoming.value);
        Reply::Stored
    }

    /// append and prepend: flags and expiry do not change.
    fn lengthen(&mut self, target: &KeyAccess<'_>, at: At, value: &[u8]) -> Reply<'static> {
        let flags = self.table.item(at).flags;
        let counted = text::item_bytes(target.key.len(), value.len(), flags);
        if counted > self.item_bytes_max || counted as u64 > self.memory_bytes_max {
            return Reply::NotStored;
        }
        self.counters.total_items += 1;
        self.rewrite(target, at, value);
        Reply::Stored
    }

    fn rewrite(&mut self, target: &KeyAccess<'_>, at: At, value: &[u8]) {
        self.table.update(at, |item| {
            item.set_value(value);
            item.cas = target.new_cas();
            item.stored_s = target.now_s;
            item.used_s = target.now_s;
            item.marks = Marks::default();
        });
        self.table.use_now(at);
        self.make_room(target);
    }

    /// Records that an item was read.
    fn read_now(&mut self, target: &KeyAccess<'_>, at: At) {
        self.use_now(target, at);
        self.table.update(at, |item| item.marks.read = true);
    }

    /// Records that an item was used.
    fn use_now(&mut self, target: &KeyAccess<'_>, at: At) {
        self.table.update(at, |item| {
            if item.used_s + USES_APART_S_MIN < target.now_s {
                item.used_s = target.now_s;
            }
        });
        self.table.use_now(at);
    }

    fn has_room_for(&mut self, target: &KeyAccess<'_>, incoming: &Incoming<'_>) -> bool {
        let value_bytes = incoming.value.len();
        let counted = text::item_bytes(target.key.len(), value_bytes, incoming.flags) as u64;
        let fits = counted <= self.memory_bytes_max;
        self.counters.store_no_memory += u64::from(!fits);
        fits
    }

    /// Evicts the least recently used items until the limit holds. The item that was just used is
    /// the last to go, and it fits alone.
    fn make_room(&mut self, target: &KeyAccess<'_>) {
        while self.table.bytes() > self.memory_bytes_max {
            let at = self.table.oldest().expect("no items need no bytes");
            let item = self.table.item(at);
            if target.has_expired(item) || target.is_flushed(item) {
                self.counters.reclaimed += 1;
            } else {
                self.counters.evictions += 1;
            }
            self.table.remove(at);
        }
        debug_assert!(self.table.bytes() <= self.memory_bytes_max, "a shard keeps to its memory");
    }
}

fn write_value(item: &Item, with_cas: bool, out: &mut impl ReplyBuffer) {
    let (key, value) = (item.key(), item.value());
    let cas = with_cas.then_some(item.cas);
    encode::reply(out.bytes(), &Reply::Value { key, flags: item.flags, bytes: value.len(), cas });
    finish_value(item, out);
}

/// Writes the value's bytes and their CRLF.
fn finish_value(item: &Item, out: &mut impl ReplyBuffer) {
    match item.large_value() {
        None => encode::reply(out.bytes(), &Reply::Data { bytes: item.value(), ends: true }),
        Some(value) => {
            out.push_large(value);
            encode::reply(out.bytes(), &Reply::Data { bytes: &[], ends: true });
        }
    }
}

/// The number that a value starts with, as C's `strtoull` sees it: white space before it, a plus
/// sign, and white space after it are allowed.
fn number_in(value: &[u8]) -> Option<u64> {
    let start = value.iter().position(|byte| !is_space(byte))?;
    let value = value[start..].strip_prefix(b"+").unwrap_or(&value[start..]);
    let end = value.iter().position(is_space).unwrap_or(value.len());
    let digits = std::str::from_utf8(&value[..end]).ok()?;
    // The standard library would accept a second sign.
    if digits.starts_with('+') { None } else { digits.parse().ok() }
}

/// True if C's `isspace` is.
const fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}
