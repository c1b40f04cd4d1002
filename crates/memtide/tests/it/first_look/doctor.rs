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
    let short = "run --duration 200ms --keys 100 --rate 1k --json - --connections";
    thread::scope(|scope| {
        // One CPU: the fact is the run's warning.
        scope.spawn(|| {
            let before = "taskset -cp 0 $$ >&2";
            let of = facts(&start_after(before, line).finish().exits(1));
            let record = start_after(before, &format!("{short} 8")).finish().record();
            assert!(of["CPUs"]["found"].as_str().unwrap().starts_with("1 of "), "{of:?}");
            let told = record.warnings.iter().find(|warning| warning.code == "shared_cpu");
            let told = told.expect("a run on one CPU is warned of");
            assert_eq!(of["CPUs"]["warning"], *told.code, "{of:?}");
            assert_eq!(of["CPUs"]["to_do"], *told.remedy, "{of:?}");
        });
        // With few files, one connection more than it says is too many.
        scope.spawn(|| {
            let before = "ulimit -n 256";
            let fact = facts(&start_after(before, line).finish())["open files"].clone();
            let found = fact["found"].as_str().unwrap();
            assert!(found.ends_with("192 connections, or 96 to an embedded server"), "{found}");
            assert_eq!(fact["spoils"], false, "{fact}");
            start_after(before, &format!("{short} 96")).finish().exits(0);
            let too_many = start_after(before, &format!("{short} 97")).finish();
            too_many.complains(2, &["258 open files", "limit is 256", "ulimit -Hn"]);
            let fact = facts(&start_after("ulimit -n 191", line).finish().exits(1));
            let fact = fact["open files"].clone();
            assert_eq!((&fact["spoils"], &fact["warning"]), (&true.into(), &"file_limit".into()));
            let usual = start_after("ulimit -n 191", "run --duration 200ms").finish();
            usual.complains(2, &[fact["to_do"].as_str().unwrap()]);
        });
        // Without io_uring, the run's plan has the reason.
        scope.spawn(|| {
            let forbidden =
                |line: &str| Running::of(forbid_io_uring(program().args(line.split(' ')))).finish();
            let fact = facts(&forbidden(line))["io_uring"].clone();
            let found = fact["found"].as_str().unwrap();
            let record = forbidden(&format!("{short} 8")).record();
            assert_eq!(record.plan.io, "epoll");
            assert_eq!(found, format!("{}; epoll takes its place", record.plan.why["io"]));
            assert!(found.starts_with("this system forbids io_uring"), "{found}");
        });
    });
}

/// It died of the signal, without a word.
#[test]
fn an_interrupt_ends_it_with_a_sentence() {
    let _turn = shared();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut command = program();
        command.arg("doctor").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        err.read_line(&mut said).unwrap();
        assert!(said.contains("looks at this machine"), "{said}");
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        err.read_to_string(&mut said).unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(130), &b""[..]), "{said}");
        assert!(said.lines().last().unwrap().starts_with("memtide: interrupted before"), "{said}");
    }
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
