//! Modules of one folder that use each other, directly or by way of others. For the modules of a
//! crate's root, the order in which the root lists them is checked instead.

use super::source::Source;
use super::{Finding, Rule};
use std::collections::{BTreeMap, BTreeSet};

/// A module's path in its crate: `["a", "b"]` for `crate::a::b`.
type Place<'a> = Vec<&'a str>;

/// The most re-exports that a name is followed through.
const PASSED_ON_MAX: usize = 8;

/// Every use between two modules of the same parent that leads back to the user.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in sources.iter().filter(|source| source.is_root()) {
        findings.extend(Tree::of(root, sources).circles());
    }
    findings
}

/// The modules of one crate, tests left out.
struct Tree<'a> {
    modules: BTreeMap<Place<'a>, Module<'a>>,
}

struct Module<'a> {
    source: &'a Source,
    /// The paths that its code names, with their places in the source.
    named: Vec<(usize, String)>,
}

/// The uses between the children of one module, each with its first place in the source.
type Uses<'a> = BTreeMap<(&'a str, &'a str), (&'a Source, usize)>;

impl<'a> Tree<'a> {
    fn of(root: &Source, sources: &'a [Source]) -> Self {
        let folder = root.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut modules = BTreeMap::new();
        for source in sources.iter().filter(|source| !source.is_test()) {
            let inner = source.path.strip_prefix(folder).and_then(|p| p.strip_prefix('/'));
            let Some(inner) = inner.and_then(|inner| inner.strip_suffix(".rs")) else { continue };
            let mut place: Place<'_> = inner.split('/').collect();
            if place.last().is_some_and(|name| matches!(*name, "lib" | "main" | "mod")) {
                place.pop();
            }
            let named = source.named().into_iter().filter(|named| !source.in_test(named.at));
            let named = named.map(|named| (named.at, named.path)).collect();
            modules.insert(place, Module { source, named });
        }
        Self { modules }
    }

    fn circles(&self) -> Vec<Finding> {
        let mut uses: BTreeMap<&[&str], Uses<'_>> = BTreeMap::new();
        for (user, module) in &self.modules {
            for (at, path) in &module.named {
                let Some(used) = self.resolved(user, path, 0) else { continue };
                let shared = user.iter().zip(&used).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (user.get(shared), used.get(shared))
                    && shared > 0
                {
                    let place = (module.source, *at);
                    uses.entry(&user[..shared]).or_default().entry((*from, *to)).or_insert(place);
                }
            }
        }
        let mut findings = Vec::new();
        for uses in uses.values() {
            for ((from, to), (source, at)) in uses {
                if reach(uses, to, from) {
                    findings.push(Finding {
                        path: source.path.clone(),
                        line: source.line_of(*at),
                        rule: Rule::ModuleCircle,
                        what: format!("`{from}` uses `{to}`, which leads back to it"),
                        why: "modules in a circle can only be read, tested and moved together",
                        instead: "move what both need to a module below them".to_owned(),
                    });
                }
            }
        }
        findings
    }

    /// The module that declares what `path` names in the module at `from`; `None` outside of the
    /// crate.
    fn resolved(&self, from: &[&'a str], path: &str, passed_on: usize) -> Option<Place<'a>> {
        let mut place: Place<'a> = from.to_vec();
        let mut words = path.split("::").peekable();
        match *words.peek()? {
            "crate" => place.clear(),
            "self" | "super" => {}
            first => {
                self.child(&place, first)?;
            }
        }
        words.next_if_eq(&"crate");
        words.next_if_eq(&"self");
        while words.next_if_eq(&"super").is_some() {
            place.pop()?;
        }
        for word in words {
            if let Some(child) = self.child(&place, word) {
                place = child;
                continue;
            }
            // An item of this module, or one that it re-exports.
            if passed_on < PASSED_ON_MAX
                && let Some(module) = self.modules.get(&place)
                && !defines(module.source, word)
            {
                let tail = format!("::{word}");
                let passed = module.named.iter().filter(|(_, named)| named.ends_with(&tail));
                let mut origins =
                    passed.filter_map(|(_, named)| self.resolved(&place, named, passed_on + 1));
                let origin = origins.find(|origin| *origin != place);
                return origin.or(Some(place));
            }
            return Some(place);
        }
        Some(place)
    }

    /// The module `name` in the module at `place`, if it or one below it has a file.
    fn child(&self, place: &[&'a str], name: &str) -> Option<Place<'a>> {
        let depth = place.len();
        let is_below =
            |module: &&Place<'_>| module.starts_with(place) && module.get(depth) == Some(&name);
        self.modules.keys().find(is_below).map(|module| module[..=depth].to_vec())
    }
}

/// True if the module's own file has an item of this name.
fn defines(source: &Source, name: &str) -> bool {
    let mut before = "";
    for (_, word) in source.words() {
        let is_kind = matches!(
            before,
            "fn" | "struct" | "enum" | "trait" | "type" | "union" | "const" | "static"
        );
        if is_kind && word == name {
            return true;
        }
        before = word;
    }
    false
}

/// True if uses lead from `from` to `to`.
fn reach(uses: &Uses<'_>, from: &str, to: &str) -> bool {
    let (mut open, mut seen) = (vec![from], BTreeSet::new());
    while let Some(here) = open.pop() {
        if here == to {
            return true;
        }
        if seen.insert(here) {
            open.extend(uses.keys().filter(|(user, _)| *user == here).map(|(_, used)| *used));
        }
    }
    false
}
