//! A walk through a cache of keys, as mcperf asks for them. Nothing is cached: which key stands at
//! an entry is worked out anew for each step.

use super::GRAMMAR;
use crate::size::SizeLaw;
use crate::word::WordError;
use memtide_base::rng::{Random, Stream, below, hash, unit};
use memtide_base::units::{parse_count, parse_fraction};
use std::fmt;

/// Through which keys a walk goes, again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// Entries of the cache at most; never more than there are keys.
    capacity: u64,
    /// Entry n is key n without this; with it a draw, modulo the number of keys.
    law: Option<SizeLaw>,
    renewal: Option<Renewal>,
}

/// When entries are drawn anew, and how many.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Renewal {
    /// Whole walks between two renewals, at least 1.
    passes: u64,
    /// The smallest part of the entries that one renewal changes, above 0 and at most 1.
    fraction: f64,
}

impl Walk {
    /// Reads `CAPACITY`, `CAPACITY@LAW` or `CAPACITY,PASSES,FRACTION@LAW` out of `word`.
    pub(super) fn parse(word: &str, arguments: Option<&str>) -> Result<Self, WordError> {
        let (numbers, law) = match arguments.unwrap_or("").split_once('@') {
            Some((numbers, law)) => (numbers, Some(law)),
            None => (arguments.unwrap_or(""), None),
        };
        let wrong = |reason: String| GRAMMAR.wrong(word, reason);
        let count = |text: &str| match parse_count(text.trim()) {
            Ok(0) => Err(wrong(format!("'{text}' must be a count of at least 1"))),
            count => count.map_err(|error| wrong(error.to_string())),
        };
        let law = law.map(|law| law.trim().parse::<SizeLaw>()).transpose();
        let law = law.map_err(|error| wrong(error.to_string()))?;
        if law.as_ref().is_some_and(SizeLaw::ascends) {
            return Err(wrong("an entry is drawn, and ascending draws nothing".to_owned()));
        }
        let parts: Vec<&str> = numbers.split(',').map(str::trim).collect();
        let (capacity, renewal) = match parts[..] {
            [capacity] => (count(capacity)?, None),
            [capacity, passes, fraction] => {
                let passes = count(passes)?;
                let fraction = parse_fraction(fraction).map_err(|e| wrong(e.to_string()))?;
                if fraction <= 0.0 {
                    return Err(wrong("the fraction that is drawn anew is 0".to_owned()));
                }
                if law.is_none() {
                    let reason = "without @LAW nothing is drawn that could be drawn anew";
                    return Err(wrong(reason.to_owned()));
                }
                (count(capacity)?, Some(Renewal { passes, fraction }))
            }
            _ => {
                let given = parts.len();
                return Err(wrong(format!("it takes 1 or 3 numbers, {given} given")));
            }
        };
        Ok(Self { capacity, law, renewal })
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

/// A walk with what it needs worked out.
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
    /// Whole walks between two renewals; none when there are no renewals.
    passes: Option<u64>,
    /// Entries that one renewal changes are at most this far apart.
    apart_max: u64,
}

impl Walker {
    /// Among ids `0..keys`, of which there is at least one.
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

    /// A key from anywhere in what the walker has at that step; `bits` decide which.
    pub(super) fn any(&self, walker: u64, step: u64, bits: u64) -> u64 {
        self.key(walker, below(bits, self.entries), step / self.entries)
    }

    fn key(&self, walker: u64, entry: u64, pass: u64) -> u64 {
        let Some(drawn) = &self.drawn else { return entry };
        let renewal = drawn
            .passes
            .map_or(0, |passes| self.last_renewal(walker, entry, pass / passes, drawn.apart_max));
        let number = renewal.wrapping_mul(self.entries).wrapping_add(entry);
        let draw = hash(self.seed, Stream::WALK.of_lane(walker), number);
        drawn.law.size_at(unit(draw)) % self.keys
    }

    /// The last of `renewals` that drew this entry; 0 when it still is the first draw. It looks
    /// back until it finds it, which is as far as a renewal is thin at most times.
    fn last_renewal(&self, walker: u64, entry: u64, renewals: u64, apart_max: u64) -> u64 {
        let stream = Stream::WALK_RENEWAL.of_lane(walker);
        let draws = |renewal: u64| {
            let mut random = Random::at(self.seed, stream, renewal);
            let apart = 1 + random.below(apart_max);
            entry % apart == random.below(apart)
        };
        (1..=renewals).rev().find(|&renewal| draws(renewal)).unwrap_or(0)
    }
}
