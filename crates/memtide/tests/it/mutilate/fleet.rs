//! Masters and agents of the mutilate family: with unchanged command lines, each a separate
//! process, as the originals' pages and scripts start them.

mod elsewhere;
mod homes;
pub(crate) mod log;
mod networks;
pub(crate) mod sequences;
pub(crate) mod twelve;
mod machines;
mod killed;

use super::parser::{self, Dialect, Report};
use super::{Tally, dialect, fresh, record_at, records};
use crate::child::{Finished, Running, fresh_folder, memtide, program, shared};
use crate::peer::{Peer, free_port};
use memtide_record::Record;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketType};
use rustix::process::Signal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Longest time until an agent can be dialled.
const PATIENCE: Duration = Duration::from_secs(120);

/// Processes of one user, with a folder for memtide's state.
struct User {
    state: PathBuf,
    /// Join file of all processes; none for the user's own key.
    join: Option<PathBuf>,
}

/// True if a socket listens on this TCP port: then no other may have it.
fn is_listened_on(port: u16) -> bool {
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    net::sockopt::set_socket_reuseaddr(&socket, true).expect("it may share its port");
    let bound = net::bind(&socket, &SocketAddr::from(([0, 0, 0, 0], port)));
    bound == Err(Errno::ADDRINUSE)
}

/// Waits until an agent listens on `port`. It prints nothing to wait for, and its port must not be
/// taken to find out.
pub(super) fn await_listening(port: u16) {
    let until = Instant::now() + PATIENCE;
    while !is_listened_on(port) {
        assert!(Instant::now() < until, "no agent waits for masters at port {port}");
        thread::sleep(Duration::from_millis(10));
    }
}

impl User {
    fn new() -> Self {
        Self { state: fresh_folder("state"), join: None }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = program();
        command.env("XDG_STATE_HOME", &self.state).args(line.split_whitespace());
        if let Some(join) = &self.join {
            command.env("MEMTIDE_JOIN", join);
        }
        command
    }

    /// An agent that can be dialled.
    fn agent(&self, line: &str) -> Agent {
        let port = free_port();
        let running = Running::of(&mut self.command(&format!("{line} -p {port}")));
        let agent = Agent { running, port };
        await_listening(port);
        agent
    }

    fn master(&self, line: &str) -> Running {
        Running::of(&mut self.command(line))
    }

    /// Carries out a master's run; returns its output, report and record.
    fn run(&self, line: &str) -> (Finished, Report, Record) {
        let json = fresh("fleet.json");
        let line = format!("{line} --json {}", json.display());
        let finished = self.master(&line).finish().exits(0);
        assert_eq!(finished.err, "", "{line}");
        let report = parser::report(dialect(&line), &finished.out).expect(&line);
        (finished, report, record_at(&json))
    }
}

struct Agent {
    running: Running,
    port: u16,
}

impl Agent {
    fn at(&self) -> String {
        format!("-a 127.0.0.1:{}", self.port)
    }

    /// Ends it with a signal, as scripts do; returns its output.
    fn ended_by(self, signal: Signal) -> Finished {
        self.running.signal(signal);
        self.running.finish().dies_by(signal)
    }
}

fn listed(agents: &[Agent]) -> String {
    agents.iter().map(Agent::at).collect::<Vec<_>>().join(" ")
}

/// Asserts that the servers' counts equal those of all processes.
fn assert_counted(before: Tally, peer: &Peer, record: &Record) {
    let own = record.own.as_deref().map(Tally::told).unwrap_or_default();
    let mut counted = Tally::of(&[peer]).minus(before);
    let mut told = Tally::told(record).plus(own);
    // A busy server is asked for a key that is not there when it does not tell its statistics.
    counted.gets -= counted.misses;
    told.gets -= told.misses;
    (counted.misses, told.misses) = (0, 0);
    assert_eq!(counted, told);
}

/// Asserts that agents and master together intended the requested load, however it is divided.
fn assert_intended(record: &Record, asked: f64, ran: &Finished) {
    let own = record.own.as_ref().map_or(0, |own| own.totals.intended);
    let intended = (record.totals.intended + own) as f64;
    assert!((intended - asked).abs() < 6.0 * asked.sqrt(), "{intended} of {asked}: {ran}");
}

/// Operations answered in the measurement, of the agents and of the master.
fn answered(record: &Record) -> (u64, u64) {
    let own = record.own.as_ref().map_or(0, |own| own.totals.answered);
    (record.totals.answered, own)
}

/// An agent's command line, the number of agents, and their master's. `@S` is the server, `@A` are
/// the agents, and `@F` is a file.
const PAIRS: &[(&str, usize, &str)] = &[
    ("mutilate -A -T 2", 1, "mutilate -s @S @A -t 1 -q 2000"),
    ("mutilate -T 2 -A -B", 2, "mutilate -s @S @A -B -T 2 -Q 500 -D 4 -C 4 -c 4 -q 4000 -t 1"),
    ("mutilate -A", 1, "mutilate -s @S @A -c 2 -d 4 -u 0.5 -t 1 -q 1000 --binary"),
    ("mutilate -A --affinity", 1, "mutilate -s @S @A -T 0 -t 1 -q 1000 -w 1"),
    ("mcperf -T 2 -A", 2, "mcperf -s @S @A -T 2 -c 2 -D 1 -Q 500 -C 1 -t 1 -q 4000 -u 0.1"),
    ("mcperf -A -l 2", 1, "mcperf -s @S @A -t 1 -q 3000 -M 10 -m 2"),
    ("mcperf -A -B", 1, "mcperf -s @S @A -T 1 -t 1 -q 1000 --save @F"),
    ("mcperf-dynamic -A", 1, "mcperf-dynamic -s @S @A -t 1 -q 1000 -u 0.2"),
    ("mcperf -A", 1, "mcperf -s @S -s @S @A -R -T 2 -t 1 -q 1000 -W 1"),
];

/// Number of pairs that run at a time.
const LANES: usize = 3;

#[test]
fn every_pair_of_command_lines() {
    let _turn = shared();
    let next = AtomicUsize::new(0);
    let lane = || {
        let (user, peer) = (User::new(), Peer::memcached("-t 2"));
        while let Some(pair) = PAIRS.get(next.fetch_add(1, Ordering::Relaxed)) {
            check_pair(&user, &peer, pair);
        }
    };
    thread::scope(|scope| (0..LANES).for_each(|_| drop(scope.spawn(lane))));
}

fn check_pair(user: &User, peer: &Peer, (agent, count, master): &(&str, usize, &str)) {
    let agents: Vec<Agent> = (0..*count).map(|_| user.agent(agent)).collect();
    let line = master.replace("@S", &peer.name).replace("@A", &listed(&agents));
    let saved = fresh("saved");
    let line = line.replace("@F", &saved.display().to_string());
    let before = Tally::of(&[peer]);
    let (finished, report, record) = user.run(&line);
    assert_counted(before, peer, &record);
    let (theirs, own) = answered(&record);
    assert_eq!(report.total.ops, theirs + own, "{finished}");
    assert_eq!(record.own.is_none(), line.contains("-T 0"), "{line}");
    if line.contains("--save") {
        let lines = fs::read_to_string(&saved).unwrap().lines().count() as u64;
        assert_eq!(lines, own, "the master saves its own: {line}");
    }
    for agent in agents {
        let said = agent.ended_by(Signal::TERM);
        let alone = said.err.lines().all(|line| line.contains("only masters of its own user"));
        assert!(alone && said.err.lines().count() == 1, "{said}");
        assert_eq!(said.out.is_empty(), line.starts_with("mutilate"), "{said}");
    }
}

#[test]
fn one_master_after_another() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached(""));
    let agents = [user.agent("mcperf -A"), user.agent("mcperf -A -T 2")];
    let fill = user.master(&format!("mcperf -s {} {} --loadonly", peer.name, listed(&agents)));
    let fill = fill.finish().exits(0);
    assert_eq!((fill.out.as_str(), fill.err.as_str()), ("", ""));
    assert_eq!(peer.figure("curr_items"), 10_000);
    for _ in 0..3 {
        let line = format!("mcperf -s {} --noload {} -t 1 -q 2000", peer.name, listed(&agents));
        let (finished, report, record) = user.run(&line);
        let (theirs, own) = answered(&record);
        assert_eq!(report.total.ops, theirs + own, "{finished}");
        assert_eq!((record.totals.misses, report.counts.connections), (0, Some(1)), "{finished}");
        // Each connection carries the same load: the master has one, its agents one and two.
        // On a busy machine each sends less of what is due, but no less is due.
        for (shard, due) in record.shards.iter().zip([500.0, 1000.0]) {
            let planned = shard.planned.expect("a schedule") as f64;
            assert!((planned - due).abs() < 6.0 * f64::sqrt(due), "{planned}: {finished}");
            assert!(shard.rate.achieved_per_s > 0.0, "{finished}");
        }
        assert_intended(&record, 2000.0, &finished);
        // The row of reads covers all processes; the others are the master's alone.
        assert!(report.rows[0][0] > 0.0 && report.rows[2][0] >= 1.0, "{finished}");
    }
    // A second master waits for a busy agent.
    let line = format!("mcperf -s {} --noload {} -t 1 -q 500", peer.name, agents[0].at());
    for master in [user.master(&line), user.master(&line)] {
        let finished = master.finish().exits(0);
        assert_eq!(finished.err, "", "{finished}");
    }
    // A killed master leaves its agents to the next one.
    let master = user.master(&format!("mcperf -s {} {} -t 300", peer.name, listed(&agents)));
    peer.await_figure("cmd_get", peer.figure("cmd_get") + 2_000);
    master.signal(Signal::TERM);
    master.finish().dies_by(Signal::TERM);
    let line = format!("mcperf -s {} --noload {} -t 1 -q 1000", peer.name, listed(&agents));
    user.run(&line);
    for agent in agents {
        let said = agent.ended_by(Signal::INT);
        let rows: Vec<&str> = said.out.lines().collect();
        assert!(rows.len() >= 8 && rows.len().is_multiple_of(2), "{said}");
        for pair in rows.chunks(2) {
            assert!(pair[0].starts_with("#type ") && pair[0].ends_with(" QPS"), "{said}");
            assert!(pair[1].starts_with("read "), "{said}");
            let cells: Vec<&str> = pair[1].split_whitespace().collect();
            assert_eq!(cells.len(), 17, "{said}");
        }
    }
}

#[test]
fn scans_and_searches_over_agents() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached(""));
    let agents = [user.agent("mutilate -A"), user.agent("mcperf-dynamic -A")];
    let all = listed(&agents);
    let json = fresh("steps.json");
    for (program, more) in [("mutilate", "-Q 300"), ("mcperf", ""), ("mcperf-dynamic", "-T 0")] {
        let scan = "--scan 1000:2000:500 -t 1";
        let to = json.display();
        let line = format!("{program} -s {} {all} {scan} {more} --json {to}", peer.name);
        let finished = user.master(&line).finish().exits(0);
        let scanned = parser::scan(dialect(&line), &finished.out).expect("a scan");
        let targets: Vec<u64> = scanned.rows.iter().map(|row| row.target_per_s).collect();
        assert_eq!(targets, [1000, 1500, 2000], "{finished}");
        for (row, record) in scanned.rows.iter().zip(records(&json)) {
            // On a busy machine each sends less of what is due, but no less is due.
            assert!(row.rate_per_s > 0.0, "{finished}");
            assert_intended(&record, row.target_per_s as f64, &finished);
            if more == "-Q 300" {
                let intended = record.own.unwrap().totals.intended as f64;
                assert!((intended - 300.0).abs() < 6.0 * f64::sqrt(300.0), "{intended}");
            }
        }
    }
    let search = format!("mutilate -s {} {all} --search 95:900000 -q 2000 -t 1 -T 1", peer.name);
    let found = user.master(&search).finish().exits(0);
    let report = parser::report(Dialect::Mutilate, &found.out).expect("a report");
    assert!(report.total.rate_per_s > 0.0, "{found}");
    parser::progress(Dialect::Mutilate, &found.err).expect("the progress of a search");
}

#[test]
fn waveforms_over_agents() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached("-t 2"));
    let agent = user.agent("mcperf-dynamic -T 2 -A");
    let at = format!("mcperf -s {} {} -B -C 1 -D 4 -c 2 -d 4", peer.name, agent.at());
    // The numbers that libstdc++ draws from this seed.
    let drawn = "-Q 1000 -t 2 --qps_interval 1 --qps_min 10000 --qps_max 50000 --qps_seed 23";
    let given = "-t 9 --qps_interval 0.5 --qps_target 2000,4000 --qps_target 1000";
    for (words, targets) in [(drawn, &[10_007_u64, 11_014][..]), (given, &[2000, 4000, 1000])] {
        let json = fresh("wave.json");
        let line = format!("{at} {words} --json {}", json.display());
        let finished = user.master(&line).finish().exits(0);
        let wave = parser::waveform(&finished.out).expect("a waveform");
        assert_eq!(wave.targets_per_s, targets, "{finished}");
        let all: u64 = targets.iter().sum();
        let length_s = if words == drawn { 1.0 } else { 0.5 };
        assert_intended(&record_at(&json), all as f64 * length_s, &finished);
        let total = wave.total.ops as f64;
        assert_eq!(wave.rows.len(), targets.len(), "{finished}");
        let rows: f64 = wave.rows.iter().map(|row| row.rate_per_s * length_s).sum();
        assert!((rows - total).abs() <= 0.01 * total + 3.0, "{rows} of {total}: {finished}");
    }
    let said = agent.ended_by(Signal::TERM);
    assert_eq!(said.out.matches("Local QPS = ").count(), 2, "{said}");
}

#[test]
fn agents_that_are_gone() {
    let _turn = shared();
    let (user, peer) = (User::new(), Peer::memcached(""));
    let mut agents = [user.agent("mcperf -A"), user.agent("mcperf -A")];
    let missing = free_port();
    let at = format!("mcperf -s {} -a 127.0.0.1:{missing} {}", peer.name, listed(&agents));
    // An absent agent is given up after the time of -M, and one that dies later at once.
    let words = "-M 10 -t 8 -q 2000 --json";
    let json = fresh("gone.json");
    let master = user.master(&format!("{at} {words} {}", json.display()));
    peer.await_figure("cmd_get", 200);
    agents[0].running.signal(Signal::KILL);
    let finished = master.finish().exits(0);
    let lines: Vec<&str> = finished.err.lines().collect();
    let said = |number| format!("mcperf.cc(400): Agent failure detected, skip agent {number}!");
    assert_eq!(lines, [said(1), said(2)], "{finished}");
    let report = parser::report(Dialect::Mcperf, &finished.out).expect("a report");
    let (theirs, own) = answered(&record_at(&json));
    assert_eq!(report.total.ops, theirs + own, "{finished}");
    // Without -M there is no result, and the master does not wait for ever.
    let second = agents[1].at();
    let master = user.master(&format!("mcperf -s {} {second} -t 300 -q 2000", peer.name));
    peer.await_figure("cmd_get", peer.figure("cmd_get") + 1_000);
    agents[1].running.signal(Signal::KILL);
    master.finish().complains(255, &["connection was closed"]);
    agents = [user.agent("mutilate -A"), user.agent("mutilate -A")];
    drop(agents);
}

#[test]
fn who_may_command_an_agent() {
    let _turn = shared();
    let (user, other, peer) = (User::new(), User::new(), Peer::memcached(""));
    let agent = user.agent("mutilate -A");
    let line = format!("mcperf -s {} {} -M 1 -t 1", peer.name, agent.at());
    other.master(&line).finish().complains(255, &["0 of 1", "-M"]);
    // Without a join file an agent loads only servers on this machine.
    let line = format!("mutilate -s 192.0.2.1 {} -T 0 -t 1", agent.at());
    user.master(&line).finish().complains(255, &["192.0.2.1", "not among the targets"]);
    // With a join file, it loads those that the file names.
    let key = fresh_folder("key").join("of-a-lab");
    memtide(&format!("key new {} --allow-target 127.0.0.1:1", key.display())).exits(0);
    let joined = User { join: Some(key.join("agent.join")), ..User::new() };
    let agent = joined.agent("mutilate -A");
    let line = format!("mutilate -s {} {} -T 0 -t 1", peer.name, agent.at());
    joined.master(&line).finish().complains(255, &["not among the targets"]);
    user.master(&format!("{line} -M 1")).finish().complains(255, &["0 of 1"]);
    assert_eq!(peer.figure("cmd_set"), 0);
    // A join file without its key is useless to a master.
    let copy = fresh("copy.join");
    fs::copy(key.join("agent.join"), &copy).unwrap();
    let lost = User { join: Some(copy), ..User::new() };
    lost.master(&line).finish().complains(255, &["master.pem"]);
    let absent = User { join: Some(PathBuf::from("/nowhere/x.join")), ..User::new() };
    absent.master(&line).finish().complains(255, &["/nowhere/x.join"]);
    absent.master("mutilate -A").finish().complains(255, &["/nowhere/x.join"]);
}

#[test]
fn masterless_processes_are_shares_where_the_environment_says_so() {
    let _turn = shared();
    let (peer, folder) = (Peer::memcached(""), fresh_folder("shares"));
    let line = format!("mutilate -s {} -M -t 1 -q 1000", peer.name);
    fs::create_dir_all(folder.join("barrier")).unwrap();
    let share = |number: usize| {
        let mut command = program();
        command.args(line.split(' ')).env("MEMTIDE_SHARD", format!("{number}/2"));
        command.env("MEMTIDE_JSON", folder.join(format!("{number}.json")));
        let meeting = format!("dir:{}", folder.join("barrier").display());
        Running::of(command.env("MEMTIDE_BARRIER", meeting))
    };
    for share in [share(0), share(1)] {
        let finished = share.finish().exits(0);
        assert_eq!((finished.out.as_str(), finished.err.as_str()), ("", ""), "{finished}");
    }
    let merged = folder.join("run.json");
    let (a, b) = (folder.join("0.json"), folder.join("1.json"));
    let merge = format!("merge {} {} --json {}", a.display(), b.display(), merged.display());
    memtide(&merge).exits(0);
    let record = record_at(&merged);
    assert_eq!(record.shards.len(), 2);
    let intended = record.totals.intended as f64;
    assert!((intended - 1000.0).abs() < 6.0 * f64::sqrt(1000.0), "{intended}");
    // The face has variables where memtide has flags.
    for (variables, words) in [
        (&[("MEMTIDE_SHARD", "0/2")][..], ["--json", "MEMTIDE_JSON"]),
        (&[("MEMTIDE_SHARD", "auto")], ["MEMTIDE_SHARD=auto: ", "MEMTIDE_SHARD=0/4"]),
        (
            &[("MEMTIDE_SHARD", "0/2"), ("MEMTIDE_BARRIER", "pmi"), ("MEMTIDE_JSON", "0.json")],
            ["MEMTIDE_BARRIER=pmi: ", "MEMTIDE_START_AT"],
        ),
    ] {
        let mut command = program();
        command.args(line.split(' ')).envs(variables.iter().copied()).current_dir(&folder);
        let ran = Running::of(&mut command).finish();
        assert!(!ran.err.contains("--shard") && !ran.err.contains("--barrier"), "{ran}");
        ran.complains(255, &words);
    }
}
