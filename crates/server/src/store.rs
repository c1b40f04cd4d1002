//! The state that all connections share: the keys, in shards that are locked one at a time, and the
//! counters. A command is about one key; the session answers.

use crate::clock::Clock;
use crate::counter::{Counters, Snapshot};
use crate::shard::{Incoming, KeyAccess, Shard};
use crate::table::{self, ReplyBuffer};
use memtide_base::Random;
use memtide_codec::{Reply, Verb, base64, meta};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// The limits of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// The memory for items, counted as memcached counts it. Beyond it the least recently used
    /// items are evicted.
    pub memory_bytes_max: u64,
    /// The largest item: value, key and about 60 bytes more. memcached's default is 1 MiB.
    pub item_bytes_max: usize,
    /// The number of locks that the keys are spread over: about four times the threads. It is
    /// rounded up to a power of two, and lowered if a shard could not hold four of the largest
    /// items.
    pub shards: usize,
}

/// The items of a server.
#[derive(Debug)]
pub struct Store {
    shards: Box<[Mutex<Shard>]>,
    /// The shift that derives a shard's number from a hash.
    shard_shift: u32,
    options: StoreOptions,
    cas_source: AtomicU64,
    /// Items stored up to this Unix second are invalid from it on; 0 for none.
    flush_s: AtomicU64,
    cmd_flush: AtomicU64,
    /// Storage commands whose value did not end where its length says.
    bad_chunks: AtomicU64,
    store_too_large: AtomicU64,
    curr_connections: AtomicU64,
    total_connections: AtomicU64,
    threads: AtomicU64,
}

/// A store, and the time at which it is used.
#[derive(Clone, Copy)]
pub(crate) struct StoreAt<'a> {
    pub clock: Clock,
    pub store: &'a Store,
}

impl Store {
    /// A store without items.
    pub fn new(options: StoreOptions) -> Self {
        let StoreOptions { memory_bytes_max, item_bytes_max, shards } = options;
        let shards_max = memory_bytes_max / (item_bytes_max as u64 * 4).max(1);
        let wanted = shards.clamp(1, 1 << 16).next_power_of_two();
        let shards = wanted.min(1 << shards_max.max(1).ilog2().min(16));
        let shard_bytes_max = memory_bytes_max / shards as u64;
        let each = (0..shards).map(|_| Mutex::new(Shard::new(shard_bytes_max, item_bytes_max)));
        Self {
            shards: each.collect(),
            shard_shift: 64 - shards.ilog2(),
            options,
            cas_source: AtomicU64::new(1),
            flush_s: AtomicU64::new(0),
            cmd_flush: AtomicU64::new(0),
            bad_chunks: AtomicU64::new(0),
            store_too_large: AtomicU64::new(0),
            curr_connections: AtomicU64::new(0),
            total_connections: AtomicU64::new(0),
            threads: AtomicU64::new(0),
        }
    }

    /// The limits with which the store was made.
    pub fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// Counts a connection that opened.
    pub fn connection_opened(&self) {
        self.curr_connections.fetch_add(1, Relaxed);
        self.total_connections.fetch_add(1, Relaxed);
    }

    /// Counts a connection that closed.
    pub fn connection_closed(&self) {
        self.curr_connections.fetch_sub(1, Relaxed);
    }

    /// Counts a thread that serves from this store, for `stats`.
    pub fn thread_started(&self) {
        self.threads.fetch_add(1, Relaxed);
    }

    pub(crate) fn get(&self, clock: Clock, key: &[u8], with_cas: bool, out: &mut impl ReplyBuffer) {
        let target = self.target(clock, key);
        self.shard(target.hash).get(&target, with_cas, out);
    }

    pub(crate) fn get_and_touch(
        &self,
        clock: Clock,
        key: &[u8],
        expiry: i64,
        with_cas: bool,
        out: &mut impl ReplyBuffer,
    ) {
        let target = self.target(clock, key);
        let ends_s = clock.ends_s(expiry);
        self.shard(target.hash).get_and_touch(&target, ends_s, with_cas, out);
    }

    pub(crate) fn store(
        &self,
        clock: Clock,
        key: &[u8],
        incoming: &Incoming<'_>,
    ) -> Reply<'static> {
        let target = self.target(clock, key);
        self.shard(target.hash).store(&target, incoming)
    }

    pub(crate) fn delete(&self, clock: Clock, key: &[u8]) -> Reply<'static> {
        let target = self.target(clock, key);
        self.shard(target.hash).delete(&target)
    }

    pub(crate) fn count(&self, clock: Clock, key: &[u8], verb: Verb, delta: u64) -> Reply<'static> {
        let target = self.target(clock, key);
        self.shard(target.hash).count(&target, verb, delta)
    }

    pub(crate) fn touch(&self, clock: Clock, key: &[u8], expiry: i64) -> Reply<'static> {
        let target = self.target(clock, key);
        self.shard(target.hash).touch(&target, clock.ends_s(expiry))
    }

    /// Carries out a request of the meta protocol on a key, and writes the reply.
    pub(crate) fn meta(
        &self,
        clock: Clock,
        request: &meta::Request<'_>,
        out: &mut impl ReplyBuffer,
    ) {
        let mut raw = [0; base64::RAW_BYTES_MAX];
        let mut target = self.target(clock, request.raw_key(&mut raw));
        target.cas = request.options.new_cas;
        self.shard(target.hash).meta(&target, clock, request, out);
    }

    /// Carries out flush_all: at once, or with the second before the delay ends.
    pub(crate) fn flush(&self, clock: Clock, delay: Option<i64>) {
        self.cmd_flush.fetch_add(1, Relaxed);
        match delay {
            Some(delay @ 1..) => self.flush_s.store(clock.ends_s(delay) - 1, Relaxed),
            _ => {
                self.flush_s.store(0, Relaxed);
                self.shards().for_each(|mut shard| shard.clear());
            }
        }
    }

    /// Counts a store that was refused for its size; the item that a set would have replaced is
    /// removed.
    pub(crate) fn refused_too_large(&self, clock: Clock, verb: Verb, key: &[u8]) {
        self.store_too_large.fetch_add(1, Relaxed);
        if verb == Verb::Set {
            let target = self.target(clock, key);
            self.shard(target.hash).forget(&target);
        }
    }

    /// Counts a store that was refused because its value did not end where its length says.
    pub(crate) fn refused_bad_chunk(&self) {
        self.bad_chunks.fetch_add(1, Relaxed);
    }

    /// The value of `key`; the access is neither counted nor a use.
    pub(crate) fn value(&self, clock: Clock, key: &[u8]) -> Option<Vec<u8>> {
        let target = self.target(clock, key);
        self.shard(target.hash).value(&target)
    }

    /// Flags, cas number and value of `key` if it has expired and no request has removed it yet.
    pub(crate) fn expired(&self, clock: Clock, key: &[u8]) -> Option<(u32, u64, Vec<u8>)> {
        let target = self.target(clock, key);
        self.shard(target.hash).expired(&target)
    }

    /// A value of another key than `key` that differs from `value`; may be `None` if only a few
    /// keys have one.
    pub(crate) fn other_value(
        &self,
        clock: Clock,
        key: &[u8],
        value: &[u8],
        random: &mut Random,
    ) -> Option<Vec<u8>> {
        let target = self.target(clock, key);
        let first = random.below(self.shards.len() as u64) as usize;
        let shards = self.shards[first..].iter().chain(&self.shards[..first]);
        shards.map(lock).find_map(|shard| shard.other_value(&target, value, random))
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            counters: Counters { cmd_set: self.bad_chunks.load(Relaxed), ..Counters::default() },
            cmd_flush: self.cmd_flush.load(Relaxed),
            store_too_large: self.store_too_large.load(Relaxed),
            curr_connections: self.curr_connections.load(Relaxed),
            total_connections: self.total_connections.load(Relaxed),
            threads: self.threads.load(Relaxed),
            limit_maxbytes: self.options.memory_bytes_max,
            ..Snapshot::default()
        };
        for shard in self.shards() {
            let (items, bytes) = shard.items_and_bytes();
            snapshot.counters.add(shard.counters());
            snapshot.curr_items += items;
            snapshot.bytes += bytes;
        }
        snapshot
    }

    /// Sets the counters to zero, except those of present items and connections.
    pub(crate) fn reset_counters(&self) {
        let atomics =
            [&self.cmd_flush, &self.bad_chunks, &self.store_too_large, &self.total_connections];
        atomics.iter().for_each(|counter| counter.store(0, Relaxed));
        self.shards().for_each(|mut shard| shard.reset_counters());
    }

    fn target<'a>(&'a self, clock: Clock, key: &'a [u8]) -> KeyAccess<'a> {
        let flush_s = self.flush_s.load(Relaxed);
        let hash = table::hash(key);
        KeyAccess {
            key,
            hash,
            now_s: clock.unix_s,
            flush_s,
            cas_source: &self.cas_source,
            cas: None,
        }
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        // A single shard would be a shift by 64, which is no shift at all.
        let number = hash.checked_shr(self.shard_shift).unwrap_or(0);
        lock(&self.shards[number as usize])
    }

    fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(lock)
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().expect("nobody panics while holding a shard")
}

#[cfg(test)]
mod tests;
