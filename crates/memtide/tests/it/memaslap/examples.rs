//! The command lines of memaslap's manual page, shortened in time: each is accepted, prints the
//! right output, and agrees with the servers' counts.

use super::{Ran, configured, counted, memaslap};
use crate::prelude::*;

/// The configuration file of the manual page, without most of its comments.
const PAGE: &str = include_str!("files/page.cnf");

/// Lengths as in the page's other examples.
const MIXED: &str = include_str!("files/mixed.cnf");

const LINES: &str = include_str!("lines.txt");

fn check(peers: &[&Peer], line: &str) -> Ran {
    let line = line.replace("@P", &configured(PAGE)).replace("@M", &configured(MIXED));
    let before = counted(peers);
    let ran = memaslap(peers, &line, 0);
    ran.check(peers, before);
    check_statistics(&ran, &line);
    for name in ["verify_misses", "verify_failed", "expired_get", "unexpired_unget"] {
        let found = ran.output.counters.iter().find(|(known, _)| known == name);
        assert!(found.is_none_or(|(_, count)| *count == 0), "{name}: {}", ran.run);
    }
    ran
}

/// Asserts that statistics appear when requested, and agree with the counters.
fn check_statistics(ran: &Ran, line: &str) {
    let (run, output) = (&ran.run, &ran.output);
    let is_asked = line.contains("-S ") || line.contains("--stat_freq");
    assert_eq!(!output.last.is_empty(), is_asked, "{run}");
    let is_every_second = line.contains("-S 1s") && output.header.length.is_ok();
    let seconds = if is_every_second { output.header.length.unwrap() } else { 0 };
    assert_eq!(output.periods.len() as u64, seconds, "{run}");
    let Some(total) = output.last.iter().find(|list| list.name == "Total") else { return };
    assert_eq!(total.events, ran.record.totals.answered, "{run}");
    assert_eq!(total.buckets.iter().sum::<u64>(), total.events, "{run}");
    for (name, events) in output.last.iter().map(|list| (&list.name, list.events)) {
        let rows = || output.periods.iter().flatten().filter(|block| block.name == *name);
        let Some(last) = rows().next_back() else { continue };
        let sum: u64 = rows().map(|block| block.period.ops).sum();
        assert_eq!(sum, last.global.ops, "{name}: {run}");
        // What a worker reports after the last period is in none.
        assert!(sum <= events, "{name} {sum} of {events}: {run}");
    }
}

#[test]
fn the_examples_of_the_page() {
    let peer = Peer::memcached("-m 1024 -t 2");
    for line in section(LINES, "one") {
        check(&[&peer], line);
    }
}

#[test]
fn the_examples_with_two_servers_load_both() {
    let (first, second) = (Peer::memcached("-m 512"), Peer::memcached("-m 512"));
    for line in section(LINES, "two") {
        let before = [&first, &second].map(|peer| peer.figure("cmd_get"));
        let ran = check(&[&first, &second], line);
        let after = [&first, &second].map(|peer| peer.figure("cmd_get"));
        assert!(after[0] > before[0] && after[1] > before[1], "{}", ran.run);
        let is_said = ran.run.err.contains("All 2 servers are loaded");
        assert_eq!(is_said, !line.contains("-T 2") && !line.contains("--threads"), "{}", ran.run);
    }
}

#[test]
fn the_examples_over_udp() {
    let peer = Peer::memcached_udp("-m 1024 -c 8192");
    for line in section(LINES, "udp").chain(section(LINES, "split")) {
        let ran = check(&[&peer], line);
        for name in ["packet_disorder", "packet_drop", "udp_timeout"] {
            assert_eq!(ran.counter(name), 0, "{name}: {}", ran.run);
        }
    }
}

#[test]
fn files_that_memaslap_would_read_otherwise_are_told_of() {
    let peer = Peer::memcached("");
    let ran = check(&[&peer], "-F @P -x 1000 -w 1k -c 4");
    assert!(ran.run.err.contains("memaslap itself would run this otherwise"), "{}", ran.run);
    assert_eq!(ran.told(), [900, 100, 0], "{}", ran.run);
    assert_eq!(ran.counter("object_bytes"), 100 * (128 + 2048), "{}", ran.run);
}

#[test]
fn counts_are_exact_however_they_are_divided() {
    let peer = Peer::memcached("");
    for (line, ops) in [
        ("-x 100 -c 3", 100),
        ("-x 5 -c 10", 5),
        ("-x 10007 -c 6 -T 2 -d 20", 10_007),
        ("-x 777 -d 50 -B -S 1s", 777),
    ] {
        let before = counted(&[&peer]);
        let ran = memaslap(&[&peer], line, 0);
        let [gets, sets, misses] = ran.told();
        assert_eq!((gets + sets, misses), (ops, 0), "{}", ran.run);
        let after = counted(&[&peer]);
        assert_eq!([0, 1].map(|at| after[at] - before[at]), [gets, sets], "{}", ran.run);
    }
}

#[test]
fn a_run_of_gets_alone_fills_the_windows_outside_its_counters() {
    let peer = Peer::memcached("");
    let file = configured("key\n32 32 1\nvalue\n100 100 1\ncmd\n1 1\n");
    let before = counted(&[&peer]);
    let ran = memaslap(&[&peer], &format!("-F {file} -w 1k -c 4 -x 5000 -v 1"), 0);
    ran.check(&[&peer], before);
    assert_eq!((ran.told(), ran.untold()[1]), ([5000, 0, 0], 4 * 1024), "{}", ran.run);
    assert_eq!(ran.wrong(), [0, 0], "{}", ran.run);
}
