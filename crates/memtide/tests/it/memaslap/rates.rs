//! memaslap's limits: operations per second in its unit, and a large number of connections.

use super::{configured, memaslap};
use crate::prelude::*;

#[test]
fn a_limit_holds_within_a_hundredth_and_counts_keys() {
    let peer = Peer::memcached("");
    let even = configured("key\n64 64 1\nvalue\n100 100 1\ncmd\n0 0.5\n1 0.5\n");
    for line in ["--tps=5k -t 4s".to_owned(), format!("-P 5k -t 4s -d 7 -F {even}")] {
        let ran = memaslap(&[&peer], &line, 0);
        let rate = ran.output.line.ops as f64 / ran.record.measured_s;
        let part = rate / 5_120.0;
        // What a busy machine has not sent by the end is dropped: gets of seven keys or sets of
        // one.
        let is_dropped = ran.record.totals.dropped > 0;
        assert!((part - 1.0).abs() < 0.01 || is_dropped, "{rate} a second: {}", ran.run);
        assert!((ran.record.measured_s - 4.0).abs() < 0.001, "{}", ran.run);
    }
}

#[test]
fn a_limit_beyond_what_can_be_had_does_not_lengthen_the_run() {
    let peer = Peer::memcached("");
    let ran = memaslap(&[&peer], "-P 2m -t 1s -c 2", 0);
    assert!((ran.output.line.time_s - 1.0).abs() < 0.01, "{}", ran.run);
    assert!(ran.record.totals.dropped > 0, "{}", ran.run);
    let late_s = ran.record.answered_until_s.unwrap() - 1.0;
    assert!(ran.output.line.ops < 2_000_000 && late_s < 60.0, "{}", ran.run);
}

#[test]
fn sixteen_thousand_connections_fit_into_two_hundred_megabytes() {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if files.maximum.is_some_and(|most| most < 17_000) {
        return;
    }
    let peer = Peer::memcached("-c 17000 -m 256 -b 4096");
    let before = peer.figure("total_connections");
    let ran = memaslap(&[&peer], "-T 2 -c 128 -n 128 -t 3s -w 1k", 0);
    assert_eq!(ran.record.plan.connections, 16_384, "{}", ran.run);
    assert!(peer.figure("total_connections") - before >= 16_384, "{}", ran.run);
    let bytes = ran.record.client.rss_max_bytes.expect("it is known of a process");
    assert!(bytes < 200_000_000, "{bytes}");
    assert!(ran.counter("cmd_get") > 0 && ran.counter("get_misses") == 0, "{}", ran.run);
}
