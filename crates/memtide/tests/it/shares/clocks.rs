//! Shares on machines with different clocks: the start skew is right, or unknown.

use super::record;
use crate::child::cleared;
use crate::prelude::*;
use memtide_record::AlignedBy;
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs three shares that begin at one time of day, the second one under the program and arguments
/// in `before`; none if that is unavailable.
fn merged(name: &str, before: &[&str]) -> Option<Record> {
    let (tool, words) = before.split_first().unwrap();
    let mut tried = Command::new(tool);
    tried.args(words).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    if !tried.status().is_ok_and(|status| status.success()) {
        drop(writeln!(std::io::stderr(), "skipped: {before:?} cannot be run here"));
        return None;
    }
    let peer = Peer::memcached("");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let at = (now + Duration::from_secs(10)).as_secs();
    let files = [0, 1, 2].map(|number| scratch(&format!("clocks-{name}-{number}.json")));
    let start = |number: usize| {
        let mut command = match number {
            1 => {
                let mut command = cleared(Command::new(tool));
                command.args(words).arg(env!("CARGO_BIN_EXE_memtide"));
                command
            }
            _ => program(),
        };
        let line = format!(
            "run -s {} --rate 900 --duration 1s --arrival fixed --keys 300 --connections 6 \
             --load always --quiet --shard {number}/3 --start-at @{at} --json {}",
            peer.name,
            files[number].display()
        );
        Running::of(command.args(line.split_whitespace()))
    };
    let started = [0, 1, 2].map(start);
    for running in started {
        running.finish().exits(0);
    }
    let json = scratch(&format!("clocks-{name}.json"));
    let records = files.map(|path| path.display().to_string());
    memtide(&format!("merge {} --json {}", records.join(" "), json.display())).exits(0);
    let merged = record(&json);
    records.iter().for_each(|path| drop(fs::remove_file(path)));
    assert_eq!(merged.totals.intended, 900);
    Some(merged)
}

#[test]
fn a_shifted_time_of_day_is_seen_by_the_monotonic_clock() {
    let _turn = shared();
    // It reads 250 ms ahead, so this share begins that much earlier.
    let before = ["faketime", "--exclude-monotonic", "-f", "+0.25"];
    let Some(merged) = merged("faketime", &before) else { return };
    assert_eq!(merged.alignment.unwrap().by, AlignedBy::Monotonic);
    let skew = merged.start_skew_ns.unwrap();
    assert!(skew.abs_diff(250_000_000) < 200_000_000, "{skew} ns");
}

#[test]
fn clocks_of_which_none_is_kept_in_step_give_no_number() {
    let _turn = shared();
    let before = ["unshare", "--time", "--monotonic", "1000", "--"];
    let Some(merged) = merged("namespace", &before) else { return };
    let alignment = merged.alignment.unwrap();
    match alignment.by {
        AlignedBy::Unknown => {
            assert_eq!((merged.start_skew_ns, alignment.error_max_ns), (None, None))
        }
        // A machine with a synchronised time of day.
        AlignedBy::TimeOfDay => {
            let (skew, error) = merged.start_skew_ns.zip(alignment.error_max_ns).unwrap();
            assert!(skew <= error + 1_000_000_000, "{skew} ns, within {error}");
        }
        AlignedBy::Monotonic | AlignedBy::Reference => panic!("these clocks are not one"),
    }
}
