//! What is known of each server: our counts of it, and its own.
//!
//! A server's own figures are kept as it gave them; their meaning is the server's business.

use super::count::{ConnectionCounts, DatagramCounts, Totals};
use super::distribution::Distribution;
use super::verification::VerificationCounts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One server as we saw it, over the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerRecord {
    /// Its name, as it was given.
    pub name: String,
    /// The address that was used; none when none answered.
    pub address: Option<String>,
    /// Connections to it.
    pub connections: u32,
    /// Answered operations per second.
    pub rate_per_s: f64,
    /// Counts. Those of all servers add up to the record's.
    pub totals: ServerTotals,
    /// Received − intended, all operations.
    pub response: Distribution,
    /// Connections that were lost in the whole run, and those that came back; absent where none
    /// were lost.
    #[serde(default, skip_serializing_if = "Reconnects::is_zero")]
    pub reconnects: Reconnects,
    /// When a worker had no connection to it that had had one, in order and without overlap;
    /// absent where that never was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
}

/// What became of the operations that a server was chosen for, each member as in [`Totals`]. What
/// finds no connection was due at no server in particular: where there was such an operation, its
/// counts are none here, because they cannot be told apart by server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerTotals {
    /// Operations the schedule wanted; none when some of all were sent to no server.
    pub intended: Option<u64>,
    /// Operations of which some byte was sent.
    pub sent: u64,
    /// Answered, and not with an error.
    pub answered: u64,
    /// Answered with an error.
    pub failed: u64,
    /// Without a complete answer at the deadline; none when some of all were sent to no server.
    pub timed_out: Option<u64>,
    /// Those of `timed_out` that were never sent; none when some of all were sent to no server.
    pub timed_out_queued: Option<u64>,
    /// Carried by a connection that was lost; none when some of all found every server gone.
    pub lost: Option<u64>,
    /// Not sent because every connection was full; none when there were any.
    pub dropped: Option<u64>,
    /// Those of `dropped` that the end of the window left unsent; none when there were any.
    #[serde(default)]
    pub dropped_at_end: Option<u64>,
    /// Sent without asking for an answer.
    pub unacknowledged: u64,
    /// Without an outcome when the run ended early; none when some of all were sent to no server.
    pub abandoned: Option<u64>,
    /// Answers that came after their operation had timed out; discarded.
    pub late_replies: u64,
    /// Keys asked for by get and gets that were sent: what the server counts as `cmd_get`.
    #[serde(default)]
    pub keys_asked: u64,
    /// Keys asked for by answered reads.
    pub keys: u64,
    /// Those of `keys` that were found.
    pub hits: u64,
    /// Those of `keys` that were not found.
    pub misses: u64,
    /// Values that were read.
    #[serde(default)]
    pub values_read: u64,
    /// The bytes of them.
    #[serde(default)]
    pub value_bytes_read: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Errors by what they were.
    pub errors: BTreeMap<String, u64>,
    /// Answers by what they said.
    pub replies: BTreeMap<String, u64>,
    /// What became of connections.
    pub connections: ConnectionCounts,
    /// What verification found.
    pub verification: VerificationCounts,
    /// Unusual datagrams; absent where there were none.
    #[serde(default, skip_serializing_if = "DatagramCounts::is_zero")]
    pub datagrams: DatagramCounts,
}

impl ServerTotals {
    /// The counts in `totals`, less what cannot be told apart because it is among `elsewhere`:
    /// operations that no server was chosen for.
    pub fn of(totals: Totals, elsewhere: &Totals) -> Self {
        let known = |here: u64, elsewhere: u64| (elsewhere == 0).then_some(here);
        Self {
            intended: known(totals.intended, elsewhere.intended),
            sent: totals.sent,
            answered: totals.answered,
            failed: totals.failed,
            timed_out: known(totals.timed_out, elsewhere.timed_out),
            timed_out_queued: known(totals.timed_out_queued, elsewhere.timed_out_queued),
            lost: known(totals.lost, elsewhere.lost),
            dropped: known(totals.dropped, elsewhere.dropped),
            dropped_at_end: known(totals.dropped_at_end, elsewhere.dropped_at_end),
            unacknowledged: totals.unacknowledged,
            abandoned: known(totals.abandoned, elsewhere.abandoned),
            late_replies: totals.late_replies,
            keys_asked: totals.keys_asked,
            keys: totals.keys,
            hits: totals.hits,
            misses: totals.misses,
            values_read: totals.values_read,
            value_bytes_read: totals.value_bytes_read,
            bytes_sent: totals.bytes_sent,
            bytes_received: totals.bytes_received,
            errors: totals.errors,
            replies: totals.replies,
            connections: totals.connections,
            verification: totals.verification,
            datagrams: totals.datagrams,
        }
    }

    /// The counts, and with a zero for each that is none.
    pub(crate) fn totals(&self) -> Totals {
        let known = |count: Option<u64>| count.unwrap_or(0);
        let of = self.clone();
        Totals {
            intended: known(of.intended),
            sent: of.sent,
            answered: of.answered,
            failed: of.failed,
            timed_out: known(of.timed_out),
            timed_out_queued: known(of.timed_out_queued),
            lost: known(of.lost),
            dropped: known(of.dropped),
            dropped_at_end: known(of.dropped_at_end),
            unacknowledged: of.unacknowledged,
            abandoned: known(of.abandoned),
            late_replies: of.late_replies,
            keys_asked: of.keys_asked,
            keys: of.keys,
            hits: of.hits,
            misses: of.misses,
            values_read: of.values_read,
            value_bytes_read: of.value_bytes_read,
            bytes_sent: of.bytes_sent,
            bytes_received: of.bytes_received,
            errors: of.errors,
            replies: of.replies,
            connections: of.connections,
            verification: of.verification,
            datagrams: of.datagrams,
        }
    }

    /// A one for each count that is none, and zeros: what [`ServerTotals::of`] takes to make them
    /// none again.
    pub(crate) fn unknown(&self) -> Totals {
        let unknown = |count: Option<u64>| u64::from(count.is_none());
        Totals {
            intended: unknown(self.intended),
            timed_out: unknown(self.timed_out),
            timed_out_queued: unknown(self.timed_out_queued),
            lost: unknown(self.lost),
            dropped: unknown(self.dropped),
            dropped_at_end: unknown(self.dropped_at_end),
            abandoned: unknown(self.abandoned),
            ..Totals::default()
        }
    }
}

/// What became of the connections to a server that were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reconnects {
    /// Connections that were lost.
    pub lost: u64,
    /// Those of them that were there again before the end.
    pub reconnected: u64,
    /// The time from loss to return, summed over those.
    pub disconnected_ns: u64,
    /// The longest of these times.
    pub disconnected_ns_max: u64,
}

impl Reconnects {
    /// Whether no connection was lost.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// A stretch in which a server was away, at least for one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    /// When the last connection was lost, in milliseconds since 1970.
    pub from_unix_ms: u64,
    /// When there was one again; none if that did not come.
    pub until_unix_ms: Option<u64>,
}

impl Outage {
    /// The stretches in order; those that touch or overlap are one.
    pub fn united(mut stretches: Vec<Self>) -> Vec<Self> {
        let end = |away: &Self| away.until_unix_ms.unwrap_or(u64::MAX);
        stretches.sort_by_key(|away| (away.from_unix_ms, end(away)));
        let mut united: Vec<Self> = Vec::new();
        for away in stretches {
            match united.last_mut() {
                Some(last) if away.from_unix_ms <= end(last) => {
                    if end(&away) > end(last) {
                        last.until_unix_ms = away.until_unix_ms;
                    }
                }
                _ => united.push(away),
            }
        }
        united
    }
}

/// The servers' own counters (their `stats`), by server and by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCounters {
    /// Before the first operation.
    pub before: BTreeMap<String, BTreeMap<String, Figure>>,
    /// After the last one.
    pub after: BTreeMap<String, BTreeMap<String, Figure>>,
    /// After − before, for what is a number in both.
    pub delta: BTreeMap<String, BTreeMap<String, Figure>>,
}

impl ServerCounters {
    /// The counters with their differences.
    pub fn new(
        before: BTreeMap<String, BTreeMap<String, Figure>>,
        after: BTreeMap<String, BTreeMap<String, Figure>>,
    ) -> Self {
        let differ = |(server, last): (&String, &BTreeMap<String, Figure>)| {
            let first = before.get(server)?;
            let named = |(name, last): (&String, &Figure)| {
                Some((name.clone(), last.minus(first.get(name)?)?))
            };
            Some((server.clone(), last.iter().filter_map(named).collect()))
        };
        let delta = after.iter().filter_map(differ).collect();
        Self { before, after, delta }
    }
}

/// One figure of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Figure {
    /// A whole number.
    Whole(i64),
    /// Another finite number.
    Real(f64),
    /// Anything else, and whole numbers that do not fit.
    Text(String),
}

impl Figure {
    /// The figure that a server's word means: a number when it is written as one.
    pub fn from_word(word: &str) -> Self {
        let decimal = word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            && word.ends_with(|c: char| c.is_ascii_digit());
        if decimal && let Ok(whole) = word.parse() {
            return Self::Whole(whole);
        }
        match word.parse::<f64>() {
            Ok(real) if decimal && word.contains('.') && real.is_finite() => Self::Real(real),
            _ => Self::Text(word.to_owned()),
        }
    }

    /// `self − first`, or none where one of them is no number.
    fn minus(&self, first: &Self) -> Option<Self> {
        match (self, first) {
            (Self::Whole(last), Self::Whole(first)) => last.checked_sub(*first).map(Self::Whole),
            (Self::Text(_), _) | (_, Self::Text(_)) => None,
            (last, first) => Some(Self::Real(last.as_f64()? - first.as_f64()?)),
        }
    }

    /// The number, or none for text.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Whole(whole) => Some(*whole as f64),
            Self::Real(real) => Some(*real),
            Self::Text(_) => None,
        }
    }
}
