//! Destinations of results: complete or unchanged, through links, pipes and full disks, and never
//! two in one file.

mod bad_places;
mod compare;
mod general;
mod page;
mod parquet;
mod server_reports;
mod two_ways;

use crate::child::run_on_small_disk;
use crate::prelude::*;
use std::fs::OpenOptions;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A separate empty folder.
pub(crate) fn room(name: &str) -> PathBuf {
    let path = scratch(name);
    drop(fs::remove_dir_all(&path));
    fs::create_dir(&path).unwrap();
    path
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

const SHORT: &str = "run --ops-max 200 --keys 50";

#[test]
fn a_full_disk_leaves_the_old_record_and_nothing_else() {
    let folder = room("full");
    let line = format!("{SHORT} --json r.json --plot p.svg --verify 1 --verify-details d.json");
    run_in(&folder, &line).exits(0);
    let all = ["d.json", "p.svg", "r.json"];
    assert_eq!(names(&folder), all);
    let old = all.map(|name| fs::read(folder.join(name)).unwrap());
    for (line, files) in [
        (line, 2),
        ("scan --rates 1k,2k --duration 100ms --keys 50 --json r.json".to_owned(), 1),
        ("merge r.json --json r.json".to_owned(), 1),
    ] {
        let run = run_on_small_disk(&folder, &line, 100).exits(1);
        assert_eq!(run.err.matches("could not be written").count(), files, "{run}");
        assert!(run.out.lines().count() > 2, "the report is shown all the same: {run}");
        for (name, old) in all.iter().zip(&old).filter(|(name, _)| **name != "d.json") {
            assert!(fs::read(folder.join(name)).unwrap() == *old, "{name} is as it was: {run}");
        }
        assert_eq!(names(&folder), all, "{run}");
    }
}

#[test]
fn links_are_followed_and_modes_kept() {
    let folder = room("links");
    let sub = folder.join("sub");
    fs::create_dir(&sub).unwrap();
    fs::write(sub.join("old.json"), "x").unwrap();
    fs::set_permissions(sub.join("old.json"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("sub/old.json", folder.join("link")).unwrap();
    symlink("sub/new.json", folder.join("dangling")).unwrap();
    for (name, file) in [("link", "old.json"), ("dangling", "new.json")] {
        run_in(&folder, &format!("{SHORT} --json {name}")).exits(0);
        assert!(folder.join(name).is_symlink(), "{name} stays a link");
        assert_eq!(record_at(&sub.join(file)).totals.intended, 200);
    }
    let mode = fs::metadata(sub.join("old.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
    assert_eq!(names(&sub), ["new.json", "old.json"]);
    // Root can write to any folder, so the rest of the test would show nothing.
    // SAFETY: the call only returns a number.
    if unsafe { libc::geteuid() } == 0 {
        return;
    }
    fs::set_permissions(&sub, fs::Permissions::from_mode(0o555)).unwrap();
    run_in(&folder, &format!("{SHORT} --json sub/old.json")).exits(0);
    run_in(&folder, &format!("{SHORT} --json sub/more.json"))
        .complains(2, &["--json", "more.json"]);
    fs::set_permissions(&sub, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_run_that_is_killed_leaves_the_old_record_and_the_rows_so_far() {
    let folder = room("killed");
    fs::write(folder.join("r.json"), "old").unwrap();
    let peer = Peer::memcached("");
    let _turn = shared();
    let flags = "--rate 2k --duration 50s --keys 100 --load never --mix get=1";
    let line = format!("run -s {} {flags} --json r.json --plot p.svg --samples s.csv", peer.name);
    let running = Running::of(&mut program_in(&folder, &line));
    peer.await_figure("cmd_get", 6_000);
    running.signal(Signal::KILL);
    running.finish();
    assert_eq!(fs::read_to_string(folder.join("r.json")).unwrap(), "old");
    assert_eq!(names(&folder), ["r.json", "s.csv"]);
    let rows = fs::read_to_string(folder.join("s.csv")).unwrap();
    assert!(rows.starts_with("intended_ns,") && rows.lines().count() > 1_000, "{}", rows.len());
}

#[test]
fn a_search_that_is_interrupted_leaves_whole_steps() {
    let folder = room("steps-interrupted");
    fs::write(folder.join("s.json"), "old").unwrap();
    let peer = Peer::memcached("");
    let _turn = shared();
    let line =
        format!("scan -s {} --rates 1k..1k+0 --duration 300ms --keys 100 --json s.json", peer.name);
    let running = Running::of(&mut program_in(&folder, &line));
    peer.await_figure("cmd_get", 1_000);
    running.signal(Signal::HUP);
    let run = running.finish().exits(130);
    let text = fs::read_to_string(folder.join("s.json")).unwrap();
    memtide_record::steps::Steps::from_json(&text).unwrap_or_else(|why| panic!("{why:?}: {run}"));
    assert_eq!(names(&folder), ["s.json"]);
}

#[test]
fn a_pipe_is_written_as_it_is() {
    let folder = room("pipes");
    fifo(&folder.join("pipe"));
    let path = folder.join("pipe");
    let reader = thread::spawn(move || fs::read_to_string(path).unwrap());
    run_in(&folder, &format!("{SHORT} --json pipe --samples /dev/null")).exits(0);
    assert_eq!(read_record(&reader.join().unwrap()).unwrap().totals.intended, 200);
    assert_eq!(names(&folder), ["pipe"]);
}

/// Runs `line` in `folder` with rows to a pipe without a reader, and to one whose reader waits: its
/// report and its record come nevertheless.
fn run_unread(folder: &Path, line: &str, rows: &str) {
    for is_open in [false, true] {
        // Opened for reading and writing it does not block, and nothing is ever read.
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let held: Option<File> = is_open.then(|| options.open(folder.join("pipe")).unwrap());
        let run = run_in(folder, &format!("{line} {rows} pipe --json r.json")).exits(1);
        assert!(run.out.lines().last().unwrap().starts_with("believable: "), "{run}");
        assert!(run.err.contains(rows) && run.err.contains("rows are missing"), "{run}");
        record_at(&folder.join("r.json"));
        drop(held);
    }
}

#[test]
fn samples_that_nobody_reads_delay_no_report() {
    let folder = room("stalled");
    fifo(&folder.join("pipe"));
    let reads = "--load never --mix get=1 --timeout 2s";
    run_unread(&folder, &format!("run --rate 20k --duration 1s --keys 100 {reads}"), "--samples");
}

#[test]
fn neither_do_rows_of_a_simulation() {
    let folder = room("stalled-sim");
    fifo(&folder.join("pipe"));
    let run = "sim --rate 20k --duration 2s --keys 100 --load never --mix get=1";
    run_unread(&folder, run, "--samples");
    run_unread(&folder, run, "--trace");
    // What the reader gets is complete. The pipe is another one, because a process that another
    // test starts may hold the end of the first for a moment.
    let path = folder.join("whole");
    fifo(&path);
    let reader = thread::spawn(move || fs::read_to_string(path).unwrap());
    run_in(&folder, &format!("{run} --json r.json --samples whole")).exits(0);
    let record = record_at(&folder.join("r.json"));
    let rows = reader.join().unwrap().lines().count() as u64;
    assert_eq!(rows, 1 + record.totals.intended);
}

#[test]
fn two_outputs_into_one_file_are_refused() {
    let folder = room("twice");
    fs::write(folder.join("a"), "old").unwrap();
    fs::hard_link(folder.join("a"), folder.join("hard")).unwrap();
    fs::hard_link(folder.join("a"), folder.join("hard.csv")).unwrap();
    symlink("a", folder.join("soft")).unwrap();
    symlink("new", folder.join("ahead.csv")).unwrap();
    for (line, words) in [
        ("--json hard.csv --samples hard.csv", ["--json 'hard.csv'", "--samples 'hard.csv'"]),
        ("--json a --samples hard.csv", ["--json 'a'", "--samples 'hard.csv'"]),
        (
            "--verify 1 --verify-details soft --json ./a",
            ["--json './a'", "--verify-details 'soft'"],
        ),
        ("--json new --samples ./ahead.csv", ["--json 'new'", "--samples './ahead.csv'"]),
        ("--json x.svg --plot x.svg", ["--json 'x.svg'", "--plot 'x.svg'"]),
        ("--json - --samples /dev/stdout", ["samples and json", "stdout"]),
    ] {
        run_in(&folder, &format!("{SHORT} {line}")).complains(2, &words);
    }
    let line = "mutilate -s 127.0.0.1:1 --save a --json hard";
    run_in(&folder, line).complains(255, &["--save", "--json"]);
    run_in(&folder, "sim --ops-max 10 --json a --trace soft").complains(2, &["--json", "--trace"]);
    assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "old");
    // The report's own destination is one of them.
    let out = OpenOptions::new().append(true).open(folder.join("a")).unwrap();
    let mut command = program_in(&folder, &format!("{SHORT} --json hard"));
    let run = command.stdout(out).stderr(Stdio::piped()).output().unwrap();
    let err = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{err}");
    assert!(err.contains("--json 'hard'") && err.contains("stdout"), "{err}");
    // A device that keeps nothing can be named twice.
    memtide(&format!("{SHORT} --json /dev/null --samples /dev/null")).exits(0);
}

#[test]
fn tags_stand_in_every_record_and_where_results_go_in_none() {
    let folder = room("tags");
    fs::write(folder.join("s.toml"), "tag = [\"from=file\"]\nquiet = true\n").unwrap();
    let tags = |file: &str| {
        let record = record_at(&folder.join(file));
        for output in ["json", "samples", "plot", "quiet", "tag"] {
            assert!(!record.scenario.contains_key(output), "{output} is no part of the scenario");
        }
        let lanes = record.lanes.expect("a run knows its lanes");
        assert_eq!((lanes.first, lanes.count, lanes.total), (0, 2, 2));
        assert_eq!(record.planned, Some(record.totals.intended));
        record.tags.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>()
    };
    let line = format!("{SHORT} --threads 2 --json");
    let flags = "--tag build=42 --tag host=a,note=x=y";
    run_in(&folder, &format!("{line} a.json s.toml {flags}")).exits(0);
    assert_eq!(tags("a.json"), ["build=42", "host=a", "note=x=y"], "flags beat the file");
    run_in(&folder, &format!("{line} b.json s.toml --seed 2 --samples b.csv")).exits(0);
    assert_eq!(tags("b.json"), ["from=file"]);
    run_in(&folder, &format!("{SHORT} --tag build")).complains(2, &["--tag: ", "KEY=VALUE"]);
    // Runs that differ only in their outputs have the same scenario.
    run_in(&folder, "merge a.json b.json").exits(0);
}

/// Values contain the time at which a run began; a simulated run begins with its world.
#[test]
fn a_simulation_that_verifies_is_replayed_to_the_byte() {
    let line = "sim --verify 1 --ops-max 2k --keys 100 --seed 5 --json -";
    let [first, again] = [memtide(line), memtide(line)].map(|run| run.exits(0));
    let trace = |run: &Finished| {
        let said = run.err.lines().find(|line| line.contains("simulated, trace"));
        said.expect("a simulation tells its trace").to_owned()
    };
    assert_eq!(trace(&first), trace(&again));
    assert_eq!(first.out, again.out);
}
