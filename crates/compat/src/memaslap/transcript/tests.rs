//! Events of a run become text: each period contains its own operations and no others.

use super::*;
use crate::memaslap::{Environment, lower, parse};
use crate::tests::words;
use memtide_record::{Outage, PhaseCounts, ServerRecord, Totals, WarningRecord};

fn options(line: &str) -> Options {
    let environment = Environment { servers: Some("h:1"), home: None, read: &|_| None };
    parse("memaslap", &words(line), &environment).unwrap()
}

fn so_far(elapsed_s: u64, gets_us: &[u64], missed: usize, sets_us: &[u64]) -> Event {
    let of = |times: &[u64]| {
        let mut histogram = Histogram::new();
        times.iter().for_each(|us| histogram.record(us * 1_000));
        histogram
    };
    let service = [
        (Kind::Get, of(gets_us)),
        (Kind::GetMiss, of(&gets_us[..missed])),
        (Kind::Set, of(sets_us)),
    ];
    let elapsed = Span::from_s(elapsed_s);
    Event::Times(Box::new(TimesSoFar { elapsed, service: service.into() }))
}

/// The columns of the rows in `text`: time, operations, rate, misses, least, greatest, mean.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with("Period") || line.starts_with("Global"));
    let columns = rows.map(|row| row.split_whitespace().collect::<Vec<_>>());
    columns.map(|row| [1, 2, 3, 5, 6, 7, 8].map(|at| row[at]).to_vec()).collect()
}

#[test]
fn a_period_holds_what_came_since_the_last_one() {
    let options = options("-S 2s");
    let mut transcript = Transcript::new(&options, &lower(&options).unwrap().scenario);
    assert_eq!(transcript.looks_every(), Some(Span::from_s(2)));
    assert!(transcript.begin().stdout.starts_with("servers: h:1\n"));
    let first = transcript.on(&so_far(2, &[10, 30], 1, &[])).unwrap().stdout;
    let get = vec!["2", "2", "1", "1", "10", "30", "20"];
    assert_eq!(rows(&first), vec![get.clone(); 4], "of get and total");
    // At four seconds no event came.
    let second = transcript.on(&so_far(6, &[10, 30, 40, 5], 1, &[100])).unwrap().stdout;
    assert_eq!(
        rows(&second),
        [
            vec!["4", "2", "0", "0", "5", "40", "22"],
            vec!["6", "4", "0", "1", "5", "40", "21"],
            vec!["4", "1", "0", "0", "100", "100", "100"],
            vec!["6", "1", "0", "0", "100", "100", "100"],
            vec!["4", "3", "0", "0", "5", "100", "48"],
            vec!["6", "5", "0", "1", "5", "100", "37"],
        ]
    );
    let third = transcript.on(&so_far(8, &[10, 30, 40, 5], 1, &[100])).unwrap().stdout;
    assert_eq!(rows(&third)[0], ["2", "0", "0", "0", "0", "0", "0"]);
}

#[test]
fn runs_that_end_by_a_count_or_were_not_asked_to_look_do_not() {
    for line in ["-x 10 -S 1s", "-t 5s"] {
        let options = options(line);
        let mut transcript = Transcript::new(&options, &lower(&options).unwrap().scenario);
        assert_eq!(transcript.looks_every(), None);
        assert_eq!(transcript.on(&so_far(1, &[10], 0, &[])).unwrap(), Printed::default());
    }
}

#[test]
fn the_end_counts_what_was_measured_and_nothing_that_was_loaded() {
    let options = options("-x 1000 -v 1 -X 100");
    let mut transcript = Transcript::new(&options, &lower(&options).unwrap().scenario);
    let counts = |keys_asked, timed_out| Totals { keys_asked, timed_out, ..Totals::default() };
    let phase = |totals, sets| PhaseCounts { totals, ops: [(Kind::Set, sets)].into() };
    let mut record = Record { measured_s: 2.0, ..Record::default() };
    record.phases.load = phase(counts(1, 0), 1_000);
    record.phases.measure = phase(counts(900, 0), 100);
    let printed = transcript.on(&Event::Done(Box::new(record))).unwrap();
    assert!(printed.stdout.starts_with("cmd_get: 900\ncmd_set: 100\n"), "{}", printed.stdout);
    assert!(printed.stdout.contains("\nobject_bytes: 16400\n"), "{}", printed.stdout);
    assert!(printed.stdout.ends_with("\nRun time: 2.0s Ops: 1000 TPS: 500 Net_rate: 0.0M/s\n"));
    assert_eq!(printed.stderr, "");
    assert!(printed.notes.starts_with("memtide: p50 / p99"), "{}", printed.notes);
}

#[test]
fn servers_that_went_and_came_are_told_in_that_order() {
    let away = |from_unix_ms, until_unix_ms| Outage { from_unix_ms, until_unix_ms };
    let server = |name: &str, outages| ServerRecord {
        name: format!("{name}:11211"),
        outages,
        ..ServerRecord::default()
    };
    let servers =
        vec![server("a", vec![away(2_000, Some(4_001))]), server("b", vec![away(1_000, None)])];
    for (line, said) in [
        (
            "-s a,b -p 2",
            "Server b:11211 disconnect\nServer a:11211 disconnect\n\
                         Server a:11211 reconnect after 3s\n",
        ),
        (
            "-s a,a,b -R",
            "Server b:11211 disconnect\nServer a:11211 disconnect\n\
                         Server a:11211 reconnect after 3s\n",
        ),
        ("-s a,b", ""),
    ] {
        let options = options(line);
        let mut transcript = Transcript::new(&options, &lower(&options).unwrap().scenario);
        let record = Record { servers: servers.clone(), ..Record::default() };
        let printed = transcript.on(&Event::Done(Box::new(record))).unwrap();
        assert_eq!(printed.stderr, said);
        assert!(printed.notes.starts_with("memtide: p50"), "{}", printed.notes);
    }
}

#[test]
fn what_a_user_should_know_of_a_run_is_told() {
    let options = options("-x 10");
    let mut transcript = Transcript::new(&options, &lower(&options).unwrap().scenario);
    let warning = WarningRecord {
        code: "too_many_connections".to_owned(),
        message: "h:1 refused 3 connections".to_owned(),
        remedy: "raise its limit".to_owned(),
    };
    let record = Record { warnings: vec![warning], ..Record::default() };
    let printed = transcript.on(&Event::Done(Box::new(record))).unwrap();
    let line = "memtide: h:1 refused 3 connections; raise its limit\nmemtide: p50";
    assert!(printed.notes.starts_with(line), "{}", printed.notes);
}

#[test]
fn remedies_name_only_options_that_memaslap_has() {
    for (ours, theirs) in [
        (
            "measure longer (--duration) or at a higher --rate",
            Some("measure longer (--time) or at a higher --tps"),
        ),
        (
            "use more --threads, --wait hybrid or spin, or CPUs that the server does not use",
            Some("use more --threads, or CPUs that the server does not use"),
        ),
        ("look into the server's log", Some("look into the server's log")),
        ("close with --linger 0, or widen the range", Some("widen the range")),
        ("set a --timeout below one hour", None),
    ] {
        assert_eq!(remedy(ours).as_deref(), theirs, "{ours}");
    }
}

/// Service times rank what was sent and never answered above all answers; memaslap's rows are of
/// answers.
#[test]
fn times_are_those_of_what_was_answered() {
    let options = options("-t 5s -S 1s");
    let shown = |lost| {
        let mut transcript = Transcript::new(&options, &lower(&options).unwrap().scenario);
        let mut answered = Histogram::new();
        [1_000_000, 2_000_000, 3_000_000].into_iter().for_each(|ns| answered.record(ns));
        let service = Distribution::of(&answered, lost, Span::ZERO);
        let service = [(Kind::Get, service)].into();
        let record = Record { measured_s: 2.0, service, ..Record::default() };
        transcript.on(&Event::Done(Box::new(record))).unwrap().stdout
    };
    assert!(shown(0).contains("2000"), "the mean in microseconds: {}", shown(0));
    assert_eq!(shown(1_666), shown(0));
}
