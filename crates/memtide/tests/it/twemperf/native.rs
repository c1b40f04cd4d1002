//! The native command line of a twemperf run: the same scenario, and the same record.

use super::twemperf;
use crate::prelude::*;
use serde_json::json;

/// Settings that every line of twemperf implies.
const UNSAID: &str = "--send-buffer 4096 --receive-buffer 16384 --trailing-space --keys 4294967295 \
    --key-form hex --key-first 1 --key-prefix mcp: --key-size fixed:12 --popularity sequential \
    --value-fill 0 --value-draws rand48:4660,22136,25923 --load never --threads 1 --wait sleep \
    --cooldown drain --message-sizes --quiet";

/// Lines of twemperf, each with the additional native options. The gets find the keys that the sets
/// stored.
const LINES: [(&str, &str); 5] = [
    (
        "--linger=0 --timeout=5 --conn-rate=1000 --call-rate=1000 --num-calls=10 --num-conns=300 \
         --sizes=u1,16",
        "--mix set=1 --value-size uniform-real:1,16 --linger 0 --timeout 5s --connection-rate 1000 \
         --connection-arrival fixed --call-rate 1000 --arrival fixed --calls 10 --depth 10 \
         --connections 300 --connections-total 300",
    ),
    (
        "--method=get --call-rate=0 --num-calls=50 --conn-rate=0 --num-conns=80",
        "--mix get=1 --timeout 1h --calls 50 --depth 1 --connections 1 --connections-total 80",
    ),
    (
        "-m incr -z d5 -r e0.002 -R u0.001,0.003 -N 5 -n 100 -t 9 -l 1",
        "--mix incr=1 --numeric-keys shared --delta fixed:5 --linger 1s --timeout 9s \
         --connection-rate 500 --connection-arrival poisson --call-rate 500 \
         --arrival uniform:0.5 --gap-draws rand48:4660,22136,25923 --calls 5 --depth 5 \
         --connections 100 --connections-total 100",
    ),
    (
        "-n 2 -N 2 -r s0.05 -R s0.02 -t 9",
        "--mix set=1 --value-size fixed:1 --timeout 9s --connection-rate 20 --call-rate 50 \
         --connection-arrival ascending:20 --arrival ascending:50 --calls 2 --depth 2 \
         --connections 2 --connections-total 2",
    ),
    (
        "-m delete -q -n 20 -N 7 -r 100 -t 9",
        "--mix delete=1 --noreply --timeout 9s --connection-rate 100 --connection-arrival fixed \
         --calls 7 --depth 1 --connections 20 --connections-total 20",
    ),
];

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
    json!([
        record.ended_by,
        record.exit,
        record.totals,
        record.phases,
        record.message_sizes,
        kinds,
        [churn.calls_planned, churn.calls_intended, churn.connect.count, churn.lifetime.count],
        churn.measure,
    ])
}

#[test]
fn both_give_the_same_record() {
    // Two servers with the same history.
    let peers = [Peer::memcached(""), Peer::memcached("")];
    for io in ["epoll", "uring"] {
        for (theirs, ours) in LINES {
            let file = scratch("twemperf-face.json");
            let json = format!("--json={}", file.display());
            twemperf(&peers[0], &format!("{theirs} {json}")).exits(0);
            let face = record_at(&file);
            let name = &peers[1].name;
            let run = memtide(&format!("run -s {name} {UNSAID} {ours} --io {io} --json -"));
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
    let peer = Peer::memcached("");
    for (theirs, ours) in LINES {
        // The scenario that the face wrote, run again from a file.
        let written = scratch("twemperf-scenario.json");
        let json = format!("--json={}", written.display());
        twemperf(&peer, &format!("{theirs} {json}")).exits(0);
        let face = record_at(&written);
        let fields = face.scenario.iter().map(|(name, value)| format!("{name} = {value}\n"));
        let file = scratch("twemperf-scenario.toml");
        fs::write(&file, fields.collect::<String>()).unwrap();
        let from_face = memtide(&format!("sim {} --json -", file.display()));
        let line = format!("sim -s {} {UNSAID} {ours} --json -", peer.name);
        let (ours, theirs) = (simulated(&memtide(&line)), simulated(&from_face));
        assert_eq!(ours.1, theirs.1);
        assert_eq!(ours.0.to_json(), theirs.0.to_json());
    }
}
