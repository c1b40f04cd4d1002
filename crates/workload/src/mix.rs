//! The kinds of operations in a workload and their weights, and the draw by weight.

mod turn;

pub use turn::MixOrder;
pub(crate) use turn::Turn;

use crate::op::OpKind;
use crate::op_kinds;
use crate::word::{Grammar, WordError};
use memtide_base::units::parse_fraction;
use std::fmt;
use std::str::FromStr;

/// Weights over the kinds of operation; at least one is positive.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Kinds of positive weight, in the order of [`OpKind::ALL`].
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    kind: OpKind,
    weight: f64,
    /// A draw below this bound and not below an earlier entry's is this kind; the last entry needs
    /// no comparison.
    below: u64,
}

/// The largest weight; a larger one would make all others vanish.
const WEIGHT_MAX: f64 = 1e12;

macro_rules! forms {
    ($($kind:ident $name:literal $action:ident $doc:literal,)*) => {
        concat!(
            "KIND=WEIGHT,… with weights above 0 (such as get=9,set=1 or get=90%,set=10%) and \
             kinds of",
            $(" ", $name,)*
        )
    };
}

const GRAMMAR: Grammar = Grammar { what: "a mix", names: &OpKind::NAMES, forms: op_kinds!(forms) };

impl Mix {
    /// The share of the operations that are of this kind, from 0 to 1.
    pub fn share(&self, kind: OpKind) -> f64 {
        let weight = self.entries.iter().find(|entry| entry.kind == kind).map(|e| e.weight);
        weight.unwrap_or(0.0) / self.total()
    }

    /// The kinds with a positive weight, in the order of [`OpKind::ALL`].
    pub fn kinds(&self) -> impl Iterator<Item = OpKind> + '_ {
        self.entries.iter().map(|entry| entry.kind)
    }

    /// The kind drawn by 64 uniform bits.
    #[inline(always)]
    pub fn pick(&self, bits: u64) -> OpKind {
        let (last, others) = self.entries.split_last().expect("a mix has a positive weight");
        for entry in others {
            if bits < entry.below {
                return entry.kind;
            }
        }
        last.kind
    }

    /// True if any kind reads values, so that missing keys matter.
    pub fn reads(&self) -> bool {
        self.kinds().any(OpKind::reads)
    }

    /// True if any kind works on numeric keys.
    pub fn uses_numeric(&self) -> bool {
        self.kinds().any(OpKind::is_numeric)
    }

    /// The mix with these weights per kind; no weight is negative, and at least one is positive.
    fn of(weights: &[f64; OpKind::COUNT]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let mut entries = Vec::new();
        for (kind, &weight) in OpKind::ALL.into_iter().zip(weights) {
            if weight > 0.0 {
                sum += weight;
                // 2^64 as a double; the cast saturates.
                let below = (sum / total * 18_446_744_073_709_551_616.0) as u64;
                entries.push(Entry { kind, weight, below });
            }
        }
        Self { entries }
    }

    fn total(&self) -> f64 {
        self.entries.iter().map(|entry| entry.weight).sum()
    }
}

impl FromStr for Mix {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let mut weights = [0.0; OpKind::COUNT];
        for part in word.split(',') {
            let (name, weight) = match part.split_once('=') {
                Some((name, weight)) => (name.trim(), weight.trim()),
                None => (part.trim(), ""),
            };
            let kind = OpKind::from_name(name).ok_or_else(|| GRAMMAR.unknown(word, name))?;
            if weights[kind.index()] > 0.0 {
                return Err(GRAMMAR.wrong(word, format!("'{name}' is given twice")));
            }
            let percent = weight.ends_with('%').then(|| parse_fraction(weight).ok()).flatten();
            weights[kind.index()] = match percent {
                Some(fraction) if fraction > 0.0 => fraction * 100.0,
                _ => weight_of(word, name, weight)?,
            };
        }
        Ok(Self::of(&weights))
    }
}

fn weight_of(word: &str, name: &str, weight: &str) -> Result<f64, WordError> {
    if weight.is_empty() {
        return Err(GRAMMAR.wrong(word, format!("'{name}' has no weight")));
    }
    let range = "a weight above 0 and up to 1e12 (leave out what should not occur)";
    GRAMMAR.number(word, weight, range, |value| value > 0.0 && value <= WEIGHT_MAX)
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, Entry { kind, weight, .. }) in self.entries.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(f, "{comma}{}={weight}", kind.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
