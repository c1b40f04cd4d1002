//! What is known of each server: our counts of it, and its own.
//!
//! A server's own figures are kept as it gave them; their meaning is the server's business.

use super::count::Totals;
use super::distribution::Distribution;
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
    /// Counts.
    pub totals: Totals,
    /// Received − intended, all operations.
    pub response: Distribution,
    /// Connections that were lost in the whole run, and those that came back; absent where none
    /// were lost.
    #[serde(default, skip_serializing_if = "Returns::is_zero")]
    pub returns: Returns,
    /// When a worker had no connection to it that had had one, in order and without overlap;
    /// absent where that never was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub away: Vec<Away>,
}

/// What became of the connections to a server that were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// Connections that were lost.
    pub lost: u64,
    /// Those of them that were there again before the end.
    pub returned: u64,
    /// The time from loss to return, summed over those.
    pub away_ns: u64,
    /// The longest of these times.
    pub away_ns_max: u64,
}

impl Returns {
    /// Whether no connection was lost.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// A stretch in which a server was away, at least for one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Away {
    /// When the last connection was lost, in milliseconds since 1970.
    pub from_unix_ms: u64,
    /// When there was one again; none if that did not come.
    pub until_unix_ms: Option<u64>,
}

impl Away {
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
