//! `memtide doctor`: what it says of a machine equals what a run there meets.

use crate::bad_days::forbid_io_uring;
use crate::prelude::*;

/// The facts, by what they are about, from `--json`.
fn facts(run: &Finished) -> BTreeMap<String, Value> {
    let all: Value = serde_json::from_str(&run.out).unwrap();
    let facts = all["facts"].as_array().unwrap();
    facts.iter().map(|fact| (fact["about"].as_str().unwrap().to_owned(), fact.clone())).collect()
}

#[test]
fn what_it_says_of_a_machine_equals_what_a_run_there_meets() {
    let _turn = shared();
    let line = "doctor --json";
    thread::scope(|scope| {
        scope.spawn(|| {
            let of =
                facts(&start_after("taskset -cp 0 $$ >&2; ulimit -n 256", line).finish().exits(1));
            assert_eq!(of["CPUs"]["spoils"], true, "{of:?}");
            assert!(of["CPUs"]["found"].as_str().unwrap().starts_with("1 of "), "{of:?}");
            assert!(of["open files"]["found"].as_str().unwrap().starts_with("256 "), "{of:?}");
            assert!(of["open files"]["to_do"].as_str().unwrap().contains("ulimit -n"), "{of:?}");
        });
        scope.spawn(|| {
            let run = Running::of(forbid_io_uring(program().args(line.split(' ')))).finish();
            let found = facts(&run)["io_uring"]["found"].clone();
            assert!(found.as_str().unwrap().starts_with("this system forbids io_uring"), "{run}");
        });
    });
}

#[test]
fn a_server_is_asked_and_one_that_is_not_there_spoils() {
    let _turn = shared();
    let peer = Peer::memcached("-t 3 -c 500");
    let line = format!("doctor -s {} -s 127.0.0.1:1", peer.name);
    let run = Running::start(&line).finish().exits(1);
    let words = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("on this machine, 3 threads, 500 connections at most; a question takes")
    );
    assert!(words.contains("spoils runs: start it, or name another"), "{run}");
    assert!(run.out.lines().last().unwrap().starts_with("not fit to measure: "), "{run}");
    Running::start("doctor -s not.a.name.invalid").finish().complains(3, &["not.a.name.invalid"]);
    Running::start("doctor -s :").finish().complains(2, &["server"]);
}
