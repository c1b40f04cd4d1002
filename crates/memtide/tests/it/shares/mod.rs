//! One run by several processes: shares, how they begin together, and refusals.

mod clocks;
pub(crate) mod equal;
mod manifests;
mod pmi;

use crate::prelude::*;
use memtide_record::ShareStart;
use pmi::Launcher;
use std::time::{SystemTime, UNIX_EPOCH};

/// A folder that does not exist.
fn folder(name: &str) -> PathBuf {
    let path = scratch(name);
    drop(fs::remove_dir_all(&path));
    path
}

/// The program with the words of `line` and these environment variables.
fn placed(line: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = program();
    command.args(line.split_whitespace()).envs(variables.iter().copied());
    command
}

const STEP: [(&str, &str); 4] =
    [("SLURM_JOB_ID", "17"), ("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")];

fn record(path: &Path) -> Record {
    read_record(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The reason, from its record, why a share made no load; the record is complete and holds no
/// operation.
fn not_run(path: &Path, finished: &Finished) -> String {
    let record = record(path);
    assert_eq!((record.ended_by, record.partial, record.exit), (EndedBy::NotRun, true, 0));
    assert_eq!((record.totals.intended, record.window_start_unix_ns), (0, None));
    let why = record.share.unwrap().not_run.unwrap();
    assert!(finished.err.contains(&why), "stderr says it too: {finished}");
    why
}

/// Carries out both shares of a run, each with its words; returns their records.
fn both(peer: &Peer, name: &str, words: [&str; 2]) -> [Record; 2] {
    let start = |number: usize| {
        let json = scratch(&format!("share-{name}-{number}.json"));
        let line = format!(
            "run -s {} --quiet --rate 2k --duration 1s --keys 500 --shard {number}/2 {} --json {}",
            peer.name,
            words[number],
            json.display()
        );
        (Running::start(&line), json)
    };
    let started = [start(0), start(1)];
    started.map(|(running, json)| {
        let finished = running.finish().exits(0);
        let record = record(&json);
        assert_eq!(record.ended_by, EndedBy::Duration, "{finished}");
        record
    })
}

/// Asserts that two shares that began together are the two halves of one load.
fn are_halves(records: &[Record; 2], start: ShareStart) {
    let windows = records.each_ref().map(|record| record.clock.as_ref().unwrap());
    assert_eq!(windows[0].boot_id, windows[1].boot_id);
    let at = windows.map(|clock| clock.window_start_monotonic_ns.unwrap().0);
    assert!(at[0].abs_diff(at[1]) < 1_000_000_000, "they overlap: {at:?}");
    for (number, record) in (0..).zip(records) {
        let share = record.share.as_ref().unwrap();
        assert_eq!((share.number, share.of, share.start), (number, 2, start));
        let lanes = record.lanes.unwrap();
        assert_eq!((lanes.first, lanes.count, lanes.total), (number, 1, 2));
        assert!(share.scenario_digest.len() == 64, "{share:?}");
        assert_eq!(record.totals.hits + record.totals.misses, record.totals.hits, "all is filled");
    }
    let [one, other] = records.each_ref().map(|record| record.totals.intended);
    // Each has half of a Poisson schedule of 2000 operations.
    assert!(one.abs_diff(1_000) < 250 && other.abs_diff(1_000) < 250, "{one} and {other}");
}

#[test]
fn shares_meet_in_a_folder_and_fill_each_key_once() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let path = folder("share-meets");
    let barrier = format!("--barrier dir:{} --mix get=1", path.display());
    let records = both(&peer, "folder", [&barrier, &barrier]);
    are_halves(&records, ShareStart::Folder);
    assert_eq!(peer.figure("cmd_set"), 500);
    // The folder has been used: a share that comes again sends nothing.
    let json = scratch("share-again.json");
    let line =
        format!("run -s {} --keys 500 --shard 0/2 {barrier} --json {}", peer.name, json.display());
    let again = Running::start(&line).finish().exits(0);
    assert!(not_run(&json, &again).contains("was already here"), "{again}");
    assert_eq!(peer.figure("cmd_set"), 500);
    drop(fs::remove_dir_all(path));
}

#[test]
fn shares_begin_at_a_time_of_day() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let at = format!("--start-at @{}", (now + Duration::from_secs(10)).as_secs());
    are_halves(&both(&peer, "time", [&at, &at]), ShareStart::Time);
    let json = scratch("share-late.json");
    let line = format!(
        "run -s {} --shard 0/2 --start-at 2020-01-01T00:00:00Z --json {}",
        peer.name,
        json.display()
    );
    let late = Running::start(&line).finish().exits(0);
    assert!(not_run(&json, &late).contains("after --start-at"), "{late}");
}

#[test]
fn shares_meet_at_a_launcher_that_speaks_pmi() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let launcher = Launcher::new(2);
    let start = |rank: u32| {
        let json = scratch(&format!("share-pmi-{rank}.json"));
        let line = format!(
            "run -s {} --quiet --rate 2k --duration 1s --keys 500 --mix get=1 --shard auto \
             --barrier pmi --json {}",
            peer.name,
            json.display()
        );
        let mut command = placed(&line, &[]);
        launcher.hand_to(rank, &mut command);
        (Running::of(&mut command), json)
    };
    let records = [start(0), start(1)].map(|(running, json)| {
        running.finish().exits(0);
        record(&json)
    });
    are_halves(&records, ShareStart::Pmi);
    assert_eq!(peer.figure("cmd_set"), 500);
}

#[test]
fn a_launcher_whose_other_processes_never_come_is_not_waited_for_longer_than_allowed() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let launcher = Launcher::new(2);
    let json = scratch("share-pmi-alone.json");
    let line = format!(
        "run -s {} --keys 50 --shard auto --barrier pmi --barrier-timeout 3s --json {}",
        peer.name,
        json.display()
    );
    let mut command = placed(&line, &[]);
    launcher.hand_to(1, &mut command);
    let alone = Running::of(&mut command).finish().exits(0);
    assert!(not_run(&json, &alone).contains("--barrier-timeout 3 s"), "{alone}");
}

#[test]
fn shares_that_do_not_come_are_named() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let path = folder("share-missing");
    let start = |number: u32| {
        let json = scratch(&format!("share-missing-{number}.json"));
        let line = format!(
            "run -s {} --keys 50 --shard {number}/4 --barrier dir:{} --barrier-timeout 10s \
             --json {}",
            peer.name,
            path.display(),
            json.display()
        );
        (Running::start(&line), json)
    };
    for (running, json) in [start(0), start(2)] {
        let finished = running.finish().exits(0);
        let why = not_run(&json, &finished);
        assert!(why.contains("shares 1, 3 did not arrive"), "{why}");
    }
    drop(fs::remove_dir_all(path));
}

/// A mistyped folder was made, and the share waited there until the limit.
#[test]
fn a_mistyped_folder_is_named_before_anything_is_made_or_sent() {
    let peer = Peer::memcached("");
    let typo = folder("share-typo");
    // It would wait for longer than this test may take.
    let json = scratch("share-typo.json");
    let line = format!(
        "run -s {} --keys 50 --shard 0/2 --barrier dir:{}/x --barrier-timeout 1h --json {}",
        peer.name,
        typo.display(),
        json.display()
    );
    let named = format!("'{}' cannot be used: No such file", typo.display());
    memtide(&line).complains(2, &[&named, "name a folder that all shares can write to"]);
    assert!(!typo.exists() && peer.figure("cmd_set") == 0, "nothing was made or sent");
    // Where the folder around it is there, the limit bounds the wait, and the others are named.
    fs::create_dir(&typo).unwrap();
    let alone = memtide(&line.replace("1h", "2s")).exits(0);
    let why = not_run(&json, &alone);
    assert!(why.contains("share 1 did not arrive") && why.contains("2 s"), "{why}");
    drop(fs::remove_dir_all(typo));
}

#[test]
fn a_merged_record_says_which_share_is_missing_and_of_how_many() {
    let peer = Peer::memcached("");
    let share = |place: &str, seed: u32| {
        let json = scratch(&format!("share-lone-{seed}.json")).display().to_string();
        let words = "--quiet --keys 100 --rate 2k --ops-max 1500";
        memtide(&format!("run -s {} {words} --seed {seed} {place} --json {json}", peer.name))
            .exits(0);
        json
    };
    let (one, other) = (share("--shard 0/2", 1), share("--shard 1/2", 2));
    let out = scratch("share-lone-merged.json");
    let merged = memtide(&format!("merge {one} --json {}", out.display())).exits(1);
    let words = "1 of 2 shares are missing, with 50.0 % of the load: share 1 (lane 1)";
    assert!(merged.out.contains(&format!("partial: {words}\n")), "{merged}");
    assert!(!merged.out.contains("ended early") && !merged.out.contains("0 of 1"), "{merged}");
    let merged = record(&out);
    assert_eq!((merged.missing.unwrap().unreported, merged.planned), (Some(750), Some(1_500)));
    let seeds = ["are not shares of one run", "seed is '1' in one and '2' in the other"];
    memtide(&format!("merge {one} {other}")).complains(2, &seeds);
}

#[test]
fn a_signal_ends_a_share_with_its_record_and_success() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let json = scratch("share-term.json");
    let line = |words: &str| {
        format!("run -s {} --keys 50 --shard 1/2 {words} --json {}", peer.name, json.display())
    };
    // During the load, with a goal that it misses.
    let loaded = Running::start(&line("--duration 50s --rate 10k --mix get=1 --goal rate>1G"));
    // The sample before the fill reads fewer keys.
    peer.await_figure("cmd_get", 3_000);
    // Schedulers and timeout(1) send the signal twice.
    loaded.signal(Signal::TERM);
    loaded.signal(Signal::TERM);
    loaded.finish().exits(0);
    let partial = record(&json);
    assert_eq!((partial.ended_by, partial.partial), (EndedBy::Interrupted, true));
    assert!(partial.totals.answered > 0);
    // At a barrier.
    let path = folder("share-term");
    let waiting = Running::start(&line(&format!("--barrier dir:{}", path.display())));
    while !path.join("ready.1").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    waiting.signal(Signal::TERM);
    let waiting = waiting.finish().exits(0);
    assert!(not_run(&json, &waiting).contains("interrupted"), "{waiting}");
    assert!(path.join("gone.1").exists(), "the others need not wait for it");
    drop(fs::remove_dir_all(path));
}

#[test]
fn a_share_exits_with_success_whatever_its_goals_say() {
    let peer = Peer::memcached("");
    let line = format!("run -s {} --keys 50 --ops-max 1k --strict --goal all.p50<1ns", peer.name);
    let whole = memtide(&line);
    assert_eq!(whole.code, Some(1), "{whole}");
    let share = memtide(&format!("{line} --shard 0/2 --json -")).exits(0);
    assert_eq!(share.record().totals.intended, 500, "of 1000 operations");
    let lost = memtide(&format!("{line} --shard 0/2 --json /dev/full"));
    assert_eq!(lost.code, Some(1), "without a record: {lost}");
    let gone = memtide("run -s 127.0.0.1:1 --shard 0/2 --json -");
    assert_eq!(gone.code, Some(3), "before there is a record: {gone}");
}

#[test]
fn a_share_that_slurm_started_again_sends_nothing() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let json = scratch("share-restarted.json");
    let line = format!("run -s {} --shard auto --json {}", peer.name, json.display());
    let variables = [&STEP[..], &[("SLURM_RESTART_COUNT", "1")]].concat();
    let again = Running::of(&mut placed(&line, &variables)).finish().exits(0);
    assert!(not_run(&json, &again).contains("SLURM_RESTART_COUNT=1"), "{again}");
    assert_eq!(peer.figure("cmd_set"), 0);
}

#[test]
fn copies_and_contradictions_are_refused() {
    let _turn = shared();
    let path = folder("share-refused");
    let dir = format!("--barrier dir:{}", path.display());
    let json = "--json -";
    for (line, is_step, words) in [
        ("run -s a", true, &["Slurm started 4 processes", "--shard auto", "--shard none"][..]),
        ("load -s a", true, &["Slurm started 4 processes", "process 1, SLURM_PROCID"]),
        ("search -s a --goal all.p95<1ms", true, &["search cannot be divided"]),
        ("scan -s a --rates 1k", true, &["scan cannot be divided", "--shard none"]),
        ("search -s a --goal all.p95<1ms --shard 0/2", false, &["search cannot be divided"]),
        ("sim --shard 0/2", false, &["a simulation runs in one process"]),
        ("run -s a --shard auto --json -", false, &["is set: SLURM_STEP_ID"]),
        ("run -s a --shard 0/2", false, &["--shard needs --json"]),
        ("run --shard 0/2 --json -", false, &["--shard needs --server"]),
        ("run -s a --shard 4/4 --json -", false, &["numbered 0 to 3"]),
        ("run -s a --barrier pmi", false, &["barrier needs shard"]),
        (
            "run -s 127.0.0.1:1 --shard 0/2 --barrier pmi --json -",
            false,
            &["PMI_FD, PMI_RANK or PMI_SIZE is not set"],
        ),
        (
            &format!("run -s a --start-at @9 --shard 0/2 {dir} {json}"),
            false,
            &["start-at and barrier cannot be used together"],
        ),
    ] {
        let variables = if is_step { &STEP[..] } else { &[] };
        Running::of(&mut placed(line, variables)).finish().complains(2, words);
    }
    assert!(!path.exists(), "nothing was done");
}

#[test]
fn loads_of_shares_store_each_key_once() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let load = |number: u32| {
        Running::start(&format!("load -s {} --keys 1001 --shard {number}/2", peer.name))
    };
    for running in [load(0), load(1)] {
        running.finish().exits(0);
    }
    assert_eq!((peer.figure("cmd_set"), peer.figure("curr_items")), (1_001, 1_001));
    let whole = memtide(&format!(
        "run -s {} --keys 1001 --load never --ops-max 2k --rate 10k --json -",
        peer.name
    ))
    .exits(0)
    .record();
    assert_eq!(whole.totals.misses, 0);
    assert_eq!(check(&whole, CheckKind::ServerCounters).0, CheckResult::Passed);
}
