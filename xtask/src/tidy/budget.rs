//! The number of outside packages that the program needs without features.
//!
//! CONTRIBUTING.md gives the reasons for libraries and the additions of features.

use super::{Finding, Rule};
use std::collections::BTreeSet;

const PACKAGES_MAX: usize = 60;

/// The arguments of cargo: one line for each node of the tree.
pub(super) const TREE: [&str; 11] = [
    "tree",
    "--package",
    "memtide",
    "--no-default-features",
    "--edges",
    "normal,build",
    "--prefix",
    "none",
    "--format",
    "{p}",
    "--offline",
];

/// A finding if `tree` has too many packages from outside.
pub(super) fn check(tree: &str) -> Option<Finding> {
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    let outside: BTreeSet<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with("memtide")).collect();
    let count = outside.len();
    (count > PACKAGES_MAX).then(|| Finding {
        path: "Cargo.lock".to_owned(),
        line: 0,
        rule: Rule::PackageBudget,
        what: format!("{count} packages from outside, without features: {outside:?}"),
        why: "each package is code that somebody must trust and wait for; 60 are enough",
        instead: "do without one, or put it behind a feature and name the reason in \
                  CONTRIBUTING.md"
            .to_owned(),
    })
}
