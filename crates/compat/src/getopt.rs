//! Parses command lines as glibc's getopt_long does: clusters, abbreviations, permutation, and the
//! words of its errors.
//!
//! Table-driven; knows no program's options. Prints nothing, and does not continue once the caller
//! stops.

use crate::number;
use std::fmt;

/// The argument that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing.
    None,
    /// One word, joined or the next.
    Required,
    /// One word, only when joined.
    Optional,
    /// One word, joined or the next, if it is a whole number not below 0; otherwise nothing. getopt
    /// does not have this; it distinguishes options of two programs with the same letter.
    Integer,
}

/// One option, as a row of C's `struct option` together with its letter.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name behind `--`; empty if there is only a letter.
    pub long: &'static str,
    /// The letter behind `-`.
    pub short: Option<char>,
    /// The argument that it takes.
    pub argument: Argument,
    /// The value that getopt_long would return. getopt treats two long names with equal value and
    /// kind of argument as one option: an abbreviation of both is not ambiguous, and means the
    /// first.
    pub value: u32,
    /// True if an abbreviation is first looked up among all other options, so that an option that
    /// was added later makes no older abbreviation ambiguous.
    pub yields: bool,
}

impl Entry {
    /// True if an abbreviation of both names is not ambiguous.
    fn means_as(&self, other: &Self) -> bool {
        (self.argument, self.value) == (other.argument, other.value)
    }
}

/// An option that was found, and its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// Its position in the table.
    pub index: usize,
    /// Its argument, if it has one.
    pub argument: Option<&'a str>,
}

/// The error in a word; it prints as glibc prints it, without the program's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// No option has the name.
    Unrecognized(String),
    /// Several options begin with this name.
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

impl OptionError {
    /// True if an option is unknown; false if an argument is wrong or missing.
    pub(crate) fn is_unknown(&self) -> bool {
        !matches!(self, Self::Requires(_) | Self::ShortRequires(_))
    }
}

/// A measure of how well a program can read a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The position of the first option that the program does not have.
    pub(crate) unknown_at: Option<usize>,
    /// The number of arguments that are missing or that their options do not accept, and of words
    /// that belong to no option.
    pub(crate) misfits: usize,
    /// True if a port for agents is set, and no agent.
    pub(crate) has_idle_port: bool,
}

/// The options of a command line, in order. Words that are no options are skipped wherever they
/// are; `--` ends the options.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    entries: &'a [Entry],
    /// The words without the program's name.
    argv: &'a [String],
    next: usize,
    /// The position of the last option's word.
    at: usize,
    /// The number of words so far that are neither options nor their arguments.
    strays: usize,
    /// The rest of a word of letters.
    cluster: &'a str,
}

impl<'a> Words<'a> {
    /// The options among `argv`, which does not begin with the program's name.
    pub fn new(entries: &'a [Entry], argv: &'a [String]) -> Self {
        Self { entries, argv, next: 0, at: 0, strays: 0, cluster: "" }
    }

    /// Measures how well these options fit the words. `fits` returns false for an option whose
    /// argument it does not accept.
    pub(crate) fn reading(mut self, mut fits: impl FnMut(Found<'a>) -> bool) -> Reading {
        let mut reading = Reading::default();
        while let Some(found) = self.next() {
            let is_fit = match found {
                Ok(found) => fits(found),
                Err(fault) if fault.is_unknown() => {
                    reading.unknown_at = Some(self.at);
                    break;
                }
                Err(_) => false,
            };
            reading.misfits += usize::from(!is_fit);
        }
        reading.misfits += self.strays;
        reading
    }

    fn word(&mut self) -> Option<&'a str> {
        let word = self.argv.get(self.next)?;
        self.next += 1;
        Some(word)
    }

    fn letter(&mut self) -> Result<Found<'a>, OptionError> {
        let letter = self.cluster.chars().next().expect("a cluster holds a letter");
        self.cluster = &self.cluster[letter.len_utf8()..];
        let index = self.entries.iter().position(|entry| entry.short == Some(letter));
        let index = index.ok_or(OptionError::Invalid(letter))?;
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
                Some(argument.ok_or(OptionError::ShortRequires(letter))?)
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

    /// Reads a long option; `rest` is the text behind `--`.
    fn long(&mut self, rest: &'a str) -> Result<Found<'a>, OptionError> {
        let (name, joined) = match rest.split_once('=') {
            Some((name, joined)) => (name, Some(joined)),
            None => (rest, None),
        };
        let index = self.named(name, rest)?;
        let entry = &self.entries[index];
        let argument = match (entry.argument, joined) {
            (Argument::None, Some(_)) => return Err(OptionError::DoesNotAllow(entry.long)),
            (Argument::None, None) => None,
            (_, Some(_)) => joined,
            (Argument::Optional, None) => None,
            (Argument::Required, None) => {
                Some(self.word().ok_or(OptionError::Requires(entry.long))?)
            }
            (Argument::Integer, None) => self.integer(),
        };
        Ok(Found { index, argument })
    }

    /// The position of the option that `name` names or abbreviates.
    fn named(&self, name: &str, rest: &str) -> Result<usize, OptionError> {
        let long = self.entries.iter().enumerate().filter(|(_, entry)| !entry.long.is_empty());
        let beginning = long.filter(|(_, entry)| entry.long.starts_with(name));
        let beginning: Vec<(usize, &Entry)> = beginning.collect();
        if let Some((exact, _)) = beginning.iter().find(|(_, entry)| entry.long == name) {
            return Ok(*exact);
        }
        for yields in [false, true] {
            let found = beginning.iter().filter(|(_, entry)| entry.yields == yields);
            let found: Vec<&(usize, &Entry)> = found.collect();
            let Some((first, entry)) = found.first() else { continue };
            if found.iter().all(|(_, other)| other.means_as(entry)) {
                return Ok(*first);
            }
            // glibc lists the first match, and those others that differ from it.
            let listed =
                found.iter().filter(|(index, other)| index == first || !other.means_as(entry));
            return Err(OptionError::Ambiguous(
                rest.to_owned(),
                listed.map(|(_, entry)| entry.long).collect(),
            ));
        }
        Err(OptionError::Unrecognized(rest.to_owned()))
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Result<Found<'a>, OptionError>;

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

impl fmt::Display for OptionError {
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
