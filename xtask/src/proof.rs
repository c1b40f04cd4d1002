//! Proofs to run by hand on a quiet machine, because they measure time: a newcomer's first run, and
//! its sample in the README. They do not judge; they count memtide's own verdicts.

pub mod agents;

use serde_json::Value;
use std::fs;
use std::path::Path;
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
    crate::run(crate::cargo(root).args(["build", "--release", "--package", "memtide"]))?;
    println!("run   share of p50   share of p99   stolen   wait     believable");
    let mut held = [0; 2];
    for number in 1..=runs {
        let record = record(root)?;
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
    crate::run(crate::cargo(root).args(["build", "--release", "--package", "memtide"]))?;
    let output = output(memtide(root).arg("run").env("COLUMNS", COLUMNS))?;
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let path = root.join("README.md");
    let old = fs::read_to_string(&path).map_err(|error| format!("README.md: {error}"))?;
    let new = with_sample(&old, &format!("{err}{out}"))?;
    fs::write(&path, new).map_err(|error| format!("README.md: {error}"))?;
    println!("{}", out.lines().last().unwrap_or_default());
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

fn record(root: &Path) -> Result<Value, String> {
    let output = output(memtide(root).args(["run", "--quiet", "--json", "-"]))?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("memtide's record is no JSON: {error}; it said '{}'", text(&output.stderr))
    })
}

fn memtide(root: &Path) -> Command {
    Command::new(root.join("target/release/memtide"))
}

fn output(command: &mut Command) -> Result<std::process::Output, String> {
    let output = command.output().map_err(|error| format!("cannot start memtide: {error}"))?;
    match output.status.success() {
        true => Ok(output),
        false => Err(format!("memtide ended with {}: {}", output.status, text(&output.stderr))),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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
mod tests {
    use super::*;

    #[test]
    fn the_sample_replaces_what_stands_between_the_marks() {
        let readme = format!("a\n{SAMPLE_BEGINS}\nold\n{SAMPLE_ENDS}\nz\n");
        let new = with_sample(&readme, "report\n").expect("it has both marks");
        let sample = "```text\n$ cargo run --release -- run\nreport\n```";
        assert_eq!(new, format!("a\n{SAMPLE_BEGINS}\n{sample}\n{SAMPLE_ENDS}\nz\n"));
        assert_eq!(with_sample(&new, "report\n").as_deref(), Ok(new.as_str()));
        assert!(with_sample("a", "report").is_err());
    }

    #[test]
    fn shares_are_those_of_the_checks() {
        let record = serde_json::json!({
            "believable": {"checks": [{"code": "generator_p50", "measured": 0.02}]}
        });
        assert_eq!(share(&record, "generator_p50"), Some(0.02));
        assert_eq!(share(&record, "generator_p99"), None);
    }
}
