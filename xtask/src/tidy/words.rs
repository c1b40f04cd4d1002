//! Words that STYLE.md bans in comments and documents, the beginnings of docstrings, and the
//! glossary that must explain the public types of the measuring crates.
//!
//! The words are those of a translation or of a private language. `text` checks identifiers,
//! `table` compares STYLE.md, and `named` checks that documents name existing things.

pub(super) mod named;
pub(super) mod promises;
pub(super) mod table;

use super::source::Source;
use super::text::pieces;
use super::{Finding, Rule};
use std::collections::HashSet;

/// Phrases that no comment and no document may contain, and their replacements.
const PHRASES: &[(&str, &str)] = &[
    ("whoever", "name the user, caller, client or reader"),
    ("somebody", "name the user, caller, client or reader"),
    ("nobody", "name who does not, or say `unknown` or `no client`"),
    ("so many", "give the number or name the argument"),
    ("be it", "write `whether` or `or`"),
    ("those who", "name them"),
    ("of which such", "write two sentences"),
    ("stillborn", "say failed to connect"),
    ("births", "say openings"),
    ("crowd", "say clients"),
    ("desk", "say sink"),
    ("witness", "say observer"),
    ("teller", "say transcript or formatter"),
    ("voice", "say formatter"),
    ("habits", "say options"),
    ("tongue", "say wire format or dialect"),
    ("conduct", "say profile, or name what is carried out"),
    ("news", "say edge-triggered, or which event"),
];

/// Beginnings of a docstring that refer to the one before.
const OPENINGS: &[&str] = &["The same", "To which", "Of which"];

/// Crates whose public types are the vocabulary of the measurement.
const GLOSSARY_CRATES: &[&str] = &["engine", "host", "metrics", "run", "sim", "sinks"];

/// Public terms that the glossary need not explain.
const TERMS: &[&str] = &[
    "absence",
    "address",
    "answer",
    "ask",
    "aim",
    "available",
    "bisect",
    "bracket",
    "buffer",
    "busy",
    "busyness",
    "caught",
    "clock",
    "close",
    "command",
    "completion",
    "count",
    "cpu",
    "credential",
    "data",
    "decision",
    "document",
    "door",
    "ending",
    "error",
    "event",
    "failure",
    "flag",
    "histogram",
    "influx",
    "json",
    "limit",
    "lowered",
    "machine",
    "measured",
    "message",
    "mismatch",
    "moment",
    "network",
    "option",
    "pace",
    "pacing",
    "quantile",
    "question",
    "rate",
    "refusal",
    "returns",
    "sampled",
    "scan",
    "script",
    "series",
    "server",
    "serving",
    "shape",
    "sparse",
    "stage",
    "stop",
    "stranger",
    "stretch",
    "submission",
    "submitted",
    "surrounding",
    "tallying",
    "trace",
    "transport",
    "trial",
    "trouble",
    "unplannable",
    "verify",
    "wanted",
];

/// Every banned phrase and beginning in one Rust file's comments.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut before_is_doc, mut before) = (false, "");
    for (index, line) in source.text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            (before_is_doc, before) = (false, "");
            continue;
        };
        findings.extend(phrases(&source.path, index + 1, (before, comment)));
        before = comment;
        let doc = comment.strip_prefix(['/', '!']).map(str::trim_start);
        let opening = doc.filter(|_| !before_is_doc).and_then(|doc| {
            OPENINGS.iter().find(|opening| {
                doc.strip_prefix(**opening)
                    .is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
            })
        });
        if let Some(opening) = opening {
            findings.push(Finding {
                path: source.path.clone(),
                line: index + 1,
                rule: Rule::Opening,
                what: format!("a docstring begins with '{opening}'"),
                why: "a docstring is read alone, in a list or a pop-up",
                instead: "name the thing".to_owned(),
            });
        }
        before_is_doc = doc.is_some();
    }
    findings
}

/// Every banned phrase in a document.
pub(super) fn check_document(path: &str, text: &str) -> Vec<Finding> {
    let befores = std::iter::once("").chain(text.lines());
    let lines = befores.zip(text.lines()).enumerate();
    lines.flat_map(|(index, lines)| phrases(path, index + 1, lines)).collect()
}

/// The banned phrases that end in `text`; `before` is the line in front of it.
fn phrases(path: &str, line: usize, (before, text): (&str, &str)) -> Vec<Finding> {
    let words = |text: &str| {
        // A name with underscores is one word: what tests are called is no sentence.
        let is_between = |c: char| !c.is_alphanumeric() && c != '_';
        let text = text.to_lowercase().replace(is_between, " ");
        format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (before, both) = (words(before), words(&format!("{before} {text}")));
    let found = PHRASES.iter().filter(|(phrase, _)| {
        let count = |text: &str| text.matches(&format!(" {phrase} ")).count();
        count(&both) > count(&before)
    });
    let finding = |(phrase, instead): &(&str, &str)| Finding {
        path: path.to_owned(),
        line,
        rule: Rule::Phrase,
        what: format!("'{phrase}'"),
        why: "a stranger understands each sentence alone and at once",
        instead: (*instead).to_owned(),
    };
    found.map(finding).collect()
}

/// Public types of the measuring crates without a word of the glossary or a public term.
pub(super) fn check_types(sources: &[Source], architecture: &str) -> Vec<Finding> {
    let glossary = glossary(architecture);
    let mut findings = Vec::new();
    for source in sources {
        let is_measuring = source.path.starts_with("crates/")
            && source.path.contains("/src/")
            && GLOSSARY_CRATES.contains(&source.part())
            && !source.is_test();
        for (at, name) in if is_measuring { public_types(source) } else { Vec::new() } {
            if !pieces(name).any(|piece| is_known(&piece, &glossary)) {
                findings.push(Finding {
                    path: source.path.clone(),
                    line: source.line_of(at),
                    rule: Rule::Glossary,
                    what: format!("`{name}` has no word of the glossary"),
                    why: "a reader looks a public type's noun up in ARCHITECTURE.md",
                    instead: "use a noun of the glossary, or add a line to it; a public term goes \
                              into xtask/src/tidy/words.rs"
                        .to_owned(),
                });
            }
        }
    }
    findings
}

fn public_types(source: &Source) -> Vec<(usize, &str)> {
    let (mut before, mut before_that) = ("", "");
    let mut found = Vec::new();
    for (at, word) in source.words() {
        let is_type = matches!(before, "struct" | "enum" | "trait" | "type");
        let is_name = word.starts_with(|letter: char| letter.is_ascii_uppercase());
        if is_type && is_name && before_that == "pub" && !source.in_test(at) {
            found.push((at, word));
        }
        (before_that, before) = (before, word);
    }
    found
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
        TERMS.contains(&stem) || glossary.contains(stem) || glossary.contains(&format!("{stem}s"))
    })
}
