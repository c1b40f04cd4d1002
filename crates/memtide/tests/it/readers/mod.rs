//! Files of runs, searches and scans, read by other programs: HdrHistogram logs, Parquet, JUnit,
//! CSV and JSON Lines hold the same data as the record. The scripts beside this file compare them;
//! `requirements.txt` lists their packages.

use crate::prelude::*;

/// Folder of the scripts.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/readers");

/// An empty folder, and a Python with the readers; none, with the reason, if it was not installed.
fn room(name: &str) -> Option<(PathBuf, PathBuf)> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let python = target.join("readers/bin/python");
    // Present once all packages are installed.
    if !target.join("readers/requirements.txt").exists() {
        let why = "target/readers has no packages of Python (cargo xtask test installs them)";
        drop(writeln!(std::io::stderr(), "readers::{name} is skipped: {why}"));
        return None;
    }
    let folder = scratch(&format!("readers-{name}"));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir(&folder).unwrap();
    Some((folder, python))
}

/// Runs a script that compares the files in the folder.
fn compare(python: &Path, folder: &Path, what: &str) {
    let mut command = Command::new(python);
    // Compiled scripts do not belong beside the sources.
    command.arg("-B").arg(Path::new(SCRIPTS).join("check.py")).arg(what).current_dir(folder);
    Running::of(&mut command).finish().exits(0);
}

#[test]
fn the_files_of_a_run_say_what_its_record_says() {
    let Some((folder, python)) = room("run") else { return };
    let _turn = shared();
    let peer = Peer::memcached("");
    // Keys that are not filled are misses; a pause of the server exceeds the timeout.
    let flags = "--rate 2k --duration 3s --warmup 500ms --keys 3k --load never \
                 --mix get=0.8,set=0.2 --timeout 100ms --errors-max 1 --seed 11 \
                 --goal all.p50<1s --goal get.p50<1ns --tag build=42";
    let outs = "--json r.json --out hlog=r.hlog --out hgrm=r.hgrm --out intervals=r.csv \
                --out intervals=r.jsonl --out intervals=r.parquet --out junit=r.xml \
                --samples samples.parquet";
    let line = format!("run -s {} {flags} {outs}", peer.name);
    let running = Running::of(&mut program_in(&folder, &line));
    peer.await_figure("cmd_get", 3_000);
    peer.signal(Signal::STOP);
    thread::sleep(Duration::from_millis(300));
    peer.signal(Signal::CONT);
    running.finish();
    let outs = "--out hlog=again.hlog --out intervals=again.csv --out intervals=again.jsonl \
                --out intervals=again.parquet --out junit=again.xml";
    run_in(&folder, &format!("report r.json {outs}")).exits(0);
    compare(&python, &folder, "run");
}

#[test]
fn samples_of_every_form_are_the_operations_of_the_record() {
    let Some((folder, python)) = room("forms") else { return };
    let _turn = shared();
    let peer = Peer::memcached("");
    for form in ["csv", "jsonl"] {
        let flags = "--rate 5k --ops-max 5k --keys 3k --load never --mix get=0.7,set=0.3";
        let outs = format!("--json {form}.json --samples {form}.{form}");
        run_in(&folder, &format!("run -s {} {flags} {outs}", peer.name));
        let sim =
            "sim --seed 7 --rate 5k --duration 2s --keys 3k --load never --mix get=0.9,set=0.1";
        run_in(&folder, &format!("{sim} --samples sim.{form}")).exits(0);
        run_in(&folder, &format!("{sim} --samples sim.parquet --json sim.json")).exits(0);
    }
    compare(&python, &folder, "forms");
}

#[test]
fn the_files_of_searches_and_scans_say_what_each_step_says() {
    let Some((folder, python)) = room("steps") else { return };
    let _turn = shared();
    let peer = Peer::memcached("");
    let rates = ["scan --rates 1k,2k,3k", "search --rate-min 1k --steps-max 3"];
    for (name, course) in ["scan", "search"].into_iter().zip(rates) {
        let flags = "--duration 1s --warmup 100ms --keys 500 --goal all.p50<1s";
        let outs = format!(
            "--json {name}.json --out hlog={name}.hlog --out intervals={name}.csv \
             --out intervals={name}.jsonl --out intervals={name}.parquet --out junit={name}.xml"
        );
        run_in(&folder, &format!("{course} -s {} {flags} {outs}", peer.name));
        compare(&python, &folder, name);
    }
}
