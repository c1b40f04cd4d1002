//! docs/messages.md: every text that the program shows to people, read from the strings of its
//! sources, so that none can be missing.
//!
//! It judges no text. What the faces of other load generators say is theirs, and is left out.

use super::source::Source;
use super::{Finding, Rule};
use std::collections::BTreeSet;

/// Where the list stands.
pub(super) const PATH: &str = "docs/messages.md";

const INTRODUCTION: &str = "\
# Messages

<!-- Generated from the strings of the sources; do not edit.
     `cargo xtask messages` generates it again. -->

Every text that memtide shows, except the output of the compatible commands (mutilate, mcperf,
twemperf, memaslap), which is that of the original programs. Words in braces stand for values.

An error consists of what is wrong, with the value and where it was given, and what to do. A warning
has a stable code, which the record contains, a message and a remedy.
";

/// Texts that stand together.
struct Group {
    title: &'static str,
    introduction: &'static str,
    /// Beginnings of the paths of its files.
    files: &'static [&'static str],
    /// Words that a text has at least: labels are single words.
    words_min: usize,
}

const GROUPS: [Group; 8] = [
    Group {
        title: "Verdict",
        introduction: "The checks behind the last line of a report: reasons for a no, and notes on \
                       checks that were skipped.",
        files: &["crates/run/src/doctor", "crates/run/src/survey", "crates/schema/src/judge"],
        words_min: 3,
    },
    Group {
        title: "Errors: scenario",
        introduction: "Contradictions between fields, and values that a field does not accept \
                       (exit code 2).",
        files: &[
            "crates/schema/src/scenario",
            "crates/schema/src/field",
            "crates/schema/src/file",
            "crates/base/src/",
            "crates/workload/src/",
        ],
        words_min: 3,
    },
    Group {
        title: "Errors: run",
        introduction: "A run that cannot start or go on. The exit code is 3 unless the server has \
                       too little memory (1) or must not be filled (2).",
        files: &["crates/run/src/", "crates/engine/src/", "crates/host/src/", "crates/codec/src/"],
        words_min: 3,
    },
    Group {
        title: "Remedies of a run's errors",
        introduction: "What to do, behind what is wrong in an error of a run. The compatible \
                       commands name their own options here.",
        files: &["crates/schema/src/warning/words"],
        words_min: 2,
    },
    Group {
        title: "Errors: program, files and merging",
        introduction: "The command line, outputs, and records that cannot be merged.",
        files: &["crates/memtide/src/", "crates/schema/src/merge", "crates/sinks/src/"],
        words_min: 3,
    },
    Group {
        title: "Reasons of decisions",
        introduction: "What `--plan` shows after a dash, for decisions that the scenario leaves \
                       open.",
        files: &["crates/run/src/lower"],
        words_min: 3,
    },
    Group {
        title: "Report",
        introduction: "Labels and sentences of the report, of searches and scans, of progress and \
                       of charts.",
        files: &["crates/report/src/"],
        words_min: 1,
    },
    Group {
        title: "Help of the program's own flags",
        introduction: "Commands, and flags that are not fields of a scenario.",
        files: &["crates/memtide/src/flags"],
        words_min: 3,
    },
];

/// Words with which advice begins, behind a colon or a semicolon.
const ADVICE: [&str; 34] = [
    "use", "give", "name", "add", "remove", "allow", "check", "raise", "set", "choose", "leave",
    "try", "run", "write", "lower", "reduce", "measure", "compare", "reset", "enable", "let",
    "search", "merge", "put", "move", "build", "increase", "free", "fill", "make", "start", "stop",
    "wait", "pass",
];

/// The page, whole.
pub(super) fn page(sources: &[Source]) -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut add = |title: &str, introduction: &str, table: String| {
        page.push_str(&format!("\n## {title}\n\n{introduction}\n\n{table}"));
    };
    add(
        "Flags",
        "The fields of a scenario; [scenario.md](scenario.md) describes each.",
        flags(sources),
    );
    add(
        "Warnings",
        "A warning does not end a run. The report shows it; the record lists it.",
        warnings(sources),
    );
    for group in &GROUPS {
        add(group.title, group.introduction, sentences(sources, group));
    }
    page
}

/// A finding if the list at `PATH`, which is `written`, is not what the sources say.
pub(super) fn check(sources: &[Source], written: &str) -> Option<Finding> {
    (page(sources) != written).then(|| Finding {
        path: PATH.to_owned(),
        line: 0,
        rule: Rule::Messages,
        what: "the list of messages is not what the sources say".to_owned(),
        why: "a text that nobody has read beside the others reads differently",
        instead: "run cargo xtask messages, and read what has changed".to_owned(),
    })
}

/// Name and help of each field of a scenario.
fn flags(sources: &[Source]) -> String {
    let mut rows = BTreeSet::new();
    for source in of(sources, &["crates/schema/src/field/"]) {
        let mut name = String::new();
        for (at, text) in source.strings() {
            match source.code[..at].trim_end() {
                code if code.ends_with("name:") => name = shown(text),
                code if code.ends_with("help:") => {
                    rows.insert(format!("| `--{name}` | {} |\n", shown(text)));
                }
                _ => {}
            }
        }
    }
    format!("| flag | help |\n|---|---|\n{}", rows.into_iter().collect::<String>())
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
        // A plural's ending is part of a sentence, and none of its own.
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

/// The text of one arm; of the whole function where `variant` is empty.
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

/// The sentences of a group, each once and by the alphabet: what is wrong, and what to do.
fn sentences(sources: &[Source], group: &Group) -> String {
    let mut rows = BTreeSet::new();
    for source in of(sources, group.files).filter(|source| is_in(source, group)) {
        let texts = source.strings().filter(|(at, text)| is_shown(source, *at, text, group));
        for (_, text) in texts {
            let (what, advice) = divided(&shown(text));
            rows.insert(format!("| {what} | {advice} |\n"));
        }
    }
    let rows: String = rows.into_iter().collect();
    match group.words_min {
        1 => format!("| text | |\n|---|---|\n{rows}"),
        _ => format!("| message | what to do |\n|---|---|\n{rows}"),
    }
}

/// Whether a file belongs to this group, and not to one that names it more exactly.
fn is_in(source: &Source, group: &Group) -> bool {
    let length = |group: &Group| {
        let begins = group.files.iter().filter(|file| source.path.starts_with(**file));
        begins.map(|file| file.len()).max()
    };
    let is_words = source.path.ends_with("/words.rs");
    let is_face = source.path.contains("/face") || source.path.contains("/warning");
    (!is_face || is_words) && length(group) == GROUPS.iter().filter_map(length).max()
}

/// Whether people see this string: not what an assertion says, nor what a table of fields holds.
fn is_shown(source: &Source, at: usize, text: &str, group: &Group) -> bool {
    let before = source.code[..at].trim_end();
    let statement = before.rfind([';', '{', '}']).map_or(before, |end| &before[end..]);
    let is_ours = ["assert", "panic!", "unreachable!", ".expect(", "#[", "include_str!"]
        .iter()
        .any(|word| statement.contains(word) || (word == &"#[" && line(before).contains("#![")));
    let is_field = ["long:", "help:", "default:", "name:", "value:"]
        .iter()
        .any(|member| before.ends_with(member));
    let whole = shown(text);
    // What ends like a sentence of a page is part of a field's description.
    let is_page = source.path.contains("/field/") && whole.trim_end().ends_with('.');
    let letters = |word: &&str| word.chars().any(char::is_alphabetic) && !word.starts_with('{');
    let words = whole.split_whitespace().filter(letters).count();
    let long = whole.chars().filter(|c| c.is_alphabetic()).count() > 2;
    !is_ours && !is_field && !is_page && long && words >= group.words_min
}

fn line(code: &str) -> &str {
    code.rsplit('\n').next().unwrap_or(code)
}

/// A text without the advice at its end, and the advice.
fn divided(text: &str) -> (String, String) {
    for (at, mark) in text.match_indices([':', ';']) {
        let rest = text[at + mark.len()..].trim_start();
        let first = rest.split([' ', ',']).next().unwrap_or_default();
        if ADVICE.contains(&first) {
            return (text[..at].to_owned(), rest.to_owned());
        }
    }
    (text.to_owned(), String::new())
}

/// A string as a cell of a table: escapes undone, lines joined.
fn shown(text: &str) -> String {
    let mut whole = String::new();
    let mut lines = text.split("\\\n");
    whole.push_str(lines.next().unwrap_or_default());
    for line in lines {
        whole.push_str(line.trim_start());
    }
    let whole = whole.replace("\\n", " ").replace("\\\"", "\"").replace('\n', " ");
    whole.replace('|', "\\|").replace('<', "\\<").trim().to_owned()
}

fn of<'a>(sources: &'a [Source], begins: &'a [&'a str]) -> impl Iterator<Item = &'a Source> {
    sources.iter().filter(move |source| begins.iter().any(|begin| source.path.starts_with(begin)))
}
