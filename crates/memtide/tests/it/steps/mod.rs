//! Searches and scans as their user meets them: against a server with a known limit, against
//! memcached, interrupted, and with a server that dies.

use crate::child::refused;
use crate::prelude::*;
use crate::schemas::published;
use jsonschema::Validator;
use memtide_record::LoopKind;
use memtide_record::steps::{CourseKind, StepRole, Steps, StepsEnd};
use std::sync::LazyLock;

/// Reads the JSON of steps, which must match the published schema; no record may lose an operation.
fn read(text: &str) -> Steps {
    let value: Value = serde_json::from_str(text).unwrap();
    static SCHEMA: LazyLock<Validator> = LazyLock::new(|| published("steps.schema.json"));
    let errors: Vec<String> = SCHEMA.iter_errors(&value).map(|e| e.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    let steps = Steps::from_json(text).unwrap();
    for step in &steps.steps {
        step.record.check_conservation().unwrap();
    }
    steps
}

/// The rows below the heading.
fn rows(run: &Finished) -> Vec<Vec<&str>> {
    let mut lines = run.out.lines();
    let heading = lines.next().unwrap_or_else(|| panic!("no heading: {run}"));
    assert!(heading.trim_start().starts_with("step "), "{run}");
    let rows = lines.take_while(|line| !line.is_empty());
    rows.map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect()
}

#[test]
fn a_search_ends_with_an_interval() {
    let _turn = shared();
    let peer = Peer::embedded("--behaviour queue:1,exponential:1ms");
    let json = scratch("search.json");
    let flags = "--keys 200 --mix get=1 --connections 8 --duration 400ms --resolution 20%";
    let goal = "--goal all.p50<5s,errors<100% --rate-min 50";
    let line = format!("search -s {} {flags} {goal} --json {}", peer.name, json.display());
    let run = Running::start(&line).finish().exits(0);
    let steps = read(&fs::read_to_string(json).unwrap());
    assert_eq!((steps.course, steps.goals.len()), (CourseKind::Search, 2));
    assert_eq!(rows(&run).len(), steps.steps.len(), "{run}");
    let first = &steps.steps[0];
    assert_eq!((first.role, first.rate_per_s), (StepRole::Peak, None));
    assert_eq!(first.record.loop_kind, LoopKind::Closed);
    assert_eq!(first.record.phases.load.totals.replies["stored"], 200);
    for step in &steps.steps[1..] {
        assert_eq!(step.record.phases.load.totals.intended, 0, "the data are loaded once: {run}");
        assert_eq!(step.record.plan.rate_per_s, step.rate_per_s);
    }
    let answer = steps.conclusion.answer.unwrap();
    let found = answer.rate_per_s.unwrap();
    assert!(answer.met >= 1, "{run}");
    let at_answer = steps.steps.iter().filter(|step| step.rate_per_s == Some(found));
    let met = at_answer.filter(|step| step.goal == Some(GoalResult::Met) && !step.behind).count();
    assert_eq!(met, answer.met as usize);
    let last = run.out.lines().last().unwrap();
    assert!(run.out.contains("meets all.p50<5s and errors<100%"), "{last}");
    assert_eq!((steps.conclusion.ended_by, steps.conclusion.exit), (StepsEnd::Done, 0));
}

#[test]
fn a_scan_of_memcached_has_a_row_and_a_record_per_rate() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let flags = "--keys 500 --duration 300ms --connections 4";
    let line = format!("scan -s {} --rates 500..1500+500 {flags}", peer.name);
    let run = Running::start(&line).finish().exits(0);
    let rows = rows(&run);
    let asked: Vec<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(asked, ["500/s", "1 000/s", "1 500/s"], "{run}");
    assert!(rows.iter().all(|row| row.len() == 10 && row[8] == "—"), "{run}");
    assert!(!run.out.contains("result: "), "nothing was looked for: {run}");
    let before = peer.figure("cmd_get");
    let goal = "--goal all.mean<50s";
    let line = format!("scan -s {} --rates 200,0,100 {flags} {goal} --json -", peer.name);
    let run = Running::start(&line).finish().exits(0);
    let steps = read(&run.out);
    let asked: Vec<Option<f64>> = steps.steps.iter().map(|step| step.rate_per_s).collect();
    assert_eq!(asked, [Some(200.0), None, Some(100.0)]);
    assert!(steps.steps.iter().all(|step| step.role == StepRole::Scan));
    let phases = steps.steps.iter().flat_map(|step| step.record.phases.each());
    let keys: u64 = phases.map(|(_, counts)| counts.totals.keys).sum();
    assert_eq!(peer.figure("cmd_get") - before, keys, "no step is left out of the records");
    assert!(steps.conclusion.answer.unwrap().rate_per_s.unwrap() >= 200.0);
}

#[test]
fn a_goal_that_is_met_nowhere_is_exit_1_with_the_rows() {
    let flags = "--keys 100 --duration 200ms --connections 2 --goal all.p50<1ns";
    let run = memtide(&format!("sim scan --rates 200,400 {flags}")).exits(1);
    assert_eq!(rows(&run).len(), 2, "{run}");
    let said = "result: no tested rate meets all.p50<1ns (lowest tested: 200/s)";
    assert!(run.out.contains(said), "{run}");
    let bounds = "--rate-max 800 --rate-min 300";
    let run = memtide(&format!("sim search {bounds} {flags}")).exits(1);
    let asked: Vec<&str> = rows(&run).iter().map(|row| row[1]).collect();
    // Two misses narrow, and three settle.
    let all = [["800/s"; 2].as_slice(), &["600/s"; 2], &["338/s"; 2], &["300/s"; 3]].concat();
    assert_eq!(asked, all, "{run}");
    let run = memtide(&format!("sim search {bounds} {flags} --steps-max 2")).exits(1);
    assert!(run.out.contains("partial: ") && run.out.contains("--steps-max"), "{run}");
}

#[test]
fn an_endless_scan_is_interrupted_with_its_rows() {
    let _turn = shared();
    for signal in [Signal::INT, Signal::TERM] {
        let peer = Peer::memcached("");
        let json = scratch("endless.json");
        let flags = "--duration 200ms --keys 100 --load never --mix get=1 --goal all.mean<50s";
        let line =
            format!("scan -s {} --rates 500..500+0 {flags} --json {}", peer.name, json.display());
        let running = Running::start(&line);
        peer.await_figure("cmd_get", 500);
        running.signal(signal);
        let run = running.finish().exits(130);
        assert!(rows(&run).len() >= 2, "{run}");
        assert!(run.out.contains("partial: interrupted"), "{run}");
        assert!(run.out.contains("result: 500/s meets"), "{run}");
        let steps = read(&fs::read_to_string(json).unwrap());
        assert_eq!(steps.steps.len(), rows(&run).len());
        assert_eq!(steps.conclusion.ended_by, StepsEnd::Interrupted);
    }
}

#[test]
fn a_server_that_is_killed_ends_it_with_what_was_found() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let json = scratch("killed.json");
    let flags = "--duration 300ms --timeout 500ms --keys 100 --load never --mix get=1";
    let words = format!("{flags} --goal all.mean<50s --json {}", json.display());
    let running = Running::start(&format!("scan -s {} --rates 200..200+0 {words}", peer.name));
    peer.await_figure("cmd_get", 200);
    let name = peer.name.clone();
    peer.kill();
    let run = running.finish().exits(3);
    assert!(!rows(&run).is_empty(), "{run}");
    assert!(run.out.contains("partial: a step failed"), "{run}");
    assert!(run.out.contains("/s meets all.mean<50s (in "), "{run}");
    assert!(run.err.starts_with("memtide: ") && run.err.contains(&name), "{run}");
    let steps = read(&fs::read_to_string(json).unwrap());
    assert_eq!((steps.conclusion.ended_by, steps.conclusion.exit), (StepsEnd::Failed, 3));
}

#[test]
fn a_server_that_was_never_there_leaves_nothing_on_stdout() {
    for line in ["search --goal all.p95<10ms", "scan --rates 1k", "scan --rates 1k --json -"] {
        let run = memtide(&format!("{line} -s 127.0.0.1:1 --timeout 500ms"));
        run.complains(3, &["127.0.0.1:1"]);
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_an_endless_scan() {
    let _turn = shared();
    for json in ["", "--json -"] {
        let mut command = program();
        let line = format!("scan --quiet --rates 1k..1k+0 --duration 100ms --keys 100 {json}");
        command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{json}: {err}");
        assert!(err.contains("no --server given") && err.lines().count() == 1, "{json}: {err}");
    }
}

#[test]
fn the_plan_is_that_of_the_first_step() {
    let run = memtide("search --goal all.p95<10ms --plan").exits(0);
    assert!(run.out.contains("closed loop"), "{run}");
    let run = memtide("scan --rates 12345,20k --plan").exits(0);
    assert!(run.out.contains("12345") || run.out.contains("12 345"), "{run}");
}

#[test]
fn what_cannot_be_searched_or_scanned_is_refused() {
    refused("steps");
}

/// `--rate-max 8k` alone began at 4k.
#[test]
fn a_search_begins_at_its_highest_rate() {
    let flags = "--keys 100 --duration 100ms --warmup 0 --steps-max 2 --goal all.p50<1s";
    for bounds in ["--rate-max 8k", "--rate-min 100 --rate-max 8k"] {
        let run = memtide(&format!("sim search {bounds} {flags} --behaviour fixed:50us"));
        assert_eq!(rows(&run)[0][1], "8 000/s", "{bounds}: {run}");
    }
}
