//! Points of agents' operations; each agent writes to a database that its own operator names.

use super::{Agent, Lab, record};
use crate::child::{Finished, memtide, shared};
use crate::influx::stub::{Reply, Request, Stub, point};
use crate::influx::{counts, posted};
use crate::peer::Peer;
use std::collections::{BTreeMap, BTreeSet};

const WORDS: &str = "--keys 100 --mix get=5,set=1,delete=1";

fn taking() -> Stub {
    Stub::start(|_, _| Reply::Whole(204, "", ""))
}

/// An agent that may write points to `database`.
fn writing(lab: &Lab, name: &str, database: &Stub) -> Agent {
    lab.agent_with(name, &format!("--influx {}", database.url("/write?db=own")))
}

/// Carries out a run or scan by two agents with these words.
fn by_two(lab: &Lab, peer: &Peer, command: &str, words: &str) -> Finished {
    let line = format!("{command} -s {} --quiet --agents 2 {WORDS} {words}", peer.name);
    lab.master(&line).finish()
}

/// The values of a tag in the points of a measurement.
fn values(requests: &[Request], measurement: &str, tag: &str) -> BTreeSet<String> {
    let points = requests.iter().flat_map(|request| &request.lines).filter_map(|it| point(it));
    let points = points.filter(|(name, ..)| name == measurement);
    points.map(|(_, tags, ..)| tags.get(tag).cloned().unwrap_or_default()).collect()
}

#[test]
fn each_agent_writes_its_operations_and_the_master_the_seconds() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("points"), Peer::memcached(""));
    let (ours, theirs) = (taking(), [taking(), taking()]);
    let agents = [0, 1].map(|number| writing(&lab, &format!("a{number}"), &theirs[number]));
    let json = lab.path("run.json");
    let words = format!(
        "--rate 4k --duration 1s --tag build=7 --out influx=agents --out influx={} --json {}",
        ours.url("/write?db=all"),
        json.display()
    );
    by_two(&lab, &peer, "run", &words).exits(0);
    drop(agents);
    let record = record(&json);
    let (ours, theirs) = (ours.requests(), theirs.each_ref().map(Stub::requests));
    assert_eq!(posted(&ours), BTreeMap::new(), "the master writes no operations");
    let mut found = BTreeMap::new();
    for (number, requests) in theirs.iter().enumerate() {
        for (key, count) in posted(requests) {
            *found.entry(key).or_insert(0) += count;
        }
        let shares = values(requests, "memtide_operation", "share");
        assert_eq!(shares.len(), 1, "agent {number}: {shares:?}");
        assert_eq!(values(requests, "memtide_interval", "run"), BTreeSet::new());
    }
    assert_eq!(found, counts(&record));
    // One word finds all points of the run.
    let run = BTreeSet::from([record.tags["run"].clone()]);
    assert_eq!(values(&ours, "memtide_interval", "run"), run);
    for requests in &theirs {
        assert_eq!(values(requests, "memtide_operation", "run"), run);
        let build = values(requests, "memtide_operation", "build");
        assert_eq!(build, BTreeSet::from(["7".to_owned()]));
    }
}

#[test]
fn operations_of_a_scan_say_their_step() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("points-steps"), Peer::memcached(""));
    let databases = [taking(), taking()];
    let agents = [0, 1].map(|number| writing(&lab, &format!("a{number}"), &databases[number]));
    let words = "--out influx=agents --duration 500ms --rates 1k,2k";
    by_two(&lab, &peer, "scan", words).exits(0);
    drop(agents);
    for database in &databases {
        let steps = values(&database.requests(), "memtide_operation", "step");
        assert_eq!(steps, ["1", "2"].map(str::to_owned).into());
    }
}

#[test]
fn what_an_agent_cannot_deliver_is_said_by_its_master() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("points-refused"), Peer::memcached(""));
    let (open, closed) = (taking(), Stub::start(|_, _| Reply::Whole(401, "", "")));
    let agents = [writing(&lab, "a0", &open), writing(&lab, "a1", &closed)];
    let ended = by_two(&lab, &peer, "run", "--rate 4k --duration 500ms --out influx=agents");
    ended.fails(
        1,
        &["a1", "0 of ", "points were delivered", "set MEMTIDE_INFLUX_TOKEN", "are lost"],
    );
    assert!(ended.out.contains("believable"), "the report is there: {ended}");
    drop(agents);
}

#[test]
fn points_go_nowhere_without_a_database() {
    let (lab, peer) = (Lab::new("points-nowhere"), Peer::memcached(""));
    let agent = lab.agent("a0");
    let line = format!("run -s {} {WORDS} --rate 4k --duration 1s --out influx=agents", peer.name);
    memtide(&line).fails(2, &["out influx=agents needs agents"]);
    let alone = format!("{line} --agents 1");
    lab.refuses(&alone, 2, &["a0", "it has no database for points", "--influx URL"]);
    drop(agent);
    for (words, said) in [
        ("--influx agents", "give the URL of a database"),
        ("--influx ftp://x", "influx needs a URL such as http://HOST:8086/write?db=NAME"),
        ("--influx http://x/write?db=a --spool x", "'x' is not DIR,SIZE"),
    ] {
        memtide(&format!("agent {words}")).fails(2, &[said]);
    }
}
