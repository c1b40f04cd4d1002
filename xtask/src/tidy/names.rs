//! Names and marks that are not allowed: words without meaning in identifiers, and tests that do
//! not run. `faces.rs` looks for flags where no front speaks with the user.
//!
//! Lints of `Cargo.toml` and `clippy.toml` hold the rules about calls, system interfaces and
//! `unsafe`.

use super::Finding;
use super::source::Source;
use std::collections::BTreeSet;

/// Words that say nothing of what a thing is, or of which time is meant, and what to write instead.
const EMPTY: [(&str, &str); 7] = [
    ("latency", "lag, service or response"),
    ("latencies", "lag, service or response"),
    ("manager", "what it does"),
    ("helper", "what it does"),
    ("helpers", "what it does"),
    ("util", "what it does"),
    ("utils", "what it does"),
];

/// Every disallowed name of one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = words(source);
    let ignored = source.code.match_indices("#[ignore");
    let shown = ["/// \u{60}``", "//! \u{60}``"].map(|mark| source.text.match_indices(mark));
    findings.extend(ignored.chain(shown.into_iter().flatten()).map(|(at, mark)| {
        let why = "a test that does not run states nothing, and examples in docstrings do not";
        let instead = "make it a test that is fast and sure, or delete it";
        Finding::in_source(source, at, format!("`{mark}`"), why, instead)
    }));
    findings
}

fn words(source: &Source) -> Vec<Finding> {
    let why = "a name says what a thing is";
    let mut findings = Vec::new();
    for (at, word) in source.words() {
        let pieces = pieces(word);
        if let Some((_, instead)) = EMPTY.iter().find(|(empty, _)| pieces.contains(*empty)) {
            let instead = format!("write: {instead}");
            findings.push(Finding::in_source(source, at, format!("`{word}`"), why, &instead));
        }
    }
    for module in source.declared().filter(|it| it.keyword == "mod" && it.name == "stats") {
        let instead = "name what it holds: counters, series, summary";
        let what = "`mod stats`".to_owned();
        findings.push(Finding::in_source(source, module.at, what, why, instead));
    }
    findings
}

/// The words inside an identifier, in lower case: `lagNs`, `LagNs`, `lag_ns`, `LAG_NS`.
fn pieces(identifier: &str) -> BTreeSet<String> {
    let shouted = !identifier.bytes().any(|byte| byte.is_ascii_lowercase());
    let mut spaced = String::new();
    for letter in identifier.chars() {
        if letter == '_' || (letter.is_ascii_uppercase() && !shouted) {
            spaced.push(' ');
        }
        if letter != '_' {
            spaced.push(letter.to_ascii_lowercase());
        }
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}
