//! Checks names in documents: source files, functions beside them, and tests must exist, and the
//! index of design pages must be complete. It reads code spans and links only, and does not check
//! what a sentence says about a function.

use crate::tidy::source::Source;
use crate::tidy::{Finding, Rule};
use std::collections::{HashMap, HashSet};

/// Folders that paths in documents may leave out at the front.
const BASES: &[&str] = &["", "crates/", "crates/engine/src/"];
/// Words that come before a name where it is declared.
const DECLARES: &[&str] = &["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
/// A code span with at least this many underscores is the name of a test.
const TEST_UNDERSCORES: usize = 4;

/// The names that each source declares.
pub(in crate::tidy) struct Declared<'a> {
    by_path: HashMap<&'a str, HashSet<&'a str>>,
}

impl<'a> Declared<'a> {
    pub(in crate::tidy) fn of(sources: &'a [Source]) -> Self {
        let names = |source: &'a Source| {
            let mut before = "";
            let mut found = HashSet::new();
            for (_, word) in source.words() {
                if DECLARES.contains(&before) {
                    found.insert(word);
                }
                before = word;
            }
            (source.path.as_str(), found)
        };
        Self { by_path: sources.iter().map(names).collect() }
    }

    /// The source that a document means by `path`. A path that begins at no known folder means any
    /// file that ends with it.
    fn source(&self, path: &str) -> Option<&'a str> {
        let known = BASES.iter().find_map(|base| self.key(&format!("{base}{path}")));
        let ending = format!("/{path}");
        known.or_else(|| self.by_path.keys().copied().find(|key| key.ends_with(&ending)))
    }

    fn key(&self, path: &str) -> Option<&'a str> {
        self.by_path.get_key_value(path).map(|(key, _)| *key)
    }
}

/// Every source file, function of one (`` `file.rs`: `function` ``) and test that the document
/// names and that does not exist.
pub(in crate::tidy) fn check(path: &str, text: &str, declared: &Declared<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |line: usize, what: String| {
        findings.push(Finding {
            path: path.to_owned(),
            line,
            rule: Rule::Named,
            what,
            why: "a reader follows the name to the code",
            instead: "name what is there now".to_owned(),
        });
    };
    for (index, line) in text.lines().enumerate() {
        let mut files: Vec<&str> = Vec::new();
        let mut last_is_file = false;
        // The parts of odd number are code spans.
        let parts: Vec<&str> = line.split('`').collect();
        for pair in parts.chunks(2) {
            let [between, span] = pair else { continue };
            if is_file(span) {
                if !(last_is_file && *between == ", ") {
                    files.clear();
                }
                match declared.source(span) {
                    Some(file) => files.push(file),
                    None => found(index + 1, format!("no source file `{span}`")),
                }
                last_is_file = true;
                continue;
            }
            let separator = if last_is_file { ": " } else { ", " };
            if *between != separator || !is_name(span) {
                files.clear();
            }
            for file in &files {
                if !declared.by_path[file].contains(span) {
                    found(index + 1, format!("no `{span}` in {file}"));
                }
            }
            let is_test = is_name(span) && span.matches('_').count() >= TEST_UNDERSCORES;
            if is_test && !declared.by_path.values().any(|names| names.contains(span)) {
                found(index + 1, format!("no test `{span}`"));
            }
            last_is_file = false;
        }
    }
    findings
}

/// Every design page that ARCHITECTURE.md's index leaves out.
pub(in crate::tidy) fn check_index<'a>(
    architecture: &str,
    pages: impl Iterator<Item = &'a str>,
) -> Vec<Finding> {
    let index = architecture.split("## The design pages").nth(1).unwrap_or_default();
    let missing = pages.filter(|page| !index.contains(&format!("({page})")));
    let finding = |page: &str| Finding {
        path: "ARCHITECTURE.md".to_owned(),
        line: 0,
        rule: Rule::Named,
        what: format!("the index of design pages leaves out {page}"),
        why: "a reader looks for a reason by its theme",
        instead: "add it to the row of its theme".to_owned(),
    };
    missing.map(finding).collect()
}

fn is_file(span: &str) -> bool {
    let stem = span.strip_suffix(".rs").unwrap_or_default();
    !stem.is_empty()
        && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/".contains(&byte))
}

fn is_name(span: &str) -> bool {
    span.starts_with(|first: char| first.is_ascii_alphabetic())
        && span.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
