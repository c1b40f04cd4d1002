//! Rows of tables: a measured operation and a wrong value; and the columns of tables, with their
//! types.
//!
//! Plain values; no file format is known here.

use memtide_base::{Instant, worded};
use memtide_scenario::Kind;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// One measured operation. Instants count from the start of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Start of the load's schedules; in shares of one run the same instant.
    pub begun: Instant,
    /// Position of the operation in the run's sequence, from 0.
    pub index: u64,
    /// First key, as it is sent.
    pub key: Vec<u8>,
    /// Length of the value that it sends, in bytes; none if it sends none.
    pub size: Option<u64>,
    /// Instant at which the schedule wanted it sent.
    pub intended: Instant,
    /// Instant of sending; none if it was never sent.
    pub sent: Option<Instant>,
    /// Instant at which its answer was complete; none without an answer.
    pub received: Option<Instant>,
    /// Kind of operation.
    pub kind: Kind,
    /// Outcome.
    pub outcome: SampleOutcome,
    /// Bytes of its answer (for a cas: of the second one); 0 without an answer.
    pub bytes: u64,
    /// Number of its connection, counted over the whole run; none if it had none.
    pub connection: Option<u32>,
}

impl Sample {
    /// The columns of a sample file. Instants count from the beginning of the load.
    pub const COLUMNS: [Column; 10] = [
        Column::always("intended_ns", CellForm::Whole, "when the schedule wanted it sent")
            .in_unit("ns"),
        Column::maybe("sent_ns", CellForm::Whole, "when it was sent").in_unit("ns"),
        Column::maybe("received_ns", CellForm::Whole, "when its answer was complete").in_unit("ns"),
        Column::always("op", CellForm::Word, "the kind of operation"),
        Column::always("outcome", CellForm::Word, "what came of it"),
        Column::always("bytes", CellForm::Whole, "the length of its answer").in_unit("bytes"),
        Column::maybe("connection", CellForm::Whole, "the connection that carried it"),
        Column::always("index", CellForm::Whole, "its position in the run, from 0"),
        Column::always("key", CellForm::Bytes, "its first key"),
        Column::maybe("size", CellForm::Whole, "the length of the value that it sends")
            .in_unit("bytes"),
    ];

    /// The sample as a JSON object on one line, with the columns of a sample file. In a key that is
    /// not UTF-8, invalid bytes are replaced.
    pub fn to_json(&self) -> String {
        let [intended, sent, received] = [Some(self.intended), self.sent, self.received]
            .map(|at| at.map(|at| at.since(self.begun).ns()));
        json!({
            "intended_ns": intended,
            "sent_ns": sent,
            "received_ns": received,
            "op": self.kind,
            "outcome": self.outcome.name(),
            "bytes": self.bytes,
            "connection": self.connection,
            "index": self.index,
            "key": String::from_utf8_lossy(&self.key),
            "size": self.size,
        })
        .to_string()
    }
}

worded! {
    /// Outcome of one operation. Every intended operation has exactly one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum SampleOutcome {
        /// Every requested key was found.
        Hit = "hit",
        /// A requested key was missing.
        Miss = "miss",
        /// Answered, and not a read: a store, delete, touch or count, whether or not it took
        /// effect.
        Answered = "answered",
        /// The server replied with an error.
        Failed = "failed",
        /// No complete answer by its deadline.
        TimedOut = "timed_out",
        /// Its connection was lost before the answer.
        Lost = "lost",
        /// Never sent: every connection was full, and the scenario says to drop.
        Dropped = "dropped",
        /// Sent as a request without a reply.
        Unacknowledged = "unacknowledged",
        /// The run ended before its outcome was known.
        Abandoned = "abandoned",
    }
    /// Name of the outcome in a sample file.
    pub const fn name;
}

/// A value that differs from what was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongValue {
    /// Position of its operation in the run's sequence.
    pub op: u64,
    /// The server that sent it, as the user named it.
    pub server: String,
    /// The requested key. For a value under a key that was not requested: the first requested key.
    pub key: String,
    /// Kind of fault: corrupt, wrong_key, stale or truncated.
    pub class: &'static str,
    /// Oldest version that was allowed; 0 for any.
    pub version_min: u32,
    /// Version that the value claims to be; none if it claims none.
    pub version: Option<u32>,
    /// Offset of the first wrong byte, from 0; the end of a truncated value.
    pub offset: u64,
}

/// Wrong values found during the fill and the run. Bounded: values beyond the limit are only
/// counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrongValues {
    /// The listed values.
    pub listed: Vec<WrongValue>,
    /// Number of further wrong values.
    pub not_listed: u64,
}

impl WrongValue {
    /// The row as a line of JSON, without its line break.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a row has only names as keys")
    }
}

/// A column of a table that an output writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in the heading. The name of a time ends in its unit.
    pub name: Cow<'static, str>,
    /// Type of the cells.
    pub cell: CellForm,
    /// Unit of the numbers; none for counts, positions and words.
    pub unit: Option<&'static str>,
    /// True if a cell can be empty, because the figure does not exist or is unknown.
    pub is_optional: bool,
    /// Meaning of the cells.
    pub meaning: &'static str,
}

/// Type of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellForm {
    /// A whole number, 0 to 2⁶⁴ − 1.
    Whole,
    /// A number with a fraction.
    Fraction,
    /// One of a fixed set of words.
    Word,
    /// Any bytes.
    Bytes,
}

impl Column {
    /// A column whose cells are never empty.
    pub(crate) const fn always(name: &'static str, cell: CellForm, meaning: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), cell, unit: None, is_optional: false, meaning }
    }

    /// A column whose cells can be empty.
    pub(crate) const fn maybe(name: &'static str, cell: CellForm, meaning: &'static str) -> Self {
        let mut column = Self::always(name, cell, meaning);
        column.is_optional = true;
        column
    }

    /// This column with a unit.
    #[must_use]
    pub(crate) const fn in_unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    /// Describes `columns` as a JSON object, by name.
    pub fn description(columns: &[Self]) -> String {
        let each = columns.iter().map(|column| {
            let about = json!({ "unit": column.unit, "meaning": column.meaning });
            (column.name.to_string(), about)
        });
        Value::Object(each.collect::<Map<_, _>>()).to_string()
    }
}

#[cfg(test)]
mod tests;
