//! What only the meta protocol has: values that one client makes anew while others wait, items that
//! are stale, values that do not travel, and figures of items.

use crate::prelude::*;

/// Every kind that only the meta protocol has, but peek, among others.
const STAMPEDE: &str = "recache=6,invalidate=1,get=2,gets=1,set=1,delete=1";

fn run_of(peer: &Peer, flags: &str) -> Record {
    let line = format!(
        "run -s {} --protocol meta --keys 40 --ops-max 6k --timeout 50s --json - {flags}",
        peer.name
    );
    let run = memtide(&line).exits(0);
    let record = run.record();
    assert_eq!((record.totals.intended, record.totals.answered), (6_000, 6_000), "{run}");
    assert_counters_equal(&record);
    record
}

/// A win on a missing item is a miss here and a hit for the server; the comparison knows it.
#[test]
fn one_client_stores_anew_while_others_get_the_old_value_or_none() {
    for peer in [Peer::memcached("-t 2"), Peer::embedded("--threads 2")] {
        for flags in [
            "--recache-time 2ms --threads 2 --connections 8",
            "--recache-time exponential:500us --connections 4 --depth 8 --verify 1",
            "--recache-time uniform:100us,1ms --connections 8 --match opaque --depth 4",
        ] {
            // An item that is being made anew is touched, although it has no value.
            let touches = if flags.contains("opaque") { ",gat=2,gats=1" } else { "" };
            let record = run_of(&peer, &format!("--mix {STAMPEDE}{touches} --load never {flags}"));
            let replies = &record.totals.replies;
            for name in ["won", "values", "stale", "waiting", "invalidated", "not_found"] {
                assert!(replies[name] > 0, "{flags}: no {name}: {replies:?}");
            }
            // Each win is a store, and no answer counts twice.
            assert_eq!(replies.values().sum::<u64>(), record.totals.answered, "{flags}");
        }
    }
}

/// The winner of an empty cache stores once, and all others read what it stored.
#[test]
fn a_value_is_made_once_however_many_clients_want_it() {
    let peer = Peer::embedded("--threads 2");
    let record = run_of(&peer, "--mix recache=1 --keys 1 --load never --connections 16");
    assert_eq!(record.totals.replies["won"], 1);
    assert_eq!(peer.figure("cmd_set"), 1);
}

#[test]
fn a_win_that_takes_longer_than_the_timeout_has_timed_out() {
    let peer = Peer::embedded("");
    let line = format!(
        "run -s {} --protocol meta --mix recache=1 --keys 8 --load never --ops-max 100 \
         --recache-time 3s --timeout 500ms --connections 2 --json -",
        peer.name
    );
    let record = memtide(&line).exits(0).record();
    assert_eq!(record.totals.timed_out, 8, "each key is won once, and stays without a value");
    assert_eq!(record.totals.answered, 92);
    assert_eq!((peer.figure("cmd_set"), record.totals.replies["waiting"]), (0, 92));
    // Issue 58, point 7: what the first reply of each said stays true.
    assert_eq!(record.totals.replies["won"], 8);
    assert_eq!((record.totals.keys, record.totals.misses), (100, 100));
    let rows = record.intervals.iter().map(|row| row.misses).sum::<u64>();
    assert_eq!(rows, 100);
}

#[test]
fn a_value_that_is_known_does_not_travel() {
    let peer = Peer::embedded("");
    let [all, peeked] = ["gets", "peek"].map(|kind| {
        let flags = format!("--mix {kind}=50,set=1 --value-size 1k --connections 2");
        run_of(&peer, &flags)
    });
    let unchanged = peeked.totals.replies["unchanged"];
    assert!(unchanged > 3_000, "{unchanged}");
    assert_eq!((peeked.totals.misses, all.totals.misses), (0, 0), "one that is known was found");
    assert!(peeked.totals.bytes_received * 2 < all.totals.bytes_received);
    assert!(peeked.totals.values_read + unchanged == peeked.totals.hits);
}

/// memcached has the flag since 1.6.40; older ones are found out before the load.
#[test]
fn a_server_without_the_flag_of_peek_is_named_before_the_load() {
    let peer = Peer::memcached("");
    let line = format!("run -s {} --protocol meta --mix peek=1 --ops-max 10", peer.name);
    let ran = memtide(&line);
    if ran.code == Some(0) {
        return; // A newer memcached, which the user named.
    }
    ran.complains(3, &["mg C", "since 1.6.40", "leave peek out of --mix"]);
}

#[test]
fn what_servers_say_of_their_items_is_in_the_record_and_the_report() {
    for peer in [Peer::memcached(""), Peer::embedded("")] {
        for flags in ["--multiget 4", "--match opaque --expiry 1000", "--verify 1"] {
            let mix = "--mix get=8,gets=1,gat=1,set=1 --meta-flags thlsfc";
            let record = run_of(&peer, &format!("{mix} {flags}"));
            let items = record.items.expect("it was asked for");
            assert_eq!(items.read_before.count, record.totals.hits, "{flags}");
            assert_eq!(items.age_s.count, record.totals.hits, "{flags}");
            // Items that never expire were left out of both figures without a count.
            let said = (items.never_expires.count, items.never_expires.sum.0);
            let never = record.totals.hits - items.ttl_s.count;
            assert_eq!(said, (record.totals.hits, never.into()), "{flags}");
            let expires = flags.contains("expiry");
            // Only those that were stored since then expire.
            assert_eq!(items.ttl_s.count > 0, expires || items.ttl_s.max.is_some(), "{flags}");
            assert!(items.ttl_s.max.is_none_or(|most| most <= 1000), "{:?}", items.ttl_s);
            assert!(items.read_before.max == Some(1), "{:?}", items.read_before);
        }
        let line =
            format!("run -s {} --protocol meta --meta-flags thl --ops-max 1k --full", peer.name);
        let ran = memtide(&line).exits(0);
        assert!(ran.out.contains(" never expire"), "{ran}");
        assert!(ran.out.contains("last access p50 "), "{ran}");
        assert!(ran.out.contains("read before"), "{ran}");
    }
}

#[test]
fn what_only_meta_has_is_refused_elsewhere_with_what_works() {
    for (flags, word) in [
        ("--mix recache=1,get=1", "needs protocol meta for recache"),
        ("--mix peek=1 --protocol binary", "needs protocol meta for peek"),
        ("--meta-flags t", "meta-flags t needs protocol meta"),
        ("--meta-flags tv", "none of t, h, l, s, f and c"),
        ("--protocol meta --transport udp --mix recache=1", "over transport udp"),
        ("--protocol meta --stale-time 2592001", "stale-time 2592001 is above"),
        ("--protocol meta --recache-time slow", "is not a law of times"),
    ] {
        let ran = memtide(&format!("run -s 127.0.0.1:1 --ops-max 10 {flags}")).exits(2);
        assert!(ran.err.contains(word), "{ran}");
    }
}
