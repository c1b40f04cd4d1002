//! Checks names in documents: source files, functions beside them, and tests must exist. It reads
//! code spans only, and does not check what a sentence says about a function.

use super::Finding;
use super::source::Source;
use std::collections::{HashMap, HashSet};

/// Folders that paths in documents may leave out at the front.
const BASES: &[&str] = &["", "crates/", "crates/engine/src/"];
/// A code span with at least this many underscores is the name of a test.
const TEST_UNDERSCORES: usize = 4;

/// The names that each source declares.
pub(super) struct Names<'a>(HashMap<&'a str, HashSet<&'a str>>);

impl<'a> Names<'a> {
    pub(super) fn of(sources: &'a [Source]) -> Self {
        let names =
            |source: &'a Source| (source.path.as_str(), source.declared().map(|it| it.name));
        let names = sources.iter().map(names);
        Self(names.map(|(path, names)| (path, names.collect())).collect())
    }

    /// The source that a document means by `path`. A path that begins at no known folder means any
    /// file that ends with it.
    fn source(&self, path: &str) -> Option<&'a str> {
        let known = BASES.iter().find_map(|base| self.key(&format!("{base}{path}")));
        let ending = format!("/{path}");
        known.or_else(|| self.0.keys().copied().find(|key| key.ends_with(&ending)))
    }

    fn key(&self, path: &str) -> Option<&'a str> {
        self.0.get_key_value(path).map(|(key, _)| *key)
    }
}

/// Every source file, function of one (`` `file.rs`: `function` ``) and test that the document
/// names and that does not exist.
pub(super) fn check(path: &str, text: &str, names: &Names<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |line: usize, what: String| {
        let why = "a reader follows the name to the code";
        findings.push(Finding::new(path, line, what, why, "name what is there now"));
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
                match names.source(span) {
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
                if !names.0[file].contains(span) {
                    found(index + 1, format!("no `{span}` in {file}"));
                }
            }
            let is_test = is_name(span) && span.matches('_').count() >= TEST_UNDERSCORES;
            if is_test && !names.0.values().any(|declared| declared.contains(span)) {
                found(index + 1, format!("no test `{span}`"));
            }
            last_is_file = false;
        }
    }
    findings
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
