//! Sizes that no lint knows: lines, files, folders, and file headers. clippy counts the lines and
//! parameters of functions.

use super::Finding;
use super::source::Source;
use std::collections::BTreeMap;

const LINE_COLUMNS_MAX: usize = 100;
const FILE_LINES_MAX: usize = 800;
const FOLDER_FILES_MAX: usize = 12;
const HEADER_LINES_MAX: usize = 6;

/// The findings about the shape of one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |line, what, why, instead| {
        findings.push(Finding::new(&source.path, line, what, why, instead));
    };
    let head = source.text.lines().take_while(|line| line.starts_with("//!"));
    let count = head.filter(|line| line.len() > "//!".len()).count();
    if !(1..=HEADER_LINES_MAX).contains(&count) {
        let what = match count {
            0 => "no `//!` header".to_owned(),
            _ => format!("a `//!` header of {count} lines"),
        };
        let why = "a reader learns from 1 to 6 lines what a file is and what it refuses to do";
        found(1, what, why, "say that, and put the rest where it is needed");
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

/// The findings about folders with too many files.
pub(super) fn check_folders(sources: &[Source]) -> Vec<Finding> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources {
        let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *counts.entry(folder).or_default() += 1;
    }
    let crowded = counts.into_iter().filter(|(_, count)| *count > FOLDER_FILES_MAX);
    let found = crowded.map(|(folder, count)| {
        let why = "a folder is a room, and a room with more than 12 things is a store";
        let instead = "give a group of them a folder of its own";
        Finding::new(folder, 0, format!("{count} files in one folder"), why, instead)
    });
    found.collect()
}
