//! The rules of STYLE.md that a program can check; also run as a test.
//!
//! Each finding says what is wrong, the reason of the rule, and what to write instead. The checks
//! match words, not meanings; the rest is left to reviewers.

mod arrows;
mod budget;
mod circles;
mod messages;
mod shape;
mod source;
mod surface;
#[cfg(test)]
mod tests;
mod text;
mod unused;
mod words;

use source::Source;
use std::fmt;
use std::fs;
use std::path::Path;

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// The line, counted from 1; 0 if the finding is about the whole file or folder.
    line: usize,
    rule: Rule,
    what: String,
    why: &'static str,
    instead: String,
}

/// The rules, as the table of exceptions names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    CrateArrow,
    ModuleArrow,
    ModuleCircle,
    Header,
    LineWidth,
    FileLength,
    FunctionLength,
    Parameters,
    FolderSize,
    Call,
    World,
    Word,
    Phrase,
    Opening,
    Glossary,
    Unsafe,
    DeadPub,
    Unused,
    PackageBudget,
    Messages,
    Named,
}

/// An accepted breach.
struct Exception {
    rule: Rule,
    path: &'static str,
    /// The function or item; empty if the rule is about the whole file.
    name: &'static str,
    /// The reason why it is accepted, for readers; never empty.
    reason: &'static str,
}

/// All exceptions. One that no longer excuses anything is itself a finding.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: Rule::Word,
        path: "crates/cluster/src/transport/stream.rs",
        name: "hyper_util",
        reason: "the library is called so",
    },
    Exception {
        rule: Rule::Unsafe,
        path: "loom/src/lib.rs",
        name: "",
        reason: "its tests include the hand-over of host, which is unsafe",
    },
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
    let metadata = crate::metadata(root)?;
    let mut findings = arrows::check_packages(&metadata);
    findings.extend(arrows::check_permissions(&metadata));
    findings.extend(unused::check(&metadata, &sources, &read(root, "Cargo.toml")?));
    findings.extend(text::check_freedoms(&sources));
    findings.extend(budget::check(&crate::told(root, &budget::TREE)?));
    for source in &sources {
        findings.extend(text::check(source));
        findings.extend(shape::check(source));
        findings.extend(words::check(source));
    }
    findings.extend(words::check_types(&sources, &read(root, "ARCHITECTURE.md")?));
    findings.extend(words::table::check(&read(root, "STYLE.md")?));
    let promises = read(root, words::promises::PATH)?;
    findings.extend(words::promises::check(&promises, &sources));
    let declared = words::named::Declared::of(&sources);
    let documents = documents(root)?;
    let pages = documents.iter().map(|(path, _)| path.as_str());
    let pages = pages.filter(|path| path.starts_with(DESIGN));
    let architecture = read(root, "ARCHITECTURE.md")?;
    findings.extend(words::named::check_index(&architecture, pages));
    findings.extend(words::named::check_assertions(&architecture, &sources, &declared));
    for (path, text) in documents {
        findings.extend(words::check_document(&path, &text));
        // A design page stays as it was decided, with the names of its time.
        if !path.starts_with(DESIGN) {
            findings.extend(words::named::check(&path, &text, &declared));
        }
    }
    findings.extend(shape::check_folders(&sources));
    findings.extend(arrows::check_modules(&sources));
    findings.extend(circles::check(&sources));
    findings.extend(arrows::check_formatter(&read(root, "rustfmt.toml")?));
    findings.extend(surface::check(&sources));
    findings.extend(messages::check(&sources, &read(root, messages::PATH).unwrap_or_default()));
    let mut findings = without_exceptions(findings, EXCEPTIONS);
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// Writes the list of messages anew from the sources.
///
/// # Errors
/// If a source cannot be read or the list cannot be written.
pub(crate) fn write_messages(root: &Path) -> Result<(), String> {
    let page = messages::page(&sources(root)?);
    let path = messages::PATH;
    fs::write(root.join(path), page).map_err(|error| format!("cannot write {path}: {error}"))
}

fn read(root: &Path, name: &str) -> Result<String, String> {
    fs::read_to_string(root.join(name)).map_err(|error| format!("cannot read {name}: {error}"))
}

/// Removes findings that an exception excuses, and adds one for each exception that excuses
/// nothing.
fn without_exceptions(findings: Vec<Finding>, exceptions: &[Exception]) -> Vec<Finding> {
    let excuses = |exception: &Exception, finding: &Finding| {
        exception.rule == finding.rule
            && exception.path == finding.path
            && source::words(&finding.what).any(|(_, word)| word == exception.name)
                != exception.name.is_empty()
    };
    let idle = exceptions.iter().filter(|exception| {
        exception.reason.is_empty() || !findings.iter().any(|found| excuses(exception, found))
    });
    let idle: Vec<Finding> = idle
        .map(|exception| Finding {
            path: exception.path.to_owned(),
            line: 0,
            rule: exception.rule,
            what: format!(
                "the exception for '{}' excuses nothing or gives no reason",
                exception.name
            ),
            why: "the list of exceptions must stay true",
            instead: "take it out of xtask/src/tidy/mod.rs, or state its reason".to_owned(),
        })
        .collect();
    let excused = |finding: &Finding| exceptions.iter().any(|each| excuses(each, finding));
    findings.into_iter().filter(|finding| !excused(finding)).chain(idle).collect()
}

/// Every document for users and developers, with its text, except STYLE.md, which quotes the words
/// not to use.
fn documents(root: &Path) -> Result<Vec<(String, String)>, String> {
    let mut paths: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(str::to_owned).into();
    paths.extend(["kubernetes", "slurm"].map(|name| format!("deploy/{name}/README.md")));
    for folder in ["docs", "docs/compat", "docs/design"] {
        let cannot = |error: std::io::Error| format!("cannot read {folder}: {error}");
        for entry in fs::read_dir(root.join(folder)).map_err(cannot)? {
            let name = entry.map_err(cannot)?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                paths.push(format!("{folder}/{name}"));
            }
        }
    }
    let document = |path: String| read(root, &path).map(|text| (path, text));
    paths.into_iter().map(document).collect()
}

/// Every Rust file of the workspace, in the order of its paths.
fn sources(root: &Path) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for part in ["crates", "xtask", "bench", "fuzz", "loom"] {
        read_folder(root, &root.join(part), &mut sources)?;
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    source::mark_test_modules(&mut sources);
    Ok(sources)
}

fn read_folder(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                read_folder(root, &path, sources)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(cannot)?;
            if text.starts_with(GENERATED) {
                continue;
            }
            let inner = path.strip_prefix(root).expect("folders are walked from the root");
            sources.push(Source::new(inner.to_string_lossy().replace('\\', "/"), text));
        }
    }
    Ok(())
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
