//! What the settings of a run allow of what its warnings could advise, by the scenario's own rules:
//! a remedy names no flag that the run would refuse, or that it does not listen to.

use crate::record::{LoopKind, Record};
use memtide_scenario::{Change, given_fields};
use serde_json::{Map, Value};

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

/// A field that a remedy may change.
struct Choice {
    field: &'static str,
    /// A word for it that asks the rules.
    probe: &'static str,
    flag: &'static str,
}

/// Fields that make a run longer, the likeliest first.
const LONGER: [Choice; 4] = [
    Choice { field: "at-most", probe: "1h", flag: "--at-most" },
    Choice { field: "ops-max", probe: "1G", flag: "--ops-max" },
    Choice { field: "connections-total", probe: "1M", flag: "--connections-total" },
    Choice { field: "duration", probe: "1h", flag: "--duration" },
];
/// Fields that set the rate.
const RATES: [Choice; 3] = [
    Choice { field: "wave", probe: "step:1,2@1s", flag: "--wave" },
    Choice { field: "connection-rate", probe: "1", flag: "--connection-rate" },
    Choice { field: "rate", probe: "1", flag: "--rate" },
];

impl Means {
    /// Those of the run with this record.
    pub fn of(record: &Record) -> Self {
        let words = &record.scenario;
        let settings = Settings { words, given: given_fields(words) };
        let is_paced = record.loop_kind == LoopKind::Open;
        let churn = record.plan.churn.as_ref();
        let usual = Self::default();
        Self {
            longer: match settings.word("precision") {
                Some(_) => "--at-most",
                None => settings.flag(&LONGER).unwrap_or(usual.longer),
            },
            rate: settings.flag(&RATES).filter(|_| is_paced),
            connections: match settings.word("clients") {
                Some(_) => "--clients",
                None => usual.connections,
            },
            may_reset: churn.is_some_and(|churn| churn.linger_s != Some(0.0)),
            fills_always: settings.word("load") == Some("always"),
        }
    }
}

/// The words of a run's scenario, and those that differ from the defaults.
struct Settings<'a> {
    words: &'a Map<String, Value>,
    given: Vec<(&'a str, String)>,
}

impl Settings<'_> {
    fn word(&self, field: &str) -> Option<&str> {
        self.given.iter().find(|(name, _)| *name == field).map(|(_, word)| word.as_str())
    }

    /// The flag of the field that the run was given; if none, of the last one that it allows, which
    /// others have by default.
    fn flag(&self, choices: &[Choice]) -> Option<&'static str> {
        let own = choices.iter().find(|choice| self.word(choice.field).is_some());
        own.or_else(|| choices.iter().rev().find(|choice| self.allow(choice))).map(|it| it.flag)
    }

    fn allow(&self, choice: &Choice) -> bool {
        Change::set(choice.field, choice.probe).advised(self.words).is_some()
    }
}
