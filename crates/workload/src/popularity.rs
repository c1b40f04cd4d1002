//! How often each key is requested. Draw n is a function of (seed, n); nothing is remembered,
//! whatever the number of keys.

mod walk;

use crate::word::{Grammar, WordError, split};
use memtide_base::rng::{Draws, Random, Stream, below, hash};
use memtide_base::units::parse_fraction;
use rand_core::TryRng;
use rand_distr::{Distribution, Zipf};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use walk::{Walk, Walker};

/// The frequency with which each key is requested.
#[derive(Clone, Debug, PartialEq)]
pub enum Popularity {
    /// All keys equally often.
    Uniform,
    /// Zipf: the key of rank r with a probability proportional to 1 / r^s; rank r has id r - 1.
    Zipf(f64),
    /// One key after the other, starting over after the last.
    Sequential,
    /// A few hot keys take most operations; uniform within the hot keys and within the others.
    Hotspot {
        /// Fraction of the keys that is hot, above 0 and below 1.
        keys: f64,
        /// Fraction of the operations that goes to the hot keys, from 0 to 1.
        ops: f64,
    },
    /// Every walker goes through a cache of keys in order, again and again. Operation i is step i /
    /// walkers of walker i mod walkers.
    Walk(Walk),
    /// Uniform among a part of the keys, drawn from a stream of its own: the keys that a probe
    /// requests. Users cannot choose it.
    Sample(KeyPart),
    /// One key of a part after the other, starting at a position in the part: the keys that a fill
    /// stores. Users cannot choose it.
    Onward(u64, KeyPart),
}

/// A part of the keys, evenly spread: those whose id modulo `of` is one of `count` numbers from
/// `first` on. Parts with different remainders share no key; all remainders together are all keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// The first remainder.
    pub first: u32,
    /// The number of remainders, at least 1.
    pub count: u32,
    /// The divisor of ids; at least `first + count`.
    pub of: u32,
}

impl KeyPart {
    /// All keys.
    pub const ALL: Self = Self { first: 0, count: 1, of: 1 };

    /// The number of ids in `0..keys` that belong to the part.
    pub fn len(self, keys: u64) -> u64 {
        let Self { first, count, of } = self;
        let rest = (keys % u64::from(of)).saturating_sub(u64::from(first));
        keys / u64::from(of) * u64::from(count) + rest.min(u64::from(count))
    }

    /// The id at this position in the part, counted from 0.
    pub fn id(self, position: u64) -> u64 {
        let count = u64::from(self.count);
        position / count * u64::from(self.of) + u64::from(self.first) + position % count
    }
}

const GRAMMAR: Grammar = Grammar {
    what: "a popularity",
    names: &["uniform", "zipf", "sequential", "hotspot", "walk"],
    forms: "uniform, sequential, zipf:S (such as zipf:0.99), hotspot:KEYS,OPS as fractions (such \
            as hotspot:0.2,0.8 or hotspot:20%,80%), or walk:CAPACITY[,PASSES,FRACTION][@LAW] \
            (such as walk:10k or walk:10k,100,1%@uniform:0,1M)",
};

impl FromStr for Popularity {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let (name, arguments) = split(word);
        let plain = |popularity| GRAMMAR.arguments::<0>(word, arguments).map(|_| popularity);
        match name {
            "uniform" => plain(Self::Uniform),
            "sequential" => plain(Self::Sequential),
            "zipf" => {
                let [exponent] = GRAMMAR.arguments(word, arguments)?;
                let range = "an exponent from 0 to 10";
                let exponent =
                    GRAMMAR.number(word, exponent, range, |v| (0.0..=10.0).contains(&v))?;
                Ok(Self::Zipf(exponent))
            }
            "hotspot" => {
                let [keys, ops] = GRAMMAR.arguments(word, arguments)?;
                let fraction =
                    |part| parse_fraction(part).map_err(|e| GRAMMAR.wrong(word, e.to_string()));
                let (keys, ops) = (fraction(keys)?, fraction(ops)?);
                if keys <= 0.0 || keys >= 1.0 {
                    let reason = "the fraction of hot keys must be above 0 and below 1";
                    return Err(GRAMMAR.wrong(word, reason));
                }
                Ok(Self::Hotspot { keys, ops })
            }
            "walk" => Walk::parse(word, arguments).map(Self::Walk),
            _ => Err(GRAMMAR.unknown(word, name)),
        }
    }
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}"),
            Self::Sequential => f.write_str("sequential"),
            Self::Hotspot { keys, ops } => write!(f, "hotspot:{keys},{ops}"),
            Self::Walk(walk) => walk.fmt(f),
            Self::Sample(_) => f.write_str("sample"),
            Self::Onward(first, _) => write!(f, "onward:{first}"),
        }
    }
}

/// Draws key ids by a popularity.
#[derive(Clone, Debug)]
pub struct KeyPicker {
    draw: Draw,
    keys: u64,
    seed: u64,
    stride: u64,
    walkers: u64,
}

/// A popularity with its constants computed.
#[derive(Clone, Debug)]
enum Draw {
    Even(Draws),
    EvenOf { part: KeyPart, draws: Draws, len: u64 },
    NextOf { part: KeyPart, first: u64, len: u64 },
    Zipf(Zipf<f64>),
    Next,
    Hotspot { hot: u64, ops: f64 },
    Walk(Box<Walker>),
}

impl KeyPicker {
    /// A picker among ids `0..keys`, with one key per operation. There must be at least one key,
    /// and the popularity's parameters must be in the range that its word allows.
    pub fn new(popularity: Popularity, keys: u64, seed: u64) -> Self {
        assert!(keys > 0, "a popularity needs at least one key");
        let draw = match popularity {
            Popularity::Uniform => Draw::Even(Draws::new(seed, Stream::KEY)),
            Popularity::Sample(part) => {
                Draw::EvenOf { part, draws: Draws::new(seed, Stream::SAMPLE), len: part.len(keys) }
            }
            Popularity::Sequential => Draw::Next,
            Popularity::Onward(first, part) => Draw::NextOf { part, first, len: part.len(keys) },
            Popularity::Zipf(exponent) => {
                // Near 1 the general form loses all its digits to cancellation; 1 has a form of its
                // own.
                let exponent = if (exponent - 1.0).abs() < 1e-9 { 1.0 } else { exponent };
                let zipf = Zipf::new(keys as f64, exponent);
                Draw::Zipf(zipf.expect("the exponent is at least 0 and there are keys"))
            }
            Popularity::Hotspot { keys: fraction, ops } => {
                let hot = ((keys as f64 * fraction).round() as u64).clamp(1, keys);
                Draw::Hotspot { hot, ops }
            }
            Popularity::Walk(walk) => Draw::Walk(Box::new(Walker::new(&walk, keys, seed))),
        };
        Self { draw, keys, seed, stride: 1, walkers: 1 }
    }

    /// This picker with `walkers` walkers (at least 1); only a walk uses them.
    pub fn with_walkers(mut self, walkers: u32) -> Self {
        self.walkers = u64::from(walkers.max(1));
        self
    }

    /// This picker for operations of up to `keys_per_op` keys (at least 1), so that no two
    /// operations share a draw.
    pub fn with_stride(mut self, keys_per_op: u16) -> Self {
        self.stride = u64::from(keys_per_op.max(1));
        self
    }

    /// The id of the `nth` key of operation `index`; `nth` is less than the keys per operation.
    #[inline]
    pub fn pick(&self, index: u64, nth: u16) -> u64 {
        let number = index.wrapping_mul(self.stride).wrapping_add(u64::from(nth));
        match &self.draw {
            Draw::Even(draws) => below(draws.bits(number), self.keys),
            Draw::Next => number % self.keys,
            Draw::Zipf(zipf) => self.pick_zipf(zipf, number),
            Draw::Hotspot { hot, ops } => {
                let mut random = Random::at(self.seed, Stream::KEY, number);
                if random.unit() < *ops || *hot == self.keys {
                    random.below(*hot)
                } else {
                    hot + random.below(self.keys - hot)
                }
            }
            Draw::Walk(_) => self.pick_walking(index, nth),
            Draw::EvenOf { .. } | Draw::NextOf { .. } => self.pick_of_part(number),
        }
    }

    /// A separate function, so that the other popularities do not pay for its registers.
    #[inline(never)]
    fn pick_zipf(&self, zipf: &Zipf<f64>, number: u64) -> u64 {
        let mut bits = Bits(Random::at(self.seed, Stream::KEY, number));
        let rank = zipf.sample(&mut bits) as u64;
        // Rounding can return one rank beyond the last.
        rank.clamp(1, self.keys) - 1
    }

    /// A separate function for the reason given at `pick_zipf`.
    #[inline(never)]
    fn pick_of_part(&self, number: u64) -> u64 {
        match &self.draw {
            Draw::EvenOf { part, draws, len } => part.id(below(draws.bits(number), *len)),
            Draw::NextOf { part, first, len } => part.id(number.wrapping_add(*first) % *len),
            _ => unreachable!("only parts are asked for here"),
        }
    }

    /// A separate function for the reason given at `pick_zipf`.
    #[inline(never)]
    fn pick_walking(&self, index: u64, nth: u16) -> u64 {
        let Draw::Walk(walk) = &self.draw else { unreachable!("only walks are asked for here") };
        let (walker, step) = (index % self.walkers, index / self.walkers);
        if nth == 0 {
            return walk.step(walker, step);
        }
        let number = index.wrapping_mul(self.stride).wrapping_add(u64::from(nth));
        walk.any(walker, step, hash(self.seed, Stream::KEY, number))
    }
}

/// Our generator behind the trait that the sampler requires.
struct Bits(Random);

impl TryRng for Bits {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0.bits() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.bits())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.0.bits().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
