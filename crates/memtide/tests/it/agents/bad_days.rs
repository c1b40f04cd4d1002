//! Agents that are missing, stopped, killed or started again.

use super::{Lab, load_lasts, names, record, until};
use crate::child::{Finished, Running, shared};
use crate::peer::Peer;
use memtide_record::EndedBy;
use memtide_record::steps::Steps;
use rustix::process::Signal;
use serde_json::Value;
use std::fs::read_to_string;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// A load that lasts until something ends it.
const LONG: &str = "--rate 2k --duration 5m --mix get=1";

/// Starts a run by the agents `agents` and waits until its load has begun. Each share reads a
/// sample of 2 000 keys before its load.
fn under_way(lab: &Lab, peer: &Peer, agents: &str, words: &str) -> Running {
    let running = lab.start(peer, agents, words, &lab.path("run.json"));
    peer.await_figure("cmd_get", peer.figure("cmd_get") + 9_000);
    running
}

#[test]
fn who_is_missing_at_the_start_is_said() {
    let (lab, peer) = (Lab::new("missing"), Peer::memcached(""));
    let _agent = lab.agent("here");
    let json = lab.path("run.json");
    let some = lab.start(&peer, "2", "--expect 9s", &json).finish();
    some.fails(3, &["1 of 2 agents joined within 9 s", "here"]);
    let listed = lab.start(&peer, "127.0.0.1:1", "--expect 1s", &json).finish();
    listed.fails(3, &["0 of 1 agents joined within 1 s", "127.0.0.1:1"]);
    super::is_untouched(&peer);
}

#[test]
fn an_agent_that_is_killed_ends_the_run() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("killed"), Peer::memcached(""));
    let mut agents = lab.agents(2);
    let running = under_way(&lab, &peer, "2", LONG);
    agents[1].kill();
    running.finish().fails(3, &["a1", "its connection was closed", "partial"]);
    let partial = record(&lab.path("run.json"));
    assert!(partial.partial && partial.totals.answered > 0);
    assert_eq!(names(&partial), ["a0"]);
    // The remaining agent is free.
    agents[0].await_log("done with share");
    let (_, next) = lab.run(&peer, "1", "--rate 1k --duration 500ms --warmup 0 --arrival fixed");
    assert_eq!((names(&next), next.totals.intended), (vec!["a0".to_owned()], 500));
}

#[test]
fn the_rest_goes_on_if_so_many_may_be_lost_and_who_comes_late_is_told() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("allowed"), Peer::memcached(""));
    let mut agents = lab.agents(3);
    let [rows, log] = ["rows.csv", "log.hlog"].map(|name| lab.path(name));
    let words = format!(
        "--rate 3k --duration 12s --mix get=1 --allow-lost 1 --arrival fixed --warmup 0 --out \
         intervals={} --out hlog={}",
        rows.display(),
        log.display()
    );
    let running = under_way(&lab, &peer, "3", &words);
    // Seconds of it are in rows before it is lost.
    until(
        || read_to_string(&rows).is_ok_and(|text| text.matches(",all,").count() >= 2),
        || "no second becomes a row".to_owned(),
    );
    agents[2].kill();
    let restarted = lab.agent("a2");
    restarted.await_log("the run already has all its agents; this agent can join the next run");
    // The user allows lost agents, as with merge --allow-missing.
    let finished = running.finish().exits(0);
    let record = record(&lab.path("run.json"));
    assert_eq!((record.ended_by, names(&record).len()), (EndedBy::Duration, 2), "{finished}");
    // It did not end early, and it is known of how many agents it is.
    let said = in_a_line(&finished.out);
    assert!(said.contains("2 of 3 shares"), "{finished}");
    for wrong in ["ended early", "share 0 of", "of 1:"] {
        assert!(!said.contains(wrong), "'{wrong}': {finished}");
    }
    // Each share keeps its own rate: two thirds of the load, and the unknown rest is counted.
    assert_eq!(record.totals.intended, 24_000, "{finished}");
    let missing = record.missing.as_ref().unwrap();
    assert_eq!(missing.unreported, Some(12_000), "{finished}");
    assert!(finished.err.contains("a2") || finished.out.contains("missing"), "{finished}");
    // The rows were written before the loss; the record says by how much they are more.
    let phases = &record.phases;
    let recorded: u64 = [&phases.warmup, &phases.measure, &phases.cooldown]
        .map(|it| it.totals.intended)
        .iter()
        .sum();
    let rows = read_to_string(rows).unwrap();
    let in_rows = settled(&rows);
    assert!(in_rows > recorded, "{in_rows} and {recorded}");
    let warning = record.warnings.iter().find(|it| it.code == "rows_without_record").unwrap();
    let said = format!("hold {} operations more than the record", in_rows - recorded);
    assert!(warning.message.contains(&said) && warning.message.contains("agent a2"), "{warning:?}");
    // The rows say so in the last one, and the log in its last line.
    let last = rows.lines().last().unwrap();
    assert!(last.contains(&format!(",0.0,surplus,{},,", in_rows - recorded)), "{last}");
    assert_eq!(record.rows_without_record, Some(in_rows - recorded));
    let log = read_to_string(log).unwrap();
    let last = log.lines().last().unwrap();
    assert_eq!(last, format!("#[Surplus: {}]", warning.message));
}

/// The operations that ended in all seconds of a file of intervals.
pub(super) fn settled(rows: &str) -> u64 {
    let mut lines = rows.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let at = |name: &str| names.iter().position(|it| *it == name).unwrap();
    let (kind, settled) = (at("kind"), at("settled"));
    lines.filter(|row| row[kind] == "all").map(|row| row[settled].parse::<u64>().unwrap()).sum()
}

/// Carries out a search or a scan by two agents, of which one is killed in the first step; returns
/// its output, its outputs as Markdown and JUnit, and its steps.
fn with_a_loss(lab: &Lab, words: &str) -> (Finished, String, String, Steps) {
    let peer = Peer::memcached("");
    let mut agents = lab.agents(2);
    let [text, json, junit] = ["text.md", "steps.json", "steps.xml"].map(|name| lab.path(name));
    let running = lab.master(&format!(
        "{words} -s {} --agents 2 --allow-lost 1 --quiet --keys 200 --warmup 0 --mix get=1 \
         --out md={} --json {} --out junit={}",
        peer.name,
        text.display(),
        json.display(),
        junit.display()
    ));
    agents[0].await_log("begins share");
    agents[1].kill();
    let finished = running.finish();
    finished.fails(3, &["agent a1", "was lost in step", "1 of 2 agents went on"]);
    let [text, json, junit] = [text, json, junit].map(|path| read_to_string(path).unwrap());
    let steps = Steps::from_json(&json).unwrap();
    (finished, text, junit, steps)
}

/// `text` with single spaces.
fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every step after the loss was called behind, the answer was a tenth of the rate that was met,
/// and neither stderr nor a report said that an agent was lost.
#[test]
fn a_search_goes_on_with_the_agents_that_are_left_and_says_so() {
    let _turn = shared();
    let lab = Lab::new("search");
    let page = lab.path("page.html");
    let words = format!(
        "search --rate-min 500 --rate-max 600 --goal all.p50<5s --duration 3s --steps-max 6 \
         --resolution 10% --out html={}",
        page.display()
    );
    let (finished, text, junit, steps) = with_a_loss(&lab, &words);
    let why =
        junit.lines().find(|line| line.contains("<failure type=\"lost\"")).unwrap_or_default();
    assert!(why.contains("message=\"agent a1 (") && why.contains("was lost in step"), "{junit}");
    for shown in [&finished.out, &read_to_string(page).unwrap(), &text].map(|it| in_a_line(it)) {
        for word in ["of 1 of 2 agents from step", "was lost in step"] {
            assert!(shown.contains(word), "no '{word}' in {shown}");
        }
    }
    assert_eq!((steps.conclusion.exit, steps.conclusion.lost.len()), (3, 1));
    let partial: Vec<_> = steps.steps.iter().filter(|it| it.record.missing.is_some()).collect();
    assert!(!partial.is_empty() && partial.iter().all(|step| !step.behind), "{finished}");
    assert!(steps.conclusion.answer.unwrap().rate_per_s.is_some_and(|rate| rate >= 500.0));
}

/// After the loss each step asked the full rate of the agent that was left, and was behind.
#[test]
fn a_scan_goes_on_with_the_agents_that_are_left() {
    let _turn = shared();
    let lab = Lab::new("scan");
    let words = "scan --rates 400,800,600 --duration 2s --arrival fixed";
    let (finished, text, junit, steps) = with_a_loss(&lab, words);
    for text in [&finished.out, &text, &junit].map(|it| in_a_line(it)) {
        assert!(text.contains("agent a1 (") && text.contains("was lost in step 1"), "{text}");
        assert!(!text.contains(") of 1:"), "{text}");
    }
    assert_eq!((steps.conclusion.exit, steps.steps.len()), (3, 3), "{finished}");
    assert!(steps.steps.iter().all(|step| !step.behind), "{finished}");
    // The agent that is left makes its half of each later step, and all of that is answered.
    for (step, half) in steps.steps[1..].iter().zip([800, 600]) {
        let totals = &step.record.totals;
        assert_eq!((totals.intended, totals.answered), (half, half), "{finished}");
    }
}

#[test]
fn an_agent_that_is_stopped_for_two_seconds_is_not_lost() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("paused"), Peer::memcached(""));
    let agents = lab.agents(2);
    let seconds = lab.path("seconds.jsonl");
    let words =
        format!("--rate 2k --duration 9s --mix get=1 --out intervals={}", seconds.display());
    let running = under_way(&lab, &peer, "2", &words);
    agents[1].signal(Signal::STOP);
    sleep(Duration::from_secs(2));
    agents[1].signal(Signal::CONT);
    let finished = running.finish().exits(0);
    let record = record(&lab.path("run.json"));
    assert_eq!((record.ended_by, record.shards.len()), (EndedBy::Duration, 2), "{finished}");
    assert_eq!(record.totals.answered + record.totals.unanswered(), record.totals.intended);
    follow_each_other(&read_to_string(seconds).unwrap());
}

/// Asserts that each row of all kinds begins where the one before it ends, and that one of them is
/// as long as the agent stood still.
fn follow_each_other(rows: &str) {
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let all: Vec<(f64, f64)> = rows
        .filter(|row| row["kind"] == "all")
        .map(|row| (row["start_s"].as_f64().unwrap(), row["length_s"].as_f64().unwrap()))
        .collect();
    for pair in all.windows(2) {
        assert!((pair[0].0 + pair[0].1 - pair[1].0).abs() < 1e-6, "{all:?}");
    }
    assert!(all.iter().any(|(_, length)| *length > 1.8), "{all:?}");
}

/// The master kept sending pings, which the agent receives when it continues.
#[test]
fn an_agent_that_is_stopped_for_seven_seconds_ends_its_load_and_says_why() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("seven"), Peer::memcached(""));
    let agents = lab.agents(1);
    let running = under_way(&lab, &peer, "1", LONG);
    agents[0].signal(Signal::STOP);
    sleep(Duration::from_millis(500));
    let before = peer.figure("cmd_get");
    sleep(Duration::from_millis(6_500));
    agents[0].signal(Signal::CONT);
    running.finish().fails(3, &["a0", "it heard nothing from its master for 5 s"]);
    load_lasts(&peer);
    let after = peer.figure("cmd_get") - before;
    assert!(after <= 64, "{after} operations came after it went on");
    // Its connection lives, so its master has the record of what it measured.
    let partial = record(&lab.path("run.json"));
    assert!(partial.partial && partial.totals.answered > 0);
    until(|| agents[0].kept().is_empty(), || agents[0].said());
}

#[test]
fn an_agent_that_is_stopped_for_long_is_lost_and_makes_no_load_afterwards() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("stopped"), Peer::memcached(""));
    let agents = lab.agents(2);
    let running = under_way(&lab, &peer, "2", LONG);
    agents[0].signal(Signal::STOP);
    running.finish().fails(3, &["a0", "it has been silent for 10 s", "partial"]);
    let before = peer.figure("cmd_get");
    agents[0].signal(Signal::CONT);
    agents[0].await_log("done with share");
    load_lasts(&peer);
    // More than 10 000 operations were due while the agent was stopped. Its workers noticed first
    // that the master had been silent; requests already sent may still arrive.
    let after = peer.figure("cmd_get") - before;
    assert!(after <= 64, "{after} operations came after it was lost");
    let still = peer.figure("cmd_get");
    sleep(Duration::from_millis(300));
    assert_eq!(peer.figure("cmd_get"), still);
}

/// The time until a run has ended that its user interrupts: shorter than the deadlines of what it
/// waits for, and ten times as long as an idle machine takes.
const INTERRUPTED_MAX: Duration = Duration::from_secs(25);

/// Ends a run as by Ctrl-C, and waits for its end.
fn interrupted(run: Running) -> Finished {
    let began = Instant::now();
    run.signal(Signal::INT);
    let ended = run.finish();
    assert!(began.elapsed() < INTERRUPTED_MAX, "{:?}: {ended}", began.elapsed());
    ended
}

/// Each end of a run took up to 30 s then.
#[test]
fn ctrl_c_ends_a_run_whatever_its_agents_do() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("interrupts"), Peer::memcached(""));
    let agents = lab.agents(2);
    // An agent stands still in its load.
    let run = under_way(&lab, &peer, "2", LONG);
    agents[1].signal(Signal::STOP);
    let ended = interrupted(run);
    let words = ["a1", "did not hand over its record within 2 s", "memtide agent records"];
    // With 3, as whenever an agent is lost.
    ended.fails(3, &words);
    let partial = record(&lab.path("run.json"));
    assert_eq!((names(&partial), partial.partial), (vec!["a0".to_owned()], true), "{ended}");
    assert!(partial.totals.answered > 0, "{ended}");
    agents[1].signal(Signal::CONT);
    agents[1].await_log("done with share");
    // Agents wait for a server.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = silent.local_addr().unwrap();
    let run = lab.master(&format!("run -s {server} --agents 2 --timeout 40s {BRIEF}"));
    silent.set_nonblocking(true).unwrap();
    let mut asked = None;
    until(
        || {
            asked = asked.take().or_else(|| silent.accept().ok());
            asked.is_some()
        },
        || "no agent asks the server".to_owned(),
    );
    let ended = interrupted(run);
    assert!(matches!(ended.code, Some(3 | 130)), "{ended}");
    assert!(!ended.err.is_empty(), "{ended}");
}

/// The agent that was left handed over a record of no load, and its zeros were shown as a result.
#[test]
fn a_run_that_never_began_shows_no_result() {
    let _turn = shared();
    let (lab, json) = (Lab::new("unbegun"), "unbegun.json");
    let agents = lab.agents(2);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = silent.local_addr().unwrap();
    let path = lab.path(json);
    let words = format!("run -s {server} --quiet --agents 2 --timeout 40s {BRIEF}");
    let run = lab.master(&format!("{words} --json {}", path.display()));
    drop(silent.accept().unwrap());
    agents[1].signal(Signal::KILL);
    let ended = run.finish();
    ended.fails(3, &["a1", "there is no result"]);
    assert_eq!((ended.out.as_str(), path.exists()), ("", false), "{ended}");
}

/// A load that would be over soon.
const BRIEF: &str = "--rate 500 --duration 1s --load never --warmup 0";

/// An agent that answered pings and never prepared held its master for ever, without a word.
#[test]
fn a_server_for_which_an_agent_waits_is_named_and_the_wait_has_an_end() {
    let _turn = shared();
    let lab = Lab::new("prepares");
    let _agent = lab.agent("a0");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    // It answers the first connection, and then lets the kernel accept one more.
    let full = TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: the descriptor is that of a listener, whose queue this shortens.
    assert_eq!(unsafe { libc::listen(full.as_raw_fd(), 0) }, 0);
    let [silent_at, full_at] = [&silent, &full].map(|it| it.local_addr().unwrap());
    let answers = spawn(move || {
        let (mut stream, _) = full.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while let Some(Ok(line)) = lines.next() {
            let answer = if line == "version" { "VERSION 1.6.0" } else { "END" };
            stream.write_all(format!("{answer}\r\n").as_bytes()).unwrap();
        }
        full
    });
    for (server, words, waits) in [
        (silent_at, "", format!("waiting for server {silent_at} to answer")),
        (full_at, "--connections 8 --threads 1 --no-stats", "opening 8 connections (".to_owned()),
    ] {
        let run = lab.master(&format!(
            "run -s {server} --agents 1 --timeout 40s --prepare-timeout 4s {words} {BRIEF}"
        ));
        let ended = run.finish();
        ended.fails(3, &["agent a0", "no progress for 4 s (--prepare-timeout)", &waits]);
        // On a busy machine, the agent may be at an earlier step by then.
        assert!(
            ended.err.lines().any(|it| it.starts_with("memtide: waiting for agent a0")),
            "{ended}"
        );
    }
    drop(answers.join());
}
