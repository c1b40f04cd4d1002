//! The output of a face at one instant, on both streams, its end before any load is made, and the
//! line that every face can add. Writes to no stream itself.

use memtide_record::{Distribution, Percentile, Record};
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// Text for both streams, in whole lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text that scripts parse.
    pub stdout: String,
    /// The original's text there, and nothing else unless requests were refused: drivers of tests
    /// treat any other line as a failure.
    pub stderr: String,
    /// Text that no original prints; for stderr, if the user wants it.
    pub notes: String,
}

/// The output and exit code of a program whose command line already settles everything: help, a
/// version, an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// For stdout, whole lines.
    pub stdout: String,
    /// For stderr, whole lines.
    pub stderr: String,
    /// The exit code that the original gives.
    pub code: u8,
}

impl Stop {
    /// Requested text: on stdout, with exit code 0.
    pub(crate) fn asked(stdout: String) -> Self {
        Self { stdout, stderr: String::new(), code: 0 }
    }

    /// An error: one line on stderr.
    pub fn complaint(line: impl AsRef<str>, code: u8) -> Self {
        Self { stdout: String::new(), stderr: format!("{}\n", line.as_ref()), code }
    }
}

/// A line about a run that no original prints: response times, and how far they can be believed.
pub(crate) fn beside(record: &Record) -> String {
    let believable = match (record.believable.holds(), record.believable.reasons.first()) {
        (true, None) => "yes".to_owned(),
        (true, Some(_)) => "within the bounds given".to_owned(),
        (false, None) => "no".to_owned(),
        (false, Some(reason)) => format!("no, {}", reason.message),
    };
    format!(
        "memtide: p50 / p99 in us: response {}, service {}, lag {}; believable: {believable}\n",
        p50_and_p99(&record.response),
        p50_and_p99(&record.service),
        p50_and_p99(&record.lag)
    )
}

/// The two percentiles of all operations.
fn p50_and_p99(kinds: &BTreeMap<Kind, Distribution>) -> String {
    kinds.get(&Kind::All).map_or_else(
        || "– / –".to_owned(),
        |times| format!("{} / {}", us(times, Percentile::P50), us(times, Percentile::P99)),
    )
}

/// A percentile in microseconds.
fn us(times: &Distribution, percentile: Percentile) -> String {
    match (times.percentile(percentile), times.percentile_at_least(percentile)) {
        (Some(ns), _) => format!("{:.1}", ns as f64 / 1e3),
        (None, Some(at_least_ns)) => format!("> {:.1}", at_least_ns as f64 / 1e3),
        (None, None) => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests;
