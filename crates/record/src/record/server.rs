//! Figures of each server: memtide's counts, and the server's own.
//!
//! A server's own figures are stored as received; their meaning is up to the server.

mod report;
mod silence;

pub use report::ServerReport;
pub use silence::{Rhythm, ServerSilence, SilentTime};

use super::Record;
use super::count::{ConnectionCounts, DatagramCounts, Totals, VerificationCounts, add};
use super::distribution::{Distribution, Lateness};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One server as memtide saw it, over the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerRecord {
    /// Name, as the user wrote it.
    pub name: String,
    /// The address in use; none if no address answered.
    pub address: Option<String>,
    /// Connections to it.
    pub connections: u32,
    /// Answered operations per second.
    pub rate_per_s: f64,
    /// Counts. Over all servers they add up to the record's.
    pub totals: ServerTotals,
    /// Received − intended, all operations.
    pub response: Distribution,
    /// Lateness of memtide's workers towards it; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Lateness>,
    /// Connections lost and restored in the whole run; absent if none was lost.
    #[serde(default, skip_serializing_if = "Reconnects::is_zero")]
    pub reconnects: Reconnects,
    /// Times when a worker that had had a connection to the server had none left, in order and
    /// without overlap; absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// Times in the measured window without a reply from it, while operations were in flight;
    /// absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<ServerSilence>,
}

/// A count of one server, or unknown.
trait OfServer {
    /// The count `here`; unknown if some operations have it `elsewhere`.
    fn of(here: u64, elsewhere: u64) -> Self;
    /// The count, or 0 if unknown.
    fn known(&self) -> u64;
    /// 1 if the count is unknown, else 0.
    fn unknown(&self) -> u64;
}

impl OfServer for u64 {
    fn of(here: u64, _elsewhere: u64) -> Self {
        here
    }

    fn known(&self) -> u64 {
        *self
    }

    fn unknown(&self) -> u64 {
        0
    }
}

impl OfServer for Option<u64> {
    fn of(here: u64, elsewhere: u64) -> Self {
        (elsewhere == 0).then_some(here)
    }

    fn known(&self) -> u64 {
        self.unwrap_or(0)
    }

    fn unknown(&self) -> u64 {
        u64::from(self.is_none())
    }
}

/// Declares one server's part of the counters of operations.
macro_rules! of_server {
    (
        told {
            $(
                $(#[doc = $doc:tt])* $(#[missing = $missing:ident])?
                $counter:ident => $count:ident: $of_server:ty
                $(, second $second:ident $meaning:literal)?;
            )*
        }
        untold $untold:tt
    ) => {
        /// Outcomes of the operations for which the server was chosen; each member as in
        /// [`Totals`]. An operation that finds no connection belongs to no server: if there was
        /// one, the counts it has are none here, because they cannot be divided by server.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        pub struct ServerTotals {
            $(
                $(#[doc = $doc])*
                $(#[serde($missing)])?
                pub $count: $of_server,
            )*
            /// Errors by name.
            pub errors: BTreeMap<String, u64>,
            /// Answers by meaning.
            pub replies: BTreeMap<String, u64>,
            /// Outcomes of connections.
            pub connections: ConnectionCounts,
            /// Results of verification.
            pub verification: VerificationCounts,
            /// Unusual datagrams; absent if there were none.
            #[serde(default, skip_serializing_if = "DatagramCounts::is_zero")]
            pub datagrams: DatagramCounts,
        }

        impl ServerTotals {
            /// The counts in `totals`. Those that also occur in `elsewhere`, the operations for
            /// which no server was chosen, are none.
            pub fn of(totals: Totals, elsewhere: &Totals) -> Self {
                Self {
                    $($count: OfServer::of(totals.$count, elsewhere.$count),)*
                    errors: totals.errors,
                    replies: totals.replies,
                    connections: totals.connections,
                    verification: totals.verification,
                    datagrams: totals.datagrams,
                }
            }

            /// The counts, with zero in place of none.
            pub fn totals(&self) -> Totals {
                let of = self.clone();
                Totals {
                    $($count: of.$count.known(),)*
                    errors: of.errors,
                    replies: of.replies,
                    connections: of.connections,
                    verification: of.verification,
                    datagrams: of.datagrams,
                }
            }

            /// One for each count that is none, zero for the others. [`ServerTotals::of`] turns
            /// these into none again.
            pub fn unknown(&self) -> Totals {
                Totals { $($count: self.$count.unknown(),)* ..Totals::default() }
            }
        }
    };
}

memtide_metrics::counters!(of_server);

/// Counts and times of a server's lost connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Reconnects {
    /// Connections that were lost.
    pub lost: u64,
    /// Lost connections that were restored before the end.
    pub reconnected: u64,
    /// Time from loss to restoration, summed over restored connections.
    pub disconnected_ns: u64,
    /// Longest time from loss to restoration.
    pub disconnected_ns_max: u64,
}

impl Reconnects {
    /// Adds those of other connections, saturating.
    pub fn add(&mut self, part: &Self) {
        add(&mut self.lost, part.lost);
        add(&mut self.reconnected, part.reconnected);
        add(&mut self.disconnected_ns, part.disconnected_ns);
        self.disconnected_ns_max = self.disconnected_ns_max.max(part.disconnected_ns_max);
    }

    /// True if no connection was lost.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// A time in which a server was away, for at least one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Outage {
    /// Loss of the last connection, in milliseconds since 1970.
    pub from_unix_ms: u64,
    /// Next time that a connection was open, in milliseconds since 1970; none if there was none.
    pub until_unix_ms: Option<u64>,
}

impl Outage {
    /// The outages in order; those that touch or overlap are joined.
    pub fn united(mut stretches: Vec<Self>) -> Vec<Self> {
        stretches.sort_by_key(|away| (away.from_unix_ms, away.end_unix_ms()));
        let mut united: Vec<Self> = Vec::new();
        for away in stretches {
            match united.last_mut() {
                Some(last) if away.from_unix_ms <= last.end_unix_ms() => {
                    if away.end_unix_ms() > last.end_unix_ms() {
                        last.until_unix_ms = away.until_unix_ms;
                    }
                }
                _ => united.push(away),
            }
        }
        united
    }

    fn end_unix_ms(&self) -> u64 {
        self.until_unix_ms.unwrap_or(u64::MAX)
    }
}

/// Shortest time without a connection, in ms, after which a server counts as gone; below it, only a
/// connection was lost.
pub const GONE_MS_MIN: u64 = 100;

impl Record {
    /// Names of the servers that were lost for good: gone when the measured window ended. A
    /// connection that is reset just before the end has no time to come back, so that its server
    /// is lost only if it did not answer after the load, either.
    pub fn lost_servers(&self) -> impl Iterator<Item = &str> {
        let start_ns = self.window_start_unix_ns.map_or(0, |start| start.0);
        let end_ms = ((start_ns + u128::from(self.window_ns)) / 1_000_000) as u64;
        let lost = self.servers.iter().filter(move |server| {
            let last = server.outages.last().filter(|away| away.until_unix_ms.is_none());
            let lasted_ms = last.and_then(|away| end_ms.checked_sub(away.from_unix_ms));
            let (before, after) = (&self.server.before, &self.server.after);
            let is_mute = before.contains_key(&server.name) && !after.contains_key(&server.name);
            lasted_ms.is_some_and(|ms| ms >= GONE_MS_MIN || ms > 0 && is_mute)
        });
        lost.map(|server| server.name.as_str())
    }
}

/// The servers' own counters (`stats`), by server and by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerCounters {
    /// Counters before the first operation.
    pub before: BTreeMap<String, BTreeMap<String, Figure>>,
    /// Counters after the last operation.
    pub after: BTreeMap<String, BTreeMap<String, Figure>>,
    /// After − before, for counters that are numbers in both.
    pub delta: BTreeMap<String, BTreeMap<String, Figure>>,
    /// Reports during the load, by server; absent if none was queried then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub during: BTreeMap<String, ServerLoad>,
    /// Counts that the servers should have of this share's operations; absent if the run was not
    /// divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedCounters>,
}

/// A server's reports during the load: the sum of the seconds' `reports`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerLoad {
    /// Sum of the reports.
    #[serde(flatten)]
    pub report: ServerReport,
    /// Reason why a query was not answered; none if all were.
    pub why_unanswered: Option<String>,
}

/// Counts that the servers should have of one process's commands, so that their counters can be
/// judged once all shares are present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExpectedCounters {
    /// Expected counts over all servers, by the name of the server's counter.
    pub counters: BTreeMap<String, ExpectedCounter>,
    /// Connections that the process opened, including those for queries between `before` and
    /// `after`.
    pub connections: u64,
    /// Reason why the counters cannot be compared; absent if they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

/// Expected value of one counter, for one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExpectedCounter {
    /// Count of the process.
    pub ours: u64,
    /// Number by which the servers' count may be lower.
    pub fewer: u64,
    /// True if it counts commands rather than their outcomes.
    pub of_commands: bool,
}

impl ServerCounters {
    /// The counters, with their differences.
    pub fn new(
        before: BTreeMap<String, BTreeMap<String, Figure>>,
        after: BTreeMap<String, BTreeMap<String, Figure>>,
    ) -> Self {
        let delta = after.iter().filter_map(|(server, last)| {
            let first = before.get(server)?;
            let figures = last.iter();
            let delta = figures
                .filter_map(|(name, last)| Some((name.clone(), last.minus(first.get(name)?)?)));
            Some((server.clone(), delta.collect()))
        });
        Self { delta: delta.collect(), before, after, ..Self::default() }
    }
}

/// One value of a server's `stats`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub enum Figure {
    /// A whole number.
    Whole(i64),
    /// Another finite number.
    Real(f64),
    /// Anything else, and whole numbers that do not fit into 64 bits.
    Text(String),
}

impl Figure {
    /// Parses a value of `stats`: a number if it is written as one.
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

    /// `self − first`; none if either is not a number.
    fn minus(&self, first: &Self) -> Option<Self> {
        match (self, first) {
            (Self::Whole(last), Self::Whole(first)) => last.checked_sub(*first).map(Self::Whole),
            (Self::Text(_), _) | (_, Self::Text(_)) => None,
            (last, first) => Some(Self::Real(last.as_f64()? - first.as_f64()?)),
        }
    }

    /// The number; none for text.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Whole(whole) => Some(*whole as f64),
            Self::Real(real) => Some(*real),
            Self::Text(_) => None,
        }
    }
}
