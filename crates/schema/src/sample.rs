//! One measured operation as a row: what a sample file holds.
//!
//! A plain value; it knows no file format.

mod column;

pub use column::{CellForm, Column};

use crate::kind::Kind;
use memtide_base::Instant;

/// One measured operation. Instants count from the beginning of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When the schedules of the load began; in shares of one run the same instant.
    pub begun: Instant,
    /// The operation's position in the run's sequence, from 0.
    pub index: u64,
    /// Its first key, as it is sent.
    pub key: Vec<u8>,
    /// The length of the value that it sends, in bytes; none if it sends none.
    pub size: Option<u64>,
    /// When the schedule wanted it sent.
    pub intended: Instant,
    /// When it was sent; none when it never was.
    pub sent: Option<Instant>,
    /// When its answer was complete; none when there was none.
    pub received: Option<Instant>,
    /// What kind of operation it was.
    pub kind: Kind,
    /// What came of it.
    pub outcome: SampleOutcome,
    /// Bytes of its answer (of a cas: of the second one); 0 when there was none.
    pub bytes: u64,
    /// The connection that carried it, counted over the whole run; none when none did.
    pub connection: Option<u32>,
}

impl Sample {
    /// The columns of a file of samples. Instants count from when the load began.
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

    /// The sample as a JSON object in one line, with the columns of a sample file. A key that is
    /// not UTF-8 has replacement characters.
    pub fn to_json(&self) -> String {
        let instant = |at: Option<Instant>| at.map(|at| at.since(self.begun).ns());
        serde_json::json!({
            "intended_ns": instant(Some(self.intended)),
            "sent_ns": instant(self.sent),
            "received_ns": instant(self.received),
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

/// What came of one operation. Every intended operation ends in exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleOutcome {
    /// Every key it asked for was there.
    Hit,
    /// Some key it asked for was not there.
    Miss,
    /// Answered, and it was no read: a store, delete, touch or count, done or declined.
    Answered,
    /// The server answered with an error.
    Failed,
    /// No complete answer by its deadline.
    TimedOut,
    /// Its connection was lost before the answer.
    Lost,
    /// Never sent: every connection was full and the scenario said to drop.
    Dropped,
    /// Sent without asking for an answer.
    Unacknowledged,
    /// The run ended before its outcome was known.
    Abandoned,
}

impl SampleOutcome {
    /// The word in a sample file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Lost => "lost",
            Self::Dropped => "dropped",
            Self::Unacknowledged => "unacknowledged",
            Self::Abandoned => "abandoned",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_the_columns_of_a_file_of_samples() {
        let sample = Sample {
            begun: Instant::ZERO,
            index: 0,
            key: b"k".to_vec(),
            size: None,
            intended: Instant::ZERO,
            sent: None,
            received: None,
            kind: Kind::Get,
            outcome: SampleOutcome::Dropped,
            bytes: 0,
            connection: None,
        };
        let object: serde_json::Value = serde_json::from_str(&sample.to_json()).unwrap();
        let names: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, Sample::COLUMNS.map(|column| column.name));
        for (column, cell) in Sample::COLUMNS.iter().zip(object.as_object().unwrap().values()) {
            assert!(column.is_optional || !cell.is_null(), "{}", column.name);
        }
    }
}
