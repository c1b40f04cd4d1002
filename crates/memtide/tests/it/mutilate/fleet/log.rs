//! The log of a master with `-v`: the originals' lines, with the instants of the load.

use super::sequences::{far, stretches};
use super::{User, listed};
use crate::child::{Finished, section, within_turn};
use crate::peer::Peer;
use std::thread;

/// The lines of each command line.
const LINES: &str = include_str!("log.txt");
/// The most that an instant may be away from the first or last command that the server counted.
const NEAR_MS: u64 = 100;

/// `text` without the figures behind the number of a source line.
fn masked(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let (place, words) = line.split_once(": ").unwrap_or((line, ""));
        let figure = |word: &str| {
            let digits = word.trim_matches(|letter: char| "(s)".contains(letter));
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
    let titles = LINES.lines().filter_map(|line| line.strip_prefix("## "));
    let titles: Vec<&str> = titles.collect();
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
        // No step of a scan says when it begins.
        let started = started.zip(&loads).map(|(at, (first, _))| far(*first, at));
        let most = started.chain(stopped.iter().zip(&loads).map(|(at, (_, last))| far(*last, *at)));
        assert!(most.max() <= Some(NEAR_MS), "counted {loads:?}: {ran}");
        assert_eq!(stopped.len(), loads.len(), "counted {loads:?}: {ran}");
    }
}
