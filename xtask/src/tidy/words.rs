//! Words that STYLE.md bans in comments and documents, the beginnings of docstrings, and the
//! glossary that must explain the public types of the measuring crates.
//!
//! The words are those of a translation or of a private language; `unused` reads them from
//! STYLE.md. `names` checks identifiers, and `named` checks that documents name existing things.

pub(super) mod named;
pub(super) mod promises;

use super::Finding;
use super::names::pieces;
use super::source::Source;
use super::unused::Unused;
use std::collections::HashSet;

/// Beginnings of a docstring that refer to the one before.
const OPENINGS: &[&str] = &["The same", "To which", "Of which"];

/// Crates whose public types are the vocabulary of the measurement.
const GLOSSARY_CRATES: &[&str] = &["engine", "host", "metrics", "run", "sim", "sinks", "world"];

/// Public terms that the glossary need not explain.
const TERMS: &str = "\
    above absence address aim answer ask asked available bisect bracket buffer busy busyness \
    caught \
    clock close command completion condition count cpu credential data decision document door \
    ending error event fact failure flag group histogram idle influx interrupt json lateness limit \
    loss lowered machine measured message mismatch moment network option pace pacing pause \
    program quantile question rate refusal returns sampled scan script series server serving shape \
    sparse stage stop stranger stretch submission submitted surrounding tallying trace transport \
    trial trouble unplannable verify wanted";

/// Every banned phrase and beginning in one Rust file's comments.
pub(super) fn check(source: &Source, unused: &[Unused]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut before_is_doc, mut before) = (false, "");
    for (index, line) in source.text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            (before_is_doc, before) = (false, "");
            continue;
        };
        findings.extend(phrases(&source.path, index + 1, (before, comment), unused));
        before = comment;
        let doc = comment.strip_prefix(['/', '!']).map(str::trim_start);
        let opening = doc.filter(|_| !before_is_doc).and_then(|doc| {
            OPENINGS.iter().find(|opening| {
                doc.strip_prefix(**opening)
                    .is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
            })
        });
        if let Some(opening) = opening {
            let what = format!("a docstring begins with '{opening}'");
            let why = "a docstring is read alone, in a list or a pop-up";
            findings.push(Finding::new(&source.path, index + 1, what, why, "name the thing"));
        }
        before_is_doc = doc.is_some();
    }
    findings
}

/// Every banned phrase in a document.
pub(super) fn check_document(path: &str, text: &str, unused: &[Unused]) -> Vec<Finding> {
    let befores = std::iter::once("").chain(text.lines());
    let lines = befores.zip(text.lines()).enumerate();
    lines.flat_map(|(index, lines)| phrases(path, index + 1, lines, unused)).collect()
}

/// The banned phrases that end in `text`; `before` is the line in front of it.
fn phrases(
    path: &str,
    line: usize,
    (before, text): (&str, &str),
    unused: &[Unused],
) -> Vec<Finding> {
    let words = |text: &str| {
        // A name with underscores is one word: what tests are called is no sentence.
        let is_between = |c: char| !c.is_alphanumeric() && c != '_';
        let text = text.to_lowercase().replace(is_between, " ");
        format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (before, both) = (words(before), words(&format!("{before} {text}")));
    let found = unused.iter().filter(|it| it.in_texts).filter(|it| {
        let count = |text: &str| text.matches(&format!(" {} ", it.word)).count();
        count(&both) > count(&before)
    });
    let why = "a stranger understands each sentence alone and at once";
    let finding =
        |it: &Unused| Finding::new(path, line, format!("'{}'", it.word), why, &it.instead);
    found.map(finding).collect()
}

/// Public types of the measuring crates without a word of the glossary or a public term.
pub(super) fn check_types(sources: &[Source], architecture: &str) -> Vec<Finding> {
    let glossary = glossary(architecture);
    let is_measuring = |source: &&Source| {
        source.path.starts_with("crates/")
            && source.path.contains("/src/")
            && GLOSSARY_CRATES.contains(&source.part())
    };
    let mut findings = Vec::new();
    for source in sources.iter().filter(is_measuring) {
        for item in source.declared().filter(|it| it.is_pub && it.is_type()) {
            let is_known = pieces(item.name).any(|piece| is_known(&piece, &glossary));
            if !is_known && !source.in_test(item.at) {
                let what = format!("`{}` has no word of the glossary", item.name);
                let why = "a reader looks a public type's noun up in ARCHITECTURE.md";
                let instead = "use a noun of the glossary, or add a line to it; a public term goes \
                               into xtask/src/tidy/words.rs";
                findings.push(Finding::in_source(source, item.at, what, why, instead));
            }
        }
    }
    findings
}

/// The nouns in the first column of the glossary's table.
fn glossary(architecture: &str) -> HashSet<String> {
    let rest = architecture.split("## Glossary").nth(1).unwrap_or_default();
    let section = rest.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let words = rows.flat_map(|row| row.split(|letter: char| !letter.is_alphabetic()));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn is_known(piece: &str, glossary: &HashSet<String>) -> bool {
    let stems =
        [Some(piece), piece.strip_suffix('s'), piece.strip_suffix("es"), piece.strip_suffix('d')];
    stems.into_iter().flatten().any(|stem| {
        TERMS.split(' ').any(|term| term == stem)
            || glossary.contains(stem)
            || glossary.contains(&format!("{stem}s"))
    })
}
