//! Command lines as glibc's getopt_long reads them: clusters, abbreviations, permutation, and the
//! words of its complaints.
//!
//! Table-driven, and knows no program's options. Prints nothing, and does not go on where the
//! caller stops.

use crate::number;
use std::fmt;

/// What may follow an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing.
    None,
    /// One word, joined or the next.
    Required,
    /// One word, only when joined.
    Optional,
    /// One word, joined or the next, if it is a whole number not below 0; otherwise nothing.
    /// Not in getopt: it tells apart two programs' options of the same letter.
    Integer,
}

/// One option, as a row of C's `struct option` together with its letter.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name behind `--`; empty when there is only a letter.
    pub long: &'static str,
    /// The letter behind `-`.
    pub short: Option<char>,
    /// What may follow.
    pub argument: Argument,
    /// What getopt_long would return. Two long names that share the value and the kind of
    /// argument are one option to getopt: an abbreviation of both is not ambiguous, and means the
    /// first.
    pub value: u32,
    /// Whether an abbreviation is looked for among all other options first, so that an option
    /// which was added later makes no older abbreviation ambiguous.
    pub yields: bool,
}

/// One option that was found, and its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// Its place in the table.
    pub index: usize,
    /// Its argument, where it has one.
    pub argument: Option<&'a str>,
}

/// What is wrong with a word; it prints as glibc prints it, without the program's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No option has the name.
    Unrecognized(String),
    /// Several options begin so.
    Ambiguous(String, Vec<&'static str>),
    /// An argument was joined to an option that takes none.
    DoesNotAllow(&'static str),
    /// The argument is missing.
    Requires(&'static str),
    /// No option has the letter.
    Invalid(char),
    /// The argument behind the letter is missing.
    ShortRequires(char),
}

impl Fault {
    /// Whether it is an option that is not known, and not an argument that is missing.
    pub(crate) fn is_unknown(&self) -> bool {
        !matches!(self, Self::Requires(_) | Self::ShortRequires(_))
    }
}

/// How well a program can read a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Where the first option stands that it does not have.
    pub(crate) unknown_at: Option<usize>,
    /// Arguments that are missing or that their options do not take, and words that belong to no
    /// option.
    pub(crate) misfits: usize,
    /// A port for agents is given, and no agent.
    pub(crate) has_idle_port: bool,
}

/// The options of a command line, in order. Words that are no options are passed over wherever
/// they stand; `--` ends the options.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    entries: &'a [Entry],
    /// Without the program's name.
    argv: &'a [String],
    next: usize,
    /// Where the word of the last option stands.
    at: usize,
    /// Words so far that are neither options nor their arguments.
    strays: usize,
    /// What is left of a word of letters.
    cluster: &'a str,
}

impl<'a> Words<'a> {
    /// The options among `argv`, which does not begin with the program's name.
    pub fn new(entries: &'a [Entry], argv: &'a [String]) -> Self {
        Self { entries, argv, next: 0, at: 0, strays: 0, cluster: "" }
    }

    /// The place of the word in which the last option was found, or was found wrong.
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many words so far are neither options nor their arguments.
    pub fn strays(&self) -> usize {
        self.strays
    }

    fn word(&mut self) -> Option<&'a str> {
        let word = self.argv.get(self.next)?;
        self.next += 1;
        Some(word)
    }

    fn letter(&mut self) -> Result<Found<'a>, Fault> {
        let letter = self.cluster.chars().next().expect("a cluster holds a letter");
        self.cluster = &self.cluster[letter.len_utf8()..];
        let named = |entry: &Entry| entry.short == Some(letter);
        let Some(index) = self.entries.iter().position(named) else {
            return Err(Fault::Invalid(letter));
        };
        let joined = Some(self.cluster).filter(|rest| !rest.is_empty());
        let argument = match self.entries[index].argument {
            Argument::None => None,
            Argument::Optional => {
                self.cluster = "";
                joined
            }
            Argument::Required => {
                self.cluster = "";
                let argument = joined.or_else(|| self.word());
                Some(argument.ok_or(Fault::ShortRequires(letter))?)
            }
            Argument::Integer => match joined {
                Some(rest) if is_integer(rest) => {
                    self.cluster = "";
                    joined
                }
                Some(_) => None,
                None => self.integer(),
            },
        };
        Ok(Found { index, argument })
    }

    /// The next word, if it is a whole number.
    fn integer(&mut self) -> Option<&'a str> {
        let next = self.argv.get(self.next).filter(|word| is_integer(word))?;
        self.next += 1;
        Some(next)
    }

    /// `rest` is what stands behind `--`.
    fn long(&mut self, rest: &'a str) -> Result<Found<'a>, Fault> {
        let (name, joined) = match rest.split_once('=') {
            Some((name, joined)) => (name, Some(joined)),
            None => (rest, None),
        };
        let index = self.named(name, rest)?;
        let entry = &self.entries[index];
        let argument = match (entry.argument, joined) {
            (Argument::None, Some(_)) => return Err(Fault::DoesNotAllow(entry.long)),
            (Argument::None, None) => None,
            (_, Some(_)) => joined,
            (Argument::Optional, None) => None,
            (Argument::Required, None) => Some(self.word().ok_or(Fault::Requires(entry.long))?),
            (Argument::Integer, None) => self.integer(),
        };
        Ok(Found { index, argument })
    }

    /// The option that `name` names or abbreviates.
    fn named(&self, name: &str, rest: &str) -> Result<usize, Fault> {
        let long = || self.entries.iter().enumerate().filter(|(_, entry)| !entry.long.is_empty());
        if let Some((exact, _)) = long().find(|(_, entry)| entry.long == name) {
            return Ok(exact);
        }
        for yields in [false, true] {
            let begins = |entry: &Entry| entry.yields == yields && entry.long.starts_with(name);
            let found: Vec<(usize, &Entry)> = long().filter(|(_, entry)| begins(entry)).collect();
            let Some((first, entry)) = found.first() else { continue };
            let same =
                |other: &Entry| (other.argument, other.value) == (entry.argument, entry.value);
            if found.iter().all(|(_, other)| same(other)) {
                return Ok(*first);
            }
            // glibc lists the first match, and of the others those which differ from it.
            let listed = found.iter().filter(|(index, other)| index == first || !same(other));
            return Err(Fault::Ambiguous(
                rest.to_owned(),
                listed.map(|(_, entry)| entry.long).collect(),
            ));
        }
        Err(Fault::Unrecognized(rest.to_owned()))
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Result<Found<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.cluster.is_empty() {
            return Some(self.letter());
        }
        loop {
            self.at = self.next;
            let word = self.word()?;
            if word == "--" {
                self.strays += self.argv.len() - self.next;
                self.next = self.argv.len();
            } else if let Some(rest) = word.strip_prefix("--") {
                return Some(self.long(rest));
            } else if let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                self.cluster = rest;
                return Some(self.letter());
            } else {
                self.strays += 1;
            }
        }
    }
}

fn is_integer(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit()) && number::integer(word).is_some()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unrecognized(word) => write!(f, "unrecognized option '--{word}'"),
            Self::Ambiguous(word, names) => {
                write!(f, "option '--{word}' is ambiguous; possibilities:")?;
                names.iter().try_for_each(|name| write!(f, " '--{name}'"))
            }
            Self::DoesNotAllow(name) => write!(f, "option '--{name}' doesn't allow an argument"),
            Self::Requires(name) => write!(f, "option '--{name}' requires an argument"),
            Self::Invalid(letter) => write!(f, "invalid option -- '{letter}'"),
            Self::ShortRequires(letter) => {
                write!(f, "option requires an argument -- '{letter}'")
            }
        }
    }
}

#[cfg(test)]
mod tests;
