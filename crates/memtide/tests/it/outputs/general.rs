//! `--out`: every kind in every kind of run, and failed outputs.

use super::{SHORT, names, room};
use crate::child::refused;
use crate::prelude::*;

#[test]
fn one_flag_writes_every_kind_and_the_short_forms_stay() {
    let folder = room("out");
    let outs = "--out json=r.json --out plot=p.svg --out samples=s.csv --out md=r.md";
    let run = run_in(&folder, &format!("{SHORT} {outs} --json short.json")).exits(0);
    assert!(run.out.contains("\nbelievable: "), "{run}");
    assert_eq!(names(&folder), ["p.svg", "r.json", "r.md", "s.csv", "short.json"]);
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(text("r.json"), text("short.json"));
    assert_eq!(read_record(&text("r.json")).unwrap().totals.intended, 200);
    assert!(text("s.csv").lines().count() == 201 && text("p.svg").starts_with("<svg"));
    assert!(text("r.md").starts_with("### memtide: "), "{}", text("r.md"));
    // A scenario file can set the same option.
    fs::write(folder.join("s.toml"), "out = ['md=-']\nops-max = 50\nkeys = 10\n").unwrap();
    let run = run_in(&folder, "run s.toml").exits(0);
    assert!(run.out.starts_with("### memtide: ") && !run.out.contains("\nbelievable: "), "{run}");
}

#[test]
fn runs_become_rows_of_one_table() {
    let folder = room("out-summary");
    let text = || fs::read_to_string(folder.join("runs.csv")).unwrap();
    let one = "--out summary=runs.csv";
    run_in(&folder, &format!("{SHORT} {one} --tag why=first --json r.json")).exits(0);
    let record = record_at(&folder.join("r.json"));
    run_in(&folder, &format!("scan --rates 1k,2k --duration 100ms --keys 50 {one}")).exits(0);
    run_in(&folder, &format!("report r.json {one}")).exits(0);
    let all = text();
    let rows: Vec<Vec<&str>> = all.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 5, "{all}");
    let cell = |row: usize, name: &str| {
        let column = rows[0].iter().position(|known| *known == name).unwrap();
        rows[row][column]
    };
    assert_eq!(cell(1, "tags"), "why=first");
    assert_eq!(cell(1, "intended"), "200");
    assert_eq!(cell(1, "max_ns"), record.response[&Kind::All].max_ns.unwrap().to_string());
    assert_eq!(cell(1, "believable"), format!("{:?}", record.believable.verdict).to_lowercase());
    assert_eq!((cell(2, "target_per_s"), cell(3, "loop")), ("1000", "open"));
    assert_eq!(rows[4], rows[1], "a record gives the row of its run");
    run_in(&folder, &format!("{SHORT} --out summary=-")).exits(0);
    fs::write(folder.join("runs.csv"), all.trim_end()).unwrap();
    run_in(&folder, &format!("{SHORT} {one}")).complains(2, &["runs.csv", "ends within a row"]);
    fs::write(folder.join("runs.csv"), "another,table\n").unwrap();
    run_in(&folder, &format!("{SHORT} {one}")).complains(2, &["runs.csv", "name another file"]);
    assert_eq!(text(), "another,table\n");
    run_in(&folder, &format!("run -s 127.0.0.1:1 {} --quiet", "--out summary=none.csv")).exits(3);
    assert!(!folder.join("none.csv").exists(), "a run that never began leaves nothing");
}

#[test]
fn searches_scans_and_records_that_are_there_have_outputs_too() {
    let folder = room("out-steps");
    let scan = "scan --rates 1k,2k --duration 100ms --keys 50 --goal all.p50<1s";
    run_in(&folder, &format!("{scan} --out json=s.json --out md=s.md --out plot=s.svg"));
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert!(text("s.md").starts_with("### memtide: scan of 2 steps\n"), "{}", text("s.md"));
    assert!(text("s.md").contains("**result:** "), "{}", text("s.md"));
    let again = run_in(&folder, "report s.json --out md=again.md --out plot=again.svg").exits(0);
    assert!(again.out.contains("\nresult: "), "{again}");
    assert_eq!(text("again.md"), text("s.md"));
    assert_eq!(text("again.svg"), text("s.svg"));
    let run = run_in(&folder, &format!("{SHORT} --json r.json --out md=r.md --out plot=r.svg"));
    let again = run_in(&folder, "report r.json --out md=a.md --out plot=a.svg").exits(0);
    assert_eq!(again.out, run.out, "the report is the run's");
    assert_eq!((text("a.md"), text("a.svg")), (text("r.md"), text("r.svg")));
    // A record without seconds gives a table without rows.
    let mut record: Value = serde_json::from_str(&text("r.json")).unwrap();
    record["seconds"] = serde_json::json!([]);
    fs::write(folder.join("none.json"), record.to_string()).unwrap();
    run_in(&folder, "report none.json --out intervals=none.csv").exits(0);
    assert!(text("none.csv").starts_with("step,start_s,") && text("none.csv").lines().count() == 1);
    let merged = run_in(&folder, "merge r.json --out json=m.json --out md=-").exits(0);
    assert!(merged.out.starts_with("### memtide: "), "{merged}");
    assert_eq!(read_record(&text("m.json")).unwrap().totals.intended, 200);
    for (line, words) in [
        ("report r.json --out samples=x.csv", &["--out samples", "memtide run"][..]),
        ("report r.json s.json --out md=x.md", &["one record", "memtide merge"]),
        ("report nothing.json", &["nothing.json", "cannot be read"]),
        ("report s.json --out influx=http://127.0.0.1:1/write?db=x", &["influx", "a single run"]),
        ("merge r.json --out json=m.json --out md=m.json", &["--out md 'm.json'", "same file"]),
    ] {
        run_in(&folder, line).complains(2, words);
    }
}

/// A cell of a record's second is the cell of the run's own row, or empty. Unanswered operations
/// rank above the answered ones in both; a third of them are unanswered here.
#[test]
fn seconds_of_a_record_have_the_figures_of_the_run_or_none() {
    let folder = room("out-again");
    let load = "--rate 2k --duration 4s --keys 100 --load never --timeout 20ms";
    let outs = "--json r.json --out intervals=i.csv --out intervals=i.jsonl";
    run_in(&folder, &format!("sim --behaviour exponential:18ms {load} {outs}"));
    let again = "--out intervals=a.csv --out intervals=a.jsonl";
    run_in(&folder, &format!("report r.json {again}")).exits(0);
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for ending in ["csv", "jsonl"] {
        let rows = |name: &str| match ending {
            "csv" => crate::law::csv(&text(&format!("{name}.csv"))),
            _ => crate::law::json_lines(&text(&format!("{name}.jsonl"))),
        };
        let (own, again) = (rows("i"), rows("a"));
        let own: Vec<_> = own.into_iter().filter(|row| row["kind"] == "all").collect();
        assert!(own.len() == again.len() && own.len() >= 4, "{ending}: {}", again.len());
        for (own, again) in own.iter().zip(&again) {
            for (column, cell) in again {
                assert_eq!(own.get(column), Some(cell), "{ending}: {column}");
            }
            // Only the times are not all kept.
            let is_kept = |column: &str| {
                let times = ["response_", "service_", "lag_", "measured_"];
                !times.iter().any(|part| column.starts_with(part)) || column == "response_p50_ns"
            };
            for column in own.keys().filter(|column| is_kept(column)) {
                assert!(again.contains_key(column), "{ending}: {column} is lost");
            }
        }
        let unanswered = own.iter().map(|row| row["measured_unanswered"].parse::<u64>().unwrap());
        assert!(unanswered.sum::<u64>() > 2_000, "{ending}");
    }
}

/// Sum of a column of an intervals file, over the rows of `kind`.
pub(super) fn sum(csv: &str, kind: &str, column: &str) -> u64 {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
    let (kind_at, column_at) = (at("kind"), at(column));
    let rows = lines.map(|line| line.split(',').collect::<Vec<_>>());
    let rows = rows.filter(|row| row[kind_at] == kind);
    rows.map(|row| row[column_at].parse::<u64>().unwrap_or(0)).sum()
}

#[test]
fn seconds_in_files_add_up_to_the_record() {
    let folder = room("out-intervals");
    let outs = "--json r.json --out intervals=i.csv --out intervals=i.jsonl --out hlog=r.hlog \
                --out hgrm=r.hgrm --out junit=r.xml --out samples=s.jsonl";
    let line = format!("run --rate 2k --duration 2500ms --warmup 500ms --keys 100 {outs}");
    let run = run_in(&folder, &line);
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let record = read_record(&text("r.json")).unwrap();
    let csv = text("i.csv");
    for (kind, response) in &record.response {
        let answered = sum(&csv, kind.name(), "measured_answered");
        assert_eq!(answered, response.count - response.unanswered, "{kind}: {run}");
        assert_eq!(sum(&csv, kind.name(), "measured_unanswered"), response.unanswered);
    }
    let load = [&record.phases.warmup, &record.phases.measure, &record.phases.cooldown];
    let all = |of: fn(&memtide_record::Totals) -> u64| {
        load.iter().map(|phase| of(&phase.totals)).sum::<u64>()
    };
    assert_eq!(sum(&csv, "all", "answered"), all(|totals| totals.answered));
    assert_eq!(sum(&csv, "all", "bytes_sent"), all(|totals| totals.bytes_sent));
    // JSON Lines have the same cells.
    let lines = text("i.jsonl");
    assert_eq!(lines.lines().count() + 1, csv.lines().count());
    for (object, row) in lines.lines().zip(csv.lines().skip(1)) {
        let object: Value = serde_json::from_str(object).unwrap();
        let cells = object.as_object().unwrap().values().map(|cell| match cell {
            Value::Null => String::new(),
            Value::String(word) => word.clone(),
            number => number.to_string(),
        });
        assert_eq!(cells.collect::<Vec<_>>().join(","), row);
    }
    let log = text("r.hlog");
    let tagged = log.lines().filter(|line| line.starts_with("Tag=all,")).count();
    assert!(tagged >= 2 && log.contains("\n#[StartTime: "), "{log}");
    assert!(text("r.hgrm").contains(&format!("{:>12}]", record.response[&Kind::All].count)));
    assert!(text("r.xml").contains("<testcase classname=\"memtide.verdict\""));
    let samples = text("s.jsonl");
    assert_eq!(samples.lines().count() as u64, record.totals.intended);
    let first: Value = serde_json::from_str(samples.lines().next().unwrap()).unwrap();
    assert!(first["intended_ns"].is_u64() && first["key"].is_string(), "{first}");
    // The same files made from the record, as far as it holds their data.
    let outs = "--out intervals=a.csv --out hlog=a.hlog --out hgrm=a.hgrm --out junit=a.xml";
    run_in(&folder, &format!("report r.json {outs}")).exits(0);
    assert_eq!((text("a.hgrm"), text("a.xml")), (text("r.hgrm"), text("r.xml")));
    assert_eq!(sum(&text("a.csv"), "all", "answered"), all(|totals| totals.answered));
    assert!(text("a.hlog").contains("Tag=get,0.000,2.5"), "{}", text("a.hlog"));
}

#[test]
fn an_output_that_cannot_be_meant_is_refused_with_what_is_allowed() {
    refused("outputs");
}

#[test]
fn a_simulation_waits_for_its_outputs() {
    let folder = room("out-waits");
    let line = "sim --rate 20 --duration 2000s --keys 20 --threads 1";
    let outs = "--out intervals=i.csv --out hlog=h.hlog --json r.json --out intervals=j.jsonl";
    run_in(&folder, &format!("{line} {outs}")).exits(0);
    let record = record_at(&folder.join("r.json"));
    let rows = fs::read_to_string(folder.join("i.csv")).unwrap();
    assert_eq!(sum(&rows, "all", "measured_answered"), record.totals.answered);
    assert!(rows.lines().filter(|row| row.contains(",all,")).count() >= 2_000, "{}", rows.len());
}

#[test]
fn a_job_on_github_gets_the_result_in_its_summary() {
    let folder = room("out-summary");
    fs::write(folder.join("summary"), "before\n").unwrap();
    let _turn = shared();
    let run = |line: String, summary: &str| {
        let mut command = program_in(&folder, &line);
        Running::of(command.env("GITHUB_STEP_SUMMARY", summary)).finish()
    };
    run(format!("{SHORT} --out md=r.md"), "summary").exits(0);
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(text("summary"), format!("before\n{}", text("r.md")));
    // Without Markdown nothing is appended; an unwritable summary is reported.
    run(format!("{SHORT} --json r.json"), "summary").exits(0);
    assert_eq!(text("summary"), format!("before\n{}", text("r.md")));
    let lost = run(format!("{SHORT} --out md=r.md"), "/no-such-folder/summary").exits(1);
    assert!(lost.err.contains("GITHUB_STEP_SUMMARY could not be written"), "{lost}");
}
