//! How twemperf's face ends: errors in the counters that scripts read, signals, wrong words, and
//! the names it is called by.

use super::{errors, figure, report, target, total, twemperf};
use crate::prelude::*;

#[test]
fn a_dead_port_refuses() {
    for pace in ["", "-r 100"] {
        let line = format!("twemperf -s 127.0.0.1 -p 1 -n 5 -N 3 {pace}");
        let run = memtide(&line).exits(0);
        let text = report(&run.err);
        assert_eq!((errors(text, "connrefused"), errors(text, "total")), (5.0, 5.0), "{run}");
        assert_eq!((total(text, "connections"), total(text, "requests")), (5.0, 0.0), "{run}");
        assert!(!text.contains("nan") && !text.contains("inf"), "{run}");
        let run = memtide(&format!("{line} --fail-on-error")).exits(1);
        assert_eq!(errors(report(&run.err), "connrefused"), 5.0, "{run}");
    }
}

#[test]
fn a_stopped_server_lets_the_client_time_out() {
    let peer = Peer::memcached("");
    peer.signal(Signal::STOP);
    for pace in ["-n 2", "-n 5 -r 100"] {
        let run = twemperf(&peer, &format!("{pace} -N 3 --timeout=0.3 --linger=0")).exits(0);
        let text = report(&run.err);
        let lost = total(text, "connections");
        assert!(lost > 0.0 && errors(text, "client-timo") == lost, "{run}");
        assert_eq!(errors(text, "total"), lost, "{run}");
        assert_eq!(total(text, "responses"), 0.0, "{run}");
    }
    peer.signal(Signal::CONT);
}

#[test]
fn a_full_server_turns_away() {
    let peer = Peer::memcached("-c 40");
    let json = scratch("twemperf-full.json");
    let words = format!("-n 100 -r 400 -R 20 -N 20 --json={}", json.display());
    let run = twemperf(&peer, &words).exits(0);
    let text = report(&run.err);
    let away = errors(text, "other");
    assert!(away > 0.0 && errors(text, "total") == away, "{run}");
    assert_eq!(total(text, "responses"), (100.0 - away) * 20.0, "{run}");
    assert_eq!(record_at(&json).churn.unwrap().measure.causes["turned_away"] as f64, away, "{run}");
}

/// Number of connections of a server at `port` with requests that it has not read.
fn unread_at(port: u16) -> usize {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let has_some = |row: &str| {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let queued = cells[4].split_once(':').is_some_and(|(_, unread)| unread != "00000000");
        // An established connection; a listener's queue counts callers.
        cells[1].ends_with(&format!(":{port:04X}")) && cells[3] == "01" && queued
    };
    table.lines().skip(1).filter(|row| has_some(row)).count()
}

#[test]
fn a_killed_server_resets() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let line = format!("twemperf {} -n 5 -r 100 -R 200 -N 100000", target(&peer));
    let running = Running::start(&line);
    peer.await_figure("cmd_set", 100);
    // If a process is killed with requests unread, the kernel resets the connection.
    peer.signal(Signal::STOP);
    let port = peer.address().port();
    until("a connection has nothing to read", || unread_at(port) == 5);
    peer.kill();
    let run = running.finish().exits(0);
    let text = report(&run.err);
    assert_eq!((errors(text, "connreset"), errors(text, "total")), (5.0, 5.0), "{run}");
    assert!(total(text, "responses") >= 100.0, "{run}");
}

#[test]
fn few_descriptors_are_counted() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let line = format!("twemperf {} -n 100 -r 200 -R 20 -N 5 -l 0", target(&peer));
    let run = start_after("ulimit -n 20", &line).finish().exits(0);
    let text = report(&run.err);
    let none = errors(text, "fd-unavail");
    assert!(none > 0.0 && none < 100.0 && errors(text, "total") == none, "{run}");
    assert_eq!(total(text, "responses"), (100.0 - none) * 5.0, "{run}");
}

#[test]
fn no_descriptor_at_all_ends_the_run_as_well() {
    let _turn = shared();
    let peer = Peer::memcached("");
    for pace in ["", "-r 200"] {
        // Besides the three standard streams the program needs one descriptor for itself.
        let line = format!("twemperf {} -n 3 -N 2 {pace}", target(&peer));
        let close = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4";
        let run = start_after(close, &line).finish().exits(0);
        let text = report(&run.err);
        assert_eq!((errors(text, "fd-unavail"), errors(text, "total")), (3.0, 3.0), "{run}");
        assert_eq!(total(text, "connections"), 3.0, "{run}");
    }
}

#[test]
fn interrupted_runs_print_their_report() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let line = format!("twemperf {} -n 4 -r 100 -R 100 -N 100000", target(&peer));
    let running = Running::start(&line);
    peer.await_figure("cmd_set", 100);
    running.signal(Signal::INT);
    let run = running.finish().dies_by(Signal::INT);
    let text = report(&run.err);
    assert_eq!(total(text, "responses"), peer.figure("cmd_set") as f64, "{run}");
    assert_eq!((total(text, "connections"), errors(text, "total")), (4.0, 0.0), "{run}");
}

#[test]
fn time_ends_a_run() {
    let peer = Peer::memcached("");
    let run = twemperf(&peer, "--time=0.5 -n 2 -r 100 -R 100 -N 100000 -t 5").exits(0);
    let text = report(&run.err);
    assert!(figure(text, "Response type:", "stored") > 0.0, "{run}");
    assert!(total(text, "test-duration") < 30.0, "{run}");
}

#[test]
fn notes_go_to_the_log() {
    let peer = Peer::memcached("");
    let log = scratch("twemperf.log");
    let run = twemperf(&peer, &format!("-z 100 -o {}", log.display())).exits(0);
    assert!(run.err.starts_with("\nTotal: "), "{run}");
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("--sizes=d100"), "{log}");
}
