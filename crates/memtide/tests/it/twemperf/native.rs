//! The native command line of a twemperf run: the same scenario, and the same record.

use super::twemperf;
use crate::prelude::*;
use serde_json::json;

const NATIVE: &str = include_str!("native.txt");

/// The settings that every line of twemperf implies.
fn unsaid() -> &'static str {
    section(NATIVE, "unsaid").next().unwrap()
}

/// Lines of twemperf, each with the additional native options.
fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    section(NATIVE, "lines").map(|row| row.split_once(" => ").unwrap())
}

/// The words of a record's scenario that describe the load.
fn words(record: &Record) -> Value {
    let mut words = record.scenario.clone();
    words.retain(|name, _| !["json", "io"].contains(&name.as_str()));
    words.into()
}

/// All counts of a run that do not depend on speed.
fn counts(record: &Record) -> Value {
    let churn = record.churn.as_ref().expect("connections are the load");
    let kinds: Vec<_> = record.response.iter().map(|(kind, times)| (kind, times.count)).collect();
    // The time in flight is measured, not counted.
    let mut phases = record.phases.clone();
    phases.measure.totals.in_flight_ns = 0;
    json!([
        record.ended_by,
        record.exit,
        phases,
        record.message_sizes,
        kinds,
        [churn.calls_planned, churn.calls_intended, churn.connect.count, churn.lifetime.count],
        churn.measure,
    ])
}

#[test]
fn both_give_the_same_record() {
    // Two servers with the same history.
    let unsaid = unsaid();
    let peers = [Peer::memcached(""), Peer::memcached("")];
    for io in ["epoll", "uring"] {
        for (theirs, ours) in lines() {
            let file = scratch("twemperf-face.json");
            let json = format!("--json={}", file.display());
            twemperf(&peers[0], &format!("{theirs} {json}")).exits(0);
            let face = record_at(&file);
            let name = &peers[1].name;
            let run = memtide(&format!("run -s {name} {unsaid} {ours} --io {io} --json -"));
            if io == "uring" && run.code == Some(2) && run.err.contains("cannot be used") {
                return;
            }
            let mut native = run.exits(0).record();
            native.scenario["server"] = face.scenario["server"].clone();
            assert_eq!(words(&native), words(&face), "{theirs}");
            assert_eq!(counts(&native), counts(&face), "{theirs}");
            assert!(native.churn.is_some_and(|churn| churn.measure.completed > 0), "{theirs}");
        }
    }
}

/// The record of a simulated run without facts about this machine, and its trace.
fn simulated(run: &Finished) -> (Record, String) {
    assert_eq!(run.code, Some(0), "{run}");
    let plain = Record { started_unix_ms: 0, ended_unix_ms: 0, ..run.record() };
    let record = Record { window_start_unix_ns: None, client: Default::default(), ..plain };
    let trace = run.err.lines().find(|line| line.contains("simulated, trace")).unwrap();
    (Record { machine_cpu: None, ..record }, trace.to_owned())
}

#[test]
fn both_are_the_same_to_the_last_byte_where_time_is_simulated() {
    let unsaid = unsaid();
    let peer = Peer::memcached("");
    for (theirs, ours) in lines() {
        // The scenario that the face wrote, run again from a file.
        let written = scratch("twemperf-scenario.json");
        let json = format!("--json={}", written.display());
        twemperf(&peer, &format!("{theirs} {json}")).exits(0);
        let face = record_at(&written);
        let fields = face.scenario.iter().map(|(name, value)| format!("{name} = {value}\n"));
        let file = scratch("twemperf-scenario.toml");
        fs::write(&file, fields.collect::<String>()).unwrap();
        let from_face = memtide(&format!("sim {} --json -", file.display()));
        let line = format!("sim -s {} {unsaid} {ours} --json -", peer.name);
        let (ours, theirs) = (simulated(&memtide(&line)), simulated(&from_face));
        assert_eq!(ours.1, theirs.1);
        assert_eq!(ours.0.to_json(), theirs.0.to_json());
    }
}
