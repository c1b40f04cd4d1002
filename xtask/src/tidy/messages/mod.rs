//! docs/messages.md: warnings, checks and errors with their causes and remedies, read from the
//! strings of the sources, so that none can be missing; and the phrases of STYLE.md that no text of
//! the program contains, labels and help included.
//!
//! The outputs of the faces of other load generators are theirs, and are left out.

mod entry;
mod faces;
mod groups;
mod outline;

use super::Finding;
use super::source::Source;
use entry::{Entry, Remedies, entries, remedies, shown};
use groups::{GROUPS, Group};
use std::collections::BTreeSet;

/// The path of the list.
pub(super) const PATH: &str = "docs/messages.md";

/// The page, with `{{title}}` in place of the table of each section.
const PAGE: &str = include_str!("page.md");

/// The page, whole.
pub(super) fn page(sources: &[Source]) -> String {
    let machine = of(sources, &["crates/belief/src/machine.rs"]);
    let spoilers: Vec<_> = machine.flat_map(entry::spoilers).collect();
    let warnings: BTreeSet<String> = of(sources, &["crates/record/src/warning"])
        .flat_map(|source| entry::warnings(source, &spoilers))
        .map(|[code, cells @ ..]| format!("| `{code}` | {} |\n", cells.join(" | ")))
        .collect();
    let head = "| code | cause | message | remedy |\n|---|---|---|---|\n";
    let warnings = format!("{head}{}", Vec::from_iter(warnings).concat());
    let remedies = in_our_words(sources);
    let tables = GROUPS.iter().map(|group| (group.title, table(sources, group, &remedies)));
    tables.chain([("Warnings", warnings)]).fold(PAGE.to_owned(), |page, (title, table)| {
        page.replace(&format!("{{{{{title}}}}}\n"), &table)
    })
}

/// A finding if the list at `PATH`, which is `written`, is not what the sources say, one for each
/// error without a cause or a remedy, and one for each text with words that are not used: also of
/// labels, help and parts of messages, which the page leaves out.
pub(super) fn check(
    sources: &[Source],
    written: &str,
    phrases: &[(String, String)],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |path: &str, line, what, instead: &str| {
        let why = "a text that was not read beside the others reads differently";
        findings.push(Finding::new(path, line, what, why, instead));
    };
    if page(sources) != written {
        let what = "the list of messages is not what the sources say".to_owned();
        found(PATH, 0, what, "run cargo xtask messages, and read it");
    }
    for source in of(sources, &["crates/"]).filter(|source| !is_face(source)) {
        for (at, text) in source.strings() {
            let text = shown(text);
            let words = phrases.iter().find(|(words, _)| text.contains(words.as_str()));
            if let Some((words, instead)) = words {
                let what = format!("the text '{text}' contains '{words}'");
                found(&source.path, source.line_of(at), what, instead);
            }
        }
    }
    let remedies = in_our_words(sources);
    let of_faces = faces::check(sources);
    for group in GROUPS.iter().filter(|group| group.has_causes) {
        for (path, entry) in messages(sources, group, &remedies) {
            let lacks = match (entry.cause.is_empty(), entry.remedy.is_empty()) {
                _ if !entry.is_error => continue,
                (false, false) => continue,
                (true, _) => "cause",
                (_, true) => "remedy",
            };
            let instead = "say the cause in the docstring of its variant or function, and the \
                           remedy in the message or in a paragraph 'To do: …'";
            found(&path, 0, format!("the message '{}' has no {lacks}", entry.message), instead);
        }
    }
    findings.extend(of_faces);
    findings
}

/// The remedies of memtide itself; each face of another program has others.
fn in_our_words(sources: &[Source]) -> Remedies {
    of(sources, &["crates/record/src/warning/words"]).flat_map(remedies).collect()
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
    let is_listed = |entry: &Entry| match group.has_causes {
        true => entry.is_error,
        // A comment that the program writes into a file is no message.
        false => !entry.is_form && !entry.message.starts_with('#'),
    };
    let mut rows: Vec<String> = Vec::new();
    let whole = entries.filter(|entry| !entry.message.is_empty() && is_listed(entry));
    for Entry { cause, message, remedy, .. } in whole {
        let row = match group.has_causes {
            true => format!("| {cause} | {message} | {remedy} |\n"),
            false => format!("| {message} | {remedy} |\n"),
        };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    if group.has_causes {
        return format!("| cause | message | what to do |\n|---|---|---|\n{}", rows.concat());
    }
    rows.sort();
    format!("| message | what to do |\n|---|---|\n{}", rows.concat())
}

/// True if a file belongs to this group, and not to one that names it more exactly.
fn is_in(source: &Source, group: &Group) -> bool {
    let length = |group: &Group| {
        let begins = group.files.iter().filter(|file| source.path.starts_with(**file));
        begins.map(|file| file.len()).max()
    };
    let is_left_out = ["/warning", "crates/memtide/src/flags"];
    !is_face(source)
        && !is_left_out.iter().any(|part| source.path.contains(part))
        && length(group).is_some()
        && length(group) == GROUPS.iter().filter_map(length).max()
}

/// True if the file words what another load generator says.
fn is_face(source: &Source) -> bool {
    let is_face = source.path.contains("/face/") && !source.path.ends_with("/install.rs");
    is_face || source.part() == "compat"
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
