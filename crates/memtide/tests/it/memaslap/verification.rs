//! memaslap's verification finds every planted fault of a server, and nothing else.

use super::{Ran, memaslap};
use crate::prelude::*;

fn expiry(ran: &Ran) -> [u64; 2] {
    [ran.counter("expired_get"), ran.counter("unexpired_unget")]
}

#[test]
fn a_healthy_server_is_not_accused() {
    let peer = Peer::memcached_udp("-m 1024");
    for line in ["", "-B", "-U", "-U -B", "-d 10 -T 2", "-B -d 10", "--raw-keys"] {
        let line = format!("-x 60000 -v 1 -e 0.1 -o 0.3 -b --fail-on-error {line}");
        let ran = memaslap(&[&peer], &line, 0);
        assert_eq!((ran.wrong(), expiry(&ran)), ([0, 0], [0, 0]), "{}", ran.run);
        assert!(ran.record.totals.verification.checked > 30_000, "{}", ran.run);
        assert!(!ran.run.err.contains("verification failed"), "{}", ran.run);
    }
}

#[test]
fn each_kind_of_fault_is_found_every_time() {
    for (fault, way) in [
        ("flip:0.1%@get", "-x 200000 -c 32 -X 64"),
        ("flip:0.1%", "-x 60000 -B"),
        ("flip:0.1%@get", "-x 60000 -U"),
        ("other-key:0.1%@get", "-x 60000"),
        ("truncate:0.1%@get", "-x 200000 -d 5"),
    ] {
        let peer = Peer::embedded(&format!("--udp --fault {fault}"));
        let ran = memaslap(&[&peer], &format!("{way} -v 1"), 0);
        let done = peer.faults(fault.split(':').next().unwrap());
        assert!(done > 10, "{fault}: {}", ran.run);
        // A datagram that the kernel drops takes its fault with it.
        let [missed, found] = ran.wrong();
        let unseen = ran.record.totals.unanswered();
        let is_each = found <= done && found + unseen >= done;
        assert!(missed == 0 && is_each, "{fault}: {done} planted, {unseen} unseen: {}", ran.run);
    }
}

#[test]
fn what_is_gone_too_early_is_no_failure_of_its_value() {
    let peer = Peer::embedded("--fault expire-early:1%@get");
    let ran = memaslap(&[&peer], "-x 100000 -v 1 -e 1", 0);
    let done = peer.faults("expire-early");
    assert!(done > 100, "{}", ran.run);
    assert_eq!((ran.wrong(), expiry(&ran)), ([0, 0], [0, done]), "{}", ran.run);
    assert_eq!(ran.counter("get_misses"), done, "{}", ran.run);
}

#[test]
fn a_failure_ends_the_run_with_one_when_that_is_asked_for() {
    let peer = Peer::embedded("--fault flip:1%@get");
    let words = format!("memaslap -s {} -x 5000 -v 1", peer.name);
    let run = memtide(&words).exits(0);
    assert!(!run.err.contains("data verification failed"), "{run}");
    let told = memtide(&format!("{words} -b --fail-on-error")).exits(1);
    let failures = told.err.matches(" data verification failed\n\tkey len: 64\n\tkey: ").count();
    let failed = told.out.lines().find_map(|line| line.strip_prefix("verify_failed: "));
    assert_eq!(failed, Some(&*failures.to_string()), "{told}");
    assert!(failures > 0, "{told}");
}
