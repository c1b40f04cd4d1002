//! Names and marks that are not allowed: words without meaning in identifiers, and tests that do
//! not run. `messages/faces.rs` looks for flags where no front speaks with the user.
//!
//! Lints of `Cargo.toml` and `clippy.toml` hold the rules about calls, system interfaces and
//! `unsafe`.

use super::Finding;
use super::source::Source;
use super::unused::Unused;

/// Every disallowed name of one file; `unused` are the words not to use.
pub(super) fn check(source: &Source, unused: &[Unused]) -> Vec<Finding> {
    let mut findings = words(source, unused);
    let ignored = source.code.match_indices("#[ignore");
    let shown = ["/// \u{60}``", "//! \u{60}``"].map(|mark| source.text.match_indices(mark));
    findings.extend(ignored.chain(shown.into_iter().flatten()).map(|(at, mark)| {
        let why = "a test that does not run states nothing, and examples in docstrings do not";
        let instead = "make it a test that is fast and sure, or delete it";
        Finding::in_source(source, at, format!("`{mark}`"), why, instead)
    }));
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
