//! Shares together send the server exactly what one process sends.

use super::record;
use crate::prelude::*;

/// Number of operations of the run.
pub(crate) const OPS: usize = 4_000;

/// The commands of a run, and its samples.
#[derive(Debug, PartialEq)]
pub(crate) struct Sent {
    /// Each command of the load that the server received, sorted as text.
    pub(crate) commands: Vec<String>,
    /// Operation, intended instant, index, key and size of each sample, sorted as text.
    pub(crate) rows: Vec<String>,
}

/// The command line of the run.
pub(crate) fn words(server: &str) -> String {
    format!(
        "run -s {server} --rate 4k --ops-max {OPS} --arrival fixed --keys 500 \
         --popularity zipf:0.99 --key-size etc-key --value-size etc-value --mix get=3,set=1 \
         --verify 1 --connections 8 --load always --quiet"
    )
}

/// Carries out the run in shares of one worker each, or in one process with the same number of
/// workers; its files begin with `test`.
pub(crate) fn sent(test: &str, of: usize, in_one: bool) -> Sent {
    let name = format!("{test}-{of}-{in_one}");
    let (log, barrier) = (scratch(&format!("{name}.log")), super::folder(&format!("{name}-meet")));
    let peer = Peer::memcached_recording(&log);
    let words = words(&peer.name);
    let processes = if in_one { 1 } else { of };
    let files = |ending: &str| -> Vec<PathBuf> {
        (0..processes).map(|number| scratch(&format!("{name}-{number}.{ending}"))).collect()
    };
    let (json, samples) = (files("json"), files("csv"));
    let line = |number: usize, more: &str| {
        let (json, samples) = (json[number].display(), samples[number].display());
        format!("{words} {more} --json {json} --samples {samples}")
    };
    let started: Vec<Running> = (0..processes)
        .map(|number| match in_one {
            true => Running::start(&line(0, &format!("--threads {of}"))),
            false => {
                let place = format!("--shard {number}/{of} --barrier dir:{}", barrier.display());
                Running::start(&line(number, &place))
            }
        })
        .collect();
    started.into_iter().for_each(|running| drop(running.finish().exits(0)));
    for record in json.iter().map(|path| record(path)) {
        assert_eq!(record.phases.verification().wrong(), 0, "values of other shares are no error");
        assert_eq!(record.totals.answered, record.totals.intended);
    }
    check_merged(&name, &json);
    drop(fs::remove_dir_all(barrier));
    let rows = samples.iter().flat_map(|path| rows(&fs::read_to_string(path).unwrap()));
    Sent { commands: commands(&fs::read_to_string(&log).unwrap()), rows: sorted(rows.collect()) }
}

/// Asserts that the records merge, every key was found, and the server counted the operations sent.
fn check_merged(name: &str, records: &[PathBuf]) {
    let json = scratch(&format!("{name}-merged.json"));
    let paths: Vec<String> = records.iter().map(|path| path.display().to_string()).collect();
    memtide(&format!("merge {} --json {}", paths.join(" "), json.display())).exits(0);
    let merged = read_record(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(merged.totals.intended, OPS as u64);
    assert_eq!((merged.totals.misses, merged.totals.hits > 0), (0, true));
    assert_counters_equal(&merged);
}

/// The columns of each sample that describe its operation.
pub(crate) fn rows(text: &str) -> Vec<String> {
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let row = |line: &str| {
        let cells = cells(line);
        let [intended, op, index, key, size] = [0, 3, 7, 8, 9].map(|at| cells[at].clone());
        format!("{op} {intended} {index} {key} {size}")
    };
    text.lines().skip(1).map(row).collect()
}

/// The commands of the load: the last in the log, because shares fill before they meet.
pub(crate) fn commands(log: &str) -> Vec<String> {
    let command = |line: &str| {
        let mut words = line.strip_prefix('<')?.split(' ').skip(1);
        match (words.next()?, words.next(), words.nth(2)) {
            ("get", Some(key), _) => Some(format!("get {key}")),
            ("set", Some(key), Some(bytes)) => Some(format!("set {key} {bytes}")),
            _ => None,
        }
    };
    let all: Vec<String> = log.lines().filter_map(command).collect();
    sorted(all[all.len() - OPS..].to_vec())
}

/// Sorts lines as text.
pub(crate) fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

#[test]
fn shares_send_what_one_process_sends() {
    let _turn = shared();
    for of in [1, 2, 4] {
        let (one, shares) = (sent("equal", of, true), sent("equal", of, false));
        assert_eq!((one.rows.len(), one.commands.len()), (OPS, OPS));
        assert!(one.rows == shares.rows, "{of} shares: the rows differ");
        assert!(one.commands == shares.commands, "{of} shares: the server got others");
    }
}
