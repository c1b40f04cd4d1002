//! Checks names in documents: source files, functions beside them, and tests must exist; the index
//! of design pages names all of them, and the section of assertions all bounds. It reads code spans
//! and links only, and does not check what a sentence says about a function.

use crate::tidy::Finding;
use crate::tidy::source::Source;
use std::collections::{HashMap, HashSet};

/// Folders that paths in documents may leave out at the front.
const BASES: &[&str] = &["", "crates/", "crates/engine/src/"];
/// A code span with at least this many underscores is the name of a test.
const TEST_UNDERSCORES: usize = 4;

/// The names that each source declares.
pub(in crate::tidy) struct Names<'a>(HashMap<&'a str, HashSet<&'a str>>);

impl<'a> Names<'a> {
    pub(in crate::tidy) fn of(sources: &'a [Source]) -> Self {
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
pub(in crate::tidy) fn check(path: &str, text: &str, names: &Names<'_>) -> Vec<Finding> {
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

/// Every design page that ARCHITECTURE.md's index leaves out.
pub(in crate::tidy) fn check_index<'a>(
    architecture: &str,
    pages: impl Iterator<Item = &'a str>,
) -> Vec<Finding> {
    let index = architecture.split("## The design pages").nth(1).unwrap_or_default();
    let missing = pages.filter(|page| !index.contains(&format!("({page})")));
    let finding = |page: &str| {
        let what = format!("the index of design pages leaves out {page}");
        let why = "a reader looks for a reason by its theme";
        Finding::new("ARCHITECTURE.md", 0, what, why, "add it to the row of its theme")
    };
    missing.map(finding).collect()
}

/// Every file that a table of ARCHITECTURE.md's assertions names and that asserts nothing, and
/// every bound (`…_MAX`) that the section leaves out.
pub(in crate::tidy) fn check_assertions(
    architecture: &str,
    sources: &[Source],
    names: &Names<'_>,
) -> Vec<Finding> {
    let section = architecture.split("## Assertions").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|'));
    let files = rows.flat_map(|row| row.split('`').filter(|span| is_file(span)));
    let asserting: HashSet<&str> = sources
        .iter()
        .filter(|source| asserts(source))
        .map(|source| source.path.as_str())
        .collect();
    let idle = files.filter_map(|file| names.source(file));
    let idle = idle.filter(|path| !asserting.contains(path));
    let idle = idle.map(|path| (format!("{path} asserts nothing"), "assert it there"));
    let bounds = sources.iter().filter(|source| bounds_are_listed(source)).flat_map(bounds);
    let unlisted = bounds.filter(|bound| !section.contains(&format!("`{bound}`")));
    let unlisted = unlisted.map(|bound| (format!("the bound `{bound}` is left out"), "name it"));
    let finding = |(what, instead): (String, &str)| {
        let why = "the table of assertions says where each promise is checked";
        Finding::new("ARCHITECTURE.md", 0, what, why, instead)
    };
    idle.chain(unlisted).map(finding).collect()
}

/// True if a file has an assertion outside of its tests.
fn asserts(source: &Source) -> bool {
    let is_assertion = |word: &str| {
        ["assert", "assert_eq", "assert_ne"].contains(&word.trim_start_matches("debug_"))
    };
    source.words().any(|(at, word)| is_assertion(word) && !source.in_test(at))
}

/// True if the section of assertions lists the bounds of this file. Those of the other crates limit
/// what users write or what is shown.
fn bounds_are_listed(source: &Source) -> bool {
    let is_listed =
        !["scenario", "record", "compat", "report", "session", "memtide"].contains(&source.part());
    is_listed && source.path.starts_with("crates/") && source.path.contains("/src/")
}

/// The bounds that a file declares outside of its tests.
fn bounds(source: &Source) -> impl Iterator<Item = &str> {
    let names = source.declared().filter(|it| it.keyword == "const" && it.name.ends_with("_MAX"));
    names.filter(|it| !source.in_test(it.at)).map(|it| it.name)
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
