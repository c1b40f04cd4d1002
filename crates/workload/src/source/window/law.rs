//! The words for windows: their size, and the order in which objects are picked.

use crate::word::{Grammar, WordError, split};
use memtide_base::units::{parse_count, parse_fraction, parse_size};
use std::fmt;
use std::str::FromStr;

/// The object of a window that is read or overwritten next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// Each is equally likely.
    #[default]
    Random,
    /// One after the other, starting over after the last.
    Sequential,
}

const PICKS: Grammar = Grammar {
    what: "an order of a window's objects",
    names: &["random", "sequential"],
    forms: "random or sequential",
};

impl FromStr for Pick {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        PICKS.choice(word, [Self::Random, Self::Sequential])
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(PICKS.names[*self as usize])
    }
}

/// The number of objects in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowLaw {
    /// This many, at least 1.
    Objects(u32),
    /// Enough that a server with a cache of this many bytes misses no read, or one in twenty. The
    /// formulas are from memaslap's manual, "Window size".
    Cache {
        /// The size of the server's cache, in bytes.
        bytes: u64,
        /// True if one read in twenty is to miss; false for none.
        misses: bool,
    },
}

/// The most objects in a window: 4 GiB of memory.
const OBJECTS_MAX: u64 = 1_000_000_000;
/// The share of the cache that windows occupy if no read, or 5 % of the reads, is to miss.
const SHARE_WITHOUT_MISSES: f64 = 0.5;
const SHARE_WITH_MISSES: f64 = 0.7;

const WINDOWS: Grammar = Grammar {
    what: "a window",
    names: &["auto"],
    forms: "a count from 1 to 1G (such as 10k), or auto:CACHE,MISS with the size of the server's \
            cache and a miss rate of 0 or 5% (such as auto:4G,5%)",
};

impl WindowLaw {
    /// The number of objects, at least 1, if `clients` clients (at least 1) use each server and an
    /// object's key and value have `object_bytes` bytes on average.
    pub fn objects(self, clients: u32, object_bytes: f64) -> u32 {
        match self {
            Self::Objects(objects) => objects,
            Self::Cache { bytes, misses } => {
                let share = if misses { SHARE_WITH_MISSES } else { SHARE_WITHOUT_MISSES };
                let objects = bytes as f64 / f64::from(clients) / object_bytes.max(1.0) * share;
                (objects as u64).clamp(1, OBJECTS_MAX) as u32
            }
        }
    }
}

impl FromStr for WindowLaw {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let (name, arguments) = split(word);
        if name == "auto" {
            let [cache, miss] = WINDOWS.arguments(word, arguments)?;
            let bytes =
                parse_size(cache).map_err(|error| WINDOWS.wrong(word, error.to_string()))?;
            if bytes == 0 {
                return Err(WINDOWS.wrong(word, "the cache size is 0"));
            }
            let rate =
                parse_fraction(miss).map_err(|error| WINDOWS.wrong(word, error.to_string()))?;
            if rate != 0.0 && rate != 0.05 {
                let reason = format!("there is no formula for a miss rate of '{miss}'");
                return Err(WINDOWS.wrong(word, reason));
            }
            return Ok(Self::Cache { bytes, misses: rate > 0.0 });
        }
        if arguments.is_some() || !name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(WINDOWS.unknown(word, name));
        }
        match parse_count(name) {
            Ok(objects @ 1..=OBJECTS_MAX) => Ok(Self::Objects(objects as u32)),
            _ => Err(WINDOWS.wrong(word, "it is not a count from 1 to 1G")),
        }
    }
}

impl fmt::Display for WindowLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objects(objects) => write!(f, "{objects}"),
            Self::Cache { bytes, misses } => {
                write!(f, "auto:{bytes},{}", if *misses { "5%" } else { "0" })
            }
        }
    }
}
