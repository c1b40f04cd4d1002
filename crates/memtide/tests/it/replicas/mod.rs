//! Clients that use several servers, and servers with two transports: copies of writes while one of
//! two memcacheds is killed and restarted, and gets over UDP beside sets over TCP.

use crate::child::{Running, assert_counters_equal, memtide, shared};
use crate::peer::Peer;
use memtide_schema::Kind;
use std::thread;
use std::time::Duration;

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
fn a_server_that_is_killed_and_started_again_is_told_with_its_times() {
    let _turn = shared();
    for io in ["auto", "epoll"] {
        let (one, two) = (Peer::memcached(""), Peer::memcached(""));
        let address = two.address();
        let way = format!("run -s {},{} --io {io} --timeout 2s", one.name, two.name);
        let load = format!("{WINDOWS} --writers 2 --rate 2k --duration 6s --interval 500ms");
        let run = Running::start(&format!("{way} {load} --json -"));
        one.await_figure("cmd_get", 1_000);
        two.kill();
        let before = one.figure("cmd_get");
        thread::sleep(Duration::from_millis(1_000));
        assert!(one.figure("cmd_get") > before + 500, "reads go on at the rest");
        let two = Peer::memcached_at(address, "").expect("nobody took its port");
        let finished = run.finish().exits(0);
        let record = finished.record();
        assert!(two.figure("cmd_get") > 100 && two.figure("cmd_set") > 50, "it was taken back");
        assert!(record.totals.lost <= 8, "{finished}");
        assert_eq!(record.totals.answered + record.totals.lost, record.totals.intended);
        assert_eq!(record.phases.verification().wrong(), 0);
        let [there, died] = &record.servers[..] else { panic!("two servers: {finished}") };
        assert!(there.outages.is_empty() && there.reconnects.is_zero(), "{finished}");
        assert_eq!((died.reconnects.lost, died.reconnects.reconnected), (8, 8), "{finished}");
        let [away] = died.outages[..] else { panic!("{:?}: {finished}", died.outages) };
        let length_ms = away.until_unix_ms.expect("it came back") - away.from_unix_ms;
        assert!(length_ms >= 1_000, "it was away for {length_ms} ms: {finished}");
        let text = memtide_report::text(&record);
        assert!(text.contains(&format!("recovery   {}: 8 of 8 lost", died.name)), "{text}");
        assert!(text.contains("; gone from "), "{text}");
    }
}

#[test]
fn the_run_ends_when_all_servers_are_gone() {
    let _turn = shared();
    let (one, two) = (Peer::memcached(""), Peer::memcached(""));
    let flags = format!("{WINDOWS} --writers 2 --rate 2k --duration 50s --timeout 500ms");
    let run = Running::start(&format!("run -s {},{} {flags} --json -", one.name, two.name));
    one.await_figure("cmd_get", 200);
    one.kill();
    two.kill();
    let finished = run.finish().exits(3);
    let record = finished.record();
    assert!(record.partial && record.measured_s < 40.0, "{finished}");
    let away = |number: usize| record.servers[number].outages.last().copied();
    for number in [0, 1] {
        let last = away(number).unwrap_or_else(|| panic!("it was gone: {finished}"));
        assert_eq!(last.until_unix_ms, None, "{finished}");
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

#[test]
fn what_does_not_go_together_is_said_at_once() {
    let run = |flags: &str| memtide(&format!("run {flags}"));
    run("-s a --writers 1 --clients 2").complains(2, &["writers", "two servers"]);
    run("-s 127.0.0.1:1,127.0.0.1:2 --writers 2").complains(2, &["writers", "clients"]);
    run("-s 127.0.0.1:1,127.0.0.1:2 --writers 3 --clients 2").complains(2, &["writers", "1 to 2"]);
    run("-s 127.0.0.1:1 --replicate one").complains(2, &["replicate", "writers"]);
    run("-s 127.0.0.1:1 --transport split").complains(2, &["split", "clients"]);
}
