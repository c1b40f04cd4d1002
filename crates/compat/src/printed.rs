//! The output of a face at one instant, on both streams, and the line that every face can add.
//! Writes to no stream itself.

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

/// A line about a run that no original prints: response times, and how far they can be believed.
pub(crate) fn beside(record: &Record) -> String {
    let us = |times: &Distribution, percentile| {
        let us = |ns: u64| ns as f64 / 1e3;
        match (times.percentile(percentile), times.percentile_at_least(percentile)) {
            (Some(ns), _) => format!("{:.1}", us(ns)),
            (None, Some(at_least_ns)) => format!("> {:.1}", us(at_least_ns)),
            (None, None) => "–".to_owned(),
        }
    };
    let pair = |times: Option<&Distribution>| {
        times.map_or_else(
            || "– / –".to_owned(),
            |times| format!("{} / {}", us(times, Percentile::P50), us(times, Percentile::P99)),
        )
    };
    let of = |kinds: &BTreeMap<Kind, Distribution>| pair(kinds.get(&Kind::All));
    let believable = match (record.believable.holds(), record.believable.reasons.first()) {
        (true, None) => "yes".to_owned(),
        (true, Some(_)) => "within the bounds given".to_owned(),
        (false, None) => "no".to_owned(),
        (false, Some(reason)) => format!("no, {}", reason.message),
    };
    format!(
        "memtide: p50 / p99 in us: response {}, service {}, lag {}; believable: {believable}\n",
        of(&record.response),
        of(&record.service),
        of(&record.lag)
    )
}

#[cfg(test)]
mod tests;
