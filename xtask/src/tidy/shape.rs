//! Sizes that no lint knows: lines, files, folders, and file headers. clippy counts the lines and
//! parameters of functions.

use super::Finding;
use super::source::Source;

const LINE_COLUMNS_MAX: usize = 100;
const FILE_LINES_MAX: usize = 800;

/// The findings about the shape of one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |line, what, why, instead| {
        findings.push(Finding::new(&source.path, line, what, why, instead));
    };
    if !source.text.starts_with("//! ") {
        let why = "a reader learns from it what a file is and what it refuses to do";
        found(1, "no `//!` header".to_owned(), why, "say that in up to 6 lines");
    }
    for (index, line) in source.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX {
            let why = "two files fit side by side at 100";
            found(index + 1, format!("{columns} columns"), why, "break the line");
        }
    }
    let count = source.text.lines().count();
    if count > FILE_LINES_MAX {
        let why = "a file over 800 lines has more than one subject, unless it is a table";
        let instead = "split it by subject, or list the table as an exception with its reason";
        found(0, format!("{count} lines"), why, instead);
    }
    findings
}
