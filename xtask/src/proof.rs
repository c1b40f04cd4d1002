//! Proofs to run by hand on a quiet machine, because they measure time: a newcomer's first run, and
//! its sample in the README. They do not judge; they count memtide's own verdicts.

pub mod agents;
pub mod blame;
pub mod choices;
pub mod wire;

use crate::commands::{self, succeeded};
use crate::files::{at, json, put};
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

/// The figures whose grades are listed, and those of them that should be known within 10 %.
const FIGURES: [&str; 3] = ["p50", "p90", "p99"];
const ASKED: usize = 2;
/// The half width of a figure that is good enough for a first run, in per cent.
const WITHIN_MAX: f64 = 10.0;
/// The largest part of the machine's time that the hypervisor may withhold from a run that counts.
const STOLEN_MAX: f64 = 0.001;

/// Runs `memtide run` until `runs` of them had their machine to themselves, at most twice as often.
/// Prints the grades of their figures, and how often memtide's own share of p50 and p99 was small.
///
/// # Errors
/// If memtide cannot be built or run, or does not write a record.
pub fn first_run(root: &Path, runs: u32) -> Result<(), String> {
    let memtide = released(root)?;
    let path = std::env::temp_dir().join(format!("memtide-first-{}.json", std::process::id()));
    println!("run  stolen  share of p50 and p99  wait    grades of p50, p90, p99");
    let (mut counted, mut shares_held, mut grades_held) = (0, [0; 2], [0; FIGURES.len()]);
    for number in 1..=runs * 2 {
        let mut first = Command::new(&memtide);
        first.args(["run", "--json"]).arg(&path).env("MEMTIDE_PROGRESS", "off");
        let report = commands::output(&mut first)?.stdout;
        let report = String::from_utf8_lossy(&report);
        let record = json(&path)?;
        let stolen = record["machine_cpu"]["stolen"].as_f64();
        let is_quiet = stolen.is_none_or(|stolen| stolen <= STOLEN_MAX);
        let shares = ["generator_p50", "generator_p99"].map(|code| share(&record, code));
        let grades = FIGURES.map(|figure| grade(&report, figure));
        if is_quiet {
            counted += 1;
            for (held, share) in shares_held.iter_mut().zip(shares) {
                *held += u32::from(share.is_some_and(|share| share <= SHARE_MAX));
            }
            for (held, grade) in grades_held.iter_mut().zip(&grades) {
                *held += u32::from(is_within(grade, WITHIN_MAX));
            }
        }
        let [p50, p99] = shares.map(words);
        let (wait, stolen) = (record["plan"]["wait"].as_str().unwrap_or("?"), words(stolen));
        let note = if is_quiet { "" } else { "  (repeated: the hypervisor took the CPU)" };
        let grades = grades.join("; ");
        println!("{number:>3}  {stolen:>6}  {p50:>9} {p99:>9}  {wait:<6}  {grades}{note}");
        if counted == runs {
            break;
        }
    }
    fs::remove_file(&path).map_err(at(&path))?;
    let [p50, p99] = shares_held;
    println!("memtide's share at most 10 %: p50 in {p50} of {counted} runs, p99 in {p99}");
    for (figure, held) in FIGURES.iter().zip(grades_held).take(ASKED) {
        println!("yes or within ± {WITHIN_MAX} %: {figure} in {held} of {counted} runs");
    }
    Ok(())
}

/// The grade of a figure in the last line of a report, such as `believable: p50, p90 yes; p99
/// within ± 18 % (memtide was late)`; `no` where the whole run is not believable.
fn grade(report: &str, figure: &str) -> String {
    let last = report.lines().rev().find_map(|line| line.strip_prefix("believable: "));
    let mut parts = last.unwrap_or_default().split("; ");
    let found = parts.find_map(|part| {
        let at = GRADES.iter().filter_map(|word| part.find(word)).min()?;
        let (names, grade) = part.split_at(at);
        names.split(", ").any(|name| name == figure).then(|| grade.trim().to_owned())
    });
    found.unwrap_or_else(|| "no".to_owned())
}

/// The beginnings of a grade, behind the names of figures.
const GRADES: [&str; 3] = [" yes", " within ", " no"];

/// True if a grade is `yes`, or within this many per cent.
fn is_within(grade: &str, most: f64) -> bool {
    let width = grade.strip_prefix("within ± ").and_then(|rest| rest.split_once(' '));
    grade.starts_with("yes") || width.is_some_and(|(x, _)| x.parse().is_ok_and(|x: f64| x <= most))
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

#[cfg(test)]
mod tests;
