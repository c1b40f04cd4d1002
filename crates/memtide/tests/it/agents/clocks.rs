//! Agents whose clocks differ widely from their master's: the reported offset and error are true.

use super::{Agent, Lab};
use crate::child::{cleared, shared};
use crate::peer::Peer;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// Lead of the agents' clocks, in seconds.
const AHEAD_S: [i64; 2] = [1_000, -1_000];

/// The program that moves the monotonic clock of its child by `ahead_s`; none if unavailable.
fn moved(ahead_s: i64) -> Option<Command> {
    let words = ["--time", "--monotonic", &ahead_s.to_string(), "--"].map(str::to_owned);
    let mut tried = Command::new("unshare");
    tried.args(&words).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    if !tried.status().is_ok_and(|status| status.success()) {
        say(&format!("skipped: unshare {words:?} cannot be run here"));
        return None;
    }
    let mut command = cleared(Command::new("unshare"));
    command.args(words).arg(env!("CARGO_BIN_EXE_memtide"));
    Some(command)
}

fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Number of runs; more by hand.
fn runs() -> u32 {
    std::env::var("MEMTIDE_CLOCK_RUNS").map_or(2, |count| count.parse().unwrap())
}

#[test]
fn the_offset_of_each_agents_clock_is_within_its_bound() {
    let _turn = shared();
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let uptime: f64 = uptime.split('.').next().unwrap().parse().unwrap();
    // A clock cannot be set to before the machine's boot.
    let allowed = |ahead: &i64| *ahead > 0 || (-*ahead as f64) < uptime - 10.0;
    let ahead: Vec<i64> = AHEAD_S.into_iter().filter(allowed).collect();
    let (lab, peer) = (Lab::new("clocks"), Peer::memcached(""));
    let line = format!("agent --join {}", lab.join().display());
    let mut agents = Vec::new();
    for (number, ahead) in ahead.iter().enumerate() {
        let Some(command) = moved(*ahead) else { return };
        agents.push(Agent::start(&lab, &format!("a{number}"), &line, command));
    }
    for run in 0..runs() {
        let count = ahead.len().to_string();
        let rows = lab.path("rows.csv");
        let words = "--rate 1k --duration 2500ms --warmup 0 --arrival fixed --mix get=1";
        let words = format!("{words} --out intervals={}", rows.display());
        let (finished, record) = lab.run(&peer, &count, &words);
        of_each_second(&fs::read_to_string(rows).unwrap());
        let clocks: Vec<_> =
            record.shards.iter().map(|shard| shard.clock.clone().unwrap()).collect();
        assert_eq!(clocks.len(), ahead.len());
        for (clock, ahead) in clocks.iter().zip(&ahead) {
            let reference = clock.reference.unwrap();
            // The master's clock is behind an agent's that is ahead.
            let wrong = reference.ahead_ns.abs_diff(-ahead * 1_000_000_000);
            let bound = reference.error_max_ns;
            say(&format!("run {run}: {ahead} s: wrong by {wrong} ns, bound {bound} ns"));
            assert!(
                wrong <= reference.error_max_ns,
                "run {run}: {ahead} s: wrong by {wrong} ns: {reference:?}"
            );
            // A hundredth of the lead.
            assert!(reference.error_max_ns < 10_000_000_000, "{reference:?}: {finished}");
        }
        assert_eq!(record.totals.intended, 2_500);
    }
}

/// Asserts that rows follow each other from the beginning of the load, hold all that was due, and
/// hold nothing before it was due: a clock that is wrong by 1 000 s moves nothing to another row.
fn of_each_second(text: &str) {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let at = |name: &str| names.iter().position(|it| *it == name).unwrap();
    let of_all: Vec<_> = lines.filter(|row| row[at("kind")] == "all").collect();
    let number = |row: &Vec<&str>, name: &str| row[at(name)].parse::<f64>().unwrap();
    let (mut end_s, mut settled) = (0.0, 0.0);
    for row in &of_all {
        let (start_s, length_s) = (number(row, "start_s"), number(row, "length_s"));
        assert!((start_s - end_s).abs() < 1e-6, "{text}");
        (end_s, settled) = (start_s + length_s, settled + number(row, "settled"));
        // 1 000/s are due; a busy machine answers some of them in a later row. The clocks are
        // compared more precisely than to 0.3 s.
        let due = 1e3 * end_s.min(2.5);
        assert!(settled < due + 300.0, "{settled} of {due} that were due: {text}");
    }
    assert!((2.4..100.0).contains(&end_s), "{text}");
    let sent = of_all.iter().map(|row| number(row, "measured_sent")).sum::<f64>();
    assert_eq!(sent, 2_500.0, "{text}");
}
