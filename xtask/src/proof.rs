//! Proofs to run by hand on a quiet machine, because they measure time: a newcomer's first run, and
//! its sample in the README. They do not judge; they count memtide's own verdicts.

pub mod agents;
pub mod choices;

use crate::commands::{self, json, succeeded};
use crate::files::{at, put};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The largest share of a percentile that the generator may add.
const SHARE_MAX: f64 = 0.10;
/// The marks around the sample in the README.
const SAMPLE_BEGINS: &str = "<!-- sample: written by `cargo xtask readme` -->";
const SAMPLE_ENDS: &str = "<!-- end of the sample -->";
/// The report's width in columns.
const COLUMNS: &str = "120";

/// Runs `memtide run` `runs` times; prints how often the generator's share of p50 and p99 was
/// small.
///
/// # Errors
/// If memtide cannot be built or run, or does not write a record.
pub fn first_run(root: &Path, runs: u32) -> Result<(), String> {
    let memtide = released(root)?;
    println!("run   share of p50   share of p99   stolen   wait     believable");
    let mut held = [0; 2];
    for number in 1..=runs {
        let record = json(Command::new(&memtide).args(["run", "--quiet", "--json", "-"]))?;
        let shares = ["generator_p50", "generator_p99"].map(|code| share(&record, code));
        for (held, share) in held.iter_mut().zip(shares) {
            *held += u32::from(share.is_some_and(|share| share <= SHARE_MAX));
        }
        let [p50, p99] = shares.map(words);
        let wait = record["plan"]["wait"].as_str().unwrap_or("?");
        let stolen = words(record["machine_cpu"]["stolen"].as_f64());
        let verdict = verdict(&record);
        println!("{number:>3}   {p50:>12}   {p99:>12}   {stolen:>6}   {wait:<6}   {verdict}");
    }
    let [p50, p99] = held;
    println!("at most 10 %: p50 in {p50} of {runs} runs, p99 in {p99} of {runs}");
    Ok(())
}

/// Puts the report of a first run into the README, between its two marks.
///
/// # Errors
/// If memtide cannot be built or run, or the README has no such marks.
pub fn readme(root: &Path) -> Result<(), String> {
    // A terminal overwrites its line of progress, and the sample is what stays.
    let mut first = Command::new(released(root)?);
    first.arg("run").env("COLUMNS", COLUMNS).env("MEMTIDE_PROGRESS", "off");
    let output = succeeded(&mut first)?;
    let report = [output.stderr, output.stdout].concat();
    let report = String::from_utf8_lossy(&report);
    let path = root.join("README.md");
    let old = fs::read_to_string(&path).map_err(at(&path))?;
    put(&path, with_sample(&old, &report)?.as_bytes())?;
    println!("{}", report.lines().last().unwrap_or_default());
    Ok(())
}

fn with_sample(readme: &str, report: &str) -> Result<String, String> {
    let missing = |mark: &str| format!("README.md has no line '{mark}'; put it back");
    let (before, rest) = readme.split_once(SAMPLE_BEGINS).ok_or_else(|| missing(SAMPLE_BEGINS))?;
    let (_, after) = rest.split_once(SAMPLE_ENDS).ok_or_else(|| missing(SAMPLE_ENDS))?;
    let command = "$ cargo run --release -- run";
    let report = report.trim_end();
    let sample = format!("```text\n{command}\n{report}\n```");
    Ok(format!("{before}{SAMPLE_BEGINS}\n{sample}\n{SAMPLE_ENDS}{after}"))
}

/// Builds memtide; returns its path.
fn released(root: &Path) -> Result<PathBuf, String> {
    commands::released(root, &["memtide"]).map(|folder| folder.join("memtide"))
}

/// The figure of a check; `None` if it was skipped.
fn share(record: &Value, code: &str) -> Option<f64> {
    let checks = record["believable"]["checks"].as_array()?;
    checks.iter().find(|check| check["code"] == code)?["measured"].as_f64()
}

fn words(share: Option<f64>) -> String {
    share.map_or("not judged".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn verdict(record: &Value) -> String {
    let believable = &record["believable"];
    let reasons = believable["reasons"].as_array().into_iter().flatten();
    let reasons: Vec<&str> = reasons.filter_map(|reason| reason["message"].as_str()).collect();
    let verdict = believable["verdict"].as_str().unwrap_or("?");
    if reasons.is_empty() {
        verdict.to_owned()
    } else {
        format!("{verdict}: {}", reasons.join("; "))
    }
}

#[cfg(test)]
mod tests;
