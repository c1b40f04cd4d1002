//! Sources of uniform numbers. Does not know which law uses them.

use crate::word::{Grammar, WordError, split};
use memtide_base::rng::{Stream, hash, rand48_draw, unit};
use std::fmt;
use std::str::FromStr;

/// The source of uniform numbers for one purpose, by index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draws {
    /// The seed of the run.
    #[default]
    Seed,
    /// C's `erand48` with this initial state, lowest word first; independent of the seed.
    Rand48([u16; 3]),
}

const GRAMMAR: Grammar = Grammar {
    what: "a source of random numbers",
    names: &["seed", "rand48"],
    forms: "seed, or rand48:LOW,MIDDLE,HIGH (three numbers from 0 to 65535)",
};

impl Draws {
    /// Draw `index`, in [0, 1). `Draws::Seed` uses `seed` and `stream`.
    pub(crate) fn unit(self, seed: u64, stream: Stream, index: u64) -> f64 {
        match self {
            Self::Seed => unit(hash(seed, stream, index)),
            Self::Rand48(words) => rand48_draw(words, index),
        }
    }
}

impl FromStr for Draws {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let (name, arguments) = split(word);
        match name {
            "seed" => GRAMMAR.arguments::<0>(word, arguments).map(|_| Self::Seed),
            "rand48" => {
                let arguments: [&str; 3] = GRAMMAR.arguments(word, arguments)?;
                let mut words = [0; 3];
                for (number, argument) in words.iter_mut().zip(arguments) {
                    *number = argument.parse().map_err(|_| {
                        GRAMMAR.wrong(word, format!("'{argument}' is not from 0 to 65535"))
                    })?;
                }
                Ok(Self::Rand48(words))
            }
            _ => Err(GRAMMAR.unknown(word, name)),
        }
    }
}

impl fmt::Display for Draws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed => f.write_str("seed"),
            Self::Rand48([low, middle, high]) => write!(f, "rand48:{low},{middle},{high}"),
        }
    }
}
