//! Clients that use several servers, and servers with two transports: copies of writes, and gets
//! over UDP beside sets over TCP. Servers that die are tested in virtual time.

use crate::prelude::*;

const WINDOWS: &str = "--clients 8 --window 200 --mix-order turn --verify 1";

#[test]
fn copies_are_what_both_servers_counted() {
    for (protocol, io) in [("text", "auto"), ("binary", "epoll")] {
        let (one, two) = (Peer::memcached(""), Peer::memcached(""));
        let flags = format!("{WINDOWS} --writers 2 --overwrite 20% --rate 0 --ops-max 20k");
        let line = format!("run -s {},{} --protocol {protocol} --io {io}", one.name, two.name);
        let record = memtide(&format!("{line} {flags} --json -")).exits(0).record();
        assert_counters_equal(&record);
        let sets = record.phases.measure.ops[&Kind::Set];
        assert_eq!((sets, record.totals.answered), (4_000, 22_000));
        assert_eq!(one.figure("cmd_set") + two.figure("cmd_set"), sets);
        assert_eq!((one.figure("cmd_set"), record.totals.misses), (sets / 2, 0));
        assert!(one.figure("cmd_get") > 5_000 && two.figure("cmd_get") > 5_000);
        assert_eq!(record.phases.verification().wrong(), 0);
    }
}

#[test]
fn gets_go_by_udp_and_sets_by_tcp_and_memcached_counts_the_same() {
    for (protocol, io) in [("text", "auto"), ("text", "epoll"), ("binary", "auto")] {
        let peer = Peer::memcached_udp("");
        let load = "--window 500 --mix-order turn --multiget 10 --verify 1 --rate 0 --ops-max 5k";
        let way = format!("--transport split --protocol {protocol} --io {io}");
        let clients = "--clients 4 --connections-per-client 20";
        let line = format!("run -s {} {way} {clients} {load} --json -", peer.name);
        let record = memtide(&line).exits(0).record();
        assert_counters_equal(&record);
        assert_eq!((record.totals.answered, record.totals.misses), (5_000, 0), "{way}");
        assert_eq!(peer.figure("cmd_set"), record.phases.measure.ops[&Kind::Set], "{way}");
        assert_eq!(record.phases.verification().wrong(), 0);
        assert!(record.totals.datagrams.is_zero(), "{:?}", record.totals.datagrams);
        assert_eq!(record.plan.connections, 4 * 21);
    }
}
