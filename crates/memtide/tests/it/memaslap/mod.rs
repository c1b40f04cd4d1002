//! memaslap's face as scripts meet it: command lines carried out against Debian's memcached, with
//! the output read by a parser that knows only the original.

mod examples;
mod rates;
mod endings;
mod returns;
mod verification;

#[path = "../../../../compat/tests/memaslap/mod.rs"]
mod parser;

use crate::prelude::*;
use parser::Output;

/// A run with its parsed output, and the record to compare it with.
struct Ran {
    run: Finished,
    output: Output,
    record: Record,
}

/// A configuration file with this content.
fn configured(text: &str) -> String {
    let path = fresh("config");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Runs `memtide memaslap` with `line`, where `@S` stands for all of `peers`; it must end with
/// `code`.
fn memaslap(peers: &[&Peer], line: &str, code: i32) -> Ran {
    let json = fresh("record.json");
    let names: Vec<&str> = peers.iter().map(|peer| &*peer.name).collect();
    let line = line.replace("@S", &names.join(","));
    let line = format!("memaslap -s {} {line} --notes --json {}", names.join(","), json.display());
    let run = memtide(&line).exits(code);
    read(run, &json)
}

/// Parses the output of `run`, and reads its record from `json`.
fn read(run: Finished, json: &Path) -> Ran {
    let output = parser::output(&run.out).unwrap_or_else(|why| panic!("{why}: {run}"));
    Ran { run, output, record: record_at(json) }
}

impl Ran {
    fn counter(&self, name: &str) -> u64 {
        let named = self.output.counters.iter().find(|(known, _)| known == name);
        named.unwrap_or_else(|| panic!("no {name} in {}", self.run)).1
    }

    /// The counters of faults found by verification, all of which must be printed.
    fn wrong(&self) -> [u64; 2] {
        [self.counter("verify_misses"), self.counter("verify_failed")]
    }

    /// The printed counts of servers: `cmd_get`, `cmd_set`, `get_misses`.
    fn told(&self) -> [u64; 3] {
        ["cmd_get", "cmd_set", "get_misses"].map(|name| self.counter(name))
    }

    /// The counts of servers from the fill, which are not printed.
    fn untold(&self) -> [u64; 3] {
        let load = &self.record.phases.load;
        let sets = load.ops.get(&Kind::Set).copied().unwrap_or(0);
        [load.totals.keys_asked, sets, load.totals.misses]
    }

    /// Asserts that the whole output is right: its counts, and the share of sets.
    fn check(&self, peers: &[&Peer], before: [u64; 3]) {
        self.check_counts(peers, before);
        let (run, header) = (&self.run, &self.output.header);
        let [gets, sets, _] = self.told();
        let share = header.sets / (header.sets + header.gets);
        let found = sets as f64 / (gets + sets) as f64;
        // Each client follows the pattern exactly, but for its last gets and its first sets.
        let slack = f64::from(header.concurrency) * 64.0 / (gets + sets) as f64;
        assert!((share - found).abs() < 0.01 + slack, "{found} of {share} are sets: {run}");
    }

    /// Asserts that printed sums are right, and that the servers' counts, which were `before`,
    /// agree.
    fn check_counts(&self, peers: &[&Peer], before: [u64; 3]) {
        let (run, output) = (&self.run, &self.output);
        let [gets, sets, misses] = self.told();
        let untold = self.untold();
        let told = [gets + untold[0], sets + untold[1], misses + untold[2]];
        let counted = counted(peers);
        let asked: Vec<u64> = counted.iter().zip(before).map(|(now, then)| now - then).collect();
        assert_eq!(asked, told, "{run}");
        assert_eq!(output.line.ops, u128::from(gets + sets), "{run}");
        let tps = output.line.ops as f64 / self.record.measured_s;
        assert!((output.line.tps - tps).abs() <= 1.0, "{tps}: {run}");
        let bytes = self.counter("written_bytes") + self.counter("read_bytes");
        let net = bytes as f64 / 1_048_576.0 / self.record.measured_s;
        assert!((output.line.net_mib - net).abs() < 0.06, "{net}: {run}");
        let is_beside = |line: &str| line.starts_with("memtide: p50 / p99");
        assert!(run.err.lines().any(is_beside), "{run}");
    }
}

/// Sums of `cmd_get`, `cmd_set` and `get_misses` over `peers`.
fn counted(peers: &[&Peer]) -> [u64; 3] {
    let names = ["cmd_get", "cmd_set", "get_misses"];
    names.map(|name| peers.iter().map(|peer| peer.figure(name)).sum())
}
