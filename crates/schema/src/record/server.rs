//! What is known of each server: our counts of it, and its own.
//!
//! A server's own figures are kept as it gave them; their meaning is the server's business.

mod report;

pub use report::ServerReport;

use super::count::{ConnectionCounts, DatagramCounts, Totals, VerificationCounts};
use super::distribution::Distribution;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One server as we saw it, over the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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

/// A count of one server, as far as it is known.
trait OfServer {
    /// The count, or that it cannot be told apart because some of all are `elsewhere`.
    fn of(here: u64, elsewhere: u64) -> Self;
    /// The count, 0 where it is none.
    fn known(&self) -> u64;
    /// 1 where it is none, else 0.
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

/// What a record tells of one server's share of the counters of operations.
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
        /// What became of the operations that a server was chosen for, each member as in
        /// [`Totals`]. What finds no connection was due at no server in particular: where there was
        /// such an operation, its counts are none here, because they cannot be told apart by
        /// server.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        pub struct ServerTotals {
            $(
                $(#[doc = $doc])*
                $(#[serde($missing)])?
                pub $count: $of_server,
            )*
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
            /// The counts in `totals`, less what cannot be told apart because it is among
            /// `elsewhere`: operations that no server was chosen for.
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

            /// The counts, and with a zero for each that is none.
            pub(crate) fn totals(&self) -> Totals {
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

            /// A one for each count that is none, and zeros: what [`ServerTotals::of`] takes to
            /// make them none again.
            pub(crate) fn unknown(&self) -> Totals {
                Totals { $($count: self.$count.unknown(),)* ..Totals::default() }
            }
        }
    };
}

memtide_metrics::counters!(of_server);

/// What became of the connections to a server that were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerCounters {
    /// Before the first operation.
    pub before: BTreeMap<String, BTreeMap<String, Figure>>,
    /// After the last one.
    pub after: BTreeMap<String, BTreeMap<String, Figure>>,
    /// After − before, for what is a number in both.
    pub delta: BTreeMap<String, BTreeMap<String, Figure>>,
    /// While the load ran, by server; absent where none was asked then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub during: BTreeMap<String, ServerLoad>,
    /// What the servers should have counted of the shares of a run; absent if the run was not
    /// divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedCounters>,
}

/// What a server said of itself while the load ran: all of what `reports` of the seconds say.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerLoad {
    /// Its figures.
    #[serde(flatten)]
    pub report: ServerReport,
    /// Why it did not answer a question; none if it answered all.
    pub why_unanswered: Option<String>,
}

/// What a process expects that the servers counted of its own commands, so that the counters can
/// be judged when all shares are there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExpectedCounters {
    /// By the name of the server's counter, over all servers.
    pub counters: BTreeMap<String, ExpectedCounter>,
    /// Connections that the process opened, questions between `before` and `after` included.
    pub connections: u64,
    /// Why the counters cannot be compared; absent if they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

/// One counter as a process expects it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExpectedCounter {
    /// What the process counted.
    pub ours: u64,
    /// How many fewer the servers may have counted.
    pub fewer: u64,
    /// Whether it counts commands, rather than how these ended.
    pub of_commands: bool,
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
        Self { before, after, delta, ..Self::default() }
    }
}

/// One figure of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
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
