//! The floor of a load, and repeats in processes of their own.

use crate::prelude::*;
use memtide_record::compare::Repeats;
use memtide_record::{FloorRecord, Percentile, Record, Responder};

/// A run whose floor was measured. A busy machine spoils floors, which are then left out.
fn floor_of(words: &str, cache: &Path) -> (Finished, FloorRecord) {
    for _ in 0..10 {
        if let (run, Some(floor)) = run_with(words, cache) {
            return (run, floor);
        }
    }
    panic!("no floor in ten runs");
}

/// A run that may want a floor, with floors kept in `cache`.
fn run_with(words: &str, cache: &Path) -> (Finished, Option<FloorRecord>) {
    let json = scratch("floor.json");
    let line = format!(
        "run --rate 500 --keys 100 --duration 500ms --warmup 0s --quiet {words} --json {}",
        json.display()
    );
    let mut command = program();
    let command = command.args(line.split_whitespace()).env("XDG_CACHE_HOME", cache);
    let run = Running::of(command).finish().exits(0);
    let record = Record::from_json(&fs::read_to_string(json).unwrap()).unwrap();
    (run, record.floor)
}

pub(crate) fn figures_near_the_floor_are_named_and_floors_are_kept() {
    let (quick, slow) = (Peer::embedded(""), Peer::embedded("--behaviour fixed:20ms"));
    let cache = scratch("floors");
    drop(fs::remove_dir_all(&cache));
    let quick = format!("-s {}", quick.name);
    let (_, none) = run_with(&quick, &cache);
    assert_eq!(none, None, "a run has no floor unless it is asked for");
    let (run, floor) = floor_of(&format!("{quick} --floor"), &cache);
    assert_eq!((floor.responder, floor.rate_per_s, floor.age_s), (Responder::Embedded, 500.0, 0));
    assert!(floor.below.contains(&Percentile::P50), "both servers are the same: {floor:?}");
    // Without a figure, `below` cannot be judged.
    assert!(floor.p50_ns.is_some() && floor.p99_ns.is_some(), "{floor:?}");
    let (_, again) = floor_of(&format!("{quick} --floor kept"), &cache);
    assert_eq!((again.p50_ns, again.p99_ns), (floor.p50_ns, floor.p99_ns), "{run}");
    // The same floor holds for another server on this machine, whose figures are far from it.
    let (run, far) = floor_of(&format!("-s {} --floor", slow.name), &cache);
    assert!(!far.below.contains(&Percentile::P50), "{run}");
    let kept = fs::read_to_string(cache.join("memtide/floors.json")).unwrap();
    floor_of(&format!("{quick} --floor=fresh"), &cache);
    let fresh = fs::read_to_string(cache.join("memtide/floors.json")).unwrap();
    assert_ne!(kept, fresh, "it is measured anew");
}

/// The floor went on to its end, and was kept, while the user waited.
#[test]
fn an_interrupt_ends_a_floor_at_once() {
    let _turn = shared();
    let server = Peer::embedded("");
    for line in ["ab --at-most 1m", "run --floor", "search --goal all.p99<1s"] {
        let cache = scratch("floors-interrupted");
        drop(fs::remove_dir_all(&cache));
        let line = format!("{line} -s {} --rate 20 --keys 10 --warmup 0s --quiet", server.name);
        let line = if line.starts_with("search") { line.replace("--rate 20 ", "") } else { line };
        let mut command = program();
        command.args(line.split_whitespace()).env("XDG_CACHE_HOME", &cache);
        let running = Running::of(&mut command);
        await_child(running.id());
        running.signal(Signal::INT);
        let run = running.finish().exits(130);
        assert!(!cache.join("memtide/floors.json").exists(), "{run}");
        assert!(!run.err.contains("no floor was measured"), "{run}");
    }
}

/// Waits until process `id` has started another one.
fn await_child(id: u32) {
    let parent = format!("\nPPid:\t{id}\n");
    let is_child = |entry: fs::DirEntry| {
        fs::read_to_string(entry.path().join("status")).is_ok_and(|text| text.contains(&parent))
    };
    while !fs::read_dir("/proc").unwrap().flatten().any(is_child) {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_report_says_the_floor() {
    let _turn = shared();
    let cache = scratch("floors-said");
    let line = "run --rate 500 --keys 100 --duration 300ms --floor";
    let mut command = program();
    let command = command.args(line.split_whitespace()).env("XDG_CACHE_HOME", &cache);
    let run = Running::of(command).finish().exits(0);
    let is_said = run.out.contains("floor") && run.out.contains("an embedded server");
    assert!(is_said || run.err.contains("no floor was measured, because"), "{run}");
}

#[test]
fn repeats_can_have_a_process_each() {
    let _turn = shared();
    let server = Peer::embedded("");
    let json = scratch("fresh.json");
    let words = "run --rate 400 --keys 100 --duration 300ms --warmup 0s --quiet --repeat 2 --fresh";
    let at = format!("-s {} --json {}", server.name, json.display());
    Running::start(&format!("{words} process {at}")).finish().exits(0);
    let repeats: Repeats = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(repeats.runs.len(), 2);
    let [first, second] = [0, 1].map(|run| {
        let mut scenario = repeats.runs[run].scenario.clone();
        assert_eq!(scenario.remove("gap-seed").is_some(), run > 0, "arrivals of its own");
        scenario
    });
    assert_eq!((repeats.runs[0].totals.intended > 0, first), (true, second));
    // A process has said why it could not run, and its exit code is the program's.
    let gone = Running::start(&format!("{words} process -s 127.0.0.1:1")).finish();
    gone.complains(3, &["127.0.0.1:1"]);
    let alone = Running::start("run --fresh process --duration 100ms").finish();
    alone.complains(2, &["--repeat"]);
}
