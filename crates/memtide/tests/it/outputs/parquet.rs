//! Parquet files: complete or absent, however the run ends. Their content is tested with other
//! programs' readers in `readers/`.

use super::{SHORT, names, room};
use crate::child::run_on_small_disk;
use crate::prelude::*;

const OUTS: &str = "--samples s.parquet --out intervals=i.parquet --json r.json";

/// True if a file has the format's magic number at both ends.
fn is_whole(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap();
    bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1")
}

#[test]
fn runs_simulations_steps_and_records_write_whole_files() {
    let folder = room("parquet");
    run_in(&folder, &format!("{SHORT} {OUTS}")).exits(0);
    assert_eq!(names(&folder), ["i.parquet", "r.json", "s.parquet"]);
    run_in(&folder, "report r.json --out intervals=a.parquet").exits(0);
    run_in(&folder, "merge r.json --out intervals=m.parquet").exits(0);
    run_in(&folder, "scan --rates 1k,2k --duration 100ms --keys 50 --out intervals=c.parquet");
    let sim = "sim --seed 7 --rate 1k --duration 2s --keys 50 --out samples";
    run_in(&folder, &format!("{sim}=b.parquet")).exits(0);
    for file in names(&folder).iter().filter(|name| name.ends_with(".parquet")) {
        assert!(is_whole(&folder.join(file)), "{file}");
    }
    run_in(&folder, &format!("{sim}=d.parquet")).exits(0);
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(bytes("b.parquet") == bytes("d.parquet"), "a seed is a file");
}

#[test]
fn a_run_that_is_killed_leaves_the_old_file_and_one_that_is_interrupted_a_whole_one() {
    for (signal, is_written) in [(Signal::KILL, false), (Signal::INT, true)] {
        let folder = room("parquet-signals");
        fs::write(folder.join("s.parquet"), "old").unwrap();
        let peer = Peer::memcached("");
        let _turn = shared();
        let flags = "--rate 2k --duration 50s --keys 100 --load never --mix get=1";
        let line = format!("run -s {} {flags} {OUTS}", peer.name);
        let running = Running::of(&mut program_in(&folder, &line));
        peer.await_figure("cmd_get", 6_000);
        running.signal(signal);
        running.finish();
        if is_written {
            assert_eq!(names(&folder), ["i.parquet", "r.json", "s.parquet"]);
            assert!(is_whole(&folder.join("s.parquet")) && is_whole(&folder.join("i.parquet")));
        } else {
            assert_eq!(names(&folder), ["s.parquet"]);
            assert_eq!(fs::read_to_string(folder.join("s.parquet")).unwrap(), "old");
        }
    }
}

#[test]
fn a_full_disk_costs_the_parquet_file_alone() {
    let folder = room("parquet-full");
    let line = "run --ops-max 20k --rate 20k --keys 50 --samples s.parquet --out md=r.md --json -";
    let run = run_on_small_disk(&folder, line, 10_000).exits(1);
    assert!(run.err.contains("--samples could not be written: "), "{run}");
    assert!(run.err.contains("choose a place that can be written"), "{run}");
    assert_eq!(names(&folder), ["r.md"], "no temporary file is left: {run}");
    assert_eq!(run.record().totals.intended, 20_000);
}

#[test]
fn a_run_that_cannot_begin_leaves_nothing_and_a_wrong_ending_is_refused() {
    let folder = room("parquet-not");
    run_in(&folder, &format!("run -s 127.0.0.1:1 --duration 1s {OUTS}"));
    assert_eq!(names(&folder).iter().filter(|name| name.ends_with(".parquet")).count(), 0);
    run_in(&folder, "run --out intervals=x.arrow").complains(2, &[".csv", ".jsonl", ".parquet"]);
    run_in(&folder, "run --samples no/x.parquet").complains(2, &["--samples", "no/x.parquet"]);
}
