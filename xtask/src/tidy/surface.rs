//! Public items that no other file uses. rustc's `unreachable_pub` looks at one crate; this looks
//! at all.
//!
//! A word search over the whole workspace that rather misses a finding than invents one: a name
//! that appears anywhere else for any reason counts as used.

use super::Finding;
use super::source::{Declared, Source};
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
        // A mention in another crate always counts; one in the same crate only outside its tests.
        let is_use = |user: &Source| source.part() != user.part() || !user.is_test();
        let items = source.declared().filter(|item| item.is_pub && !source.in_test(item.at));
        for item in items {
            let elsewhere = mentions.get(item.name).is_some_and(|files| {
                files.iter().any(|file| *file != index && is_use(&sources[*file]))
            });
            let nearby = item.is_type() && used_in_own_file(source, item.name);
            if !elsewhere && !nearby {
                let what = format!("`{}` is pub, and nothing else mentions it", item.name);
                let why = "what is shown is promised, and read by everybody";
                let instead = "take `pub` away, or delete it";
                findings.push(Finding::in_source(source, item.at, what, why, instead));
            }
        }
    }
    findings
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

/// True if a type's own file needs it to be public: in a signature, a field, another type.
fn used_in_own_file(source: &Source, name: &str) -> bool {
    let declared: Vec<usize> =
        source.declared().filter(Declared::is_type).map(|item| item.at).collect();
    let in_impl_head = |at: usize| {
        let line = source.code[..at].rfind('\n').map_or(0, |end| end + 1);
        source.code[line..].trim_start().starts_with("impl")
    };
    let mut places = source.words().filter(|(_, word)| *word == name).map(|(at, _)| at);
    places.any(|at| !declared.contains(&at) && !in_impl_head(at) && !source.in_test(at))
}
