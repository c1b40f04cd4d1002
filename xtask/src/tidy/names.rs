//! Names and marks that are not allowed: words without meaning in identifiers, flags of a command
//! line in crates that no front speaks for, and tests that do not run.
//!
//! Lints of `Cargo.toml` and `clippy.toml` hold the rules about calls, system interfaces and
//! `unsafe`.

use super::Finding;
use super::source::Source;
use super::unused::Unused;

/// Parts that may not name flags, because each front has flags of its own.
const FLAGLESS: &[&str] =
    &["base", "codec", "workload", "metrics", "server", "engine", "run", "host", "sim"];

/// Every disallowed name of one file; `unused` are the words not to use.
pub(super) fn check(source: &Source, unused: &[Unused]) -> Vec<Finding> {
    let mut findings = words(source, unused);
    findings.extend(flags(source));
    findings.extend(source.code.match_indices("#[ignore").map(|(at, mark)| {
        let why = "a test that does not run states nothing";
        let instead = "make it fast and sure, or delete it";
        Finding::in_source(source, at, format!("`{mark}`"), why, instead)
    }));
    findings
}

/// Flags of a command line in the strings of a part that may not name them.
fn flags(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (start, text) in source.strings().filter(|_| FLAGLESS.contains(&source.part())) {
        let flags = text.match_indices("--").filter(|(at, dashes)| {
            text[at + dashes.len()..].starts_with(|letter: char| letter.is_ascii_lowercase())
        });
        for (at, _) in flags {
            let flag = text[at..].split(|c: char| c != '-' && !c.is_ascii_lowercase()).next();
            let what = format!("`{}`", flag.unwrap_or_default());
            let why = "a face has other flags, or none; who speaks with the user puts facts into \
                       words";
            let instead = "return a `Sentence` with a `Remedy` or the name of a field in it";
            findings.push(Finding::in_source(source, start + 1 + at, what, why, instead));
        }
    }
    findings
}

fn words(source: &Source, unused: &[Unused]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |at, what, instead| {
        let why = "a name says what a thing is, in the words of the glossary";
        findings.push(Finding::in_source(source, at, what, why, instead));
    };
    for (at, word) in source.words() {
        let is_in = |it: &&Unused| it.in_names && pieces(word).any(|piece| piece == it.word);
        if let Some(it) = unused.iter().find(is_in) {
            found(at, format!("`{word}`"), &it.instead);
        }
    }
    for module in source.declared().filter(|it| it.keyword == "mod" && it.name == "stats") {
        let instead = "name what it holds: counters, series, summary";
        found(module.at, "`mod stats`".to_owned(), instead);
    }
    findings
}

/// The words inside an identifier, in lower case: `lagNs`, `LagNs`, `lag_ns`, `LAG_NS`.
pub(super) fn pieces(identifier: &str) -> impl Iterator<Item = String> {
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
    spaced.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter()
}
