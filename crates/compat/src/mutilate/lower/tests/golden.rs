//! The scenario of every option, as files: the fields by which the shortest valid command line
//! differs from memtide's defaults, then the changes of each further line.

use super::super::*;
use crate::mutilate::rows::ROWS;
use crate::mutilate::{Command, Face, parse};
use crate::tests::{command_lines, expect_listing, words};
use memtide_scenario::field::find;
use memtide_scenario::{Layer, Origin};

const PROGRAMS: [&str; 3] = ["mutilate", "mcperf", "mcperf-dynamic"];

type Said = serde_json::Map<String, serde_json::Value>;

/// A seed for waveforms that name none.
const FRESH_SEED: u64 = 7;

/// The options of a command line that makes load; an agent's line makes load only for masters.
fn options(program: &str, line: &str) -> Option<Options> {
    let faces = [Face::Mutilate, Face::Mcperf, Face::McperfDynamic];
    let at = PROGRAMS.iter().position(|known| *known == program).unwrap();
    match parse(faces[at], program, &words(line)) {
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

fn file(program: &str) -> String {
    format!("mutilate/lower/expect/{program}.txt")
}

/// The command lines of a program's file.
fn lines(program: &str) -> Vec<String> {
    command_lines(&file(program), &format!("$ {program} "))
}

fn check_scenarios(program: &str) {
    let least = settings(&format!("{program} -s h")).words();
    expect_listing(&file(program), &format!("$ {program} "), |line| {
        match lowered(&options(program, line).unwrap()) {
            Ok(settings) if line == "-s h" => {
                changes(&settings.words(), &Settings::default().words())
            }
            Ok(settings) => changes(&settings.words(), &least),
            Err(stop) => format!("  exit {}: {}", stop.code, stop.stderr),
        }
    });
}

#[test]
fn mutilates_scenarios() {
    check_scenarios("mutilate");
}

#[test]
fn mcperfs_scenarios() {
    check_scenarios("mcperf");
}

#[test]
fn the_dynamic_mcperfs_scenarios() {
    check_scenarios("mcperf-dynamic");
}

#[test]
fn every_option_has_a_line() {
    let all = PROGRAMS.map(lines).concat().join(" ");
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
    let lines = PROGRAMS.map(lines).concat();
    for program in PROGRAMS {
        for line in &lines {
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
