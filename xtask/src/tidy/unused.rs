//! Dependencies that a manifest names and no code uses.
//!
//! Like all checks it looks for words: a crate that is mentioned for any reason counts as used.

use super::arrows::{manifest, short};
use super::source::Source;
use super::{Finding, Rule};
use serde_json::Value;

/// Dependencies that the code of their package does not name, or only tests do; and entries of the
/// workspace's table, given as its manifest's text, that no package takes.
pub(super) fn check(metadata: &Value, sources: &[Source], workspace: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut taken = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let code: Vec<&Source> = sources.iter().filter(|each| each.part() == short(name)).collect();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            taken.push(target);
            let is_dev = dependency["kind"].as_str() == Some("dev");
            let word = dependency["rename"].as_str().unwrap_or(target).replace('-', "_");
            let (in_code, in_tests) = mentions(&code, &word);
            let what = match (is_dev, in_code, in_tests) {
                (_, false, false) => "names it nowhere",
                (false, false, true) => "names it only in its tests",
                _ => continue,
            };
            findings
                .push(found(manifest(name), format!("`{name}` depends on `{target}`, but {what}")));
        }
    }
    for target in table(workspace).filter(|name| !taken.contains(name)) {
        let what = format!("no package takes `{target}` from the workspace's dependencies");
        findings.push(found("Cargo.toml".to_owned(), what));
    }
    findings
}

/// True if code names this word, and true if tests do.
fn mentions(code: &[&Source], word: &str) -> (bool, bool) {
    let (mut in_code, mut in_tests) = (false, false);
    for source in code {
        for (at, _) in source.words().filter(|(_, found)| *found == word) {
            match source.in_test(at) {
                true => in_tests = true,
                false => in_code = true,
            }
        }
    }
    (in_code, in_tests)
}

/// The names in the table of dependencies of a workspace's manifest.
fn table(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().skip_while(|line| line.trim() != "[workspace.dependencies]");
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split_once('=').map(|(name, _)| name.trim()))
}

fn found(path: String, what: String) -> Finding {
    Finding {
        path,
        line: 0,
        rule: Rule::Unused,
        what,
        why: "each library is code that somebody must trust and wait for",
        instead: "take it out of the manifest, or move it to the dev-dependencies".to_owned(),
    }
}
