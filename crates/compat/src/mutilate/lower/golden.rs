//! The scenario of every option, as files: the fields by which the shortest valid command line
//! differs from memtide's defaults, then the changes of each further line.
//!
//! `UPDATE_DOCS=1 cargo test -p memtide-compat` writes the files again.

use super::super::args::tests::{COMMON, DYNAMICS, MCPERFS, MUTILATES};
use super::super::rows::ROWS;
use super::super::{Command, Face, parse};
use super::*;
use memtide_schema::field::find;
use memtide_schema::{Layer, Origin};
use std::path::Path;

type Said = serde_json::Map<String, serde_json::Value>;

/// A seed for waveforms that name none.
const FRESH_SEED: u64 = 7;

/// The options of a command line that makes load; an agent's line makes load only for masters.
fn options(program: &str, line: &str) -> Option<Options> {
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match parse(Face::named(program).unwrap(), program, &argv) {
        Ok(Command::Load(options)) => Some(*options),
        Ok(Command::Agent(_)) | Err(_) => None,
    }
}

fn lowered(options: &Options) -> Result<Settings, Stop> {
    let targets = match &options.mode {
        Mode::Dynamic(dynamic) => dynamic.targets(FRESH_SEED),
        _ => Vec::new(),
    };
    lower(options, &targets)
}

/// The scenario of a command line that is allowed.
fn settings(line: &str) -> Settings {
    let (program, line) = line.split_once(' ').unwrap();
    lowered(&options(program, line).unwrap()).unwrap()
}

/// The fields of `words` that `than` lacks or has otherwise, one per line.
fn changes(words: &Said, than: &Said) -> String {
    let mut text = String::new();
    for (name, value) in words {
        if than.get(name) != Some(value) {
            text += &format!("  {name} = {value}\n");
        }
    }
    for name in than.keys().filter(|name| !words.contains_key(*name)) {
        text += &format!("  {name} is not said\n");
    }
    text
}

fn expect(program: &str, lines: &[&[&str]]) {
    let least = settings(&format!("{program} -s h")).words();
    let mut text = format!("$ {program} -s h\n");
    text += &changes(&least, &Settings::default().words());
    for line in lines.concat() {
        // Refused lines are listed elsewhere.
        let Some(options) = options(program, line) else { continue };
        text += &format!("$ {program} {line}\n");
        text += &match lowered(&options) {
            Ok(settings) => changes(&settings.words(), &least),
            Err(stop) => format!("  exit {}: {}", stop.code, stop.stderr),
        };
    }
    let path = format!("src/mutilate/lower/expect/{program}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, kept, "{} differs; UPDATE_DOCS=1 writes it again", path.display());
}

#[test]
fn mutilates_scenarios() {
    expect("mutilate", &[COMMON, MUTILATES, LAWS, TOGETHER]);
}

#[test]
fn mcperfs_scenarios() {
    expect("mcperf", &[COMMON, MCPERFS, LAWS, TOGETHER]);
}

#[test]
fn the_dynamic_mcperfs_scenarios() {
    expect("mcperf-dynamic", &[COMMON, MCPERFS, DYNAMICS]);
}

/// Every distribution in each position.
const LAWS: &[&str] = &[
    "-s h -K fixed:20 -V uniform:100",
    "-s h -K normal:30,5 -V normal:200,50",
    "-s h -K normal:30,5 -V normal:200,50 -i normal:0.001,0.0001 -q 1000 --original-normal",
    "-s h -K uniform:100",
    "-s h -K uniform:20.5,100",
    "-s h -K exponential:0.05 -V exponential:0.01",
    "-s h -K pareto:10,5,0.1 -V pareto:15,214.476,0.348238",
    "-s h -K gev:30.7984,8.20449,0.078688 -V gev:200,20,0.1",
    "-s h -K fb_key -V fb_value -i fb_ia -q 1000",
    "-s h -q 1000 -i 5",
    "-s h -q 1000 -i fixed",
    "-s h -q 1000 -i uniform:100",
    "-s h -q 1000 -i normal:0.001,0.0001",
    "-s h -q 1000 -i exponential",
    "-s h -q 1000 -i exponential:1",
    "-s h -q 1000 -i pareto:0.0,16.0292,0.154971",
    "-s h -q 1000 -i pareto:0.0001,16,0.1 -c 4 -T 2",
    "-s h -i gev:1,2,3",
];

/// Options that depend on others.
const TOGETHER: &[&str] = &[
    "-s h -q 1000 -S",
    "-s h --scan 1000:2000:500 -S",
    "-s a,b,c -T 2 -R -c 4",
    "-s a,b -T 4 -R -c 4",
    "-s a,b -T 4 -c 4",
    "-s h -u 0.1 -w 2 -W 1 -q 1000 -d 4 --moderate",
    "-s h --save f --save_all g",
];

#[test]
fn every_option_has_a_line() {
    let all = [COMMON, MCPERFS, MUTILATES, DYNAMICS].concat().join(" ");
    let words: Vec<&str> = all.split([' ', '=']).collect();
    for row in ROWS {
        let long = format!("--{}", row.long);
        let short = row.short.map(|letter| format!("-{letter}"));
        let is_there = |word: &&str| **word == long || short.as_deref() == Some(*word);
        // Options that end the program before a scenario are tested elsewhere.
        let ends = ["help", "version", "agentmode", "agent"].contains(&row.long);
        assert!(ends || words.iter().any(is_there), "{long} has no line");
    }
}

#[test]
fn what_is_said_can_be_said_natively() {
    for program in ["mutilate", "mcperf", "mcperf-dynamic"] {
        for line in [COMMON, MCPERFS, MUTILATES, DYNAMICS, LAWS, TOGETHER].concat() {
            let Some(options) = options(program, line) else { continue };
            let Ok(settings) = lowered(&options) else { continue };
            let mut layer = Layer::new();
            // A password is never shown, so it cannot be set again.
            for (name, value) in settings.words().iter().filter(|(name, _)| *name != "password") {
                let words = match value {
                    serde_json::Value::Array(words) => {
                        words.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
                    }
                    serde_json::Value::String(word) => vec![word.clone()],
                    other => vec![other.to_string()],
                };
                layer.push(find(name).unwrap(), words, Origin::Flag);
            }
            let mut again = Settings::default();
            again.scenario.password.clone_from(&settings.scenario.password);
            again.apply(&layer).unwrap();
            assert_eq!(again, settings, "{program} {line}");
        }
    }
}
