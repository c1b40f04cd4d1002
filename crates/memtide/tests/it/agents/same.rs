//! Agents send what one process sends, and their master's record equals the merge of theirs.

use super::{Lab, record, until};
use crate::child::{Running, assert_counters_equal, memtide, scratch, shared};
use crate::peer::Peer;
use crate::shares::equal::{OPS, Sent, commands, rows, sent, sorted, words};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// Carries out the run of `shares_send_what_one_process_sends` by agents of one worker each.
fn sent_by_agents(of: usize) -> Sent {
    let log = scratch(&format!("agents-same-{of}.log"));
    let (lab, peer) = (Lab::new(&format!("same-{of}")), Peer::memcached_recording(&log));
    let (samples, json) = (lab.path("samples"), lab.path("run.json"));
    fs::create_dir(&samples).unwrap();
    let allowed = format!("--samples {}", samples.display());
    let agents: Vec<_> =
        (0..of).map(|number| lab.agent_with(&format!("a{number}"), &allowed)).collect();
    let words = words(&peer.name);
    let line = format!("{words} --agents {of} --samples agents --json {}", json.display());
    lab.master(&line).finish().exits(0);
    let record = record(&json);
    assert_eq!((record.totals.intended, record.totals.answered), (OPS as u64, OPS as u64));
    assert_eq!((record.totals.misses, record.phases.verification().wrong()), (0, 0));
    assert_counters_equal(&record);
    drop(agents);
    let files: Vec<_> = fs::read_dir(&samples).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), of, "each agent writes its own: {files:?}");
    let rows = files.iter().flat_map(|path| rows(&fs::read_to_string(path).unwrap()));
    Sent { commands: commands(&fs::read_to_string(&log).unwrap()), rows: sorted(rows.collect()) }
}

#[test]
fn agents_send_what_one_process_sends() {
    let _turn = shared();
    for of in [1, 2, 4] {
        let (one, agents) = (sent("agents-one", of, true), sent_by_agents(of));
        assert_eq!((one.rows.len(), one.commands.len()), (OPS, OPS));
        assert!(one.rows == agents.rows, "{of} agents: the rows differ");
        assert!(one.commands == agents.commands, "{of} agents: the server got others");
    }
}

/// Collects the paths at which two documents differ.
fn differences(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
                let place = format!("{path}.{name}");
                differences(&place, &one[name], &other[name], found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{at}]"), a, b, found);
            }
        }
        (a, b) if a != b => found.push(format!("{path}: {a} and {b}")),
        _ => {}
    }
}

#[test]
fn the_masters_record_is_what_merge_makes_of_the_agents_own() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("merged"), Peer::memcached(""));
    let (agents, json) = (lab.agents(2), lab.path("run.json"));
    let words = "--rate 2k --duration 4s --load always --mix get=1";
    let master: Running = lab.start(&peer, "2", words, &json);
    peer.await_figure("cmd_get", 5_500);
    // A stopped master acknowledges no record, so each agent keeps its own.
    master.signal(Signal::STOP);
    let is_kept = || agents.iter().all(|agent| agent.kept().len() == 1);
    until(is_kept, || agents.iter().map(super::Agent::said).collect());
    let copies: Vec<String> = agents
        .iter()
        .enumerate()
        .map(|(number, agent)| {
            let copy = lab.path(&format!("own-{number}.json"));
            fs::copy(&agent.kept()[0], &copy).unwrap();
            copy.display().to_string()
        })
        .collect();
    std::thread::sleep(Duration::from_millis(100));
    master.signal(Signal::CONT);
    master.finish().exits(0);
    let merged = lab.path("merged.json");
    memtide(&format!("merge {} --json {}", copies.join(" "), merged.display())).exits(0);
    let [masters, merged] = [&json, &merged].map(|path| {
        record(path);
        serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap()
    });
    let mut found = Vec::new();
    differences("record", &masters, &merged, &mut found);
    // The master has the beginning that it armed, and the merge the clocks of the agents.
    found.retain(|difference| !difference.starts_with("record.window_start_unix_ns: "));
    assert!(found.is_empty(), "they differ in\n{}", found.join("\n"));
    let is_forgotten = || agents.iter().all(|agent| agent.kept().is_empty());
    until(is_forgotten, || "acknowledged records are kept".to_owned());
}
