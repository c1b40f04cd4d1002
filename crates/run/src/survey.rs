//! The servers' `stats` before and after the load, and their comparison with memtide's counts.

use memtide_record::natively;
mod query_filter;
mod commands;
mod abilities;
mod share;

pub(crate) use abilities::check_abilities;
pub(crate) use commands::ServerCommands;
pub(crate) use query_filter::{QueryFilter, is_closed};
pub(crate) use share::expected_of_share;

use crate::failure::{Failure, Fault};
use memtide_base::{Sentence, Span};
use memtide_engine::fleet::Fleet;
use memtide_engine::probe::{Answer, AskError, Question};
use memtide_engine::{Plan, Protocol, ServerPlan, Transport};
use memtide_metrics::{Counters, ErrorClass, ReplyClass};
use memtide_record::{ExpectedCounters, Figure};
use memtide_workload::{Action, OpKind};
use std::collections::BTreeMap;

/// Statistics of one server.
pub(crate) type ServerStatistics = BTreeMap<String, Figure>;

/// Queries a server's statistics.
pub(crate) fn figures<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
) -> Result<ServerStatistics, AskError> {
    match fleet.ask(plan, server, Question::Statistics)? {
        Answer::Statistics(rows) => Ok(statistics(rows)),
        Answer::Version(line) | Answer::Line(line) => Err(AskError::Refused(line)),
        Answer::Found(_) => Err(AskError::Refused("END".to_owned())),
    }
}

/// Parses the names and values of a server's `stats`.
pub(crate) fn statistics(rows: impl IntoIterator<Item = (String, String)>) -> ServerStatistics {
    rows.into_iter().map(|(name, word)| (name, Figure::from_word(&word))).collect()
}

/// The whole number under `name`, or 0.
pub(crate) fn whole(figures: &ServerStatistics, name: &str) -> i64 {
    match figures.get(name) {
        Some(Figure::Whole(number)) => *number,
        _ => 0,
    }
}

/// One of memcached's counters, with its expected value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    name: &'static str,
    ours: u64,
    /// Number by which the server's count may be lower.
    fewer: u64,
    /// True if it counts commands. A counter of outcomes would count these again.
    is_of_commands: bool,
}

impl Expected {
    /// A counter of commands.
    fn commands(name: &'static str, ours: u64) -> Self {
        Self { name, ours, fewer: 0, is_of_commands: true }
    }

    /// A counter of outcomes, whose commands another counter counts.
    fn endings(name: &'static str, ours: u64) -> Self {
        Self { is_of_commands: false, ..Self::commands(name, ours) }
    }
}

/// memcached's counters with their expected values, computed from our counts.
/// cmd_get counts the keys of pure reads, cmd_set all storage commands whatever their outcome,
/// cmd_touch commands that set a new expiry, even if they read as well. Over the meta protocol, a
/// command that should set an expiry and finds no item counts as a read that missed.
pub(crate) fn expected(counters: &Counters, protocol: Protocol) -> Vec<Expected> {
    let sends = |action| of_action(action).any(|kind| counters.kinds[kind.index()].sent > 0);
    // memcached does not count stores refused for their size or for lack of memory.
    let refused = counters.errors[ErrorClass::ServerError as usize];
    // Hits and misses are known only of answered operations.
    let all_answered = counters.unanswered() == 0 && counters.late_replies == 0;
    let touched = counters.replies[ReplyClass::Touched as usize] + touching_hits(counters);
    let as_reads = match protocol {
        Protocol::Meta => counters.touch_commands.saturating_sub(touched),
        Protocol::Text | Protocol::Binary => 0,
    };
    let mut expected = vec![
        Expected::commands("cmd_get", counters.keys_asked + as_reads),
        Expected { fewer: refused, ..Expected::commands("cmd_set", counters.storage_commands) },
        Expected::commands("cmd_touch", counters.touch_commands - as_reads),
    ];
    if as_reads > 0 && !all_answered {
        expected.retain(|of| of.name == "cmd_set");
    }
    if all_answered && !sends(Action::CompareAndStore) && !sends(Action::ReadAndTouch) {
        expected.push(Expected::endings("get_hits", counters.hits));
        expected.push(Expected::endings("get_misses", counters.misses + as_reads));
    }
    if all_answered && counters.unacknowledged == 0 {
        let replies = |class: ReplyClass| counters.replies[class as usize];
        // There is no counter of all deletions.
        expected.push(Expected::commands("delete_hits", replies(ReplyClass::Deleted)));
        expected.push(Expected::endings("touch_hits", touched));
    }
    expected
}

/// The kinds of operation with this action.
fn of_action(action: Action) -> impl Iterator<Item = OpKind> {
    OpKind::ALL.into_iter().filter(move |kind| kind.does(action))
}

fn touching_hits(counters: &Counters) -> u64 {
    let reads = of_action(Action::ReadAndTouch).map(|kind| counters.kinds[kind.index()].answered);
    reads.sum::<u64>() - counters.touching_misses
}

/// Comparison of the servers' counters with memtide's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Agreement {
    /// Equal; with the number of counters compared.
    Equal(usize),
    /// Different, although no other client was seen: the counter, the servers' value, and
    /// memtide's.
    Differs(&'static str, i64, u64),
    /// Not compared, for this reason.
    Skipped(String),
    /// Not comparable here: they count the operations of all shares, and this process knows only
    /// its own.
    OfShares,
    /// Other clients used the servers during the run: at least this many commands were theirs.
    OtherClients(u64),
}

/// Compares the sums over all servers.
pub(crate) fn compare(survey: &Survey, plan: &Plan, all: &Counters, opened: u64) -> Agreement {
    if plan.here.is_some() {
        return Agreement::OfShares;
    }
    if let Some(why) = &survey.unavailable {
        return Agreement::Skipped(why.clone());
    }
    let replied = all.answered + all.failed + all.unacknowledged + all.late_replies;
    if all.sent > replied {
        return Agreement::Skipped(format!(
            "{} operations got no reply, and whether they reached the servers is unknown",
            all.sent - replied
        ));
    }
    if let Some(server) = survey.servers(plan).find(|server| survey.is_restarted(&server.name)) {
        let name = &server.name;
        return Agreement::Skipped(format!(
            "server {name} was restarted, which reset its counters"
        ));
    }
    let told = |of: &Expected| survey.tells(plan, of.name);
    let expected: Vec<Expected> =
        expected(all, plan.requests.protocol).into_iter().filter(told).collect();
    if expected.is_empty() {
        let why = "the servers report none of the counters that memtide compares";
        return Agreement::Skipped(why.to_owned());
    }
    let surplus = |of: &Expected| survey.delta(plan, of.name).saturating_sub_unsigned(of.ours);
    let agrees = |of: &Expected| (-(of.fewer as i64)..=0).contains(&surplus(of));
    let Some(differs) = expected.iter().find(|of| !agrees(of)) else {
        return Agreement::Equal(expected.len());
    };
    if survey.is_touched {
        let why = Sentence::new(format!("{} differs, and the commands of ", differs.name));
        let why = why.field("before").text(" and ").field("after");
        return Agreement::Skipped(natively(&why.text(" may have changed it")));
    }
    let connected = survey.delta(plan, "total_connections");
    let due = (opened + survey.asked_between) as i64;
    if let Some(name) = survey.reset(plan, &expected, all, connected < due) {
        return Agreement::Skipped(format!(
            "the counters of {name} were reset during the run (stats reset)"
        ));
    }
    let others = connected > due || survey.is_moving;
    // Other clients can only add to a server's counts.
    let only_more = expected.iter().all(|of| surplus(of) >= -(of.fewer as i64));
    let of_commands = expected.iter().filter(|of| of.is_of_commands);
    let more: i64 = of_commands.map(|of| surplus(of).max(0)).sum();
    if others && only_more && more > 0 {
        return Agreement::OtherClients(more as u64);
    }
    Agreement::Differs(differs.name, survey.delta(plan, differs.name), differs.ours)
}

/// The servers' replies to all queries of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// Statistics before anything was sent, by the server's name.
    pub(crate) before: BTreeMap<String, ServerStatistics>,
    /// Statistics after everything had ended.
    pub(crate) after: BTreeMap<String, ServerStatistics>,
    /// Reason why there is nothing to compare.
    pub(crate) unavailable: Option<String>,
    /// True if a server could not be reached, which does not end a run that measures connects.
    pub(crate) unreachable: bool,
    /// Number of queries between the two that the servers counted as connections.
    pub(crate) asked_between: u64,
    /// Counts that the servers should have of this share's operations.
    pub(crate) expected: Option<ExpectedCounters>,
    /// True if a command was sent to the servers that may have changed their counters.
    pub(crate) is_touched: bool,
    /// True if the servers' counts of commands still grew after our last command had ended.
    pub(crate) is_moving: bool,
    /// For each server of the plan, the first one that is the same server; itself if it is the
    /// first.
    pub(crate) firsts: Vec<usize>,
    /// Time from the first query to the last reply.
    pub(crate) passed: Span,
}

/// A server counts its uptime in whole seconds, and may answer late: it was restarted if more than
/// this is missing.
const UPTIME_SLACK: Span = Span::from_s(5);

impl Survey {
    /// The servers of `plan`, each once even if it is named several times.
    pub(crate) fn servers<'a>(&self, plan: &'a Plan) -> impl Iterator<Item = &'a ServerPlan> {
        let each = plan.servers.iter().enumerate();
        each.filter(|&(number, _)| self.first(number) == number).map(|(_, server)| server)
    }

    /// Number of the first server of the plan that is the same as server `number`.
    pub(crate) fn first(&self, number: usize) -> usize {
        self.firsts.get(number).copied().unwrap_or(number)
    }

    /// Notes server `number`, which reported `figures` before the load; returns true if it is the
    /// first with its name and address. Servers are the same if they share an address and, if they
    /// report it, a process.
    pub(crate) fn meet(&mut self, plan: &Plan, number: usize, figures: &ServerStatistics) -> bool {
        let server = &plan.servers[number];
        let is_same = |&earlier: &usize| {
            let other = &plan.servers[earlier];
            let shared = other.addresses.iter().any(|address| server.addresses.contains(address));
            let known = self.before.get(&other.name).and_then(|known| known.get("pid"));
            shared && known == figures.get("pid")
        };
        let first = (0..number).find(is_same).map_or(number, |earlier| self.first(earlier));
        // Servers without a report are identified by their number alone.
        self.firsts.extend(self.firsts.len()..number);
        self.firsts.push(first);
        first == number
    }

    /// True if `server` was restarted between the two queries: it is another process, or its uptime
    /// is shorter than it would have been.
    pub(crate) fn is_restarted(&self, server: &str) -> bool {
        let (Some(before), Some(after)) = (self.before.get(server), self.after.get(server)) else {
            return false;
        };
        let both = |name| before.get(name).zip(after.get(name));
        let other_process = both("pid").is_some_and(|(before, after)| before != after);
        let up = both("uptime").and_then(|(before, after)| before.as_f64().zip(after.as_f64()));
        let least_s = self.passed.saturating_sub(UPTIME_SLACK).as_s_f64();
        other_process || up.is_some_and(|(before, after)| after - before < least_s)
    }

    /// Number of flushes of `server` between the two queries, without `ours`.
    pub(crate) fn foreign_flushes(&self, server: &str, ours: u64) -> u64 {
        let (Some(before), Some(after)) = (self.before.get(server), self.after.get(server)) else {
            return 0;
        };
        let grown = whole(after, "cmd_flush").saturating_sub(whole(before, "cmd_flush"));
        u64::try_from(grown).unwrap_or(0).saturating_sub(ours)
    }
}

impl Survey {
    /// Handles a server that could not be queried, for this reason. It ends the run, unless
    /// connects are measured: there, a failed one is a result.
    pub(crate) fn give_up(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        error: &AskError,
    ) -> Result<(), Failure> {
        if *error == AskError::Interrupted {
            return Err(Fault::Interrupted.into());
        }
        let fault = Fault::Unasked { server: server.name.clone(), error: error.clone() };
        if plan.churn().is_none() {
            return Err(fault.into());
        }
        self.unreachable = true;
        self.unavailable = Some(natively(&fault.sentence()));
        Ok(())
    }
}

/// Counters that only grow, and that `stats reset` sets to zero.
const GROWING: [&str; 4] = ["cmd_get", "cmd_set", "cmd_touch", "total_connections"];

impl Survey {
    /// True if every server reports this counter, before and after.
    fn tells(&self, plan: &Plan, name: &str) -> bool {
        self.servers(plan).all(|server| self.both(server, name).is_some())
    }

    /// Growth of a counter over all servers.
    fn delta(&self, plan: &Plan, name: &str) -> i64 {
        let of = |side: &BTreeMap<String, ServerStatistics>, server: &ServerPlan| {
            side.get(&server.name).map_or(0, |figures| whole(figures, name))
        };
        let servers = self.servers(plan);
        servers.map(|server| of(&self.after, server) - of(&self.before, server)).sum()
    }

    /// Number of commands that the servers have counted so far.
    pub(crate) fn commands(&self, plan: &Plan) -> i64 {
        GROWING[..3].iter().map(|name| self.delta(plan, name)).sum()
    }

    /// A figure before and after, if the server reports it.
    fn both<'a>(&'a self, server: &ServerPlan, name: &str) -> Option<(&'a Figure, &'a Figure)> {
        let of = |side: &'a BTreeMap<String, ServerStatistics>| side.get(&server.name)?.get(name);
        of(&self.before).zip(of(&self.after))
    }

    fn went_back(&self, server: &ServerPlan, name: &str) -> bool {
        let pair = self.both(server, name);
        pair.is_some_and(|pair| matches!(pair, (Figure::Whole(a), Figure::Whole(b)) if b < a))
    }

    /// Name of the server whose counters were reset, if one was: a counter is lower than before; or
    /// all are too low, connections included (`are_connections_short`), although none of our
    /// connections was refused.
    fn reset(
        &self,
        plan: &Plan,
        expected: &[Expected],
        all: &Counters,
        are_connections_short: bool,
    ) -> Option<String> {
        let back = |server: &&ServerPlan| GROWING.iter().any(|name| self.went_back(server, name));
        if let Some(server) = plan.servers.iter().find(back) {
            return Some(format!("server {}", server.name));
        }
        let counts = |server: &ServerPlan| self.both(server, "total_connections").is_some();
        let turned_away = all.errors[ErrorClass::TooManyConnections as usize] > 0;
        let streams = plan.requests.transport == Transport::Stream;
        let short = expected.iter().all(|of| self.delta(plan, of.name) <= of.ours as i64);
        let is_reset = are_connections_short
            && short
            && streams
            && !turned_away
            && plan.servers.iter().all(counts);
        is_reset.then(|| match &plan.servers[..] {
            [server] => format!("server {}", server.name),
            _ => "a server".to_owned(),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
