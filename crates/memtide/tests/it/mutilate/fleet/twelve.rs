//! The twelve sequences of command lines in which scripts use agents, on machines of their own:
//! what their callers look at, beside what the server counts.

use super::super::parser::{self, Dialect};
use super::machines::{Machines, SERVER};
use super::sequences::{Between, assert_printed, printed, stretches};
use crate::child::{Finished, Running, shared, within_turn};
use crate::peer::Peer;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// Number of sequences at a time.
const LANES: usize = 5;

/// Every sequence, from its heading on.
fn sequences() -> impl Iterator<Item = &'static str> {
    include_str!("twelve.txt").split("\n## ").skip(1)
}

/// Runs the sequences that print instants, or the others, `LANES` at a time.
fn run(have_instants: bool) {
    let is_meant = |text: &&str| text.contains("instants") == have_instants;
    let (meant, next) = (sequences().filter(is_meant).collect::<Vec<_>>(), AtomicUsize::new(0));
    let lane = || {
        while let Some(&text) = meant.get(next.fetch_add(1, Ordering::Relaxed)) {
            within_turn(|| sequence(text));
        }
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().for_each(|lane| lane.join().unwrap());
    });
}

#[test]
fn callers_of_agents_find_what_they_look_at() {
    let numbers: BTreeSet<&str> = sequences().filter_map(|text| text.split(' ').next()).collect();
    assert_eq!(numbers.len(), 12);
    let _turn = shared();
    run(false);
}

pub(crate) fn callers_of_agents_find_instants_beside_the_logs_of_other_machines() {
    run(true);
}

fn sequence(text: &'static str) {
    let (head, lines) = text.split_once('\n').unwrap();
    let words: Vec<&str> = head.split(' ').collect();
    let [number, tool, places @ ..] = &words[..] else { panic!("{head}") };
    // Only the master's machine knows these names.
    let Some(machines) = Machines::new(places, "198.18.7.1 node1\n198.18.7.12 node2\n") else {
        return;
    };
    let face = if *tool == "dynamic" { "mcperf-dynamic" } else { tool };
    machines.join_by_message(face);
    let peer = Peer::memcached_at(SERVER, "-t 2 -c 4096").expect("the address is this machine's");
    let mut stage = Stage { machines, peer, face, running: BTreeMap::new() };
    let mut lines = lines.lines().filter(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let looks = lines.next_if(|line| line.starts_with("=> ")).map_or("", |line| &line[3..]);
        stage.act(&format!("sequence {number}: {line}"), line, looks);
    }
}

/// The machines of a sequence, and the command lines that it did not wait for.
struct Stage<'a> {
    machines: Machines,
    peer: Peer,
    /// The tool whose output is read.
    face: &'a str,
    running: BTreeMap<&'static str, Begun>,
}

/// A command line in progress.
struct Begun {
    line: &'static str,
    running: Running,
    /// What the server had counted before.
    counted: u64,
}

/// A command line that has ended, and what the server counted meanwhile.
struct Seen<'a> {
    /// Number of the sequence and the command line, for errors.
    name: &'a str,
    line: &'a str,
    ran: Finished,
    counted: u64,
    loads: Vec<(Between, Between)>,
}

impl Stage<'_> {
    fn act(&mut self, name: &str, line: &'static str, looks: &str) {
        let end = line.find(['$', '&', '.']).expect(line);
        let (places, prompt, line) = (&line[..end], &line[end..=end], line[end + 1..].trim());
        match prompt {
            "$" => {
                let places: Vec<&str> = places.split(',').collect();
                let begun: Vec<Begun> =
                    places.iter().map(|place| self.begin(place, line)).collect();
                begun.into_iter().for_each(|begun| self.end(name, begun, looks));
            }
            "&" => drop(self.running.insert(places, self.begin(places, line))),
            _ => {
                let begun = self.running.remove(places).expect(name);
                self.end(name, begun, looks);
            }
        }
    }

    fn begin(&self, place: &str, line: &'static str) -> Begun {
        let counted = self.counted();
        let running = self.machines.shell(place, &line.replace("@OWN", &own_cpu()));
        Begun { line, running, counted }
    }

    fn counted(&self) -> u64 {
        self.peer.figure("cmd_get") + self.peer.figure("cmd_set")
    }

    fn end(&self, name: &str, begun: Begun, looks: &str) {
        let Begun { line, running, counted } = begun;
        let (ran, loads) = match looks.contains("instants") {
            true => stretches(&self.peer, || running.finish()),
            false => (running.finish(), Vec::new()),
        };
        let counted = self.counted() - counted;
        let mut seen = Seen { name, line, ran, counted, loads };
        let looks: Vec<&str> = looks.split("; ").filter(|look| !look.is_empty()).collect();
        let code = looks.iter().find_map(|look| look.strip_prefix("exit "));
        let code = code.map_or(0, |code| code.parse().unwrap());
        assert_eq!(seen.ran.code, Some(code), "{name}: {}", seen.ran);
        let said = looks.iter().find_map(|look| look.strip_prefix("says "));
        if !looks.is_empty() && code == 0 && !looks.contains(&"search") {
            assert_eq!(seen.ran.err.trim_end(), said.unwrap_or(""), "{name}: {}", seen.ran);
        }
        looks.iter().for_each(|look| seen.check(look, self.dialect(line)));
    }

    fn dialect(&self, line: &str) -> Dialect {
        match self.face {
            _ if line.contains("mcperf-dynamic") => Dialect::McperfDynamic,
            "mutilate" => Dialect::Mutilate,
            "mcperf" => Dialect::Mcperf,
            _ => Dialect::McperfDynamic,
        }
    }
}

impl Seen<'_> {
    /// Checks what the caller looks at.
    fn check(&mut self, look: &str, dialect: Dialect) {
        let Self { name, ran, .. } = &*self;
        let (look, count) = look.split_once(' ').unwrap_or((look, ""));
        match look {
            "exit" | "says" => {}
            "silent" => assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "{name}"),
            "report" | "search" => {
                let report = parser::report(dialect, &ran.out);
                let report = report.unwrap_or_else(|why| panic!("{name}: {why}: {ran}"));
                // The master's own row is empty if it has no load of its own.
                let is_idle = self.line.contains("-T 0");
                assert!(is_idle || report.rows[0][0] > 0.0, "{name}: {ran}");
                assert_eq!(report.peak_per_s.is_some(), look == "search", "{name}: {ran}");
                self.check_total(report.total.ops);
            }
            "wave" => {
                let wave = parser::waveform(&ran.out);
                let wave = wave.unwrap_or_else(|why| panic!("{name}: {why}: {ran}"));
                assert_eq!(wave.rows.len().to_string(), count, "{name}: {ran}");
                assert!(wave.rows.iter().all(|row| row.rate_per_s > 0.0), "{name}: {ran}");
                self.check_total(wave.total.ops);
            }
            "scan" => {
                let scan = parser::scan(dialect, &ran.out);
                let scan = scan.unwrap_or_else(|why| panic!("{name}: {why}: {ran}"));
                assert_eq!(scan.rows.len().to_string(), count, "{name}: {ran}");
                assert!(scan.rows.iter().all(|row| row.rate_per_s > 0.0), "{name}: {ran}");
            }
            "instants" => self.check_instants(),
            _ => panic!("{name}: no row is called {look}"),
        }
    }

    /// Asserts that the server counted the operations of the total, and others only in what the
    /// total leaves out: fills, warm-ups, other steps, and other commands at the same time.
    fn check_total(&self, ops: u64) {
        let Self { name, line, ran, counted, .. } = self;
        assert!(ops > 0 && ops <= *counted, "{name}: {counted} were counted: {ran}");
        let is_all = line.contains("--noload")
            && [" -w ", "--search", "-M ", "sleep "].iter().all(|word| !line.contains(word));
        assert!(!is_all || ops == *counted, "{name}: {counted} were counted: {ran}");
    }

    fn check_instants(&self) {
        let Self { name, line, ran, loads, .. } = self;
        let printed = printed(line, ran);
        assert_eq!(printed.len(), loads.len(), "{name}: {printed:?}, {loads:?}: {ran}");
        printed.iter().zip(loads).for_each(|(at, load)| assert_printed(*at, *load));
    }
}

/// A CPU on which this process may run.
fn own_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().split([',', '-']).next().unwrap().to_owned()
}
