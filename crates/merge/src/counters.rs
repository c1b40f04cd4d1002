//! The servers' counters over all shards: from the first `before` to the last `after`, by the
//! servers' own clock and counters. Those of shares are compared with what all shares sent.

use memtide_metrics::ErrorClass;
use memtide_record::{
    Agreement, CheckKind, Circumstances, ExpectedCounters, Figure, Readings, Record,
    ServerCounters, ShardRecord,
};
use std::collections::BTreeMap;

/// Warnings of a share about counters, which only all shares together can judge.
pub(super) const JUDGED_ANEW: [&str; 2] = ["other_clients", "stats_unavailable"];

type Figures = BTreeMap<String, Figure>;

/// Sort key for the age of a server's figures: its own time in seconds, which a restart does not
/// reset, counters that only grow, then the figures themselves.
fn progress(figures: &Figures) -> (i64, i64, i64, String) {
    let names = ["time", "total_connections", "cmd_get", "cmd_set", "cmd_touch"];
    let [time, connections, gets, sets, touches] = names.map(|name| match figures.get(name) {
        Some(Figure::Whole(number)) => *number,
        _ => 0,
    });
    let commands = gets.saturating_add(sets).saturating_add(touches);
    let text = serde_json::to_string(figures).unwrap_or_default();
    (time, connections, commands, text)
}

/// The counters of the servers of whole runs. Other clients may have used these servers between the
/// runs, so no counts are expected.
pub(super) fn of_runs(shards: &[&ShardRecord]) -> ServerCounters {
    let mut sum = ServerCounters::default();
    let mut during = BTreeMap::new();
    for shard in shards {
        absorb(&mut sum, &shard.server);
        // If several runs queried a server, the first one's replies are kept, as in the seconds.
        for (name, load) in &shard.server.during {
            during.entry(name.clone()).or_insert_with(|| load.clone());
        }
    }
    ServerCounters { expected: None, during, ..sum }
}

/// Adds a shard's counters from the servers, and the counts it expects, to the sums so far.
pub(super) fn absorb(sum: &mut ServerCounters, part: &ServerCounters) {
    let restarted = part.before.iter().chain(&part.after).find(|(name, figures)| {
        let known = [sum.before.get(*name), sum.after.get(*name)].into_iter().flatten();
        let pid = figures.get("pid");
        known.into_iter().any(|known| known.get("pid") != pid)
    });
    let restarted =
        restarted.map(|(name, _)| format!("server {name} was restarted, which reset its counters"));
    for (name, figures) in &part.before {
        let first = sum.before.entry(name.clone()).or_insert_with(|| figures.clone());
        if progress(figures) < progress(first) {
            first.clone_from(figures);
        }
    }
    for (name, figures) in &part.after {
        let last = sum.after.entry(name.clone()).or_insert_with(|| figures.clone());
        if progress(figures) > progress(last) {
            last.clone_from(figures);
        }
    }
    let (before, after) = (std::mem::take(&mut sum.before), std::mem::take(&mut sum.after));
    let expected = join(sum.expected.take(), part.expected.as_ref(), restarted);
    let mut during = std::mem::take(&mut sum.during);
    for (name, load) in &part.during {
        // If several shares queried the server, the replies to one of them are kept.
        let known = during.entry(name.clone()).or_default();
        if load > known {
            known.clone_from(load);
        }
    }
    *sum = ServerCounters { expected, during, ..ServerCounters::new(before, after) };
}

/// Sum of both expectations: only counters that both know.
fn join(
    sum: Option<ExpectedCounters>,
    part: Option<&ExpectedCounters>,
    restarted: Option<String>,
) -> Option<ExpectedCounters> {
    let mut joined = match (sum, part) {
        (Some(mut sum), Some(part)) => {
            sum.counters.retain(|name, of| match part.counters.get(name) {
                Some(other) => {
                    of.ours = of.ours.saturating_add(other.ours);
                    of.fewer = of.fewer.saturating_add(other.fewer);
                    true
                }
                None => false,
            });
            sum.connections = sum.connections.saturating_add(part.connections);
            let why = [sum.not_compared.take(), part.not_compared.clone()];
            sum.not_compared = why.into_iter().flatten().min();
            sum
        }
        (one, other) => one.or_else(|| other.cloned())?,
    };
    joined.not_compared = joined.not_compared.into_iter().chain(restarted).min();
    Some(joined)
}

/// Compares the counters with what all shares sent.
pub(super) fn agreement(record: &Record, ran: &[&ShardRecord]) -> Agreement {
    if record.missing.is_some() {
        let why = "shares are missing, so the total that was sent is unknown";
        return Agreement::OfShares(why.to_owned());
    }
    let ServerCounters { before, after, expected, .. } = &record.server;
    let Some(expected) = expected else {
        let mut ran = ran.iter();
        let first = ran.find(|shard| shard.share.as_ref().is_some_and(|share| share.number == 0));
        let checks = first.into_iter().flat_map(|shard| &shard.believable.checks);
        let own = checks.into_iter().find(|check| check.code == CheckKind::ServerCounters);
        let why =
            own.map_or("no share contains the counts to compare with", |check| &check.message);
        return Agreement::OfShares(why.to_owned());
    };
    let refused = record.phases.each().into_iter().any(|(_, of)| {
        of.totals.errors.get(ErrorClass::TooManyConnections.name()).is_some_and(|count| *count > 0)
    });
    let is_stream = record.scenario.get("transport").is_none_or(|word| word != "udp");
    let counts_connections = is_stream && !refused;
    let known = Circumstances { counts_connections, ..Circumstances::default() };
    Agreement::of(expected, Readings { before, after }, &known)
}
