//! Kinds of operation in rotation instead of drawn, so that the shares of a mix hold at every
//! moment and not only in the long run. Counts the operations made, whatever their outcome.

use super::Mix;
use crate::op::OpKind;
use crate::word::{Grammar, WordError};
use std::fmt;
use std::str::FromStr;

/// The order in which the kinds of a mix come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MixOrder {
    /// Each is drawn independently.
    #[default]
    Drawn,
    /// The kind furthest behind its share comes next; in a tie, a store.
    Turn,
}

const GRAMMAR: Grammar =
    Grammar { what: "an order of kinds", names: &["drawn", "turn"], forms: "drawn or turn" };

impl FromStr for MixOrder {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        GRAMMAR.choice(word, [Self::Drawn, Self::Turn])
    }
}

impl fmt::Display for MixOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(GRAMMAR.names[*self as usize])
    }
}

/// Takes the kinds of a mix in rotation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn {
    /// Stores come first; never empty.
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    kind: OpKind,
    weight: f64,
    given: u64,
}

impl Entry {
    /// True if this entry has had a smaller part of its share than `other`.
    fn is_behind(&self, other: &Self) -> bool {
        (self.given as f64) * other.weight < (other.given as f64) * self.weight
    }
}

impl Turn {
    /// A rotation of the kinds of `mix` at its beginning.
    pub(crate) fn new(mix: &Mix) -> Self {
        let entries = mix.entries.iter();
        let entries = entries.map(|of| Entry { kind: of.kind, weight: of.weight, given: 0 });
        let mut entries: Vec<Entry> = entries.collect();
        entries.sort_by_key(|entry| !entry.kind.stores_value());
        Self { entries }
    }

    /// The kind that comes next.
    pub(crate) fn next(&mut self) -> OpKind {
        let mut next = 0;
        for at in 1..self.entries.len() {
            if self.entries[at].is_behind(&self.entries[next]) {
                next = at;
            }
        }
        let entry = &mut self.entries[next];
        entry.given += 1;
        entry.kind
    }
}
