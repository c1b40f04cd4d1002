//! How a face ends: interrupted, without its server, without its reader, and before it begins.

use super::parser::{self, Dialect};
use super::{dialect, face, fresh};
use crate::child::{Running, program, shared};
use crate::peer::{Peer, free_port};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn interrupted_runs_print_their_report() {
    let _turn = shared();
    for (name, dialect, signal) in [
        ("mutilate", Dialect::Mutilate, Signal::INT),
        ("mcperf", Dialect::Mcperf, Signal::TERM),
        ("mcperf-dynamic", Dialect::McperfDynamic, Signal::HUP),
    ] {
        let peer = Peer::memcached("");
        let flags = "-t 50 -q 2000 -r 100 --noload";
        let running = Running::start(&format!("{name} -s {} {flags}", peer.name));
        peer.await_figure("cmd_get", 500);
        running.signal(signal);
        let ran = running.finish().dies_by(signal);
        let report = parser::report(dialect, &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
        assert!(report.total.ops >= 500 && report.total.measured_s < 49.0, "{ran}");
        assert_eq!(report.total.ops, peer.figure("cmd_get"), "{ran}");
    }
}

#[test]
fn an_interrupted_waveform_prints_the_rows_that_it_came_to() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let flags = format!("--qps_interval 0.25 --qps_target {} --noload", ["1000"; 80].join(","));
    let running = Running::start(&format!("mcperf -s {} {flags}", peer.name));
    peer.await_figure("cmd_get", 600);
    running.signal(Signal::INT);
    let ran = running.finish().dies_by(Signal::INT);
    let printed = parser::waveform(&ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
    assert!((2..80).contains(&printed.rows.len()), "{ran}");
    assert_eq!(printed.total.ops, peer.figure("cmd_get"), "{ran}");
}

#[test]
fn an_interrupted_scan_has_printed_its_rows() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let running =
        Running::start(&format!("mcperf -s {} -t 1 --scan 500:500:0 --noload", peer.name));
    peer.await_figure("cmd_get", 800);
    running.signal(Signal::INT);
    let ran = running.finish().dies_by(Signal::INT);
    let printed =
        parser::scan(Dialect::Mcperf, &ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
    assert!(!printed.rows.is_empty(), "{ran}");
    let last = ran.out.lines().last().unwrap();
    assert!(last.starts_with("read "), "nothing follows the last whole row: {ran}");
}

#[test]
fn an_endless_scan_prints_row_by_row_and_ends_with_its_reader() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let line = format!("mutilate -s {} -t 1 -B --scan 500:500:0", peer.name);
    let mut command = program();
    command.args(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    for _ in 0..3 {
        out.read_line(&mut seen).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "it runs on after {seen}");
    }
    let printed = parser::scan(Dialect::Mutilate, &seen).unwrap();
    assert_eq!(printed.rows.len(), 2, "{seen}");
    drop(out);
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            drop(child.kill());
            panic!("it does not end without its reader");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_that_is_killed_ends_it_with_what_was_measured() {
    let _turn = shared();
    for name in ["mutilate", "mcperf", "mcperf-dynamic --qps_interval 1 --qps_min 900"] {
        let peer = Peer::memcached("");
        let flags = "-t 60 -q 2000 -c 4 -r 100 --noload -B";
        let running = Running::start(&format!("{name} -s {} {flags}", peer.name));
        peer.await_figure("cmd_get", 500);
        let server = peer.name.clone();
        peer.kill();
        let ran = running.finish().exits(255);
        let total = match name.contains("dynamic") {
            true => parser::waveform(&ran.out).map(|printed| printed.total),
            false => parser::report(dialect(name), &ran.out).map(|printed| printed.total),
        };
        let total = total.unwrap_or_else(|why| panic!("{why}: {ran}"));
        assert!(total.ops >= 400 && total.measured_s < 59.0, "{ran}");
        assert!(total.rate_per_s > 0.0, "{ran}");
        assert!(ran.err.contains(&server) && ran.err.contains("connection"), "{ran}");
    }
}

#[test]
fn a_server_that_is_not_there_is_fatal() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = free.local_addr().unwrap().to_string();
    drop(free);
    let lines = "mutilate -t 1|mcperf -t 1 --noload|mcperf-dynamic -t 1|\
         mutilate -t 1 --scan 1000:1000:0|mcperf -t 1 --search 95:1000|mutilate --loadonly|\
         mutilate -M -t 1 --quiet";
    for line in lines.split('|') {
        let ran = face(&format!("{line} -s {server}")).exits(255);
        let rows = ran.out.lines().filter(|line| !line.starts_with("#type"));
        assert_eq!(rows.count(), 0, "{ran}");
        assert!(ran.err.contains(&server), "{ran}");
        assert!(!ran.err.contains("panicked"), "{ran}");
    }
}

#[test]
fn wrong_lines_are_answered_before_anything_is_done() {
    let peer = Peer::memcached("");
    for (line, code, said) in [
        ("mutilate -s @ -q 10k", 1, "mutilate: invalid numeric value: 10k"),
        ("mcperf -s @ -t 1 --time 2", 1, "mcperf: `--time' (`-t') option given more than once"),
        ("mutilate -s @ -d 0", 255, "mutilate.cc(423): --depth must be >= 1"),
        ("mcperf -t 1", 255, "--server or --agentmode must be specified."),
        ("mutilate -s @ -u 1.5 --quiet", 255, "--update must be >= 0.0 and <= 1.0"),
    ] {
        let ran = face(&line.replace('@', &peer.name)).exits(code);
        assert_eq!(ran.out, "", "{ran}");
        let lines: Vec<&str> = ran.err.lines().collect();
        assert!(lines.len() == 1 && lines[0].contains(said), "{ran}");
    }
    assert_eq!(peer.figure("cmd_get") + peer.figure("cmd_set"), 0);
    for (line, out) in [("mutilate --version", "mutilate 0.1\n"), ("mcperf --vers", "mcperf 0.3\n")]
    {
        assert_eq!(face(line).exits(0).out, out);
    }
    let page = face("mcperf -h").exits(0);
    assert!(page.out.starts_with("mcperf 0.3\n\nUsage: mcperf -s server"), "{page}");
}

#[test]
fn files_that_cannot_be_written_are_said() {
    let peer = Peer::memcached("");
    let nowhere = fresh("nowhere").join("file");
    for option in ["--json", "--save", "--save_all"] {
        let line = format!("mutilate -s {} -t 1 -q 100", peer.name);
        let ran = face(&format!("{line} {option} {}", nowhere.display())).exits(255);
        assert_eq!(ran.out, "", "{ran}");
        assert!(ran.err.contains(option), "{ran}");
    }
}

/// The original stores the option and never uses it.
#[test]
fn a_database_that_is_away_costs_a_run_nothing_but_its_points() {
    let _turn = shared();
    let (peer, away) = (Peer::memcached(""), free_port());
    let line = format!("mutilate -s {} -q 500 -t 1 --push_lat_influx 127.0.0.1:{away}", peer.name);
    let ran = face(&line).exits(0);
    let report = parser::report(Dialect::Mutilate, &ran.out).unwrap();
    assert!(report.total.ops > 0, "{ran}");
    let said: Vec<&str> = ran.err.lines().collect();
    assert!(said.len() == 1 && said[0].contains("--push_lat_influx: 0 of "), "{ran}");
    assert!(said[0].ends_with(" are lost") && !said[0].contains("--out"), "{ran}");
}

/// It is all that the original prints about a fill.
pub(crate) fn a_fill_on_a_busy_machine_warns() {
    let (peer, is_over) = (Peer::memcached(""), AtomicBool::new(false));
    let cpus = thread::available_parallelism().unwrap().get();
    let burn = || {
        while !is_over.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    let [busy, mutilate] = thread::scope(|scope| {
        (0..cpus).for_each(|_| drop(scope.spawn(burn)));
        let fill = |tool: &str| {
            face(&format!("{tool} -s {} --loadonly -r 1000000 -V 10", peer.name)).exits(0)
        };
        let both = ["mcperf", "mutilate"].map(fill);
        is_over.store(true, Ordering::Relaxed);
        both
    });
    assert_eq!(busy.out, "Warning! Detected max cpu usage > 95%\n", "{busy}");
    assert_eq!((mutilate.out.as_str(), mutilate.err.as_str()), ("", ""));
}
