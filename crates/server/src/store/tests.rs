//! Limits, eviction, and many threads at once.

use super::*;
use memtide_base::Instant;

const CLOCK: Clock = Clock { now: Instant::ZERO, unix_s: 1_700_000_000 };

fn set(store: &Store, key: &str, value: &[u8]) -> Reply<'static> {
    let incoming = Incoming { verb: Verb::Set, flags: 0, ends_s: u64::MAX, value, cas: None };
    store.store(CLOCK, key.as_bytes(), &incoming)
}

fn has(store: &Store, key: &str) -> bool {
    let mut out = Vec::new();
    store.get(CLOCK, key.as_bytes(), false, &mut out);
    !out.is_empty()
}

#[test]
fn what_was_not_used_for_the_longest_time_goes_first() {
    // An item of a one-byte key and 140 bytes counts 200.
    let store = Store::new(StoreOptions { memory_bytes_max: 1000, item_bytes_max: 500, shards: 1 });
    for key in ["a", "b", "c", "d", "e"] {
        assert_eq!(set(&store, key, &[b'v'; 140]), Reply::Stored);
    }
    assert!(has(&store, "a"));
    set(&store, "f", &[b'v'; 140]);
    set(&store, "g", &[b'v'; 140]);
    let left = ["a", "b", "c", "d", "e", "f", "g"].map(|key| has(&store, key));
    assert_eq!(left, [true, false, false, true, true, true, true]);
    let snapshot = store.snapshot();
    assert_eq!((snapshot.counters.evictions, snapshot.counters.total_items), (2, 7));
    assert_eq!((snapshot.curr_items, snapshot.bytes, snapshot.limit_maxbytes), (5, 1000, 1000));
}

#[test]
fn a_value_that_grows_makes_room_and_one_without_hope_is_refused() {
    let store =
        Store::new(StoreOptions { memory_bytes_max: 1000, item_bytes_max: 2000, shards: 8 });
    for key in ["a", "b", "c", "d", "e"] {
        set(&store, key, &[b'v'; 140]);
    }
    assert_eq!(set(&store, "a", &[b'v'; 940]), Reply::Stored);
    assert_eq!((store.snapshot().curr_items, store.snapshot().counters.evictions), (1, 4));
    assert!(matches!(set(&store, "a", &[b'v'; 941]), Reply::Error(_)));
    assert!(!has(&store, "a"));
    assert_eq!(store.snapshot().counters.store_no_memory, 1);
}

#[test]
fn ended_values_that_make_room_are_no_evictions() {
    let store = Store::new(StoreOptions { memory_bytes_max: 400, item_bytes_max: 400, shards: 1 });
    let incoming =
        Incoming { verb: Verb::Set, flags: 0, ends_s: 1, value: &[b'v'; 140], cas: None };
    store.store(CLOCK, b"a", &incoming);
    set(&store, "b", &[b'v'; 140]);
    set(&store, "c", &[b'v'; 140]);
    let counters = store.snapshot().counters;
    assert_eq!((counters.reclaimed, counters.evictions), (1, 0));
}

#[test]
fn a_shard_can_always_hold_a_few_of_the_largest_items() {
    for (memory, item, wanted, shards) in [
        (64 << 20, 1 << 20, 8, 8),
        (64 << 20, 1 << 20, 7, 8),
        (64 << 20, 1 << 20, 100, 16),
        (1 << 20, 1 << 20, 8, 1),
        (0, 0, 0, 1),
        (1 << 40, 1000, usize::MAX, 1 << 16),
    ] {
        let options =
            StoreOptions { memory_bytes_max: memory, item_bytes_max: item, shards: wanted };
        assert_eq!(Store::new(options).shards.len(), shards, "{options:?}");
    }
}

#[test]
fn threads_do_not_lose_each_others_counts() {
    let options = StoreOptions { memory_bytes_max: 1 << 20, item_bytes_max: 1024, shards: 4 };
    let store = Store::new(options);
    set(&store, "n", b"0");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for step in 0..1000 {
                    store.count(CLOCK, b"n", Verb::Incr, 1);
                    set(store, &format!("{thread}/{}", step % 50), b"x");
                }
            });
        }
    });
    assert_eq!(store.count(CLOCK, b"n", Verb::Incr, 0), Reply::Number(4000));
    let snapshot = store.snapshot();
    assert_eq!(snapshot.counters.incr_hits, 4001);
    assert_eq!((snapshot.counters.cmd_set, snapshot.curr_items), (4001, 201));
}
