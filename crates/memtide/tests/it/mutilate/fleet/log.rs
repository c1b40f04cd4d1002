//! The logs of masters and agents with `-v` and `-vv`: the originals' lines, with the instants of
//! the load.

use super::sequences::{assert_printed, stretches};
use super::{User, listed};
use crate::child::{Finished, section, within_turn};
use crate::peer::Peer;
use rustix::process::Signal;
use std::thread;

/// The lines of each command line of a master.
const LINES: &str = include_str!("log.txt");
/// The lines of an agent for each pair of command lines.
const SERVED: &str = include_str!("served.txt");

/// The titles of the sections of `text`.
fn titles(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter_map(|line| line.strip_prefix("## "))
}

/// `text` without the figures behind the number of a source line.
fn masked(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let (place, words) = line.split_once(": ").unwrap_or((line, ""));
        let figure = |word: &str| {
            let digits = word.trim_matches(|letter: char| "(s),".contains(letter));
            if digits.parse::<f64>().is_ok() { word.replace(digits, "#") } else { word.to_owned() }
        };
        let words: Vec<String> = words.split(' ').map(figure).collect();
        format!("{place}: {}", words.join(" ")).trim_end().to_owned()
    };
    text.lines().map(line).collect()
}

/// The instants behind `word` in a log, in milliseconds since 1970.
fn instants(ran: &Finished, word: &str) -> Vec<u64> {
    let lines = ran.err.lines().filter_map(|line| line.split_once(word));
    let seconds = lines.map(|(_, rest)| rest.split(' ').next().unwrap().parse::<f64>());
    seconds.map(|seconds| (seconds.unwrap() * 1e3) as u64).collect()
}

pub(crate) fn a_masters_log_is_that_of_the_originals() {
    let titles: Vec<&str> = titles(LINES).collect();
    let (some, others) = titles.split_at(titles.len() / 2);
    thread::scope(|scope| {
        let lanes = [some, others].map(|of| scope.spawn(move || within_turn(|| check(of))));
        lanes.into_iter().for_each(|lane| lane.join().unwrap());
    });
}

fn check(titles: &[&str]) {
    let (user, peer) = (User::new(), Peer::memcached(""));
    let agents = [user.agent("mcperf -A -T 2"), user.agent("mcperf -A")];
    for title in titles {
        let (tool, words) = title.split_once(' ').unwrap();
        let line = format!("{tool} -s {} {} -c 2 {words}", peer.name, listed(&agents));
        let (ran, loads) = stretches(&peer, || user.master(&line).finish().exits(0));
        let expected: Vec<&str> = section(LINES, title).collect();
        assert_eq!(masked(&ran.err), expected, "{ran}");
        // Nothing says when a warm-up begins.
        let warmup_ms = if words.contains("-w 1") { 1000 } else { 0 };
        let started = instants(&ran, " started at ").into_iter().map(|at| at - warmup_ms);
        let mut stopped = instants(&ran, " stopped at ");
        stopped.dedup();
        assert_eq!(stopped.len(), loads.len(), "counted {loads:?}: {ran}");
        // No step of a scan says when it begins.
        for ((start, end), load) in started.zip(stopped).zip(loads) {
            assert_printed((start, end), load);
        }
    }
}

pub(crate) fn an_agents_log_is_that_of_the_originals() {
    for title in titles(SERVED) {
        let (user, peer) = (User::new(), Peer::memcached(""));
        let (agent, master) = title.split_once(" < ").unwrap();
        let agent = user.agent(&format!("{agent} -A"));
        let line = format!("{master} -s {} {}", peer.name, agent.at());
        let (_, loads) = stretches(&peer, || user.master(&line).finish().exits(0));
        let said = agent.ended_by(Signal::TERM);
        let (first, log) = said.err.split_once('\n').unwrap_or_default();
        assert!(first.contains("only masters of its own user"), "{said}");
        let log = log.replace(&peer.name, "@S");
        // Empty lines of the log are none of the section.
        let lines: Vec<String> = masked(&log).into_iter().filter(|line| line != ":").collect();
        let expected: Vec<&str> = section(SERVED, title).collect();
        assert_eq!(lines, expected, "{title}: {said}");
        // With -vv the originals print no table.
        let rows: Vec<&str> = said.out.lines().map(|line| &line[..9]).collect();
        let is_debug = title.contains("-vv <");
        let printed: &[&str] = match title.split(' ').next() {
            Some("mcperf") if !is_debug => &["#type    ", "read     "],
            Some("mcperf-dynamic") if !is_debug => &["Local QPS", "#type    ", "read     "],
            Some("mcperf-dynamic") => &["Local QPS"],
            _ => &[],
        };
        assert_eq!(rows, printed.repeat(loads.len().max(1)), "{title}: {said}");
        let [started, stopped] = [" started at ", " stopped at "].map(|word| instants(&said, word));
        if line.contains("--loadonly") {
            assert!(started.is_empty() && stopped.is_empty(), "{said}");
            continue;
        }
        let warmup_ms = if line.contains("-w 1") { 1000 } else { 0 };
        let threads = stopped.len() / loads.len();
        for (at, load) in loads.into_iter().enumerate() {
            assert_printed((started[at] - warmup_ms, stopped[at * threads]), load);
        }
    }
}
