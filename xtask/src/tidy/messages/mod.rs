//! docs/messages.md: warnings, checks and errors with their causes and remedies, read from the
//! strings of the sources, so that none can be missing; and the words that no text of the program
//! contains, labels and help included.
//!
//! The outputs of the faces of other load generators are theirs, and are left out.

mod entry;
mod groups;
mod phrases;

use super::source::Source;
use super::{Finding, Rule};
use entry::{Entry, Remedies, entries, remedies, shown};
use groups::{Columns, GROUPS, Group};
use std::collections::BTreeSet;

/// The path of the list.
pub(super) const PATH: &str = "docs/messages.md";

const INTRODUCTION: &str = "\
# Messages

<!-- Generated from the strings of the sources; do not edit.
     `cargo xtask messages` generates it again. -->

memtide's warnings, checks and errors, each with its cause and what to do. To find a message, search
this page for its words; `{words in braces}` stand for values. memtide prints the message and, if
there is room, what to do. The record also contains a stable code for each warning and each check.

The messages of the compatible commands (mutilate, mcperf, twemperf, memaslap) are those of the
original programs and are not listed.
";

/// The page, whole.
pub(super) fn page(sources: &[Source]) -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut add = |title: &str, introduction: &str, table: String| {
        page.push_str(&format!("\n## {title}\n\n{introduction}\n\n{table}"));
    };
    add(
        "Warnings",
        "A warning does not end a run. The report shows it, and the record contains its code.",
        warnings(sources),
    );
    let remedies = in_our_words(sources);
    for group in GROUPS.iter().filter(|group| group.columns != Columns::None) {
        add(group.title, group.introduction, table(sources, group, &remedies));
    }
    page
}

/// Every text that the program shows to people, with the path of its source: also labels, help and
/// parts of messages, which the page leaves out.
fn texts(sources: &[Source]) -> Vec<(String, String)> {
    let remedies = in_our_words(sources);
    let of_groups = GROUPS.iter().flat_map(|group| messages(sources, group, &remedies));
    let mut texts: Vec<(String, String)> = of_groups
        .flat_map(|(path, entry)| [(path.clone(), entry.message), (path, entry.remedy)])
        .collect();
    for source in of(sources, &["crates/schema/src/field/", "crates/schema/src/warning"]) {
        let shown = source.strings().map(|(_, text)| (source.path.clone(), shown(text)));
        texts.extend(shown);
    }
    texts
}

/// A finding if the list at `PATH`, which is `written`, is not what the sources say, one for each
/// error without a cause or a remedy, and one for each text with words that are not used.
pub(super) fn check(sources: &[Source], written: &str) -> Vec<Finding> {
    let finding = |path: String, what: String, instead: &str| Finding {
        path,
        line: 0,
        rule: Rule::Messages,
        what,
        why: "a text that was not read beside the others reads differently",
        instead: instead.to_owned(),
    };
    let mut findings = Vec::new();
    if page(sources) != written {
        let what = "the list of messages is not what the sources say".to_owned();
        findings.push(finding(PATH.to_owned(), what, "run cargo xtask messages, and read it"));
    }
    for (path, text) in texts(sources) {
        if let Some((words, instead)) = phrases::found(&text) {
            let what = format!("the text '{text}' contains '{words}'");
            findings.push(finding(path, what, instead));
        }
    }
    let remedies = in_our_words(sources);
    for group in GROUPS.iter().filter(|group| group.columns == Columns::Cause) {
        for (path, entry) in messages(sources, group, &remedies) {
            let lacks = match (entry.cause.is_empty(), entry.remedy.is_empty()) {
                _ if !entry.is_error => continue,
                (false, false) => continue,
                (true, _) => "cause",
                (_, true) => "remedy",
            };
            let what = format!("the message '{}' has no {lacks}", entry.message);
            let instead = "say the cause in the docstring of its variant or function, and the \
                           remedy in the message or in a paragraph 'To do: …'";
            findings.push(finding(path, what, instead));
        }
    }
    findings
}

/// The remedies of memtide itself; each face of another program has others.
fn in_our_words(sources: &[Source]) -> Remedies {
    of(sources, &["crates/schema/src/warning/words"]).flat_map(remedies).collect()
}

/// Code, cause, message and remedy of each warning.
fn warnings(sources: &[Source]) -> String {
    let mut rows = BTreeSet::new();
    for source in of(sources, &["crates/schema/src/warning"]) {
        for (variant, code) in arms(source, "fn code") {
            let message = arm(source, "fn message", &variant)
                .or_else(|| arm(source, &format!("fn {code}"), ""))
                .unwrap_or_default();
            let remedy = arm(source, "fn remedy", &variant).unwrap_or_default();
            let cause = docstring(source, &variant);
            rows.insert(format!("| `{code}` | {cause} | {message} | {remedy} |\n"));
        }
    }
    let rows: String = rows.into_iter().collect();
    format!("| code | cause | message | remedy |\n|---|---|---|---|\n{rows}")
}

/// Variant and text of each arm of a `match self` in the function that begins with `function`.
fn arms(source: &Source, function: &str) -> Vec<(String, String)> {
    let Some(start) = source.code.find(function) else { return Vec::new() };
    let end = source.code[start..].find("\n    }\n").map_or(source.code.len(), |end| start + end);
    let mut found: Vec<(String, String)> = Vec::new();
    let texts = source.strings().filter(|(at, text)| {
        // A plural's ending is a part of a sentence.
        (start..end).contains(at) && text.len() > 2
    });
    for (at, text) in texts {
        let Some(begin) = source.code[start..at].rfind("Self::") else { continue };
        let rest = &source.code[start + begin + "Self::".len()..at];
        let variant: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
        match found.last_mut().filter(|(last, _)| *last == variant) {
            Some((_, whole)) => *whole += &format!(" / {}", shown(text)),
            None => found.push((variant, shown(text))),
        }
    }
    found
}

/// The text of one arm; of the whole function if `variant` is empty.
fn arm(source: &Source, function: &str, variant: &str) -> Option<String> {
    if variant.is_empty() {
        let start = source.code.find(function)?;
        let end = start + source.code[start..].find("\n}\n")?;
        let texts = source.strings().filter(|(at, _)| (start..end).contains(at));
        return texts.map(|(_, text)| shown(text)).max_by_key(String::len);
    }
    let arms = arms(source, function).into_iter().filter(|(name, _)| name == variant);
    let texts: Vec<String> = arms.map(|(_, text)| text).collect();
    (!texts.is_empty()).then(|| texts.join(" / "))
}

/// The docstring of an enum's variant.
fn docstring(source: &Source, variant: &str) -> String {
    let lines: Vec<&str> = source.text.lines().collect();
    let is_variant = |line: &&str| {
        let rest = line.strip_prefix("    ").and_then(|line| line.strip_prefix(variant));
        rest.is_some_and(|rest| rest.starts_with([' ', '(', ',']))
    };
    let Some(at) = lines.iter().position(is_variant) else { return String::new() };
    let docs = lines[..at].iter().rev().map_while(|line| line.trim().strip_prefix("/// "));
    let mut docs: Vec<&str> = docs.collect();
    docs.reverse();
    docs.join(" ")
}

/// The messages of a group with the paths of their files: those of its enums in the order of the
/// group, then the others by the alphabet.
fn messages(sources: &[Source], group: &Group, remedies: &Remedies) -> Vec<(String, Entry)> {
    let mut found = Vec::new();
    for source in of(sources, group.files).filter(|source| is_in(source, group)) {
        for mut entry in entries(source, remedies, |at, text| is_shown(source, at, text, group)) {
            let home = entry.of.as_deref().and_then(groups::of_enum);
            if !home.map_or(!group.enums_alone, |home| home.title == group.title) {
                continue;
            }
            if let Some(subject) = entry.of.as_deref().and_then(groups::subject) {
                entry.message = format!("{subject} {}", entry.message);
            }
            found.push((source.path.clone(), entry));
        }
    }
    // A stable sort: the messages of one enum stay in its order.
    let rank =
        |entry: &Entry| group.enums.iter().position(|name| entry.of.as_deref() == Some(name));
    found.sort_by_cached_key(|(_, entry)| match rank(entry) {
        Some(rank) => (rank, String::new(), String::new()),
        None => (usize::MAX, entry.cause.clone(), entry.message.clone()),
    });
    found
}

/// The table of a group: its errors, each once.
fn table(sources: &[Source], group: &Group, remedies: &Remedies) -> String {
    let entries = messages(sources, group, remedies).into_iter().map(|(_, entry)| entry);
    let is_listed = |entry: &Entry| match group.columns {
        Columns::Cause => entry.is_error,
        // A comment that the program writes into a file is no message.
        Columns::Remedy => !entry.is_form && !entry.message.starts_with('#'),
        Columns::None => false,
    };
    let mut rows: Vec<String> = Vec::new();
    let whole = entries.filter(|entry| !entry.message.is_empty() && is_listed(entry));
    for Entry { cause, message, remedy, .. } in whole {
        let row = match group.columns {
            Columns::Cause => format!("| {cause} | {message} | {remedy} |\n"),
            _ => format!("| {message} | {remedy} |\n"),
        };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let head = match group.columns {
        Columns::Cause => "| cause | message | what to do |\n|---|---|---|\n",
        _ => "| message | what to do |\n|---|---|\n",
    };
    if group.columns != Columns::Cause {
        rows.sort();
    }
    format!("{head}{}", rows.concat())
}

/// True if a file belongs to this group, and not to one that names it more exactly.
fn is_in(source: &Source, group: &Group) -> bool {
    let length = |group: &Group| {
        let begins = group.files.iter().filter(|file| source.path.starts_with(**file));
        begins.map(|file| file.len()).max()
    };
    let is_face = source.path.contains("/face/") && !source.path.ends_with("/install.rs");
    !is_face
        && !source.path.contains("/warning")
        && length(group) == GROUPS.iter().filter_map(length).max()
}

/// True if users see this string, unlike those of assertions and of tables of fields.
fn is_shown(source: &Source, at: usize, text: &str, group: &Group) -> bool {
    let before = source.code[..at].trim_end();
    let statement = before.rfind([';', '{', '}']).map_or(before, |end| &before[end..]);
    let is_ours = ["assert", "panic!", "unreachable!", ".expect(", "#[", "include_str!"]
        .iter()
        .any(|word| statement.contains(word) || (word == &"#[" && line(before).contains("#![")));
    let is_field = ["long:", "help:", "default:", "name:", "value:"]
        .iter()
        .any(|member| before.ends_with(member));
    // Bytes are for the wire; braces and the codec's printer are for debugging.
    let is_wire = source.text[at..].starts_with('b')
        || text.contains("{{")
        || statement.contains("const FONT")
        || source.path.ends_with("codec/src/print.rs");
    let whole = shown(text);
    // A string that ends like a sentence of a page is part of a field's description.
    let has_pages = source.path.contains("/field/") || source.path.contains("/workload/");
    let is_page = has_pages && whole.trim_end().ends_with('.');
    let letters = |word: &&str| word.chars().any(char::is_alphabetic) && !word.starts_with('{');
    let words = whole.split_whitespace().filter(letters).count();
    let long = whole.chars().filter(|c| c.is_alphabetic()).count() > 2;
    !is_ours && !is_wire && !is_field && !is_page && long && words >= group.words_min
}

fn line(code: &str) -> &str {
    code.rsplit('\n').next().unwrap_or(code)
}

fn of<'a>(sources: &'a [Source], begins: &'a [&'a str]) -> impl Iterator<Item = &'a Source> {
    sources.iter().filter(move |source| begins.iter().any(|begin| source.path.starts_with(begin)))
}
