//! One measured operation, as a row of a sample file.
//!
//! A plain value; it knows no file format.

mod column;
mod wrong_value;

pub use column::{CellForm, Column};
pub use wrong_value::{WrongValue, WrongValues};

use memtide_base::{Instant, worded};
use memtide_scenario::Kind;

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
        serde_json::json!({
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

#[cfg(test)]
mod tests;
