//! Uses between the modules of a crate: those of its root only point down the root's list, and
//! those of a folder form no circle, directly or by way of others.

use super::Finding;
use super::source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// A module's path in its crate: `["a", "b"]` for `crate::a::b`.
type Place<'a> = Vec<&'a str>;

/// The uses between the children of one module, each with its first place in the source.
type Uses<'a> = BTreeMap<(&'a str, &'a str), (&'a Source, usize)>;

/// The most re-exports that a name is followed through.
const PASSED_ON_MAX: usize = 8;

/// Every use between two modules of the same parent that points up the list of a crate's root, or
/// leads back to the user.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in sources.iter().filter(|source| source.is_root()) {
        let listed = root.declared().filter(|it| it.keyword == "mod" && !root.in_test(it.at));
        let order: Vec<&str> = listed.map(|it| it.name).collect();
        let place = |name: &str| order.iter().position(|listed| *listed == name);
        for (parent, uses) in Tree::of(root, sources).uses() {
            findings.extend(match parent.is_empty() {
                true => wrong(&uses, UPWARD, |user, used| {
                    place(user).zip(place(used)).is_some_and(|(user, used)| used < user)
                }),
                false => wrong(&uses, CIRCLE, |user, used| reach(&uses, used, user)),
            });
        }
    }
    findings
}

/// What is wrong with a use, why, and what to do instead.
type Rule = (&'static str, &'static str, &'static str);

const UPWARD: Rule = (
    "which stands above it in the crate's list",
    "the list is the reading order, and a reader meets users before the used",
    "reorder the list if no cycle results; else move what is shared below",
);
const CIRCLE: Rule = (
    "which leads back to it",
    "modules in a circle can only be read, tested and moved together",
    "move what both need to a module below them",
);

fn wrong(
    uses: &Uses<'_>,
    (what, why, instead): Rule,
    is_wrong: impl Fn(&str, &str) -> bool,
) -> Vec<Finding> {
    let wrong = uses.iter().filter(|((user, used), _)| is_wrong(user, used));
    wrong
        .map(|((user, used), (source, at))| {
            let what = format!("`{user}` uses `{used}`, {what}");
            Finding::in_source(source, *at, what, why, instead)
        })
        .collect()
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

/// The modules of one crate, tests left out.
struct Tree<'a>(BTreeMap<Place<'a>, Module<'a>>);

struct Module<'a> {
    source: &'a Source,
    /// The paths that its code names, with their places in the source.
    named: Vec<(usize, String)>,
}

impl<'a> Tree<'a> {
    fn of(root: &Source, sources: &'a [Source]) -> Self {
        let folder = root.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut modules = BTreeMap::new();
        for source in sources.iter().filter(|source| !source.is_test()) {
            let inner = source.path.strip_prefix(folder).and_then(|p| p.strip_prefix('/'));
            let Some(inner) = inner.and_then(|inner| inner.strip_suffix(".rs")) else { continue };
            let mut place: Place<'_> = inner.split('/').collect();
            place.pop_if(|name| matches!(*name, "lib" | "main" | "mod"));
            let named = source.named().into_iter().filter(|named| !source.in_test(named.at));
            let named = named.map(|named| (named.at, named.path)).collect();
            modules.insert(place, Module { source, named });
        }
        Self(modules)
    }

    /// The uses between siblings, by the place of their parent.
    fn uses(&self) -> BTreeMap<&[&'a str], Uses<'a>> {
        let mut uses: BTreeMap<&[&str], Uses<'_>> = BTreeMap::new();
        for (user, module) in &self.0 {
            for (at, path) in &module.named {
                let Some(used) = self.resolved(user, path, 0) else { continue };
                let shared = user.iter().zip(&used).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (user.get(shared), used.get(shared)) {
                    let between = uses.entry(&user[..shared]).or_default();
                    between.entry((*from, *to)).or_insert((module.source, *at));
                }
            }
        }
        uses
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
                && let Some(module) = self.0.get(&place)
                && !module.source.declared().any(|it| it.keyword != "mod" && it.name == word)
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
        self.0.keys().find(is_below).map(|module| module[..=depth].to_vec())
    }
}
