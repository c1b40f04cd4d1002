//! A walk through a cache of keys, as in mcperf. Nothing is stored: the key at an entry is computed
//! anew for each step.

use super::GRAMMAR;
use crate::size::SizeLaw;
use crate::word::WordError;
use memtide_base::rng::{Random, Stream, below, hash, unit};
use memtide_base::units::{parse_count, parse_fraction};
use std::fmt;

/// The keys that a walk visits, again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// The cache's largest number of entries; never more than there are keys.
    capacity: u64,
    /// Without a law, entry n is key n; with a law, a draw modulo the number of keys.
    law: Option<SizeLaw>,
    renewal: Option<Renewal>,
}

/// The times at which entries are redrawn, and their number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Renewal {
    /// Whole passes between two renewals, at least 1.
    passes: u64,
    /// The smallest share of the entries that one renewal redraws, above 0 and at most 1.
    fraction: f64,
}

impl Walk {
    /// Reads `CAPACITY`, `CAPACITY@LAW` or `CAPACITY,PASSES,FRACTION@LAW` out of `word`.
    pub(super) fn parse(word: &str, arguments: Option<&str>) -> Result<Self, WordError> {
        let (numbers, law) = match arguments.unwrap_or("").split_once('@') {
            Some((numbers, law)) => (numbers, Some(law)),
            None => (arguments.unwrap_or(""), None),
        };
        let law = law.map(|law| law.trim().parse::<SizeLaw>()).transpose();
        let law = law.map_err(|error| GRAMMAR.wrong(word, error.to_string()))?;
        if law.as_ref().is_some_and(SizeLaw::ascends) {
            let reason = "a walk draws the keys that replace others, and ascending draws nothing";
            return Err(GRAMMAR.wrong(word, reason));
        }
        let parts: Vec<&str> = numbers.split(',').map(str::trim).collect();
        let (capacity, renewal) = match parts[..] {
            [capacity] => (count(word, capacity)?, None),
            [capacity, passes, fraction] => {
                let passes = count(word, passes)?;
                let fraction =
                    parse_fraction(fraction).map_err(|e| GRAMMAR.wrong(word, e.to_string()))?;
                if fraction <= 0.0 {
                    return Err(GRAMMAR.wrong(word, "the fraction to replace is 0"));
                }
                if law.is_none() {
                    let reason = "without @LAW nothing is drawn, so nothing can be replaced";
                    return Err(GRAMMAR.wrong(word, reason));
                }
                (count(word, capacity)?, Some(Renewal { passes, fraction }))
            }
            _ => {
                let given = parts.len();
                let reason = format!("it takes 1 or 3 numbers, {given} given");
                return Err(GRAMMAR.wrong(word, reason));
            }
        };
        Ok(Self { capacity, law, renewal })
    }
}

/// Parses a count of the walk `word`.
fn count(word: &str, text: &str) -> Result<u64, WordError> {
    match parse_count(text.trim()) {
        Ok(0) => Err(GRAMMAR.wrong(word, format!("'{text}' must be a count of at least 1"))),
        count => count.map_err(|error| GRAMMAR.wrong(word, error.to_string())),
    }
}

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "walk:{}", self.capacity)?;
        if let Some(Renewal { passes, fraction }) = self.renewal {
            write!(f, ",{passes},{fraction}")?;
        }
        self.law.iter().try_for_each(|law| write!(f, "@{law}"))
    }
}

/// A walk with its constants computed.
#[derive(Clone, Debug)]
pub(super) struct Walker {
    entries: u64,
    keys: u64,
    seed: u64,
    drawn: Option<Drawn>,
}

#[derive(Clone, Debug)]
struct Drawn {
    law: SizeLaw,
    /// Whole passes between two renewals; `None` without renewals.
    passes: Option<u64>,
    /// The largest distance between two entries that one renewal redraws.
    apart_max: u64,
}

impl Walker {
    /// A walk among ids `0..keys`; there is at least one.
    pub(super) fn new(walk: &Walk, keys: u64, seed: u64) -> Self {
        let entries = walk.capacity.min(keys);
        let drawn = walk.law.clone().map(|law| {
            let fraction = walk.renewal.map_or(1.0, |renewal| renewal.fraction);
            let renewed = ((entries as f64 * fraction) as u64).clamp(1, entries);
            let passes = walk.renewal.map(|renewal| renewal.passes);
            Drawn { law, passes, apart_max: entries / renewed }
        });
        Self { entries, keys, seed, drawn }
    }

    /// The key of step `step` of walker `walker`: entry 1 first, entry 0 at the end of each pass.
    pub(super) fn step(&self, walker: u64, step: u64) -> u64 {
        let (pass, place) = (step / self.entries, step % self.entries);
        let entry = if place + 1 == self.entries { 0 } else { place + 1 };
        self.key(walker, entry, pass)
    }

    /// Any key in the walker's cache at that step, chosen by `bits`.
    pub(super) fn any(&self, walker: u64, step: u64, bits: u64) -> u64 {
        self.key(walker, below(bits, self.entries), step / self.entries)
    }

    fn key(&self, walker: u64, entry: u64, pass: u64) -> u64 {
        debug_assert!(entry < self.entries, "a walker stays in its cache");
        let Some(drawn) = &self.drawn else { return entry };
        let renewal = drawn
            .passes
            .map_or(0, |passes| self.last_renewal(walker, entry, pass / passes, drawn.apart_max));
        let number = renewal.wrapping_mul(self.entries).wrapping_add(entry);
        let draw = hash(self.seed, Stream::WALK.of_lane(walker), number);
        drawn.law.size_at(unit(draw)) % self.keys
    }

    /// The last of `renewals` that redrew this entry; 0 if none did. It searches backwards, so it
    /// is slow only if renewals redraw few entries.
    fn last_renewal(&self, walker: u64, entry: u64, renewals: u64, apart_max: u64) -> u64 {
        let stream = Stream::WALK_RENEWAL.of_lane(walker);
        let last = (1..=renewals).rev().find(|&renewal| {
            let mut random = Random::at(self.seed, stream, renewal);
            let apart = 1 + random.below(apart_max);
            entry % apart == random.below(apart)
        });
        last.unwrap_or(0)
    }
}
