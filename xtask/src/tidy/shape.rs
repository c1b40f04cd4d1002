//! Sizes: lines, files, functions, parameter lists, folders, and file headers.
//!
//! The limits keep code readable, so they hold for code and not for tests' bodies.

use super::source::Source;
use super::{Finding, Rule};
use std::collections::BTreeMap;

const LINE_COLUMNS_MAX: usize = 100;
const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;
const PARAMETERS_MAX: usize = 6;
const FOLDER_FILES_MAX: usize = 12;
const HEADER_LINES_MAX: usize = 6;

/// The findings about the shape of one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(header(source));
    findings.extend(lines(source));
    for function in source.functions() {
        if source.in_test(function.at) {
            continue;
        }
        let found = |rule, what, why, instead: &str| Finding {
            path: source.path.clone(),
            line: source.line_of(function.at),
            rule,
            what,
            why,
            instead: instead.to_owned(),
        };
        if function.lines > FUNCTION_LINES_MAX {
            findings.push(found(
                Rule::FunctionLength,
                format!("`{}` has {} lines", function.name, function.lines),
                "a function is read in one look, at most 70 lines",
                "split it where it changes its subject",
            ));
        }
        if function.parameters > PARAMETERS_MAX {
            findings.push(found(
                Rule::Parameters,
                format!("`{}` has {} parameters", function.name, function.parameters),
                "more than 6 get mixed up at the call, in a tuple too",
                "give those that belong together a struct with a name",
            ));
        }
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
    crowded
        .map(|(folder, count)| Finding {
            path: folder.to_owned(),
            line: 0,
            rule: Rule::FolderSize,
            what: format!("{count} files in one folder"),
            why: "a folder is a room, and a room with more than 12 things is a store",
            instead: "give a group of them a folder of its own".to_owned(),
        })
        .collect()
}

fn header(source: &Source) -> Option<Finding> {
    let head = source.text.lines().take_while(|line| line.starts_with("//!"));
    let count = head.filter(|line| line.len() > "//!".len()).count();
    let what = match count {
        0 => "no `//!` header".to_owned(),
        1..=HEADER_LINES_MAX => return None,
        _ => format!("a `//!` header of {count} lines"),
    };
    Some(Finding {
        path: source.path.clone(),
        line: 1,
        rule: Rule::Header,
        what,
        why: "a reader learns from 1 to 6 lines what a file is and what it refuses to do",
        instead: "say that, and put the rest where it is needed".to_owned(),
    })
}

fn lines(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX {
            findings.push(Finding {
                path: source.path.clone(),
                line: index + 1,
                rule: Rule::LineWidth,
                what: format!("{columns} columns"),
                why: "two files fit side by side at 100",
                instead: "break the line".to_owned(),
            });
        }
    }
    let count = source.text.lines().count();
    if count > FILE_LINES_MAX {
        findings.push(Finding {
            path: source.path.clone(),
            line: 0,
            rule: Rule::FileLength,
            what: format!("{count} lines"),
            why: "a file over 800 lines has more than one subject, unless it is a table",
            instead: "split it by subject, or list the table as an exception with its reason"
                .to_owned(),
        });
    }
    findings
}
