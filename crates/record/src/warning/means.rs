//! What the settings of a run allow of what its warnings could advise, by the scenario's own rules:
//! a remedy names no flag that the run would refuse, or that it does not listen to.

use crate::record::{LoopKind, Record};
use memtide_scenario::{Change, given_fields};

/// Flags that remedies may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// What makes the run longer.
    pub(super) longer: &'static str,
    /// What sets the rate; none in a closed loop.
    pub(super) rate: Option<&'static str>,
    /// What sets the number of connections.
    pub(super) connections: &'static str,
    /// True if each connection that was closed keeps its port for a while, and need not.
    pub(super) may_reset: bool,
    /// True if the servers are filled before the load anyway.
    pub(super) fills_always: bool,
}

/// What joins a lower or higher rate to the remedy before it.
const LINKS: [&str; 4] = [", or use ", ", or ", " or at ", " and "];
/// Parts of remedies that not every run can follow.
const LONGER_RUN: &str = "(--duration)";
const RESET: &str = "reset connections with --linger 0, ";
const FILL: &str = "fill the servers with --load always";

impl Means {
    /// `remedy` as it fits the run: without the flags that the run refuses, and with those that it
    /// has in their place.
    pub(super) fn fit(&self, remedy: &str) -> String {
        let remedy = ["lower", "higher"]
            .into_iter()
            .fold(remedy.to_owned(), |remedy, how| self.fit_rate(&remedy, how));
        let mut remedy = remedy
            .replace("--connections", self.connections)
            .replace(LONGER_RUN, &format!("({})", self.longer));
        if !self.may_reset {
            remedy = remedy.replace(RESET, "");
        }
        if self.fills_always {
            remedy = remedy.replace(FILL, "find out why the servers lost keys");
        }
        remedy
    }

    /// `remedy` with a rate that is `how`, as far as the run has one.
    fn fit_rate(&self, remedy: &str, how: &str) -> String {
        let usual = format!("a {how} --rate");
        match self.rate {
            Some("--wave") => remedy.replace(&usual, &format!("{how} rates in --wave")),
            Some(flag) => remedy.replace(&usual, &format!("a {how} {flag}")),
            None => LINKS.iter().fold(remedy.to_owned(), |remedy, link| {
                remedy.replace(&format!("{link}{usual}"), "")
            }),
        }
    }
}

/// Those of a run about which nothing is known.
impl Default for Means {
    fn default() -> Self {
        Self {
            longer: "--duration",
            rate: Some("--rate"),
            connections: "--connections",
            may_reset: true,
            fills_always: false,
        }
    }
}

/// Fields that make a run longer, the likeliest first, with a word that asks the rules.
const LONGER: [(&str, &str, &str); 4] = [
    ("at-most", "1h", "--at-most"),
    ("ops-max", "1G", "--ops-max"),
    ("connections-total", "1M", "--connections-total"),
    ("duration", "1h", "--duration"),
];
/// Fields that set the rate.
const RATES: [(&str, &str, &str); 3] = [
    ("wave", "step:1,2@1s", "--wave"),
    ("connection-rate", "1", "--connection-rate"),
    ("rate", "1", "--rate"),
];

impl Means {
    /// Those of the run with this record.
    pub fn of(record: &Record) -> Self {
        let given = given_fields(&record.scenario);
        let word = |field: &str| {
            given.iter().find(|(name, _)| *name == field).map(|(_, word)| word.as_str())
        };
        let is_allowed = |field: &'static str, probe: &str| {
            Change::set(field, probe).advised(&record.scenario).is_some()
        };
        // A run has what it was given; the last field is what others have by default.
        let choice = |fields: &[(&'static str, &'static str, &'static str)]| {
            let own = fields.iter().find(|(name, ..)| word(name).is_some());
            let other = || fields.iter().rev().find(|(name, probe, _)| is_allowed(name, probe));
            own.or_else(other).map(|(_, _, flag)| *flag)
        };
        let is_paced = record.loop_kind == LoopKind::Open;
        let churn = record.plan.churn.as_ref();
        let usual = Self::default();
        Self {
            longer: match word("precision") {
                Some(_) => "--at-most",
                None => choice(&LONGER).unwrap_or(usual.longer),
            },
            rate: choice(&RATES).filter(|_| is_paced),
            connections: match word("clients") {
                Some(_) => "--clients",
                None => usual.connections,
            },
            may_reset: churn.is_some_and(|churn| churn.linger_s != Some(0.0)),
            fills_always: word("load") == Some("always"),
        }
    }
}
