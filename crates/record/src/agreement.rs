//! Compares the servers' own counters with memtide's counts of what it sent, for one run and for
//! all shares of one. It asks no server: both readings of the counters are handed in.

use crate::record::{Check, CheckKind, CheckResult, ExpectedCounters, Figure, PlannedServer};
use crate::warning::Warning;
use std::collections::BTreeMap;

/// Counters that only grow, and that `stats reset` sets to zero: commands, then connections.
const GROWING: [&str; 4] = ["cmd_get", "cmd_set", "cmd_touch", "total_connections"];

/// Servers' figures by server and by name, as read before and after a load.
#[derive(Clone, Copy, Debug)]
pub struct Readings<'a> {
    /// The first reading.
    pub before: &'a BTreeMap<String, BTreeMap<String, Figure>>,
    /// The last reading.
    pub after: &'a BTreeMap<String, BTreeMap<String, Figure>>,
}

impl Readings<'_> {
    /// The servers that are in both readings.
    fn servers(&self) -> impl Iterator<Item = &String> {
        self.before.keys().filter(|server| self.after.contains_key(*server))
    }

    /// Growth of one counter of a server; none if the server does not report it.
    fn grown(&self, server: &str, name: &str) -> Option<i64> {
        match (self.before.get(server)?.get(name)?, self.after.get(server)?.get(name)?) {
            (Figure::Whole(before), Figure::Whole(after)) => Some(after.saturating_sub(*before)),
            _ => None,
        }
    }

    /// True if there is a server and every one reports this counter.
    fn tell(&self, name: &str) -> bool {
        let mut servers = self.servers().peekable();
        servers.peek().is_some() && servers.all(|server| self.grown(server, name).is_some())
    }

    /// Growth of a counter over all servers, saturating: figures from a file may be any.
    fn delta(&self, name: &str) -> i64 {
        let each = self.servers().filter_map(|server| self.grown(server, name));
        each.fold(0i64, i64::saturating_add)
    }

    /// Number of commands that the servers counted.
    pub fn commands(&self) -> i64 {
        GROWING[..3].iter().fold(0i64, |sum, name| sum.saturating_add(self.delta(name)))
    }

    /// Name of the server whose counters were reset, if one was: a counter is lower than before; or
    /// all are too low, connections included (`are_connections_short`).
    fn reset(&self, expected: &[Expected<'_>], are_connections_short: bool) -> Option<String> {
        if let Some(server) = self.servers().find(|server| self.went_back(server)) {
            return Some(format!("server {server}"));
        }
        let are_short = are_connections_short && expected.iter().all(|of| of.surplus <= 0);
        let mut servers = self.servers();
        let only = servers.next().filter(|_| servers.next().is_none());
        let word = only.map_or_else(|| "a server".to_owned(), |only| format!("server {only}"));
        (are_short && self.tell(GROWING[3])).then_some(word)
    }

    /// True if a counter of this server is lower than before.
    fn went_back(&self, server: &str) -> bool {
        GROWING.iter().any(|name| self.grown(server, name).is_some_and(|grown| grown < 0))
    }
}

/// One counter with memtide's count.
struct Expected<'a> {
    name: &'a str,
    ours: u64,
    /// The servers' count without ours.
    surplus: i64,
    /// Smallest surplus that memtide's count allows; the largest is 0.
    least: i64,
    of_commands: bool,
}

/// Facts about a load beside the servers' counters.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// True if every opened connection should be in `total_connections`: it is none of datagrams,
    /// and none was refused.
    pub counts_connections: bool,
    /// True if the servers' counts of commands still grew after our last command had ended.
    pub is_moving: bool,
    /// Reason why a difference shows nothing; none if it does.
    pub unclear: Option<String>,
}

/// Comparison of the servers' counters with memtide's.
#[derive(Clone, Debug, PartialEq)]
pub enum Agreement {
    /// Equal; with the number of counters compared.
    Equal(usize),
    /// Different, although no other client was seen: the counter, the servers' value, and
    /// memtide's.
    Differs(String, i64, u64),
    /// Not compared, for this reason.
    Skipped(String),
    /// Not comparable here, for this reason: shares are absent, or all are needed.
    OfShares(String),
    /// Other clients used the servers during the run: at least this many commands were theirs.
    OtherClients(u64),
}

impl Agreement {
    /// Compares the sums over all servers.
    pub fn of(expected: &ExpectedCounters, readings: Readings<'_>, known: &Circumstances) -> Self {
        if let Some(why) = &expected.not_compared {
            return Self::Skipped(why.clone());
        }
        let told = expected.counters.iter().filter(|(name, _)| readings.tell(name));
        let counters = told.map(|(name, of)| Expected {
            name,
            ours: of.ours,
            surplus: readings.delta(name).saturating_sub_unsigned(of.ours),
            least: 0i64.saturating_sub_unsigned(of.fewer),
            of_commands: of.of_commands,
        });
        let counters: Vec<Expected<'_>> = counters.collect();
        if counters.is_empty() {
            let why = "the servers report none of the counters that memtide compares";
            return Self::Skipped(why.to_owned());
        }
        let Some(differs) = counters.iter().find(|of| !(of.least..=0).contains(&of.surplus)) else {
            return Self::Equal(counters.len());
        };
        if let Some(why) = &known.unclear {
            return Self::Skipped(format!("{} differs, and {why}", differs.name));
        }
        // The first query of a run precedes all figures.
        let due = expected.connections.saturating_sub(readings.before.len() as u64);
        let connected = readings.delta(GROWING[3]).saturating_sub_unsigned(due);
        let is_short = known.counts_connections && connected < 0;
        if let Some(name) = readings.reset(&counters, is_short) {
            let why = format!("the counters of {name} were reset during the run (stats reset)");
            return Self::Skipped(why);
        }
        // Other clients can only add to a server's counts.
        let only_more = counters.iter().all(|of| of.surplus >= of.least);
        let more = counters.iter().filter(|of| of.of_commands).map(|of| of.surplus.max(0));
        let more = more.fold(0i64, i64::saturating_add).unsigned_abs();
        if (connected > 0 || known.is_moving) && only_more && more > 0 {
            return Self::OtherClients(more);
        }
        Self::Differs(differs.name.to_owned(), readings.delta(differs.name), differs.ours)
    }

    /// Checks the servers' counters.
    pub fn check(&self) -> Check {
        let mut figures = None;
        let (result, message) = match self {
            Self::Equal(count) => {
                (CheckResult::Passed, format!("{count} server counters equal memtide's"))
            }
            Self::Differs(name, theirs, ours) => {
                figures = Some((*theirs as f64, *ours as f64));
                let message =
                    format!("the servers counted {theirs} in {name}, but memtide sent {ours}");
                (CheckResult::Failed, message)
            }
            Self::Skipped(why) | Self::OfShares(why) => (CheckResult::Skipped, why.clone()),
            Self::OtherClients(commands) => (
                CheckResult::Skipped,
                format!(
                    "other clients used the servers during the run (at least {commands} commands)"
                ),
            ),
        };
        let (measured, allowed) = figures.unzip();
        Check { code: CheckKind::ServerCounters, result, message, measured, allowed }
    }

    /// The warning about `servers` for which there is cause.
    pub fn warning(&self, servers: &[PlannedServer]) -> Option<Warning> {
        let server = match servers {
            [server] => server.name.clone(),
            servers => format!("the {} servers", servers.len()),
        };
        match self {
            Self::OtherClients(commands) => {
                Some(Warning::OtherClients { server, commands: *commands })
            }
            Self::Skipped(why) => Some(Warning::StatsUnavailable { server, why: why.clone() }),
            Self::Equal(_) | Self::Differs(..) | Self::OfShares(_) => None,
        }
    }
}
