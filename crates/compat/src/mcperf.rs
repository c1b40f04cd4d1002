//! Chooses one of three programs called `mcperf`: by a word that the user chose, by the folder or
//! the target of a link, or by the command line itself. Opens no link.

use crate::{mutilate, twemperf};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// One of the three programs called `mcperf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mcperf {
    /// memcache-perf, 0.3.
    Perf,
    /// memcache-perf-dynamic.
    Dynamic,
    /// twemperf, Twitter's.
    Twemperf,
}

impl Mcperf {
    /// All three, with the words that choose them.
    const WORDS: [(&str, Self); 3] =
        [("dynamic", Self::Dynamic), ("0.3", Self::Perf), ("twemperf", Self::Twemperf)];

    /// The program whose sources are distributed in a folder of this name.
    pub fn of_folder(name: &str) -> Option<Self> {
        match name {
            "memcache-perf" => Some(Self::Perf),
            "memcache-perf-dynamic" => Some(Self::Dynamic),
            "twemperf" => Some(Self::Twemperf),
            _ => None,
        }
    }

    /// The program that a link of this name selects, if the name is unambiguous.
    pub fn of_link(name: &str) -> Option<Self> {
        [Self::Perf, Self::Dynamic, Self::Twemperf].into_iter().find(|which| which.link() == name)
    }

    /// The unambiguous name of a link to this program.
    pub fn link(self) -> &'static str {
        match self {
            Self::Perf => "mcperf-0.3",
            Self::Dynamic => "mcperf-dynamic",
            Self::Twemperf => "twemperf",
        }
    }

    /// The program that reads `argv` best, which is without the program's name.
    ///
    /// The first option that only one of memcache-perf and twemperf has decides. If both have all
    /// options, the one with fewer misfits does: values that an option does not accept, and words
    /// that belong to no option. If these are equal, too, it is twemperf if there is a `-p` without
    /// an agent, because the port of agents is useless without one; otherwise memcache-perf, in its
    /// dynamic variant if only that one has one of the options.
    pub fn of_words(argv: &[String]) -> Self {
        let (perf, twemperf) = (mutilate::reading(argv), twemperf::reading(argv));
        // A command line that is read to its end is read farther than any word.
        let [perf_end, twemperf_end] =
            [&perf, &twemperf].map(|reading| reading.unknown_at.unwrap_or(usize::MAX));
        let is_twemperf = match twemperf_end.cmp(&perf_end) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => match twemperf.misfits.cmp(&perf.misfits) {
                Ordering::Less => true,
                Ordering::Equal => perf.has_idle_port,
                Ordering::Greater => false,
            },
        };
        match mutilate::face_for(mutilate::Face::Mcperf, argv) {
            _ if is_twemperf => Self::Twemperf,
            mutilate::Face::McperfDynamic => Self::Dynamic,
            mutilate::Face::Mcperf | mutilate::Face::Mutilate => Self::Perf,
        }
    }
}

impl FromStr for Mcperf {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::WORDS.into_iter().find(|(known, _)| *known == word);
        found
            .map(|(_, which)| which)
            .ok_or_else(|| format!("'{word}' is no mcperf; it must be dynamic, 0.3 or twemperf"))
    }
}

impl fmt::Display for Mcperf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::WORDS.into_iter().find(|(_, which)| which == self);
        f.pad(word.map_or("", |(word, _)| word))
    }
}

#[cfg(test)]
mod tests;
