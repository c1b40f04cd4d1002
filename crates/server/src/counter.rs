//! A server's counters, by memcached's names and rules. Each shard has its own counters under its
//! own lock; sums are made on demand.

/// Counters of one shard, or their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Keys of get and gets that were found.
    pub get_hits: u64,
    /// Keys of get and gets that were not found.
    pub get_misses: u64,
    /// Keys of any command whose value had expired.
    pub get_expired: u64,
    /// Keys of any command whose value a delayed flush_all had invalidated.
    pub get_flushed: u64,
    /// Keys of gat, gats and touch that were found.
    pub touch_hits: u64,
    /// Keys of gat, gats and touch that were not found.
    pub touch_misses: u64,
    /// Storage commands, whatever their answer.
    pub cmd_set: u64,
    /// Keys that were deleted.
    pub delete_hits: u64,
    /// Keys to delete that were not found.
    pub delete_misses: u64,
    /// Numbers that were incremented.
    pub incr_hits: u64,
    /// Keys to increment that were not found.
    pub incr_misses: u64,
    /// Numbers that were decremented.
    pub decr_hits: u64,
    /// Keys to decrement that were not found.
    pub decr_misses: u64,
    /// cas commands that stored.
    pub cas_hits: u64,
    /// cas commands whose key was not found.
    pub cas_misses: u64,
    /// cas commands whose unique number was no longer valid.
    pub cas_badval: u64,
    /// Stores for which no amount of eviction would have made room.
    pub store_no_memory: u64,
    /// Items that were ever stored.
    pub total_items: u64,
    /// Unexpired items that were evicted.
    pub evictions: u64,
    /// Expired items that were evicted.
    pub reclaimed: u64,
}

impl Counters {
    /// Adds the counters of another shard.
    pub fn add(&mut self, other: &Self) {
        self.get_hits += other.get_hits;
        self.get_misses += other.get_misses;
        self.get_expired += other.get_expired;
        self.get_flushed += other.get_flushed;
        self.touch_hits += other.touch_hits;
        self.touch_misses += other.touch_misses;
        self.cmd_set += other.cmd_set;
        self.delete_hits += other.delete_hits;
        self.delete_misses += other.delete_misses;
        self.incr_hits += other.incr_hits;
        self.incr_misses += other.incr_misses;
        self.decr_hits += other.decr_hits;
        self.decr_misses += other.decr_misses;
        self.cas_hits += other.cas_hits;
        self.cas_misses += other.cas_misses;
        self.cas_badval += other.cas_badval;
        self.store_no_memory += other.store_no_memory;
        self.total_items += other.total_items;
        self.evictions += other.evictions;
        self.reclaimed += other.reclaimed;
    }
}

/// All numbers of the answer to `stats`, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// The sum over all shards.
    pub counters: Counters,
    /// flush_all commands.
    pub cmd_flush: u64,
    /// Stores that were refused for their size.
    pub store_too_large: u64,
    /// Connections that are open.
    pub curr_connections: u64,
    /// Connections that were ever opened.
    pub total_connections: u64,
    /// Threads that serve.
    pub threads: u64,
    /// Items held, including expired ones that no request has found yet.
    pub curr_items: u64,
    /// Bytes that memcached would count for these items.
    pub bytes: u64,
    /// The limit for `bytes`.
    pub limit_maxbytes: u64,
}

impl Snapshot {
    /// The numbers by memcached's names.
    pub fn named(&self) -> [(&'static str, u64); 30] {
        let Self { counters, .. } = self;
        [
            ("curr_connections", self.curr_connections),
            ("total_connections", self.total_connections),
            ("cmd_get", counters.get_hits + counters.get_misses),
            ("cmd_set", counters.cmd_set),
            ("cmd_flush", self.cmd_flush),
            ("cmd_touch", counters.touch_hits + counters.touch_misses),
            ("get_hits", counters.get_hits),
            ("get_misses", counters.get_misses),
            ("get_expired", counters.get_expired),
            ("get_flushed", counters.get_flushed),
            ("delete_misses", counters.delete_misses),
            ("delete_hits", counters.delete_hits),
            ("incr_misses", counters.incr_misses),
            ("incr_hits", counters.incr_hits),
            ("decr_misses", counters.decr_misses),
            ("decr_hits", counters.decr_hits),
            ("cas_misses", counters.cas_misses),
            ("cas_hits", counters.cas_hits),
            ("cas_badval", counters.cas_badval),
            ("touch_hits", counters.touch_hits),
            ("touch_misses", counters.touch_misses),
            ("store_too_large", self.store_too_large),
            ("store_no_memory", counters.store_no_memory),
            ("limit_maxbytes", self.limit_maxbytes),
            ("threads", self.threads),
            ("bytes", self.bytes),
            ("curr_items", self.curr_items),
            ("total_items", counters.total_items),
            ("evictions", counters.evictions),
            ("reclaimed", counters.reclaimed),
        ]
    }
}
