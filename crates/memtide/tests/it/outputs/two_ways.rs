//! Outputs that can be named in two ways report alike, and a failed one is in the record's exit.
//! Files and pipes by `--json` and `--out json=` are in `bad_places`.

use super::room;
use crate::prelude::*;
use memtide_record::steps::Steps;

const RUN: &str = "sim --ops-max 2k --keys 50";
const SCAN: &str = "sim scan --rates 1k,2k --duration 1s --keys 50";
const REAL: &str = "--rate 400 --keys 100 --duration 100ms --warmup 0s --quiet";

/// The results that a command can write to stdout: each is written as text, or by one of these.
fn commands() -> [(String, &'static [&'static str]); 7] {
    const BOTH: &[&str] = &["", "--json -", "--out json=-", "--out json=/dev/stdout", "--out md=-"];
    const GENERAL: &[&str] = &["", "--out json=-", "--out md=/dev/fd/1"];
    const RUNS: &[&str] = &["", "--json -", "--out json=-", "--samples -", "--out samples=-"];
    let (ab, repeat) = (format!("ab {REAL} --floor=off --at-most 100ms"), format!("run {REAL}"));
    [
        (RUN.to_owned(), RUNS),
        (SCAN.to_owned(), BOTH),
        ("merge r.json".to_owned(), BOTH),
        ("report r.json".to_owned(), GENERAL),
        ("compare r.json r.json".to_owned(), GENERAL),
        (ab, BOTH),
        (format!("{repeat} --repeat 2"), BOTH),
    ]
}

/// A reader of stdout that has left.
const LEFT: &str = "rm -f pipe; mkfifo pipe; exec 3<>pipe >pipe 3<&-";

/// Runs a command line in `folder` after what a shell does to its stdout.
fn run_after(before: &str, folder: &Path, line: &str) -> Finished {
    start_after(&format!("cd '{}'; {before}", folder.display()), line).finish()
}

/// Pairs of runs and repeats lost what they had to show without a word.
#[test]
fn stdout_fails_alike_whatever_is_written_to_it() {
    let _turn = shared();
    let room = room("two-ways");
    run_in(&room, &format!("{RUN} --json r.json")).exits(0);
    for (line, outs) in &commands() {
        for (before, code, why) in [
            ("exec >/dev/full", 1, "No space left on device"),
            ("exec 1</dev/null", 1, "Bad file descriptor"),
            ("exec >&-", 0, ""),
            (LEFT, 0, ""),
        ] {
            for out in *outs {
                let run = run_after(before, &room, &format!("{line} {out}"));
                // A busy machine spoils all pairs of a trial, which then fails by itself.
                let is_lost = run.err.contains("no pair of ");
                assert!(is_lost || run.code == Some(code), "{run}");
                let said = run.err.matches("could not be written: ").count();
                assert_eq!(said, usize::from(code == 1), "{run}");
                assert!(run.err.contains(why), "{run}");
            }
        }
    }
}

/// The record said 0 where the program ended with 1.
#[test]
fn a_failed_output_is_in_the_exit_of_the_record() {
    let _turn = shared();
    let room = room("two-ways-exit");
    let text = |name: &str| fs::read_to_string(room.join(name)).unwrap();
    run_in(&room, &format!("{RUN} --json good.json")).exits(0);
    for (line, before, code) in [
        (format!("{RUN} --samples /dev/full"), "true", 1),
        (format!("{RUN} --out intervals=/dev/full"), "true", 1),
        (format!("{RUN} --out md=/dev/full"), "true", 1),
        (format!("{RUN} --trace /dev/full"), "true", 1),
        (RUN.to_owned(), "exec >/dev/full", 1),
        (RUN.to_owned(), LEFT, 0),
        ("merge good.json --out md=/dev/full".to_owned(), "true", 1),
        ("merge good.json".to_owned(), "exec >/dev/full", 1),
    ] {
        drop(fs::remove_file(room.join("runs.csv")));
        let outs = "--json r.json --out summary=runs.csv --out openmetrics=r.prom";
        let run = run_after(before, &room, &format!("{line} {outs}")).exits(code);
        assert_eq!(i32::from(record_at(&room.join("r.json")).exit), code, "{run}");
        let rows = text("runs.csv");
        let mut rows = rows.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let at = rows.next().unwrap().iter().position(|name| *name == "exit").unwrap();
        assert_eq!(rows.next().unwrap()[at], code.to_string(), "{run}");
        assert!(text("r.prom").contains(&format!("\nmemtide_exit {code}\n")), "{run}");
    }
    for (out, code) in [("--out md=/dev/full", 1), ("--out md=s.md", 0)] {
        let run = run_in(&room, &format!("{SCAN} {out} --json s.json")).exits(code);
        let steps = Steps::from_json(&text("s.json")).unwrap();
        assert_eq!(i32::from(steps.conclusion.exit), code, "{run}");
        assert!(steps.steps.iter().all(|step| step.record.exit == 0), "{run}");
    }
}
