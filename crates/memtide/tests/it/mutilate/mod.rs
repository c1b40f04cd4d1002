//! The faces of the mutilate family as scripts meet them: command lines carried out against
//! Debian's memcached, with the output read by a parser that knows only the originals.

mod matrix;
pub(crate) mod rates;
pub(crate) mod endings;
mod files;
mod credentials;
mod containers;
mod repeats;
mod refused;
pub(crate) mod fleet;

#[path = "../../../../compat/tests/parser/mod.rs"]
mod parser;

use crate::child::{Finished, fresh, program, record_at};
use crate::peer::Peer;
use memtide_record::steps::Steps;
use memtide_record::{PhaseCounts, Record};
use memtide_scenario::Kind;
use parser::Dialect;
use std::path::Path;

/// The format of a command line's output.
fn dialect(line: &str) -> Dialect {
    let mut words = line.split([' ', '=']);
    let asked = words.find(|word| word.starts_with("--form")).and_then(|_| words.next());
    let name = asked.unwrap_or_else(|| line.split(' ').next().unwrap());
    match name {
        "mutilate" => Dialect::Mutilate,
        "mutilate-2012" => Dialect::Mutilate2012,
        "mcperf-dynamic" => Dialect::McperfDynamic,
        "mcperf" if asked.is_none() && line.contains("--qps_") => Dialect::McperfDynamic,
        "mcperf" => Dialect::Mcperf,
        _ => panic!("no face is called {name}"),
    }
}

/// Beginning and end of the load of `record`, in milliseconds since 1970: from its warm-up to its
/// last counted reply.
fn load_ms(record: &Record) -> (u64, u64) {
    let start_ns = record.window_start_unix_ns.unwrap().0 as u64;
    let ns = |s: f64| (s * 1e9).round() as u64;
    let length_s = record.measured_s.max(record.answered_until_s.unwrap_or(0.0));
    let (began, ended) = (start_ns - ns(record.plan.warmup_s), start_ns + ns(length_s));
    (began / 1_000_000, ended / 1_000_000)
}

/// The records of all steps of the search or the scan that wrote `path`.
fn records(path: &Path) -> Vec<Record> {
    let steps = Steps::from_json(&std::fs::read_to_string(path).unwrap()).unwrap();
    let records = steps.steps.into_iter().map(|step| step.record);
    records.inspect(|record| record.check_conservation().unwrap()).collect()
}

/// Counts of servers, and of records for comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    gets: u64,
    sets: u64,
    misses: u64,
}

impl Tally {
    /// Counts of all `peers` so far.
    fn of(peers: &[&Peer]) -> Self {
        peers.iter().fold(Self::default(), |sum, peer| {
            let figures = peer.figures();
            let figure = |name: &str| figures[name].parse::<u64>().unwrap();
            sum.plus(Self {
                gets: figure("cmd_get"),
                sets: figure("cmd_set"),
                misses: figure("get_misses"),
            })
        })
    }

    /// Counts in `record` over all phases.
    fn told(record: &Record) -> Self {
        let phases = record.phases.each();
        phases.into_iter().fold(Self::default(), |sum, (_, phase)| sum.plus(Self::of_phase(phase)))
    }

    /// Counts in `record` that no table shows: fill, probes and warm-up.
    fn untold(record: &Record) -> Self {
        Self::of_phase(&record.phases.load).plus(Self::of_phase(&record.phases.warmup))
    }

    fn of_phase(phase: &PhaseCounts) -> Self {
        Self {
            gets: phase.totals.keys,
            sets: phase.ops.get(&Kind::Set).copied().unwrap_or(0),
            misses: phase.totals.misses,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            gets: self.gets + other.gets,
            sets: self.sets + other.sets,
            misses: self.misses + other.misses,
        }
    }

    /// The difference to `other`.
    fn minus(self, other: Self) -> Self {
        Self {
            gets: self.gets - other.gets,
            sets: self.sets - other.sets,
            misses: self.misses - other.misses,
        }
    }
}

/// Runs a face to its end; no test that pauses processes runs at the same time.
fn face(line: &str) -> Finished {
    crate::child::memtide(line)
}

/// Runs a face; returns its output, the record of each of its runs, and what `peers` counted
/// meanwhile, which must be what the records say.
fn counted(peers: &[&Peer], line: &str) -> (Finished, Vec<Record>, Tally) {
    let json = fresh("counted.json");
    let before = Tally::of(peers);
    let ran = face(&format!("{line} --json {}", json.display())).exits(0);
    let counted = Tally::of(peers).minus(before);
    let has_steps = line.contains("--scan") || line.contains("--search");
    let records = if has_steps { records(&json) } else { vec![record_at(&json)] };
    let told = records.iter().map(Tally::told).fold(Tally::default(), Tally::plus);
    assert_eq!(counted, told, "{ran}");
    (ran, records, counted)
}

/// Runs a face in the folder `at`.
fn face_at(at: &Path, line: &str) -> Finished {
    let _turn = crate::child::shared();
    crate::child::Running::of(program().args(line.split_whitespace()).current_dir(at)).finish()
}

/// `text` as a table of words.
pub(crate) fn cells(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}
