//! Sequences of command lines in which people's scripts use agents: what they look at, beside what
//! the server counts.

use super::super::parser::{self, Dialect};
use super::{Tally, User, answered, assert_counted, listed};
use crate::child::{Finished, fresh, record_at, shared, within_turn};
use crate::peer::Peer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

#[test]
fn values_of_other_lengths_are_loaded_as_they_are() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached(""));
    let name = &peer.name;
    user.master(&format!("mutilate --loadonly -s {name}")).finish().exits(0);
    for (tool, agent) in
        [("mutilate", "mutilate -A -T 2"), ("mcperf", "mcperf -A"), ("mcperf-dynamic", "mcperf -A")]
    {
        let agent = user.agent(agent);
        let line = format!("{tool} --noload -s {name} -u 0.1 -c 4 -t 1 -q 2000");
        // Alone and with agents, with a law of other lengths, too.
        for more in [
            "-V 500".to_owned(),
            format!("{} -V 500 -Q 200", agent.at()),
            format!("{} -V fb_value", agent.at()),
        ] {
            let before = Tally::of(&[&peer]);
            let (_, _, record) = user.run(&format!("{line} {more}"));
            // No key is read beside the load: the record's gets, and not a sample of 1000 more.
            assert_counted(before, &peer, &record);
        }
    }
}

/// The originals load blindly, and take every answer to a set for a success.
#[test]
fn a_fill_asks_a_server_for_no_key() {
    let _turn = shared();
    let fills = |tool: &str| {
        let user = User::new();
        let agent = user.agent(&format!("{tool} -A -T 2"));
        for at in [String::new(), agent.at()] {
            // The server refuses the longer values, and does not count them.
            for (words, stored) in [("-r 20 -V 1048576", 0), ("-V 2000", 10_000)] {
                let peer = Peer::memcached("");
                let fill = format!("{tool} -s {} {at} {words}", peer.name);
                let ran = user.master(&format!("{fill} --loadonly")).finish().exits(0);
                let out = ran.out.replace("Warning! Detected max cpu usage > 95%\n", "");
                let refused = "memtide: the server refused 20 of 20 sets of the fill with ";
                let said = if stored == 0 { refused } else { "" };
                assert!(out.is_empty() && ran.err.starts_with(said), "{ran}");
                assert_eq!(ran.err.lines().count(), usize::from(stored == 0), "{ran}");
                let figures = ["cmd_get", "cmd_set", "curr_items"].map(|name| peer.figure(name));
                assert_eq!(figures, [0, stored, stored], "{ran}");
                if stored > 0 {
                    // A run fills as blindly.
                    let (ran, report, _) = user.run(&format!("{fill} -t 1 -q 500"));
                    assert_eq!(report.total.ops, peer.figure("cmd_get"), "{ran}");
                }
            }
        }
    };
    thread::scope(|scope| {
        let tools = ["mutilate", "mcperf", "mcperf-dynamic"];
        let lanes = tools.map(|tool| scope.spawn(move || within_turn(|| fills(tool))));
        lanes.into_iter().for_each(|lane| lane.join().unwrap());
    });
}

/// Milliseconds since 1970.
fn unix_ms() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64
}

/// An instant, as far as the counters tell it: between these two, in milliseconds since 1970.
pub(super) type Between = (u64, u64);

/// The instants of the first and the last get of each stretch of load that `peer` counted while
/// `act` ran. Without gets for 1.5 s, a stretch ends.
pub(super) fn stretches<T>(peer: &Peer, act: impl FnOnce() -> T) -> (T, Vec<(Between, Between)>) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut all = Vec::<(Between, Between)>::new();
            let (mut before, mut count) = (unix_ms(), peer.figure("cmd_get"));
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
                // The counters are those of an instant between the question and its answer.
                let (asked, now, answered) = (unix_ms(), peer.figure("cmd_get"), unix_ms());
                let between = (before, answered);
                if now > count {
                    match all.last_mut().filter(|(_, last)| asked - last.1.min(asked) < 1500) {
                        Some((_, last)) => *last = between,
                        None => all.push((between, between)),
                    }
                }
                (before, count) = (asked, now);
            }
            all
        });
        let result = act();
        is_over.store(true, Ordering::Relaxed);
        (result, watch.join().unwrap())
    })
}

/// Asserts that a load is printed to begin and end where the server counted it: nothing before its
/// beginning, and both as near as a busy machine lets its processes come to them.
pub(super) fn assert_printed((start, end): (u64, u64), (first, last): (Between, Between)) {
    const EARLY_MS: u64 = 100;
    const NEAR_MS: u64 = 5_000;
    let all = format!("printed {start} to {end}, counted {first:?} to {last:?}");
    assert!(start <= first.1 + EARLY_MS && first.0 <= start + NEAR_MS, "{all}");
    assert!(last.0 <= end + NEAR_MS && end <= last.1 + NEAR_MS && start < end, "{all}");
}

/// The first and the last instant of each run that `ran` printed.
pub(super) fn printed(line: &str, ran: &Finished) -> Vec<(u64, u64)> {
    if line.contains("--scan") {
        let scan = parser::scan(Dialect::McperfDynamic, &ran.out).expect(line);
        return scan.rows.iter().map(|row| row.timestamps.expect(line)).collect();
    }
    if line.contains("--qps_") {
        return vec![parser::waveform(&ran.out).expect(line).timestamps];
    }
    vec![parser::report(Dialect::McperfDynamic, &ran.out).expect(line).timestamps.expect(line)]
}

/// People compare these instants with the logs of jobs on other machines.
pub(crate) fn printed_instants_are_those_at_which_the_server_is_loaded() {
    let lines = [
        "-t 1 -q 1000 -c 2",
        "-t 1 -w 1 -q 1000",
        "--scan 1000:1500:500 -t 1 -w 1",
        "--qps_interval 0.5 --qps_target 1000,2000",
    ];
    let check = move |has_agents: bool| {
        let (user, peer) = (User::new(), Peer::memcached(""));
        let agents = [user.agent("mcperf -A -T 2"), user.agent("mcperf -A")];
        let at = if has_agents { listed(&agents) } else { String::new() };
        let name = &peer.name;
        user.master(&format!("mcperf -s {name} --loadonly")).finish().exits(0);
        // Without a load of its own, a master prints the instants of its agents.
        let alone = has_agents.then_some("-T 0 -t 1 -q 1000");
        for line in lines.into_iter().chain(alone) {
            let line = format!("mcperf-dynamic -s {name} --noload {line} {at}");
            let (ran, loads) = stretches(&peer, || user.master(&line).finish().exits(0));
            let mut printed = printed(&line, &ran);
            // Without agents, the steps of a scan follow each other at once.
            if !has_agents {
                printed = vec![(printed[0].0, printed.last().unwrap().1)];
            }
            assert_eq!(printed.len(), loads.len(), "{printed:?}, {loads:?}: {ran}");
            printed.iter().zip(&loads).for_each(|(at, load)| assert_printed(*at, *load));
        }
    };
    thread::scope(|scope| {
        let each = [false, true].map(|is| scope.spawn(move || within_turn(|| check(is))));
        each.into_iter().for_each(|lane| lane.join().unwrap());
    });
}

/// The original's agents never leave the first interval, and send as fast as answers come.
#[test]
fn a_profile_of_zeros_leaves_agents_without_a_rate() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached(""));
    let agent = user.agent("mcperf-dynamic -A");
    for own in ["-Q 200", "-T 0 -Q 200", ""] {
        let words = format!("--qps_interval 0.5 --qps_target 0,0 --noload {own} {}", agent.at());
        let before = peer.figure("cmd_get");
        let line = format!("mcperf-dynamic -s {} {words}", peer.name);
        let ran = user.master(&line).finish().exits(0);
        let wave = parser::waveform(&ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
        assert_eq!((wave.targets_per_s.as_slice(), wave.rows.len()), (&[0, 0][..], 2), "{ran}");
        assert_eq!(wave.total.ops, peer.figure("cmd_get") - before, "{ran}");
        let [first, second] = [0, 1].map(|row| wave.rows[row].rate_per_s);
        assert!(first > 0.0, "{ran}");
        assert_eq!(second > 0.0, !own.contains("-T 0"), "{ran}");
        assert!(own != "-Q 200" || second < 400.0, "{ran}");
    }
    let line = format!("mcperf-dynamic -s {} --qps_interval 0.5 --qps_target 0,0", peer.name);
    let refused = user.master(&line).finish().exits(255);
    assert!(refused.err.starts_with("--qps_target '0'"), "{refused}");
}

/// A zero is a rate as well: the originals' agents never leave its interval, either.
#[test]
fn a_zero_within_a_profile_is_its_agents_last_interval() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached(""));
    let agent = user.agent("mcperf-dynamic -A -T 2");
    for own in ["", "-T 0"] {
        let profile = "--qps_interval 0.5 --qps_target 600,0,600 --noload";
        let before = peer.figure("cmd_get");
        let line = format!("mcperf-dynamic -s {} {profile} {own} {}", peer.name, agent.at());
        let ran = user.master(&line).finish().exits(0);
        let wave = parser::waveform(&ran.out).unwrap_or_else(|why| panic!("{why}: {ran}"));
        assert_eq!(wave.targets_per_s, [600, 0, 600], "{ran}");
        assert_eq!(wave.total.ops, peer.figure("cmd_get") - before, "{ran}");
        let rates: Vec<f64> = wave.rows.iter().map(|row| row.rate_per_s).collect();
        let [first, zero, last] = rates[..] else { panic!("{ran}") };
        // At most what is due: 300 operations, within six standard deviations.
        assert!(first > 0.0 && first < 600.0 + 2.0 * 6.0 * f64::sqrt(300.0), "{ran}");
        assert!(zero > 0.0 && last == 0.0, "{ran}");
    }
}

/// The original's agents get a rate of 0 or less, at which they send as fast as answers come.
#[test]
fn a_master_that_takes_the_whole_rate_leaves_agents_without_one() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached(""));
    for (tool, words) in [
        ("mutilate", "-q 200 -Q 200"),
        ("mcperf", "-q 200 -Q 300"),
        ("mutilate", "--scan 500:1500:1000 -Q 1000"),
    ] {
        let (agent, json) = (user.agent("mutilate -A"), fresh("taken.json"));
        let line = format!("{tool} -s {} {words} {} -t 1", peer.name, agent.at());
        let ran = user.master(&format!("{line} --json {}", json.display())).finish().exits(0);
        assert_eq!(ran.err, "", "{ran}");
        let record = match words.contains("--scan") {
            true => super::records(&json).remove(0),
            false => record_at(&json),
        };
        let own_rate: f64 = words.rsplit(' ').next().unwrap().parse().unwrap();
        let own = record.own.as_ref().expect("the master's own load").totals.intended as f64;
        assert!((own - own_rate).abs() < 6.0 * own_rate.sqrt(), "{own} of {own_rate}: {ran}");
        let (theirs, _) = answered(&record);
        assert!(theirs > 0, "as fast as answers come: {ran}");
        if words.contains("--scan") {
            let scan = parser::scan(Dialect::Mutilate, &ran.out).expect("a scan");
            let targets: Vec<u64> = scan.rows.iter().map(|row| row.target_per_s).collect();
            assert_eq!(targets, [500, 1500], "{ran}");
        }
    }
}
