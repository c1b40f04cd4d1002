//! Libraries: dependencies that a manifest names and no code uses, and the number of packages from
//! outside that the program needs without features. CONTRIBUTING.md gives their reasons.
//!
//! A crate that is mentioned for any reason counts as used.

use super::Finding;
use super::arrows::{manifest, short};
use super::source::Source;
use serde_json::Value;
use std::collections::BTreeSet;

const PACKAGES_MAX: usize = 60;

/// The arguments of cargo for `check_budget`: one line for each node of the tree.
pub(super) const TREE: &str = "tree --package memtide --no-default-features --edges normal,build \
                               --prefix none --format {p} --offline";

/// Dependencies that the code of their package does not name, or only tests do; and entries of the
/// workspace's table, given as its manifest's text, that no package takes.
pub(super) fn check(metadata: &Value, sources: &[Source], workspace: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |path: &str, what| {
        let why = "each library is code that somebody must trust and wait for";
        let instead = "take it out of the manifest, or move it to the dev-dependencies";
        findings.push(Finding::new(path, 0, what, why, instead));
    };
    let mut taken = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            taken.push(target);
            let word = dependency["rename"].as_str().unwrap_or(target).replace('-', "_");
            let code = sources.iter().filter(|source| source.part() == short(name));
            let places = code.flat_map(|source| {
                let named = source.words().filter(|(_, found)| *found == word);
                named.map(|(at, _)| source.in_test(at))
            });
            let is_in_test: BTreeSet<bool> = places.collect();
            let what = match (is_in_test.first(), dependency["kind"] == "dev") {
                (None, _) => "names it nowhere",
                (Some(true), false) => "names it only in its tests",
                _ => continue,
            };
            found(&manifest(name), format!("`{name}` depends on `{target}`, but {what}"));
        }
    }
    for target in table(workspace).filter(|name| !taken.contains(name)) {
        let what = format!("no package takes `{target}` from the workspace's dependencies");
        found("Cargo.toml", what);
    }
    findings
}

/// The names in the table of dependencies of a workspace's manifest.
fn table(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().skip_while(|line| line.trim() != "[workspace.dependencies]");
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split_once('=').map(|(name, _)| name.trim()))
}

/// A finding if `tree` has too many packages from outside.
pub(super) fn check_budget(tree: &str) -> Option<Finding> {
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    let outside: BTreeSet<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with("memtide")).collect();
    let count = outside.len();
    let what = format!("{count} packages from outside, without features: {outside:?}");
    let why = "each package is code that somebody must trust and wait for; 60 are enough";
    let instead = "do without one, or put it behind a feature and name the reason in \
                   CONTRIBUTING.md";
    (count > PACKAGES_MAX).then(|| Finding::new("Cargo.lock", 0, what, why, instead))
}
