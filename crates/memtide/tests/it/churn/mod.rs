//! Connection churn over both drivers: counted, closed as the scenario says, and ended in time when
//! connections cannot be opened.

use crate::child::{Finished, Running, assert_counters_equal, memtide, program, scratch, shared};
use crate::peer::Peer;
use crate::peer::rogue::{Answer, Crowded, Rogue, say};
use memtide_schema::record::{ChurnCounts, ChurnRecord, EndedBy};
use memtide_schema::{Record, Scenarios, merge};
use rustix::process::Signal;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Runs `line` over every driver that this kernel supports.
fn over_every_door(line: &str, look: impl Fn(&Finished)) {
    for io in ["epoll", "uring"] {
        let run = memtide(&format!("{line} --io {io}"));
        let none = io == "uring" && run.code == Some(2) && run.err.contains("cannot be used");
        if !none {
            look(&run);
        }
    }
}

fn is_io_missing(io: &str) -> bool {
    let run = memtide(&format!("run --plan --io {io}"));
    run.code == Some(2) && run.err.contains("cannot be used")
}

fn churn(record: &Record) -> &ChurnRecord {
    record.churn.as_ref().expect("connections are the load")
}

#[test]
fn a_thousand_connections_of_ten_calls_all_live() {
    let peer = Peer::memcached("");
    for linger in ["", "--linger 0", "--linger 1s"] {
        let line = format!(
            "run -s {} --connection-rate 1000 --call-rate 1000 --calls 10 \
             --connections-total 1000 --threads 1 --keys 100 --timeout 20s --json - {linger}",
            peer.name
        );
        over_every_door(&line, |run| {
            assert_eq!(run.code, Some(0), "{run}");
            let record = run.record();
            let expected = ChurnCounts {
                intended: 1_000,
                started: 1_000,
                opened: 1_000,
                completed: 1_000,
                ..ChurnCounts::default()
            };
            assert_eq!(churn(&record).measure, expected, "{run}");
            assert_eq!(record.totals.answered, 10_000, "{run}");
            assert_eq!(record.ended_by, EndedBy::Operations, "{run}");
            // On a slow machine, too, no connection opens early.
            assert!(record.measured_s >= 0.999 && churn(&record).connect.count == 1_000, "{run}");
            assert_counters_equal(&record);
        });
        // No connection remains open.
        assert!(peer.figure("curr_connections") <= 3);
    }
}

#[test]
fn without_rates_one_connection_follows_the_other() {
    let peer = Peer::memcached("");
    let line = format!(
        "run -s {} --calls 3 --connections-total 200 --keys 100 --linger 0 --json -",
        peer.name
    );
    over_every_door(&line, |run| {
        let record = run.record();
        let churn = churn(&record);
        assert_eq!((churn.measure.completed, churn.concurrent_max), (200, 1), "{run}");
        assert_eq!(record.totals.answered, 600, "{run}");
        assert_eq!(churn.target_per_s, None, "{run}");
    });
    let text = memtide(&line.replace("--json -", "")).exits(0);
    assert!(text.out.contains("200 connections, all completed; at most 1 open at once"), "{text}");
}

#[test]
fn nobody_there_is_counted_and_ends_the_run() {
    for pace in ["--connection-rate 200", ""] {
        let line =
            format!("run -s 127.0.0.1:1 {pace} --calls 2 --connections-total 20 --json - --quiet");
        over_every_door(&line, |run| {
            assert_eq!(run.code, Some(3), "{run}");
            assert!(run.err.contains("no connection could be opened"), "{run}");
            let record = run.record();
            assert_eq!(churn(&record).measure.causes["refused"], 20, "{run}");
            assert_eq!(churn(&record).measure.calls_not_made, 40, "{run}");
            assert_eq!(record.totals.intended, 0, "{run}");
        });
    }
}

#[test]
fn descriptors_that_run_out_are_counted_and_explained() {
    let peer = Peer::memcached("");
    let path = program().get_program().to_string_lossy().into_owned();
    for io in ["epoll", "uring"] {
        // About forty of these are open at once.
        let line = format!(
            "run -s {} --connection-rate 200 --calls 5 --call-rate 20 --arrival fixed \
             --connections-total 100 --threads 1 --load never --io {io} --json -",
            peer.name
        );
        let _turn = shared();
        let mut shell = Command::new("sh");
        let command = shell.arg("-c").arg(format!("ulimit -n 20; exec '{path}' {line}"));
        let run = Running::of(command).finish();
        if io == "uring" && run.err.contains("cannot be used") {
            continue;
        }
        assert_eq!(run.code, Some(0), "{run}");
        let record = run.record();
        let measure = &churn(&record).measure;
        let none = measure.causes["no_descriptors"];
        assert!(none > 0 && measure.completed > 0 && none + measure.completed == 100, "{run}");
        let warning = record.warnings.iter().find(|w| w.code == "descriptors_exhausted");
        assert!(warning.is_some_and(|warning| warning.remedy.contains("ulimit")), "{run}");
    }
}

#[test]
fn a_server_that_falls_silent_or_hangs_up_costs_connections() {
    let silent = Rogue::polite(|_| Answer::Silence);
    let flags = "--connection-rate 100 --calls 2 --connections-total 10 --load never --mix get=1 \
                 --timeout 300ms --json -";
    over_every_door(&format!("run -s {} {flags}", silent.name), |run| {
        let record = run.record();
        assert_eq!(churn(&record).measure.causes["call_timed_out"], 10, "{run}");
        assert_eq!(record.totals.timed_out, 10, "{run}");
    });
    let leaving = Rogue::polite(|_| Answer::Leave("END\r\n"));
    over_every_door(&format!("run -s {} {flags}", leaving.name), |run| {
        let record = run.record();
        let measure = &churn(&record).measure;
        assert_eq!(measure.lost, 10, "{run}");
        assert_eq!(record.totals.answered, 10, "{run}");
    });
    let polite = Rogue::polite(|_| say("END\r\n"));
    over_every_door(&format!("run -s {} {flags}", polite.name), |run| {
        assert_eq!(churn(&run.record()).measure.completed, 10, "{run}");
    });
}

#[test]
fn each_way_to_lose_a_server_has_its_own_count() {
    let flags = "--connection-rate 100 --calls 100000 --call-rate 200 --connections-total 5 \
                 --load never --mix set=1 --keys 100 --json - --quiet";
    for io in ["epoll", "uring"] {
        if is_io_missing(io) {
            continue;
        }
        // Killed: the kernel reports the unread bytes as a reset.
        let turn = shared();
        let peer = Peer::memcached("");
        let running = Running::start(&format!("run -s {} {flags} --io {io}", peer.name));
        peer.await_figure("cmd_set", 100);
        peer.signal(Signal::STOP);
        thread::sleep(Duration::from_millis(200));
        peer.kill();
        let run = running.finish();
        let record = run.record();
        let measure = &churn(&record).measure;
        assert_eq!((measure.causes["reset"], measure.lost), (5, 5), "{run}");
        let calls = (churn(&record).calls_planned, churn(&record).calls_intended);
        assert_eq!(calls, (500_000, 500_000 - measure.calls_not_made), "{run}");

        // Stopped: connections open, and no reply comes.
        let peer = Peer::memcached("");
        peer.signal(Signal::STOP);
        let flags = format!("{flags} --timeout 300ms --io {io}");
        let run = Running::start(&format!("run -s {} {flags}", peer.name)).finish();
        assert_eq!(churn(&run.record()).measure.causes["call_timed_out"], 5, "{run}");

        // Overloaded: connections do not open.
        let crowded = Crowded::new();
        let run = Running::start(&format!("run -s {} {flags}", crowded.name)).finish();
        assert_eq!(churn(&run.record()).measure.causes["connect_timed_out"], 5, "{run}");
        drop(turn);
    }
}

#[test]
fn records_of_connections_merge_to_their_sum() {
    let peer = Peer::memcached("");
    let records = ["a", "b"].map(|name| {
        let file = scratch(&format!("lives-{name}.json"));
        let line = format!(
            "run -s {} --connection-rate 200 --calls 3 --connections-total 40 --keys 100 --json {}",
            peer.name,
            file.display()
        );
        memtide(&line).exits(0);
        Record::from_json(&std::fs::read_to_string(file).unwrap()).unwrap()
    });
    let merged = merge(&records, Scenarios::Same).unwrap();
    let sum = churn(&merged);
    assert_eq!((sum.measure.completed, sum.calls_planned, sum.calls_intended), (80, 240, 240));
    assert_eq!(sum.connect.count, 80);
    assert_eq!(merged.plan.churn.as_ref().unwrap().connections_total, Some(80));
    assert_eq!(merged.check_conservation(), Ok(()));
}
