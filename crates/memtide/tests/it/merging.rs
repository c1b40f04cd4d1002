//! Merged records: counts, output and refusals.

use crate::prelude::*;
use memtide_base::printable::is_obeyed;
use memtide_scenario::{Kind, Measure};
use serde_json::{Value, json};

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

/// What a stranger can put into each text of a record: escapes, a line of its own, and no end.
const EVIL: &str = "\u{1b}[31mevil\u{1b}]0;t\u{7}\nFORGED line\r\u{202e}\u{9b}2J ";

/// Replaces every text of a record by another one, as far as the record can still be read.
/// A text without an end replaces some only, because each costs the time of reading it.
fn poison(record: &mut Value, evil: &str) -> usize {
    let mut places = Vec::new();
    collect(record, String::new(), &mut places);
    let mut replaced = 0;
    let step = if evil.len() > EVIL.len() { places.len() / 12 } else { 1 };
    for place in places.into_iter().step_by(step) {
        let text = record.pointer_mut(&place).unwrap();
        let before = std::mem::replace(text, Value::from(evil));
        match Record::from_json(&record.to_string()) {
            Ok(_) => replaced += 1,
            Err(_) => *record.pointer_mut(&place).unwrap() = before,
        }
    }
    replaced
}

/// The places of all texts that are no encoded distributions.
fn collect(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::String(_) if !at.ends_with("/histogram") => places.push(at),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(n, one)| collect(one, format!("{at}/{n}"), places));
        }
        Value::Object(all) => {
            all.iter().for_each(|(name, one)| collect(one, format!("{at}/{name}"), places));
        }
        _ => {}
    }
}

/// Texts of records were printed as they were: an agent's reached the terminal of the user.
#[test]
fn texts_of_records_from_strangers_are_harmless_where_they_are_shown() {
    let peer = Peer::embedded("");
    let words = format!("--rate 500 -s {} --goal all.p50<1ns --goal all.p99<9s", peer.name);
    let (a, record) = run(&format!("{words} --shard 0/2"), "merge-evil-a.json");
    let (b, _) = run(&format!("{words} --shard 1/2"), "merge-evil-b.json");
    let merged = scratch("merge-evil.json").display().to_string();
    memtide(&format!("merge {a} {b} --json {merged}"));
    let long = format!("{EVIL}{}", "x ".repeat(50_000));
    for (path, evil) in [(&a, EVIL), (&merged, EVIL), (&a, &long), (&merged, &long)] {
        let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        if let Some(share) = value.get_mut("share").and_then(Value::as_object_mut) {
            let agent = json!({"name": "a", "run": "ab", "armed_ns": null});
            share.insert("agent".to_owned(), agent);
            share.insert("not_run".to_owned(), json!("late"));
        }
        let warning = json!({"code": "evictions", "message": "m", "remedy": "r"});
        value["warnings"].as_array_mut().unwrap().push(warning);
        assert!(poison(&mut value, evil) > 3, "texts can be replaced");
        let evil = scratch("merge-poisoned.json").display().to_string();
        fs::write(&evil, value.to_string()).unwrap();
        let outputs = ["md", "hgrm", "junit", "json"].map(|kind| {
            let file = scratch(&format!("merge-poisoned.{kind}")).display().to_string();
            (format!("{kind}={file}"), file)
        });
        let out: String = outputs.iter().map(|(word, _)| format!(" --out {word}")).collect();
        for line in [
            format!("report {evil}{out}"),
            format!("merge {evil}"),
            format!("merge {evil} {b}"),
            format!("merge --force {evil} {b}"),
            format!("compare {a} {evil}"),
        ] {
            let run = memtide(&line);
            assert!(!run.err.contains("panicked"), "{run}");
            is_harmless(&run.out, &line);
            is_harmless(&run.err, &line);
        }
        for (_, file) in outputs {
            is_harmless(&fs::read_to_string(&file).unwrap_or_default(), &file);
        }
    }
    assert!(record.totals.intended > 0);
}

/// Asserts that a text obeys no stranger: it moves no cursor, has no line of theirs, and an end.
fn is_harmless(text: &str, what: &str) {
    let obeyed = text.chars().find(|c| is_obeyed(*c) && !"\n\t".contains(*c));
    assert_eq!(obeyed, None, "{what}: {text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("FORGED")), "{what}: {text}");
    assert!(text.len() < 20_000_000, "{what}: {} bytes", text.len());
}

/// Takes out of a record what those from before slices were kept do not have.
fn grow_old(value: &mut Value) {
    const NEW: [&str; 7] =
        ["slicing", "drawn", "punctual", "own", "n_effective", "no_interval", "late"];
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !NEW.contains(&name.as_str()) && !name.contains("_ci_"));
            members.values_mut().for_each(grow_old);
        }
        Value::Array(elements) => elements.iter_mut().for_each(grow_old),
        _ => {}
    }
}

#[test]
fn records_from_before_slices_were_kept_are_read_everywhere() {
    let paths = ["1", "2"].map(|seed| {
        let path = scratch(&format!("old-{seed}.json")).display().to_string();
        let words = "sim --rate 500 --duration 5s --behaviour queue:1,exponential:100us --quiet";
        memtide(&format!("{words} --seed {seed} --json {path}")).exits(0);
        let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert!(value.get("slicing").is_some(), "new records keep slices");
        grow_old(&mut value);
        fs::write(&path, value.to_string()).unwrap();
        path
    });
    let [old, other] = &paths;
    let report = memtide(&format!("report {old} --explain p99")).exits(0);
    assert!(report.out.contains("kept no slices"), "{report}");
    assert_eq!(report.err, "", "{report}");
    memtide(&format!("compare {old} {other}")).exits(0);
    let merged = memtide(&format!("merge {old} {other} --json -")).exits(0).record();
    let p99 = merged.response_figure(Kind::All, Measure::Percentile(99.0)).unwrap();
    assert_eq!((p99.interval, p99.value.is_some()), (None, true));
    assert!(p99.reason.is_some_and(|why| why.contains("no common slices")));
}
