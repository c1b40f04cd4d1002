//! The file of `--save`: a line per operation, in the order of their ends.
//!
//! It formats lines; its caller collects the operations and writes the file.

use memtide_record::sample::{Sample, SampleOutcome};
use memtide_scenario::Kind;

/// The operations in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedOperations {
    /// Reads with a reply, in two columns: the originals' file.
    Reads,
    /// Every operation with a reply, with its kind in a third column.
    All,
}

/// The line of `sample`: the sent instant in seconds since the beginning of the run, the time to
/// the answer in µs, and the kind if all operations are saved. `None` for an operation without a
/// reply, or one that is no read in a file of reads.
pub fn sample_line(sample: &Sample, saved: SavedOperations) -> Option<String> {
    let is_read = matches!(sample.kind, Kind::Get | Kind::Gets | Kind::Gat);
    // An error is a reply, as in the table.
    let is_answered = matches!(
        sample.outcome,
        SampleOutcome::Hit | SampleOutcome::Miss | SampleOutcome::Answered | SampleOutcome::Failed
    );
    let (sent, received) = (sample.sent?, sample.received?);
    let sent_s = sent.ns() as f64 / 1e9;
    let took_us = received.since(sent).ns() as f64 / 1e3;
    match saved {
        _ if !is_answered => None,
        SavedOperations::Reads if !is_read => None,
        SavedOperations::Reads => Some(format!("{sent_s:.6} {took_us:.6}\n")),
        SavedOperations::All => Some(format!("{sent_s:.6} {took_us:.6} {}\n", sample.kind)),
    }
}
