//! What a face says at one instant, on both streams, and the line that all of them can add.
//! Writes to no stream itself.

use memtide_schema::Kind;
use memtide_schema::record::{Distribution, Record, Verdict};
use std::collections::BTreeMap;

/// Text for both streams, in whole lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// What scripts parse.
    pub stdout: String,
    /// What the original says there, and no more: drivers take any other line for a failure.
    pub stderr: String,
    /// What no original says: for stderr, where it is wanted.
    pub notes: String,
}

/// What no original says of a run, in one line: times from the intended instant, and how far they
/// can be believed.
pub(crate) fn beside(record: &Record) -> String {
    let pair = |times: Option<&Distribution>| {
        let us = |ns: Option<u64>| {
            ns.map_or_else(|| "–".to_owned(), |ns| format!("{:.1}", ns as f64 / 1e3))
        };
        times.map_or_else(
            || "– / –".to_owned(),
            |times| format!("{} / {}", us(times.p50_ns), us(times.p99_ns)),
        )
    };
    let of = |kinds: &BTreeMap<Kind, Distribution>| pair(kinds.get(&Kind::All));
    let believable = match (record.believable.verdict, record.believable.reasons.first()) {
        (Verdict::Yes, _) => "yes".to_owned(),
        (Verdict::No, None) => "no".to_owned(),
        (Verdict::No, Some(reason)) => format!("no, {}", reason.message),
    };
    format!(
        "memtide: p50 / p99 in us: response {}, service {}, lag {}; believable: {believable}\n",
        of(&record.response),
        of(&record.service),
        of(&record.lag)
    )
}
