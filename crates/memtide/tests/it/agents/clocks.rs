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
        let words = "--rate 1k --duration 500ms --warmup 0 --arrival fixed";
        let (finished, record) = lab.run(&peer, &count, words);
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
            assert!(reference.error_max_ns < 100_000_000, "{reference:?}: {finished}");
        }
        assert_eq!(record.totals.intended, 500);
    }
}
