//! Merged records: counts, output and refusals.

use crate::prelude::*;

/// The record of a short run with these words, written to a file of this name.
fn run(words: &str, name: &str) -> (String, Record) {
    let path = scratch(name);
    let path = path.display();
    let line = format!("run --duration 1s --keys 100 --quiet {words} --json {path}");
    memtide(&line);
    let text = fs::read_to_string(path.to_string()).unwrap();
    (path.to_string(), read_record(&text).unwrap())
}

#[test]
fn the_counts_of_two_runs_add_up_in_a_record_and_a_report() {
    let peer = Peer::embedded("");
    let words = |seed: u32| format!("--rate 500 --server {} --seed {seed}", peer.name);
    let (a, first) = run(&words(1), "merge-a.json");
    let (b, second) = run(&words(2), "merge-b.json");
    let out = scratch("merge-ab.json").display().to_string();
    let report = memtide(&format!("merge {a} {b} --json {out}")).exits(0);
    assert!(
        report.out.contains("\nruns       2 runs merged; they did not run at the same time"),
        "{report}"
    );
    assert!(report.out.lines().last().unwrap().starts_with("believable: "), "{report}");
    assert_eq!(report.err, "", "{report}");
    let merged = memtide(&format!("merge {b} {a} --json -")).exits(0);
    assert_eq!(merged.out, fs::read_to_string(&out).unwrap(), "the order does not matter");
    let record = merged.record();
    assert_eq!(record.totals.intended, first.totals.intended + second.totals.intended);
    assert_eq!(record.window_ns, first.window_ns + second.window_ns, "one after the other");
    let start = |record: &Record| record.window_start_unix_ns.unwrap().0;
    assert_eq!(record.start_skew_ns.map(u128::from), Some(start(&second) - start(&first)));
    assert!(start(&first) / 1_000_000 >= u128::from(first.started_unix_ms), "{merged}");
    // Merged records can be merged again, but not with one of their parts.
    let again = memtide(&format!("merge {out} {a}"));
    again.complains(2, &["the same run is in", &a, &out]);
}

#[test]
fn what_cannot_be_merged_is_said_in_one_sentence() {
    let (a, _) = run("--rate 500 --seed 1", "merge-c.json");
    let (b, record) = run("--rate 500 --seed 2 --depth 7", "merge-d.json");
    let sentence = ["different scenarios", &a, &b, "depth is not given", "'7'", "--force"];
    memtide(&format!("merge {a} {b}")).complains(2, &sentence);
    let pattern = scratch("merge-[cd].json").display().to_string();
    memtide(&format!("merge {pattern}")).complains(2, &sentence);
    let forced = memtide(&format!("merge --force {a} {b}")).exits(0);
    assert!(forced.out.contains("2 runs merged"), "{forced}");
    let broken = scratch("merge-broken.json");
    let broken = broken.display().to_string();
    let write = |text: &str| fs::write(Path::new(&broken), text).unwrap();
    let line = format!("merge {a} {broken}");
    memtide(&line).complains(2, &[&broken, "cannot be read"]);
    write("# a report");
    memtide(&line).complains(2, &[&broken, "it is not a record", "'{'"]);
    write(&record.to_json().replace("\"answered\"", "\"answerd\""));
    memtide(&line).complains(2, &["at totals", "missing field `answered`"]);
    write(&record.to_json().replacen("\"p50_ns\": ", "\"p50_ns\": -", 1));
    memtide(&line).complains(2, &["p50_ns", "invalid value"]);
    write(&record.to_json().replace("memtide.record/2", "memtide.record/3"));
    memtide(&line).complains(2, &["at schema", "memtide.record/2"]);
    let mut damaged = record;
    damaged.phases.warmup.totals.answered += 1;
    write(&damaged.to_json());
    memtide(&line).complains(2, &[&broken, "contradicts itself", "warmup"]);
    memtide("merge").complains(2, &["PATH"]);
    memtide("merge 2").complains(2, &["--allow-missing=2"]);
    let pattern = scratch("merge-none-*.json").display().to_string();
    memtide(&format!("merge {pattern}")).complains(2, &["no file matches", &pattern]);
}

#[test]
fn goals_are_judged_anew_and_an_output_that_fails_does_not_cost_the_report() {
    // Each run alone has too few operations for the goal; both together have enough.
    let goal = "--rate 250 --goal all.p99<10s";
    let (a, alone) = run(&format!("--seed 1 {goal}"), "merge-e.json");
    let (b, _) = run(&format!("--seed 2 {goal}"), "merge-f.json");
    assert_eq!((alone.goals[0].result, alone.exit), (GoalResult::Undecided, 1));
    let merged = memtide(&format!("merge {a} {b} --json /nowhere/x.json")).exits(1);
    assert!(merged.out.contains("goal: all.p99<10s: met"), "{merged}");
    assert!(merged.err.contains("--json '/nowhere/x.json' cannot be written"), "{merged}");
}
