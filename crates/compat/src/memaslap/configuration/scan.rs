//! The lines and sections of a configuration file, read by their intended meaning or as memaslap
//! reads them. Judges no number.

use super::Range;
use crate::number;
use std::fmt;

/// The rules by which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Every section is read, and `1.0` is a type.
    Meant,
    /// memaslap's rules: the line that ends a section of commands begins no section, and a type
    /// ends at its dot.
    Theirs,
}

/// The contents of a file, in its order.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) keys: Vec<Range>,
    pub(super) values: Vec<Range>,
    /// Types and shares of commands.
    pub(super) commands: Vec<(i64, f64)>,
    /// True if a type was written with a fraction of zeros.
    pub(super) has_decimal_type: bool,
    /// True if the head of another section ended a section of commands.
    pub(super) has_section_after_cmd: bool,
    /// Lines with text where a number must be.
    pub(super) misread: Vec<Misread>,
}

/// A line of a section with text where a number must be.
#[derive(Debug)]
pub(super) struct Misread {
    /// The number of the line, from 1.
    number: usize,
    line: String,
    /// The text directly behind a number; `None` if the line is no data, which ends the section.
    behind: Option<String>,
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} ('{}')", self.number, short(&self.line))?;
        match &self.behind {
            Some(text) => write!(f, ": '{}' behind the number does not count", short(text)),
            None => f.write_str(
                " has text where a number must be and ends its section: lines up to the next \
                 section do not count",
            ),
        }
    }
}

/// The beginning of a text, in letters that can be printed.
fn short(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    text.trim().chars().take(CHARS_MAX).flat_map(char::escape_debug).collect()
}

impl Found {
    /// The shares of sets and gets by their types: 0 and 1.
    pub(super) fn shares_by_type(&self) -> (f64, f64) {
        let shares = [SET, GET].map(|wanted| {
            let rows = self.commands.iter().filter(|(kind, _)| *kind == wanted);
            // The sum of no numbers is -0.0, which would be printed as such.
            rows.map(|(_, share)| share).sum::<f64>() + 0.0
        });
        shares.into()
    }

    /// The shares of sets and gets as memaslap reads them: those of the first line and of the
    /// second.
    pub(super) fn shares_by_order(&self) -> (f64, f64) {
        [0, 1].map(|place| self.commands.get(place).map_or(0.0, |(_, share)| *share)).into()
    }
}

/// The types of commands.
const SET: i64 = 0;
const GET: i64 = 1;
/// Types from here on are ignored.
const KINDS: i64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Keys,
    Values,
    Commands,
}

/// Reads `text`; `None` if it has no line.
pub(super) fn scan(text: &[u8], reading: Reading) -> Option<Found> {
    let lines = text.split_inclusive(|byte| *byte == b'\n').map(line).enumerate();
    let mut lines = lines.filter_map(|(at, line)| Some((at + 1, line?)));
    let mut found = Found::default();
    let mut section = head(&lines.next()?.1);
    for (number, line) in lines {
        let rest = match section {
            Some(Section::Keys) => range(&line, &mut found.keys),
            Some(Section::Values) => range(&line, &mut found.values),
            Some(Section::Commands) => command(&line, reading, &mut found),
            None => None,
        };
        if let Some(rest) = rest {
            let behind = rest.split(number::SPACES).next().unwrap_or_default().to_owned();
            if !behind.is_empty() {
                found.misread.push(Misread { number, line, behind: Some(behind) });
            }
            continue;
        }
        let next = head(&line);
        if section.is_some() && next.is_none() {
            found.misread.push(Misread { number, line, behind: None });
        }
        let ends_commands = section == Some(Section::Commands);
        found.has_section_after_cmd |= ends_commands && next.is_some();
        section = next.filter(|_| !ends_commands || reading == Reading::Meant);
    }
    Some(found)
}

/// The text of a line that is neither blank nor a comment. A zero byte ends it, as in C.
fn line(line: &[u8]) -> Option<String> {
    let line = line.split(|byte| *byte == 0).next().unwrap_or(line);
    let line = String::from_utf8_lossy(line);
    let said = line.trim_start_matches(number::SPACES);
    let is_blank = said.is_empty() || said.starts_with('#');
    // memaslap ignores a last line of one byte without a line end.
    (!is_blank && line.len() > 1).then(|| line.into_owned())
}

/// The section that a line begins; text behind the name belongs to it.
fn head(line: &str) -> Option<Section> {
    let heads = [("key", Section::Keys), ("value", Section::Values), ("cmd", Section::Commands)];
    heads.into_iter().find(|(name, _)| line.starts_with(name)).map(|(_, section)| section)
}

/// Reads two lengths and a share into `ranges`; returns what follows, if the line has this form.
fn range<'a>(line: &'a str, ranges: &mut Vec<Range>) -> Option<&'a str> {
    let (first, rest) = integer(line)?;
    let (second, rest) = integer(rest)?;
    let (share, rest) = decimal(rest)?;
    // C converts a negative number to a huge one.
    let [first, second] =
        [first, second].map(|length| u64::try_from(length).unwrap_or(u64::MAX >> 1));
    ranges.push(Range { least: first.min(second), most: first.max(second), share });
    Some(rest)
}

/// Reads a type and its share; returns what follows, if the line has this form.
fn command<'a>(line: &'a str, reading: Reading, found: &mut Found) -> Option<&'a str> {
    let (kind, mut rest) = integer(line)?;
    if let Some(fraction) = rest.strip_prefix('.') {
        let behind = fraction.trim_start_matches('0');
        let is_whole = behind.starts_with(number::SPACES) && decimal(behind).is_some();
        found.has_decimal_type |= is_whole;
        if is_whole && reading == Reading::Meant {
            rest = behind;
        }
    }
    let (share, rest) = decimal(rest)?;
    if kind < KINDS {
        found.commands.push((kind, share));
    }
    Some(rest)
}

fn integer(text: &str) -> Option<(i64, &str)> {
    let (value, rest) = number::strtol(text, 10);
    (rest.len() < text.len()).then_some((value, rest))
}

fn decimal(text: &str) -> Option<(f64, &str)> {
    let (value, rest) = number::strtod(text);
    (rest.len() < text.len()).then_some((value, rest))
}
