//! `memtide compare`: real records side by side, rules, and refusals.

use super::{SHORT, names, room};
use crate::prelude::*;

#[test]
fn two_runs_are_compared_and_their_rules_decide_the_exit_code() {
    let folder = room("compare");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    run_in(&folder, &format!("{SHORT} --seed 1 --json a.json")).exits(0);
    run_in(&folder, &format!("{SHORT} --seed 2 --depth 7 --json b.json")).exits(0);
    let outs = "--out md=c.md --out json=c.json";
    let rules = "--fail-on all.mean>+1000000% --fail-on rate<1";
    let run = run_in(&folder, &format!("compare a.json b.json {outs} {rules}")).exits(0);
    assert!(run.out.starts_with("A          a.json: memtide "), "{run}");
    let unlike = run.out.lines().find(|line| line.starts_with("unlike ")).expect("depth differs");
    assert!(unlike.contains("depth") && !unlike.contains("seed"), "{run}");
    assert!(run.out.contains("\nscenario: seed "), "{run}");
    assert!(run.out.contains("\nfail-on: rate<1 passed for B: it is "), "{run}");
    assert!(text("c.md").starts_with("### memtide: 2 records compared ✅\n"), "{}", text("c.md"));
    // The figures equal the records'.
    let [a, b, c] = ["a.json", "b.json", "c.json"]
        .map(|name| -> Value { serde_json::from_str(&text(name)).unwrap() });
    let rows = c["figures"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap()["values"].clone();
    for (number, record) in [&a, &b].into_iter().enumerate() {
        let is = |name: &str, figure: &Value| {
            assert_eq!(row(name)[number]["value"].as_f64(), figure.as_f64(), "{name}: {c}");
        };
        is("rate", &record["rate"]["achieved_per_s"]);
        is("hits", &record["totals"]["hits"]);
        is("get.p50", &record["response"]["get"]["p50_ns"]);
        is("all.mean", &record["response"]["all"]["mean_ns"]);
    }
    let quotient = |name: &str| {
        let values = row(name);
        values[1]["value"].as_f64().unwrap() / values[0]["value"].as_f64().unwrap()
    };
    assert_eq!(row("all.mean")[1]["ratio"].as_f64(), Some(quotient("all.mean")));
}

#[test]
fn a_rule_that_holds_or_cannot_be_told_fails_the_comparison() {
    let folder = room("compare-rules");
    run_in(&folder, &format!("{SHORT} --json a.json")).exits(0);
    let of = |rule: &str| run_in(&folder, &format!("compare a.json a.json --fail-on {rule}"));
    let failed = of("answered>-90%").exits(1);
    assert!(failed.out.contains("\nfail-on: answered>-90% failed for B: it is "), "{failed}");
    assert!(failed.out.contains(", +0.0 % compared with "), "{failed}");
    // So short a run has no interval of its mean, and establishes nothing about it.
    let undecided = of("all.mean>-90%").exits(0);
    assert!(undecided.out.contains("a run knows it too little: "), "{undecided}");
    of("all.mean>-90% --fail-undecided").exits(1);
    let untold = of("touch.p99>+5%").exits(1);
    let why = "failed, for B: it is not known in B: no such operation was measured";
    assert!(untold.out.contains(why), "{untold}");
    of("all.mean>+5%").exits(0);
    of("all.p99>+x%").complains(2, &["'all.p99>+x%' is not a rule such as", "+5%"]);
    of("speed>+5%").complains(2, &["'speed' is neither rate, errors, start_skew, answered"]);
    // Flags behind -- were read as files that do not exist.
    for line in ["compare a.json -- a.json --fail-on p99>+5%", "merge -- --json a.json"] {
        run_in(&folder, line).complains(2, &["follows --", "write flags before"]);
    }
}

#[test]
fn groups_of_records_are_compared_by_their_scatter() {
    let folder = room("compare-groups");
    let names = ["a1", "a2", "b1", "b2"];
    for (seed, name) in names.into_iter().enumerate() {
        let out = format!("--seed {seed} --json {name}.json");
        run_in(&folder, &format!("{SHORT} {out}")).exits(0);
    }
    let groups = "a1.json a2.json -- b1.json b2.json";
    let outs = "--out md=c.md --out json=c.json --figures rate,all.mean";
    // Two runs each know so little that nothing as small is established.
    let rules = "--fail-on p50>+1000000000000%";
    let run = run_in(&folder, &format!("compare {outs} {rules} {groups}"));
    assert!(run.out.contains("a1.json a2.json") && run.out.contains("B is"), "{run}");
    assert!(run.out.contains("\nfail-on: all.p50>+1000000000000% "), "{run}");
    let json = fs::read_to_string(folder.join("c.json")).unwrap();
    let read: memtide_record::compare::Groups = serde_json::from_str(&json).unwrap();
    // One group was measured after the other.
    let words = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("cannot be told from the server's"), "{run}");
    assert_eq!((read.drift, read.are_apart()), (0.05, true), "{run}");
    // Where memtide and its server share a CPU, no run counts, and the rule's figure is missing.
    let code = if read.left_out.is_empty() { 0 } else { 1 };
    let run = run.exits(code);
    let compared: Vec<&str> = read.figures.iter().map(|figure| &*figure.name).collect();
    assert_eq!(compared, ["rate", "all.mean", "all.p50"]);
    assert!(fs::read_to_string(folder.join("c.md")).unwrap().contains("| all.mean |"), "{run}");
    run_in(&folder, &format!("compare --fail-on touch.p99>+5% {groups}")).exits(1);
    let page = run_in(&folder, &format!("compare --out html=c.html {groups}"));
    page.complains(2, &["groups have no page"]);
    run_in(&folder, "compare a1.json").complains(2, &["a second RECORD"]);
    // A pattern that matched no file, and one that matched a run twice.
    run_in(&folder, "compare a1.json a2.json --").complains(2, &["no record follows --"]);
    let late = run_in(&folder, "compare a1.json a2.json -- b1.json b2.json --fail-on all.p99>+5%");
    late.complains(2, &["'--fail-on' follows --", "before --"]);
    let twice = run_in(&folder, "compare a1.json a2.json -- b1.json a1.json");
    twice.complains(2, &["'a1.json' and 'a1.json' hold the same run"]);
    let alone = run_in(&folder, "compare a1.json b1.json --figures rate");
    alone.complains(2, &["--figures is about two groups"]);
    let alone = run_in(&folder, "compare a1.json b1.json --drift 1%");
    alone.complains(2, &["--drift is about two groups"]);
    let wide = run_in(&folder, &format!("compare --drift 101% {groups}"));
    wide.complains(2, &["--drift", "101%"]);
}

#[test]
fn the_runs_of_a_repeated_run_are_a_group() {
    let folder = room("compare-repeats");
    for (seed, name) in [(1, "a"), (2, "b")] {
        let out = format!("--repeat 2 --seed {seed} --json {name}.json");
        run_in(&folder, &format!("{SHORT} {out}")).exits(0);
    }
    let run = run_in(&folder, "compare a.json -- b.json").exits(0);
    assert!(run.out.starts_with("A          a.json run 1 a.json run 2\n"), "{run}");
    let shown = run_in(&folder, "report a.json --out md=a.md").exits(0);
    assert!(shown.out.contains("between runs"), "{shown}");
    assert!(fs::read_to_string(folder.join("a.md")).unwrap().contains("2 runs of one scenario"));
    run_in(&folder, "report a.json --out html=a.html").complains(2, &["those of --repeat"]);
    run_in(&folder, "merge a.json b.json --json m.json").complains(2, &["without --repeat"]);
}

#[test]
fn what_cannot_be_compared_is_said_in_one_sentence() {
    let folder = room("compare-refused");
    run_in(&folder, &format!("{SHORT} --json a.json")).exits(0);
    run_in(&folder, "scan --rates 1k,2k --duration 100ms --keys 50 --out json=s.json");
    fs::write(folder.join("b.json"), "# a report").unwrap();
    let a = fs::read_to_string(folder.join("a.json")).unwrap();
    fs::write(folder.join("v.json"), a.replace("memtide.record/2", "memtide.record/9")).unwrap();
    let altered = a.replacen("\"answered\": 200", "\"answered\": 900", 1);
    assert_ne!(altered, a, "the figure is in the record: {a}");
    fs::write(folder.join("w.json"), altered).unwrap();
    let damaged = a.replacen("\"histogram\": \"", "\"histogram\": \"AAAA", 1);
    fs::write(folder.join("h.json"), damaged).unwrap();
    // One figure alone, beside the counts from which it follows.
    for (name, figure) in [("p.json", "p50_ns"), ("q.json", "achieved_per_s")] {
        let at = a.find("\"response\"").filter(|_| figure == "p50_ns").unwrap_or(0);
        let (before, rest) = a[at..].split_once(&format!("\"{figure}\": ")).unwrap();
        fs::write(folder.join(name), format!("{}{before}\"{figure}\": 7{rest}", &a[..at])).unwrap();
    }
    let many = "a.json ".repeat(17);
    for (line, words) in [
        ("compare a.json", &["RECORD"][..]),
        ("compare a.json s.json", &["s.json", "steps of a search or scan", "memtide run"]),
        ("compare a.json b.json", &["b.json", "it is not a record"]),
        ("compare a.json v.json", &["v.json", "at schema", "memtide.record/2"]),
        ("compare a.json w.json", &["w.json", "it contradicts itself"]),
        ("report w.json", &["w.json", "it contradicts itself"]),
        ("report h.json", &["h.json", "it contradicts itself", "histogram"]),
        ("compare a.json h.json", &["h.json", "it contradicts itself", "histogram"]),
        ("report p.json", &["p.json", "it contradicts itself", "a histogram of"]),
        ("compare a.json p.json", &["p.json", "it contradicts itself", "a histogram of"]),
        ("report q.json", &["q.json", "it contradicts itself", "times a second, not 7"]),
        ("compare a.json none.json", &["none.json", "cannot be read"]),
        ("compare a.json a.json --out plot=x.svg", &["--out plot", "memtide report"]),
        ("compare a.json a.json --out samples=x.csv", &["--out samples", "memtide run"]),
        (&format!("compare {}", many.trim()), &["17 records are too many", "at most 16"]),
    ] {
        run_in(&folder, line).complains(2, words);
    }
    assert_eq!(
        names(&folder),
        ["a.json", "b.json", "h.json", "p.json", "q.json", "s.json", "v.json", "w.json"]
    );
}

/// The servers' cost of one command grew from 6.74 to 27.2 s per million operations when it was
/// given again: the first time the servers were filled, too, and that was divided by the reads.
#[test]
fn the_same_command_twice_costs_the_servers_the_same() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let folder = room("compare-twice");
    let line = format!("run -s {} --quiet --rate 5k --duration 2s --warmup 0", peer.name);
    // Filling is by far more than the load.
    let line = format!("{line} --keys 50k --value-size 1k --mix get=1");
    run_in(&folder, &format!("{line} --json a.json")).exits(0);
    run_in(&folder, &format!("{line} --json b.json")).exits(0);
    let run = run_in(&folder, "compare a.json b.json --out json=c.json --fail-on server_cpu>+300%");
    let json: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("c.json")).unwrap()).unwrap();
    let rows = json["figures"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == "server_cpu").unwrap();
    let cost = |at: usize| row["values"][at]["value"].as_f64().unwrap();
    let ratio = cost(1) / cost(0);
    assert!((0.25..4.0).contains(&ratio), "{} and {}: {run}", cost(0), cost(1));
    // What filling took is in no cost: two thirds of the first run's commands were sets.
    let before: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("a.json")).unwrap()).unwrap();
    assert_eq!(before["phases"]["load"]["ops"]["set"], 50_000, "{run}");
    run.exits(0);
}
