//! The servers' `stats` before and after the load, and their comparison with memtide's counts.

mod first;
mod query_filter;
mod commands;
mod abilities;

pub(crate) use abilities::Asked;
use abilities::check_abilities;
pub(crate) use commands::ServerCommands;
pub(crate) use first::first_survey;
pub(crate) use query_filter::QueryFilter;
use query_filter::is_closed;

use crate::failure::{Failure, Fault};
use memtide_base::{Sentence, Span};
use memtide_metrics::{Counters, ErrorClass, ReplyClass};
use memtide_record::{
    Agreement, Circumstances, ExpectedCounter, ExpectedCounters, Figure, Readings, natively,
};
use memtide_workload::{Action, OpKind};
use memtide_world::fleet::Fleet;
use memtide_world::question::{Answer, AskError, Question};
use memtide_world::{Plan, Protocol, ServerPlan, Transport};
use std::collections::BTreeMap;

/// Statistics of one server.
pub(crate) type ServerStatistics = BTreeMap<String, Figure>;

/// Queries a server's statistics.
pub(crate) fn figures<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
) -> Result<ServerStatistics, AskError> {
    read(fleet.ask(plan, server, Question::Statistics))
}

/// Queries a server's settings.
pub(crate) fn settings<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
) -> Result<ServerStatistics, AskError> {
    read(fleet.ask(plan, server, Question::Settings))
}

/// Queries the statistics of several servers at once.
pub(crate) fn figures_of_all<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    servers: &[&ServerPlan],
) -> Vec<Result<ServerStatistics, AskError>> {
    fleet.ask_all(plan, servers, Question::Statistics).into_iter().map(read).collect()
}

/// The statistics in a server's answer.
fn read(answer: Result<Answer, AskError>) -> Result<ServerStatistics, AskError> {
    match answer? {
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

/// memcached's counters with their expected values, computed from our counts.
/// cmd_get counts the keys of pure reads, cmd_set all storage commands whatever their outcome,
/// cmd_touch commands that set a new expiry, even if they read as well. Over the meta protocol, a
/// command that should set an expiry and finds no item counts as a read that missed, and a read
/// that makes a missing item, or finds one without a value, as a hit.
fn expected(counters: &Counters, protocol: Protocol) -> BTreeMap<String, ExpectedCounter> {
    let sends = |action| of_action(action).any(|kind| counters.kinds[kind.index()].sent > 0);
    // memcached does not count stores refused for their size or for lack of memory.
    let refused = counters.errors[ErrorClass::ServerError as usize];
    // Hits and misses are known only of answered operations.
    let unknown = counters.unanswered() + counters.refused + counters.late_replies;
    let all_answered = unknown == 0;
    let touched = counters.replies[ReplyClass::Touched as usize] + touching_hits(counters);
    let as_reads = match protocol {
        Protocol::Meta => counters.touch_commands.saturating_sub(touched),
        Protocol::Text | Protocol::Binary => 0,
    };
    let mut expected = BTreeMap::new();
    let mut expect = |name: &str, ours, fewer, of_commands| {
        expected.insert(name.to_owned(), ExpectedCounter { ours, fewer, of_commands });
    };
    expect("cmd_set", counters.storage_commands, refused, true);
    if as_reads == 0 || all_answered {
        expect("cmd_get", counters.keys_asked + as_reads, 0, true);
        expect("cmd_touch", counters.touch_commands - as_reads, 0, true);
    }
    // Counters of outcomes, whose commands are in those of commands.
    if all_answered && !sends(Action::CompareAndStore) && !sends(Action::ReadAndTouch) {
        let made = counters.placeholders;
        expect("get_hits", counters.hits + made, 0, false);
        expect("get_misses", counters.misses + as_reads - made.min(counters.misses), 0, false);
    }
    if all_answered && counters.unacknowledged == 0 {
        // There is no counter of all deletions.
        expect("delete_hits", counters.replies[ReplyClass::Deleted as usize], 0, true);
        expect("touch_hits", touched, 0, false);
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

/// What this process counted of all that it sent, fills and load together.
#[derive(Debug, Default)]
pub(crate) struct OwnCounts {
    pub(crate) counters: Counters,
    /// Connections opened.
    pub(crate) opened: u64,
}

impl OwnCounts {
    /// Why operations without a reply cannot be compared; none if there are none.
    fn unknown(&self) -> Option<String> {
        let all = &self.counters;
        let replied = all.answered + all.failed + all.unacknowledged + all.late_replies;
        let count = all.sent.checked_sub(replied).filter(|count| *count > 0)?;
        Some(format!(
            "{count} operations got no reply, and whether they reached the servers is unknown"
        ))
    }
}

/// Compares the servers' counters with the counts of this process.
pub(crate) fn compare(survey: &Survey, plan: &Plan, own: &OwnCounts) -> Agreement {
    if plan.here.is_some() {
        let why = "the servers count the operations of all shares, which memtide merge compares";
        return Agreement::OfShares(why.to_owned());
    }
    let turned_away = own.counters.errors[ErrorClass::TooManyConnections as usize] > 0;
    let known = Circumstances {
        counts_connections: plan.requests.transport == Transport::Stream && !turned_away,
        is_moving: survey.is_moving,
        unclear: survey.unclear(),
    };
    let expected = survey.expected_counters(plan, own);
    Agreement::of(&expected, survey.readings(), &known)
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
    /// What was asked of the meta protocol after the first queries.
    pub(crate) asked: Asked,
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
        let same = plan.servers[..number].iter().position(|earlier| {
            let shared = earlier.addresses.iter().any(|address| server.addresses.contains(address));
            let known = self.before.get(&earlier.name).and_then(|known| known.get("pid"));
            shared && known == figures.get("pid")
        });
        let first = same.map_or(number, |earlier| self.first(earlier));
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
        let [pids, uptimes] = ["pid", "uptime"].map(|name| before.get(name).zip(after.get(name)));
        let other_process = pids.is_some_and(|(before, after)| before != after);
        let up = uptimes.and_then(|(before, after)| before.as_f64().zip(after.as_f64()));
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

    /// Both readings of the servers' counters.
    pub(crate) fn readings(&self) -> Readings<'_> {
        Readings { before: &self.before, after: &self.after }
    }

    /// Reason why a difference of counters shows nothing; none if it does.
    fn unclear(&self) -> Option<String> {
        let why = Sentence::new("the commands of ").field("before").text(" and ").field("after");
        let why = why.text(" may have changed the counters");
        self.is_touched.then(|| natively(&why))
    }

    /// Counts that the servers should have of this process.
    fn expected_counters(&self, plan: &Plan, own: &OwnCounts) -> ExpectedCounters {
        let mut servers = self.servers(plan);
        let restarted = servers.find(|server| self.is_restarted(&server.name)).map(|server| {
            format!("server {} was restarted, which reset its counters", server.name)
        });
        ExpectedCounters {
            counters: self.with_gets(expected(&own.counters, plan.requests.protocol)),
            // The first query of each server also lies between the two of the whole run.
            connections: own.opened + self.asked_between + self.servers(plan).count() as u64,
            not_compared: self.unavailable.clone().or_else(|| own.unknown()).or(restarted),
        }
    }

    /// Counts with the gets that asked for abilities.
    fn with_gets(
        &self,
        mut expected: BTreeMap<String, ExpectedCounter>,
    ) -> BTreeMap<String, ExpectedCounter> {
        for name in ["cmd_get", "get_misses"] {
            expected.entry(name.to_owned()).and_modify(|of| of.ours += self.asked.gets);
        }
        expected
    }

    /// Counts that the servers should have of this share; none if the run is not divided.
    pub(crate) fn expected_of_share(
        &self,
        plan: &Plan,
        own: &OwnCounts,
    ) -> Option<ExpectedCounters> {
        plan.here.as_ref()?;
        if self.before.is_empty() && self.unavailable.is_none() {
            return None;
        }
        let expected = self.expected_counters(plan, own);
        let not_compared = expected.not_compared.or_else(|| self.unclear());
        Some(ExpectedCounters { not_compared, ..expected })
    }
}

#[cfg(test)]
pub(crate) mod tests;
