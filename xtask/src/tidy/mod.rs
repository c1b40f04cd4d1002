//! The rules of STYLE.md that a program can check; also run as a test.
//!
//! Each finding says what is wrong, the reason of the rule, and what to write instead. The checks
//! are about structure: arrows, libraries, names, sizes. How a text reads is left to reviewers.

mod arrows;
mod faces;
mod libraries;
mod modules;
mod named;
mod names;
mod shape;
mod surface;
mod source;
#[cfg(test)]
mod tests;

use crate::files;
use source::Source;
use std::path::Path;
use std::{fmt, fs};

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// The line, counted from 1; 0 if the finding is about the whole file or folder.
    line: usize,
    what: String,
    why: &'static str,
    instead: String,
}

/// Accepted breaches: the path, a part of the finding, and the reason, for readers. One that
/// excuses nothing is itself a finding.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("crates/cluster/src/transport/stream.rs", "`hyper_util`", "the library is called so"),
    ("crates/tls/Cargo.toml", "`rustls-webpki`", "code calls it webpki"),
];

/// The folder of design pages.
const DESIGN: &str = "docs/design/";
/// The first words of a Rust file that a program wrote: it follows no rule.
const GENERATED: &str = "// This file is @generated";

/// All findings about the workspace at `root`, in the order of its paths.
///
/// # Errors
/// If a file cannot be read or cargo cannot describe the workspace.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let sources = sources(root)?;
    let metadata = crate::commands::metadata(root)?;
    let mut findings = arrows::check(&metadata);
    findings.extend(libraries::check(&metadata, &sources, &read(root, "Cargo.toml")?));
    let mut tree = crate::commands::cargo(root);
    let tree = crate::commands::told(tree.args(libraries::TREE.split(' ')))?;
    findings.extend(libraries::check_budget(&tree));
    findings.extend(check_lints(root, &metadata)?);
    for source in &sources {
        findings.extend(names::check(source));
        findings.extend(shape::check(source));
    }
    let declared = named::Names::of(&sources);
    // A design page stays as it was decided, with the names of its time.
    for (path, text) in documents(root)?.iter().filter(|(path, _)| !path.starts_with(DESIGN)) {
        findings.extend(named::check(path, text, &declared));
    }
    findings.extend(modules::check(&sources));
    findings.extend(surface::check(&sources));
    findings.extend(faces::check(&sources));
    let mut findings = without_exceptions(findings, EXCEPTIONS);
    findings.sort();
    findings.dedup();
    Ok(findings)
}

fn read(root: &Path, name: &str) -> Result<String, String> {
    fs::read_to_string(root.join(name)).map_err(|error| format!("cannot read {name}: {error}"))
}

/// Every manifest that does not take the lints of the workspace, and rustfmt's settings if they
/// allow it to sort lists of modules, which are a reading order.
fn check_lints(root: &Path, metadata: &serde_json::Value) -> Result<Vec<Finding>, String> {
    let names = metadata["packages"].as_array().into_iter().flatten();
    let names = names.filter_map(|package| package["name"].as_str());
    let lints = names.map(|name| (arrows::manifest(name), "[lints]\nworkspace = true\n"));
    let formatter = ("rustfmt.toml".to_owned(), "reorder_modules = false\n");
    let mut findings = Vec::new();
    for (path, lines) in lints.chain([formatter]) {
        if !read(root, &path)?.contains(lines) {
            let what = format!("no `{}`", lines.trim_end().replace('\n', " "));
            let why = "lints and rustfmt hold rules of STYLE.md for all code";
            findings.push(Finding::new(&path, 0, what, why, "write it"));
        }
    }
    Ok(findings)
}

/// Removes findings that an exception excuses, and adds one for each exception that excuses
/// nothing.
fn without_exceptions(
    mut findings: Vec<Finding>,
    exceptions: &[(&str, &str, &str)],
) -> Vec<Finding> {
    for (path, part, _) in exceptions {
        let all = findings.len();
        findings.retain(|finding| finding.path != *path || !finding.what.contains(part));
        if findings.len() == all {
            let what = format!("the exception for '{part}' excuses nothing");
            let instead = "take it out of xtask/src/tidy/mod.rs";
            findings.push(Finding::new(path, 0, what, "the list must stay true", instead));
        }
    }
    findings
}

/// Every document for users and developers, with its text.
fn documents(root: &Path) -> Result<Vec<(String, String)>, String> {
    let mut documents = Vec::new();
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        documents.push((name.to_owned(), read(root, name)?));
    }
    for folder in ["docs", "deploy"] {
        read_folder(root, &root.join(folder), "md", &mut documents)?;
    }
    Ok(documents)
}

/// Every Rust file of the workspace, in the order of its paths.
fn sources(root: &Path) -> Result<Vec<Source>, String> {
    let mut files = Vec::new();
    for part in ["crates", "xtask", "bench", "fuzz", "loom"] {
        read_folder(root, &root.join(part), "rs", &mut files)?;
    }
    files.sort();
    let written = files.into_iter().filter(|(_, text)| !text.starts_with(GENERATED));
    let mut sources: Vec<Source> = written.map(|(path, text)| Source::new(path, text)).collect();
    source::mark_test_modules(&mut sources);
    Ok(sources)
}

/// Adds path and text of the files below `folder` whose names end so.
fn read_folder(
    root: &Path,
    folder: &Path,
    end: &str,
    found: &mut Vec<(String, String)>,
) -> Result<(), String> {
    for path in files::inside(folder)? {
        if path.is_dir() && !path.ends_with("target") {
            read_folder(root, &path, end, found)?;
        } else if path.extension().is_some_and(|extension| extension == end) {
            let text = fs::read_to_string(&path).map_err(files::at(&path))?;
            let inner = path.strip_prefix(root).expect("folders are walked from the root");
            found.push((inner.to_string_lossy().into_owned(), text));
        }
    }
    Ok(())
}

impl Finding {
    fn new(path: &str, line: usize, what: String, why: &'static str, instead: &str) -> Self {
        Self { path: path.to_owned(), line, what, why, instead: instead.to_owned() }
    }

    /// A finding about the byte at `at` of a source.
    fn in_source(
        source: &Source,
        at: usize,
        what: String,
        why: &'static str,
        instead: &str,
    ) -> Self {
        Self::new(&source.path, source.line_of(at), what, why, instead)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what, why, instead, .. } = self;
        match line {
            0 => write!(f, "{path}: {what}; {why}; {instead}"),
            line => write!(f, "{path}:{line}: {what}; {why}; {instead}"),
        }
    }
}
