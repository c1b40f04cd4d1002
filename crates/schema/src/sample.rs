//! One measured operation as a row: what a sample file holds.
//!
//! A plain value; it knows no file format.

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
