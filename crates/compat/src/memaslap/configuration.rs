//! The contents of a configuration file: the lengths of keys and values, and the shares of set and
//! get.
//!
//! Any text is a configuration, as with memaslap. Impossible values are refused here; where
//! memaslap misreads a file, a note says so and the intended meaning counts. Opens no file.

mod scan;

use scan::{Found, Reading, scan};
use std::fmt;

/// The shortest and the longest key, in bytes.
const KEY_BYTES: (u64, u64) = (16, 250);
/// The longest value, in bytes.
const VALUE_BYTES_MAX: u64 = 1 << 20;
/// At most this many lines get a note.
const MISREAD_MAX: usize = 5;

/// Lengths and shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The lengths of keys, 16 to 250 bytes; at least one range.
    pub keys: Vec<Range>,
    /// The lengths of values, 1 byte to 1 MiB; at least one range.
    pub values: Vec<Range>,
    /// The share of sets as written; only its proportion to `gets` counts.
    pub sets: f64,
    /// The share of gets. If both are 0, all operations are gets.
    pub gets: f64,
}

/// Lengths between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lower bound in bytes.
    pub least: u64,
    /// The upper bound in bytes, not below the lower one.
    pub most: u64,
    /// The share of objects of these lengths, 0 or more. Shares need not add up to 1.
    pub share: f64,
}

impl Range {
    /// A range with a single length.
    pub(super) const fn fixed(bytes: u64) -> Self {
        Self { least: bytes, most: bytes, share: 1.0 }
    }
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct File {
    /// The contents.
    pub(super) data: Configuration,
    /// What memaslap would have misread.
    pub(super) differences: Vec<&'static str>,
    /// The first lines with text where a number must be, which memaslap reads alike.
    pub(super) misread: Vec<String>,
}

impl Default for Configuration {
    /// The configuration that memaslap writes into a file if there is none.
    fn default() -> Self {
        let (keys, values) = (vec![Range::fixed(64)], vec![Range::fixed(1024)]);
        Self { keys, values, sets: 0.1, gets: 0.9 }
    }
}

/// The error in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ConfigurationError {
    /// The file has only blank lines and comments.
    Empty,
    /// A share is negative or no number.
    Share(f64),
    /// A length of a key or a value is not allowed; the text is memaslap's.
    Length(&'static str),
}

/// The paths of the files that are read without `--cfg_cmd`, of which the first that exists counts:
/// memaslap's own, and the one that its page names. `home` is the user's home directory by the
/// password database.
pub(super) fn default_files(home: &str) -> [String; 2] {
    [".memslap.cnf", ".memaslap.cnf"].map(|name| format!("{}/{name}", home.trim_end_matches('/')))
}

impl Configuration {
    /// Parses `text`, the file's content. Does not check the lengths.
    pub(super) fn read(text: &[u8]) -> Result<File, ConfigurationError> {
        let found = scan(text, Reading::Meant).ok_or(ConfigurationError::Empty)?;
        let (sets, gets) = found.shares_by_type();
        let ranges = found.keys.iter().chain(&found.values);
        let mut shares =
            ranges.map(|range| range.share).chain(found.commands.iter().map(|row| row.1));
        if let Some(share) = shares.find(|share| !share.is_finite() || *share < 0.0) {
            return Err(ConfigurationError::Share(share));
        }
        let differences = differences(text, &found);
        let default = Self::default();
        let keys = if found.keys.is_empty() { default.keys } else { found.keys };
        let values = if found.values.is_empty() { default.values } else { found.values };
        let misread = found.misread.iter().take(MISREAD_MAX).map(ToString::to_string).collect();
        Ok(File { data: Self { keys, values, sets, gets }, differences, misread })
    }

    /// Refuses lengths as memaslap does, in its order.
    pub(super) fn check(&self) -> Result<(), ConfigurationError> {
        let checks: [(bool, &'static str); 4] = [
            (
                ends(&self.keys).any(|bytes| bytes < KEY_BYTES.0),
                "key length must be greater than 16 bytes.",
            ),
            (
                ends(&self.keys).any(|bytes| bytes > KEY_BYTES.1),
                "key length must be less than 250 bytes.",
            ),
            (
                ends(&self.values).any(|bytes| bytes == 0),
                "value length must be greater than 0 bytes.",
            ),
            (
                ends(&self.values).any(|bytes| bytes > VALUE_BYTES_MAX),
                "key length must be less than or equal to 1M.",
            ),
        ];
        let refused = checks.into_iter().find(|(refused, _)| *refused);
        refused.map_or(Ok(()), |(_, message)| Err(ConfigurationError::Length(message)))
    }

    /// The mean length of a key plus that of a value, each in whole bytes, as memaslap computes
    /// them for its column `Net(M/s)`.
    pub(super) fn object_bytes(&self) -> u64 {
        mean(&self.keys).saturating_add(mean(&self.values))
    }
}

/// The shortest and the longest length of each range.
fn ends(ranges: &[Range]) -> impl Iterator<Item = u64> {
    ranges.iter().flat_map(|range| [range.least, range.most])
}

/// The mean length in whole bytes, weighted by the shares as written.
pub(super) fn mean(ranges: &[Range]) -> u64 {
    let parts = ranges.iter().map(|range| range.share * (range.least + range.most) as f64 / 2.0);
    parts.sum::<f64>() as u64
}

/// Notes on what memaslap would have misread in `text`, which means `found`.
fn differences(text: &[u8], found: &Found) -> Vec<&'static str> {
    let theirs = scan(text, Reading::Theirs).unwrap_or_default();
    let mut differences = Vec::new();
    let is_same = theirs.keys == found.keys
        && theirs.values == found.values
        && theirs.shares_by_order() == found.shares_by_type();
    if !is_same {
        if found.shares_by_order() != found.shares_by_type() {
            differences.push("goes by the order of the lines of cmd and not by their types");
        }
        if found.has_decimal_type {
            differences.push("takes the .0 behind a type for the share");
        }
        if found.has_section_after_cmd {
            differences.push("does not see the section behind cmd");
        }
    }
    if found.keys.is_empty() {
        differences.push("cannot do without lengths of keys, where 64 bytes are taken here");
    }
    if found.values.is_empty() {
        differences.push("cannot do without lengths of values, where 1024 bytes are taken here");
    }
    differences
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Bad configuration file, no configuration find."),
            Self::Share(share) => {
                write!(f, "Bad configuration file, a proportion is {share}; write 0 or more.")
            }
            Self::Length(message) => f.write_str(message),
        }
    }
}

#[cfg(test)]
mod tests;
