//! Public items that no other file uses.
//!
//! A word search over the whole workspace that rather misses a finding than invents one: a name
//! that appears anywhere else for any reason counts as used.

use super::source::Source;
use super::{Finding, Rule};
use std::collections::{HashMap, HashSet};

/// Every `pub` item under `crates/` that no other file mentions.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut mentions: HashMap<&str, HashSet<usize>> = HashMap::new();
    for (index, source) in sources.iter().enumerate() {
        for word in mentioned(source) {
            mentions.entry(word).or_default().insert(index);
        }
    }
    let mut findings = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        if !source.path.starts_with("crates/") || source.is_test() {
            continue;
        }
        for item in items(source) {
            let elsewhere = mentions.get(item.name).is_some_and(|files| {
                files.iter().any(|file| *file != index && is_use(source, &sources[*file]))
            });
            let nearby = item.is_type && used_in_own_file(source, item.name);
            if !elsewhere && !nearby {
                findings.push(Finding {
                    path: source.path.clone(),
                    line: source.line_of(item.at),
                    rule: Rule::DeadPub,
                    what: format!("`{}` is pub, and nothing else mentions it", item.name),
                    why: "what is shown is promised, and read by everybody",
                    instead: "take `pub` away, or delete it".to_owned(),
                });
            }
        }
    }
    findings
}

/// A mention in another crate always counts; one in the same crate only outside its tests.
fn is_use(owner: &Source, user: &Source) -> bool {
    owner.part() != user.part() || !user.is_test()
}

/// The words of a file, without those that only re-export a name (`pub use`), and without the tests
/// inside it.
fn mentioned(source: &Source) -> HashSet<&str> {
    let mut found = HashSet::new();
    let mut passing_on = 0;
    let mut before = "";
    for (at, word) in source.words() {
        if word == "use" && before == "pub" {
            passing_on = source.code[at..].find(';').map_or(source.code.len(), |end| at + end);
        }
        before = word;
        if at >= passing_on && (source.is_test() || !source.in_test(at)) {
            found.insert(word);
        }
    }
    found
}

struct Item<'a> {
    name: &'a str,
    at: usize,
    is_type: bool,
}

/// Items with an unrestricted `pub`, without fields.
fn items(source: &Source) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let words: Vec<(usize, &str)> = source.words().collect();
    for (index, (at, word)) in words.iter().enumerate() {
        let restricted = source.code[at + word.len()..].starts_with('(');
        if *word != "pub" || restricted || source.in_test(*at) {
            continue;
        }
        let is_qualifier = |word: &str| matches!(word, "async" | "unsafe" | "extern");
        let mut rest = words[index + 1..].iter().filter(|(_, word)| !is_qualifier(word)).peekable();
        let Some((_, kind)) = rest.next() else { continue };
        let is_constant_function =
            *kind == "const" && rest.peek().is_some_and(|next| next.1 == "fn");
        let kind = if is_constant_function { rest.next().map_or("", |next| next.1) } else { kind };
        let is_type = matches!(kind, "struct" | "enum" | "trait" | "type" | "union");
        if !is_type && !matches!(kind, "fn" | "const" | "static" | "mod") {
            continue;
        }
        if let Some((name_at, name)) = rest.next().copied()
            && !source.code[..name_at].ends_with('$')
        {
            items.push(Item { name, at: *at, is_type });
        }
    }
    items
}

/// True if a type's own file needs it to be public: in a signature, a field, another type.
fn used_in_own_file(source: &Source, name: &str) -> bool {
    let mut before = "";
    for (at, word) in source.words() {
        let defines = matches!(before, "struct" | "enum" | "trait" | "type" | "union");
        let line = source.code[..at].rfind('\n').map_or(0, |end| end + 1);
        let in_impl_head = source.code[line..].trim_start().starts_with("impl");
        if word == name && !defines && !in_impl_head && !source.in_test(at) {
            return true;
        }
        before = word;
    }
    false
}
