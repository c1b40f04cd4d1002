//! One law for all outputs: each figure of each output is the record's, as precisely as it is
//! printed, or it is missing with a reason. A field that no table of this folder has is a fault,
//! and so is a digit that was changed on purpose.

mod charts;
mod files;
mod rows;
mod shown;
mod text;
mod truth;

use crate::agents::Lab;
use crate::child::{Finished, Running, fresh_folder, program, shared};
use crate::influx::stub::{Reply, Stub, point};
use crate::peer::Peer;
use memtide_record::Record;
use memtide_record::steps::Steps;
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use truth::Law;

pub(crate) use rows::{csv, json_lines};

/// All outputs that a run by agents has too.
const OUTS: &str = "--full --out json=r.json --out md=r.md --out html=r.html --out junit=r.xml \
                    --out openmetrics=r.om --out hlog=r.hlog --out intervals=r.csv \
                    --out intervals=r.jsonl --out summary=r.sum.csv";
/// Outputs of a run, and of no search.
const OUTS_OF_RUN: &str = "--out hgrm=r.hgrm --out samples=s";

/// Outputs for people, which say whether a run was simulated.
const SAY_SO: [&str; 4] = ["text", "r.md", "r.html", "r.xml"];

/// The outputs of a run by their names: `text` is stdout, `influx` the points. Beside them what
/// their record says, once it was read; none if it is no record.
struct Outputs(BTreeMap<String, String>, Read);

type Read = OnceCell<Option<Rc<(Record, Value)>>>;

impl Outputs {
    /// Runs the program in a new folder, and reads everything that it wrote there.
    fn of(folder: &Path, run: &Finished) -> Self {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let files = files.filter(|path| path.is_file() && name(path).contains('.'));
        let mut outputs: BTreeMap<String, String> =
            files.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect();
        outputs.insert("text".to_owned(), run.out.clone());
        Self(outputs, OnceCell::new())
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn with(&self, name: &str, text: String) -> Self {
        let mut outputs = self.0.clone();
        outputs.insert(name.to_owned(), text);
        let read = if name == "r.json" { OnceCell::new() } else { self.1.clone() };
        Self(outputs, read)
    }

    /// The record and its JSON.
    fn record(&self) -> Option<Rc<(Record, Value)>> {
        let read = || {
            let text = self.get("r.json");
            Some(Rc::new((Record::from_json(text).ok()?, serde_json::from_str(text).ok()?)))
        };
        self.1.get_or_init(read).clone()
    }

    /// What is wrong with one output of a run.
    fn wrong(&self, name: &str) -> Vec<String> {
        let text = self.get(name);
        let Some(read) = self.record() else { return vec!["it is no record".to_owned()] };
        let (record, json) = &*read;
        let mut law = Law::new(record, json);
        let [rows, samples] = ["r.csv", "s.csv"].map(|name| move || csv(self.get(name)));
        let is_simulated = record.plan.io == "simulated";
        let says_so = !SAY_SO.contains(&name) || text.contains("simulated") == is_simulated;
        law.holds(says_so, || format!("simulated: {is_simulated}, which it does not say"));
        match name {
            "r.json" => truth::record(&mut law),
            "text" => text::text(&mut law, text),
            "r.md" => text::markdown(&mut law, text),
            "r.html" => {
                files::html(&mut law, text);
                charts::of_run(&mut law, text);
            }
            "r.xml" if record.own.is_some() => {
                // A suite for each load; the goals are in the master's.
                let suites = text.split("<testsuite ").skip(1);
                let suites: Vec<String> = suites.map(|it| format!("<testsuite {it}")).collect();
                law.holds(suites.len() == 2, || "not a suite for each load".to_owned());
                files::junit(&mut law, &suites[0]);
                law.own(&suites[1], |law| files::junit(law, &suites[1]));
            }
            "r.xml" => files::junit(&mut law, text),
            "r.hgrm" => files::hgrm(&mut law, text),
            "c.json" => files::comparison(&mut law, &Law::new(record, json), text),
            "r.om" => files::metrics(&mut law, text),
            "r.hlog" => {
                let log = rows::log(&mut law, text);
                rows::logged(&mut law, &log, &rows());
            }
            "r.csv" => {
                let log = rows::log(&mut law, self.get("r.hlog"));
                rows::heading(&mut law, text.lines().next().unwrap_or(""));
                rows::seconds(&mut law, &rows(), &log);
            }
            "r.jsonl" => law.holds(rows::are_equal(&json_lines(text), &rows()), || {
                "other rows than as CSV".to_owned()
            }),
            "r.sum.csv" => rows::summary(&mut law, text),
            "s.csv" => rows::samples(&mut law, &samples()),
            "s.jsonl" => rows::samples(&mut law, &json_lines(text)),
            "influx" => rows::points(&mut law, text, &rows(), &samples()),
            _ => law.wrong.push(format!("no law holds {name}")),
        }
        law.wrong
    }

    /// Asserts the law for all outputs.
    fn hold(&self, sort: &str) {
        let wrong: Vec<String> = self
            .0
            .keys()
            .flat_map(|name| self.wrong(name).into_iter().map(move |why| format!("{name}: {why}")))
            .collect();
        assert!(wrong.is_empty(), "{sort}: {} faults:\n{}", wrong.len(), wrong.join("\n"));
    }

    /// Asserts that changed digits are found in each of these outputs: this part of what is usual.
    fn find_changed_digits(&self, part: f64) {
        let known = |name: &String| FOUND.iter().any(|(known, _)| known == name);
        assert!(self.0.keys().all(known), "an output is new");
        let there = FOUND.iter().filter(|(name, _)| self.0.contains_key(*name));
        let missed: Vec<String> =
            there.filter_map(|(name, least)| self.missed(name, part * least)).collect();
        assert!(missed.is_empty(), "{}", missed.join("\n"));
    }

    /// The digits all over an output that can be changed without being found, if a smaller part
    /// than `least` is found.
    fn missed(&self, name: &str, least: f64) -> Option<String> {
        let text = self.get(name);
        let from = if name == "r.json" { text.find("\"totals\"").unwrap() } else { 0 };
        let digits = digits_of(name, text, from);
        let tried = Tried { name, text, digits, least };
        tried.missed(|text| self.with(name, text).wrong(name))
    }
}

/// An output, the places of its digits, and the least part of these of which a change is found.
struct Tried<'a> {
    name: &'a str,
    text: &'a str,
    digits: Vec<usize>,
    least: f64,
}

impl Tried<'_> {
    /// The changed digits of which `wrong` finds nothing, if they are too many.
    fn missed(self, wrong: impl Fn(String) -> Vec<String>) -> Option<String> {
        let Self { name, text, digits, least } = self;
        assert!(!digits.is_empty(), "{name} has no figures");
        // Many members of a record are held by nothing, so more of its digits are tried.
        let spoiled = if name == "r.json" { 4 * SPOILED } else { SPOILED };
        let step = (digits.len() / spoiled).max(1);
        let tried: Vec<usize> = digits.into_iter().step_by(step).collect();
        let missed: Vec<String> = tried
            .iter()
            .filter(|at| {
                let mut bytes = text.as_bytes().to_vec();
                bytes[**at] = b'0' + (bytes[**at] - b'0' + 1) % 10;
                wrong(String::from_utf8(bytes).unwrap()).is_empty()
            })
            .map(|at| {
                String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(40)..*at + 1])
                    .into_owned()
            })
            .collect();
        let found = 1.0 - missed.len() as f64 / tried.len() as f64;
        (found < least).then(|| format!("{name}: {found} of {}, not {missed:#?}", tried.len()))
    }
}

/// The first digit of each number in an output; of a page only in what it says of the run.
fn digits_of(name: &str, text: &str, from: usize) -> Vec<usize> {
    // Its last ones may be finer than a bucket of a histogram.
    let is_first = |at: &usize| {
        let (before, digit) = (text.as_bytes()[at.max(&1) - 1], text.as_bytes()[*at]);
        // A figure follows a name in JSON; a port follows that of a host.
        let is_figure = !b".:".contains(&before) || text.as_bytes()[..*at].ends_with(b"\":");
        digit.is_ascii_digit() && !before.is_ascii_alphanumeric() && is_figure
    };
    // Colours and the page's own text are no figures.
    let pieces = ["<data value=\"", " data-v=\"", " data-t=\"", " data-x=\"", "><path d=\""];
    let within = |sign: &'static str| {
        let pieces = text.match_indices(sign).map(move |(at, _)| at + sign.len());
        pieces.flat_map(|at| at..at + text[at..].find('"').unwrap())
    };
    match name.ends_with(".html") {
        true => pieces.into_iter().flat_map(within).filter(is_first).collect(),
        false => (from..text.len()).filter(is_first).collect(),
    }
}

/// Digits that are changed in an output.
const SPOILED: usize = 12;

fn run_in(folder: &Path, line: &str) -> Finished {
    Running::of(program().current_dir(folder).args(line.split_whitespace())).finish()
}

/// The outputs of a run in this folder, with a comparison of its record with itself, and with the
/// same outputs made of the record, which must be the same where the record has all that they need.
fn outputs(folder: &Path, run: &Finished) -> Outputs {
    run_in(folder, "compare r.json r.json --out json=c.json").exits(0);
    let outs =
        "--out md=again.md --out html=again.html --out junit=again.xml --out json=again.json";
    let again = run_in(folder, &format!("report r.json --full {outs}"));
    let mut outputs = Outputs::of(folder, run);
    for name in ["r.md", "r.html", "r.xml", "r.json"] {
        let twin = outputs.0.remove(&name.replace('r', "again")).unwrap_or_default();
        assert!(twin == outputs.get(name), "{name} of the record is another: {again}");
    }
    assert_eq!(again.out, run.out);
    outputs
}

/// The outputs of a run with these words.
fn carried_out(sort: &str, line: &str, samples: &str, servers: &[&Peer]) -> Outputs {
    let folder = fresh_folder(&format!("law-{sort}"));
    let stub = Stub::start(|_, _| Reply::Whole(204, "", ""));
    let names: Vec<&str> = servers.iter().map(|peer| &*peer.name).collect();
    let words = match servers {
        [] => "sim".to_owned(),
        _ => format!("run -s {} --out influx={}", names.join(","), stub.url("/write?db=x")),
    };
    let run = run_in(
        &folder,
        &format!("{words} --quiet --keys 300 {line} {OUTS} {OUTS_OF_RUN}{samples}"),
    );
    assert!(folder.join("r.json").exists(), "{run}");
    let mut outputs = outputs(&folder, &run);
    if !servers.is_empty() {
        outputs.0.insert("influx".to_owned(), lines_of(&stub).join("\n"));
    }
    outputs
}

/// Sorts of runs with one process.
const SORTS: [(&str, &str); 7] = [
    (
        "open",
        "--rate 3k --duration 1300ms --warmup 100ms --goal all.p50<1s --goal all.p90<2ms \
         --goal get.p50<1ns --tag a=b",
    ),
    ("closed", "--rate 0 --duration 300ms --connections 2 --message-sizes"),
    ("keys", "--rate 4k --rate-unit keys --multiget 4 --duration 1s --value-size uniform:10,99"),
    ("churn", "--connection-rate 300 --calls 3 --duration 1s"),
    ("servers", "--rate 2k --duration 1300ms --mix get=8,set=1,touch=1"),
    (
        "stopped",
        "--rate 3k --duration 700ms --connections 1 --depth 1 --cooldown stop --goal all.p50<900ms",
    ),
    ("unanswered", "--rate 2k --duration 1300ms --timeout 40ms --errors-max 1 --load never"),
];

#[test]
fn a_simulated_run_of_each_sort_is_the_same_in_all_outputs() {
    let _turn = shared();
    for (sort, line) in SORTS {
        let words = match sort {
            "unanswered" => "--behaviour exponential:200us --fault server-error:8%,stall:0.2%",
            "stopped" => "--behaviour fixed:1ms",
            "servers" => "--behaviour exponential:200us -s one,two",
            _ => "--behaviour exponential:200us",
        };
        let form = if sort == "closed" { ".jsonl" } else { ".csv" };
        carried_out(sort, &format!("{line} {words}"), form, &[]).hold(sort);
    }
}

#[test]
fn a_real_run_of_each_sort_is_the_same_in_all_outputs() {
    let _turn = shared();
    let [peer, other] = [Peer::memcached(""), Peer::memcached("")];
    let faulty = Peer::embedded("--fault server-error:8%,stall:0.2%");
    let slow = Peer::embedded("--behaviour fixed:1ms");
    for (sort, line) in SORTS {
        let servers = match sort {
            "unanswered" => &[&faulty][..],
            "stopped" => &[&slow],
            "servers" => &[&peer, &other],
            _ => &[&peer],
        };
        carried_out(&format!("real-{sort}"), line, ".csv", servers).hold(sort);
    }
}

#[test]
fn two_runs_are_the_same_in_all_outputs_of_a_comparison() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let stalling = Peer::embedded("--fault stall:2%");
    let folder = fresh_folder("law-compare");
    for (name, server, words) in [
        ("a.json", &peer, "--rate 3k --duration 1s"),
        (
            "b.json",
            &stalling,
            "--rate 1k --duration 700ms --timeout 40ms --errors-max 1 --load never",
        ),
    ] {
        let line = format!("run -s {} --quiet --keys 300 {words} --json {name}", server.name);
        run_in(&folder, &line);
    }
    let outs = "--out json=c.json --out md=c.md --out html=c.html";
    let run = run_in(&folder, &format!("compare a.json b.json {outs}")).exits(0);
    let [a, b, json, markdown, page] = ["a.json", "b.json", "c.json", "c.md", "c.html"]
        .map(|name| fs::read_to_string(folder.join(name)).unwrap());
    let records = [&a, &b].map(|text| Record::from_json(text).unwrap());
    let values = [&a, &b].map(|text| -> Value { serde_json::from_str(text).unwrap() });
    let wrong = |shown: [&str; 4]| {
        let mut law = Law::new(&records[0], &values[0]);
        files::comparison(&mut law, &Law::new(&records[1], &values[1]), shown[0]);
        files::comparison_shown(&mut law, shown);
        law.wrong
    };
    let shown = [&*json, &*run.out, &*markdown, &*page];
    assert!(wrong(shown).is_empty(), "{run}\n{}", wrong(shown).join("\n"));
    // A changed digit of a figure is found in each.
    for (at, name, begins, least) in
        [(1, "text", "\nrate", 0.8), (2, "c.md", "\n| rate", 0.8), (3, "c.html", "<table", 0.9)]
    {
        let from = shown[at].find(begins).unwrap_or_else(|| panic!("no {begins}: {}", shown[at]));
        let table = &shown[at][from..];
        // Reasons of absent figures follow the table.
        let ends = ["\n\n", " of A: ", " of B: "].iter().filter_map(|end| table.find(end));
        let until = from + ends.min().unwrap_or(table.len());
        let mut digits = digits_of(name, shown[at], from);
        digits.retain(|digit| (from..until).contains(digit));
        let missed = Tried { name, text: shown[at], digits, least }.missed(|text| {
            let mut shown = shown;
            shown[at] = &text;
            wrong(shown)
        });
        assert_eq!(missed, None);
    }
}

#[test]
fn merged_runs_are_the_same_in_all_outputs() {
    let _turn = shared();
    let peer = Peer::memcached("");
    for command in ["sim".to_owned(), format!("run -s {}", peer.name)] {
        let folder = fresh_folder("law-merged");
        for (seed, name) in [(1, "a"), (2, "b")] {
            let words = "--quiet --rate 2k --duration 1s --warmup 0 --keys 100";
            run_in(&folder, &format!("{command} {words} --seed {seed} --json {name}"));
        }
        let run = run_in(&folder, &format!("merge a b {OUTS} --out hgrm=r.hgrm"));
        let outputs = outputs(&folder, &run);
        outputs.hold(&command);
        if command == "sim" {
            // Figures of the single shards are held by nothing but the record's own laws.
            outputs.find_changed_digits(0.6);
        }
    }
}

#[test]
fn a_run_by_agents_is_the_same_in_all_outputs() {
    let _turn = shared();
    let (lab, peer) = (Lab::new("law"), Peer::memcached(""));
    let mut agents = lab.agents(2);
    let at = |folder: &Path, words: &str| {
        let outs = format!("{OUTS} --out hgrm=r.hgrm")
            .replace("=r.", &format!("={}/r.", folder.display()));
        lab.master(&format!("run -s {} --quiet --keys 300 --agents 2 {words} {outs}", peer.name))
    };
    let folder = fresh_folder("law-agents");
    let live = Stub::start(|_, _| Reply::Whole(204, "", ""));
    let words = "--rate 2k --duration 2500ms --warmup 100ms --master-rate 300 --out influx=";
    let run = at(&folder, &format!("{words}{}", live.url("/write?db=x"))).finish();
    outputs(&folder, &run).hold("agents");
    overwrites(&live, &folder);
    let folder = fresh_folder("law-lost");
    let before = peer.figure("cmd_get");
    let run = at(&folder, "--rate 2k --duration 3s --warmup 0 --allow-lost 1 --mix get=1");
    peer.await_figure("cmd_get", before + 2_000);
    agents[1].kill();
    outputs(&folder, &run.finish()).hold("a lost agent");
}

/// The lines of all points that a database got.
fn lines_of(database: &Stub) -> Vec<String> {
    database.requests().into_iter().flat_map(|it| it.lines).collect()
}

/// Asserts that the points of the record in `folder` are among those of the run: equal tags and
/// times, so that the database keeps one of both, and equal figures.
fn overwrites(live: &Stub, folder: &Path) {
    let again = Stub::start(|_, _| Reply::Whole(204, "", ""));
    run_in(folder, &format!("report r.json --out influx={}", again.url("/write?db=x"))).exits(0);
    let live: Vec<_> = lines_of(live).iter().filter_map(|line| point(line)).collect();
    let again: Vec<_> = lines_of(&again).iter().filter_map(|line| point(line)).collect();
    assert!(again.len() > 1, "{again:?}");
    for (name, tags, fields, time) in &again {
        let twin = live.iter().find(|it| (&it.0, &it.1, &it.3) == (name, tags, time));
        let is_equal = twin.is_some_and(|twin| {
            fields.iter().all(|(name, figure)| twin.2.get(name).is_none_or(|it| it == figure))
        });
        assert!(is_equal, "{tags:?} {fields:?} at {time} is not of the run: {live:#?}");
    }
}

/// A search of three steps: at 2 000/s the server answers late, and the goal is missed.
const SEARCH: &str = "--rate-min 500 --rate-max 2k --steps-max 3 --duration 400ms --keys 300 \
                      --goal all.p50<30ms --warmup 100ms --resolution 50%";
const LATE_AT_2K: &str = "--behaviour queue:1,fixed:800us";

#[test]
fn a_search_is_the_same_in_all_outputs() {
    let _turn = shared();
    let peer = Peer::embedded(LATE_AT_2K);
    let folder = fresh_folder("law-search");
    let database = Stub::start(|_, _| Reply::Whole(204, "", ""));
    let points = format!("--out influx={}", database.url("/write?db=x"));
    let run = run_in(&folder, &format!("search -s {} --quiet {SEARCH} {OUTS} {points}", peer.name));
    steps_hold(&folder, &run, Some(lines_of(&database)));
}

/// Simulated searches and scans: what the steps meet, and the world in which they do.
const STEPS: [(&str, &str, &str); 7] = [
    ("search", SEARCH, LATE_AT_2K),
    // The highest rate meets the goal, or none does.
    ("search", SEARCH, "--behaviour exponential:50us"),
    ("search", SEARCH, "--behaviour queue:1,fixed:6ms"),
    ("search", "--steps-max 5 --duration 1200ms --keys 100 --goal all.p99<9ms", LATE_AT_2K),
    ("scan", "--rates 500,2k,1k --duration 400ms --keys 300 --goal all.p50<30ms", LATE_AT_2K),
    (
        "scan",
        "--rates 500..1500+500 --duration 1300ms --timeout 40ms --errors-max 1 --load never",
        "--behaviour exponential:200us --fault server-error:8%,stall:0.2%",
    ),
    ("scan", "--rates 2k,0,1k --rate-unit keys --multiget 2 --duration 600ms", LATE_AT_2K),
];

#[test]
fn simulated_searches_and_scans_are_the_same_in_all_outputs() {
    let _turn = shared();
    for (number, (command, words, world)) in STEPS.iter().enumerate() {
        let folder = fresh_folder(&format!("law-steps-{number}"));
        let run = run_in(&folder, &format!("sim {command} --quiet {words} {world} {OUTS}"));
        let steps = steps_hold(&folder, &run, None);
        if number == 0 {
            find_changed_digits_of_steps(&Outputs::of(&folder, &run));
        }
        assert!(!steps.steps.is_empty(), "{run}");
        for name in SAY_SO {
            let file = fs::read_to_string(folder.join(name));
            let text = file.unwrap_or_else(|_| run.out.clone());
            let parts = if name == "r.xml" { text.matches("<testsuite ").count() } else { 1 };
            assert!(text.matches("simulated").count() >= parts, "{name} does not say so: {text}");
        }
        for name in ["r.html", "r.md"] {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            assert!(text.contains(&format!("memtide sim {command} scenario.toml --")), "{run}");
        }
    }
}

/// Asserts the law for all outputs of a search or a scan, whose points are `lines`.
fn steps_hold(folder: &Path, run: &Finished, lines: Option<Vec<String>>) -> Steps {
    let outputs = Outputs::of(folder, run);
    let (steps, json) = steps_of(&outputs).expect("steps");
    let wrong = steps_wrong(&outputs, (&steps, &json), lines);
    assert!(wrong.is_empty(), "{run}\n{} faults:\n{}", wrong.len(), wrong.join("\n"));
    steps
}

/// The least part of the digits of each output of a search of which a change is found.
const FOUND_IN_STEPS: [(&str, f64); 8] = [
    ("r.json", 0.3),
    ("text", 0.8),
    ("r.md", 0.7),
    ("r.html", 0.8),
    ("r.xml", 0.7),
    ("r.hlog", 0.7),
    ("r.csv", 0.5),
    ("r.jsonl", 1.0),
];

fn find_changed_digits_of_steps(outputs: &Outputs) {
    let right = steps_of(outputs);
    let missed = FOUND_IN_STEPS.iter().filter_map(|(name, least)| {
        let text = outputs.get(name);
        let from = if *name == "r.json" { text.find("\"totals\"").unwrap() } else { 0 };
        let mut digits = digits_of(name, text, from);
        // The scenario of the steps in Markdown holds no figure.
        digits.retain(|at| {
            *at < text.find("<details>").filter(|_| *name == "r.md").unwrap_or(text.len())
        });
        let tried = Tried { name, text, digits, least: *least };
        tried.missed(|text| {
            let outputs = outputs.with(name, text);
            let changed = if *name == "r.json" { steps_of(&outputs) } else { None };
            match changed.as_ref().or(right.as_ref().filter(|_| *name != "r.json")) {
                Some((steps, json)) => steps_wrong(&outputs, (steps, json), None),
                None => vec!["they are no steps".to_owned()],
            }
        })
    });
    let missed: Vec<String> = missed.collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The steps of a search or a scan, and their JSON; none if that holds no steps.
fn steps_of(outputs: &Outputs) -> Option<(Steps, Value)> {
    let text = outputs.get("r.json");
    Some((Steps::from_json(text).ok()?, serde_json::from_str(text).ok()?))
}

/// What is wrong with the outputs of a search or a scan.
fn steps_wrong(
    outputs: &Outputs,
    (steps, json): (&Steps, &Value),
    lines: Option<Vec<String>>,
) -> Vec<String> {
    let mut law = Law { steps: Some(steps), ..Law::new(&steps.steps[0].record, json) };
    text::text(&mut law, outputs.get("text"));
    text::markdown(&mut law, outputs.get("r.md"));
    let cells = files::steps(outputs.get("r.html"));
    charts::of_steps(&mut law, steps, outputs.get("r.html").split("<details>").next().unwrap());
    cells[1..].iter().for_each(|row| text::row(&mut law, &cells[0], row));
    let log = rows::log(&mut law, outputs.get("r.hlog"));
    let all = csv(outputs.get("r.csv"));
    let points = lines.map(|lines| -> (Vec<String>, Vec<String>) {
        lines.into_iter().partition(|line| line.starts_with("memtide_interval"))
    });
    if let Some((seconds, _)) = &points {
        rows::points(&mut law, &seconds.join("\n"), &all, &[]);
    }
    let is_same = rows::are_equal(&json_lines(outputs.get("r.jsonl")), &all);
    law.holds(is_same, || "other rows than as CSV".to_owned());
    let mut wrong = law.wrong;
    let parts = |name: &str, sign: &'static str| -> Vec<String> {
        outputs.get(name).split(sign).skip(1).map(|part| format!("{sign}{part}")).collect()
    };
    let (suites, pages) = (parts("r.xml", "<testsuite "), parts("r.html", "<details>"));
    if suites.len() != steps.steps.len() + 1 {
        wrong.push("not a suite for each step, and the result".to_owned());
        return wrong;
    }
    let mut before_s = 0.0;
    for (number, step) in steps.steps.iter().enumerate() {
        let mut law = Law::new(&step.record, &json["steps"][number]["record"]);
        let own = Some((number + 1).to_string());
        let of_step = all.iter().filter(|row| row.get("step") == own.as_ref());
        let rows: Vec<_> = of_step.cloned().collect();
        let log = rows::of_step(&log, number + 1, before_s);
        before_s += rows::end_s(&rows);
        truth::record(&mut law);
        if let Some((_, operations)) = &points {
            rows::samples(&mut law, &rows::operations_of(operations, number + 1));
        }
        rows::seconds(&mut law, &rows, &log);
        rows::logged(&mut law, &log, &rows);
        files::junit_of_step(&mut law, &suites[number], (step.rate(), steps.course));
        files::figures(&mut law, &pages[number]);
        wrong.extend(law.wrong.into_iter().map(|why| format!("step {own:?}: {why}")));
    }
    wrong
}

/// The least part of the digits of each output of which a change is found. The rest say nothing
/// about the run: they are of names, of the scenario, or hidden by the precision of a histogram.
const FOUND: [(&str, f64); 15] = [
    // Names, states of the servers and slices have no figure beside them.
    ("r.json", 0.3),
    ("text", 0.8),
    ("r.md", 0.8),
    ("r.html", 0.9),
    ("r.xml", 0.7),
    ("r.om", 0.9),
    ("r.hlog", 0.7),
    ("r.hgrm", 0.8),
    ("r.csv", 0.5),
    ("r.jsonl", 1.0),
    // The version is a word.
    ("r.sum.csv", 0.8),
    ("s.csv", 0.5),
    ("s.jsonl", 0.5),
    ("influx", 0.9),
    // Few digits, most of them of absent percentiles.
    ("c.json", 0.5),
];

#[test]
fn a_changed_digit_is_found_in_each_output() {
    let _turn = shared();
    let peer = Peer::memcached("");
    let line = "--rate 1500 --duration 1200ms --warmup 100ms --goal all.p50<1s";
    let mut outputs = carried_out("spoiled", line, ".csv", &[&peer]);
    let lines = csv(outputs.get("s.csv"))
        .iter()
        .map(|row| serde_json::to_string(row).unwrap() + "\n")
        .collect();
    outputs.0.insert("s.jsonl".to_owned(), lines);
    outputs.find_changed_digits(1.0);
    finds_planted_fields(&outputs);
}

/// Asserts that a figure that no table has is found in each output.
fn finds_planted_fields(outputs: &Outputs) {
    let heading = |text: &str| {
        let (names, rows) = text.split_once('\n').unwrap();
        let rows: Vec<String> = rows.lines().map(|row| format!("{row},7")).collect();
        format!("{names},planted\n{}\n", rows.join("\n"))
    };
    for (name, planted) in [
        ("r.json", outputs.get("r.json").replacen("\"totals\":{", "\"totals\":{\"planted\":7,", 1)),
        (
            "r.json",
            outputs.get("r.json").replacen("\"totals\": {", "\"totals\": {\"planted\": 7,", 1),
        ),
        ("text", format!("planted    7/s in all\n{}", outputs.get("text"))),
        ("r.md", outputs.get("r.md").replacen("\n| ", "\n| planted | 7 |\n| ", 2)),
        (
            "r.html",
            outputs.get("r.html").replacen(
                "<data value=\"",
                "<data value=\"7\">7</data><data value=\"",
                1,
            ),
        ),
        (
            "r.xml",
            outputs.get("r.xml").replacen(
                "<property ",
                "<property name=\"planted\" value=\"7\"/><property ",
                1,
            ),
        ),
        ("r.om", outputs.get("r.om").replace("# EOF", "memtide_planted 7\n# EOF")),
        ("r.hlog", format!("{}#[Planted: 7]\n", outputs.get("r.hlog"))),
        ("r.csv", heading(outputs.get("r.csv"))),
        ("r.jsonl", outputs.get("r.jsonl").replacen('{', "{\"planted\":7,", 1)),
        ("r.sum.csv", heading(outputs.get("r.sum.csv"))),
        ("s.csv", heading(outputs.get("s.csv"))),
        ("s.jsonl", outputs.get("s.jsonl").replacen('{', "{\"planted\":7,", 1)),
        ("influx", outputs.get("influx").replacen(" intended=", " planted=7,intended=", 1)),
    ] {
        if planted != outputs.get(name) {
            let wrong = outputs.with(name, planted.clone()).wrong(name);
            assert!(!wrong.is_empty(), "nothing is wrong with {name}: {planted}");
        }
    }
}

/// Each kind of output is held by this law, or `fields.txt` says why not.
#[test]
fn each_kind_of_output_is_held_or_has_a_reason() {
    let held = format!("{OUTS} {OUTS_OF_RUN} --out influx=");
    let kinds = memtide_scenario::OutputKind::ALL.iter().map(|kind| kind.name());
    let is_known = |kind: &&str| {
        held.contains(&format!("--out {kind}=")) || truth::field("elsewhere", kind).is_some()
    };
    assert_eq!(kinds.filter(|kind| !is_known(kind)).collect::<Vec<_>>(), [""; 0]);
}
