//! Compares STYLE.md's table of words not to use with the words that tidy looks for.

use super::PHRASES;
use crate::tidy::text::WORDS;
use crate::tidy::{Finding, Rule};

const PATH: &str = "STYLE.md";
const HEADING: &str = "### Words not to use";
/// The entries of the third column for comments and documents, and for identifiers.
const TEXTS: &str = "texts";
const NAMES: &str = "names";

/// Every word whose row differs from where tidy looks for it, and every word without a row.
pub(in crate::tidy) fn check(style: &str) -> Vec<Finding> {
    let (phrases, words) = (firsts(PHRASES), firsts(WORDS));
    let mut findings = Vec::new();
    let mut found = |line: usize, what: String| {
        findings.push(Finding {
            path: PATH.to_owned(),
            line,
            rule: Rule::Named,
            what,
            why: "a reader of the table trusts tidy with the words that it marks",
            instead: "make the row and the lists in xtask/src/tidy/{words,text}.rs agree"
                .to_owned(),
        });
    };
    let rows = rows(style);
    for (line, word, places) in &rows {
        for (list, place) in [(&phrases, TEXTS), (&words, NAMES)] {
            if list.contains(word) != places.contains(place) {
                let verb = if list.contains(word) { "looks" } else { "does not look" };
                found(*line, format!("tidy {verb} for '{word}' in {place}"));
            }
        }
    }
    for word in phrases.iter().chain(&words) {
        if !rows.iter().any(|(_, listed, _)| listed == word) {
            found(0, format!("no row for '{word}'"));
        }
    }
    findings
}

fn firsts(list: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    list.iter().map(|(word, _)| *word).collect()
}

/// The words of the first column, each with its line and its row's third column.
fn rows(style: &str) -> Vec<(usize, &str, &str)> {
    let lines = style.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with('#'));
    let mut rows = Vec::new();
    for (index, line) in section.filter(|(_, line)| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [words, _, places] = cells[..] else { continue };
        let words = words.trim_start_matches("| ").split(", ");
        rows.extend(words.map(|word| (index + 1, word, places)));
    }
    rows
}
