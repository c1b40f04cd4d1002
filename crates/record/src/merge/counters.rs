//! The servers' counters over all shards: from the first `before` to the last `after`, by the
//! servers' own clock and counters. Those of shares are compared with what all shares sent.

use crate::record::{
    Check, CheckKind, CheckResult, ExpectedCounter, ExpectedCounters, Figure, Record,
    ServerCounters, ShardRecord, WarningRecord,
};
use crate::warning::Warning;
use std::collections::BTreeMap;

/// Warnings of a share about counters, which only all shares together can judge.
pub(super) const JUDGED_ANEW: [&str; 2] = ["other_clients", "stats_unavailable"];

type Figures = BTreeMap<String, Figure>;

/// Sort key for the age of a server's figures: its own time in seconds, which a restart does not
/// reset, counters that only grow, then the figures themselves.
fn progress(figures: &Figures) -> (i64, i64, i64, String) {
    let whole = |name| match figures.get(name) {
        Some(Figure::Whole(number)) => *number,
        _ => 0,
    };
    let commands = ["cmd_get", "cmd_set", "cmd_touch"].map(whole);
    let commands = commands.iter().fold(0i64, |sum, count| sum.saturating_add(*count));
    let text = serde_json::to_string(figures).unwrap_or_default();
    (whole("time"), whole("total_connections"), commands, text)
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

/// The result of the comparison, with a warning if there is cause.
pub(super) fn judged(record: &Record, ran: &[&ShardRecord]) -> (Check, Option<WarningRecord>) {
    let code = CheckKind::ServerCounters;
    let skipped = |message: String| {
        let result = CheckResult::Skipped;
        Check { code, result, message, measured: None, allowed: None }
    };
    if record.missing.is_some() {
        let why = "shares are missing, so the total that was sent is unknown";
        return (skipped(why.to_owned()), None);
    }
    let Some(expected) = &record.server.expected else {
        let of = |shard: &&&ShardRecord| shard.share.as_ref().is_some_and(|s| s.number == 0);
        let checks = ran.iter().find(of).into_iter().flat_map(|of| &of.believable.checks);
        let own = checks.into_iter().find(|check| check.code == code);
        let why =
            own.map_or("no share contains the counts to compare with", |check| &check.message);
        return (skipped(why.to_owned()), None);
    };
    let server = match record.plan.servers.as_slice() {
        [one] => one.name.clone(),
        servers => format!("the {} servers", servers.len()),
    };
    let unavailable = |why: String| {
        let warning = Warning::StatsUnavailable { server: server.clone(), why: why.clone() };
        (skipped(why), Some((&warning).into()))
    };
    if let Some(why) = &expected.not_compared {
        return unavailable(why.clone());
    }
    let told = |name: &str| {
        let both = record.server.before.keys().filter(|of| record.server.after.contains_key(*of));
        let mut both = both.peekable();
        both.peek().is_some() && both.all(|of| grown(record, of, name).is_some())
    };
    let counters: Vec<_> = expected.counters.iter().filter(|(name, _)| told(name)).collect();
    if counters.is_empty() {
        return unavailable("the servers report none of the counters that memtide compares".into());
    }
    let back = |name: &String| delta(record, name) < 0;
    if counters.iter().any(|(name, _)| back(name)) {
        return unavailable("a server's counters were reset during the run (stats reset)".into());
    }
    match compared(record, expected, &counters) {
        Ok(check) => (check, None),
        Err(commands) => {
            let message = format!(
                "other clients used the servers during the run (at least {commands} commands)"
            );
            (skipped(message), Some((&Warning::OtherClients { server, commands }).into()))
        }
    }
}

/// Checks that the `counters` are as expected; an error is the number of other clients' commands.
///
/// Cause: The servers counted other operations than the shares sent.
///
/// To do: Report this: a counter of memtide or of the server is wrong.
fn compared(
    record: &Record,
    expected: &ExpectedCounters,
    counters: &[(&String, &ExpectedCounter)],
) -> Result<Check, u64> {
    let code = CheckKind::ServerCounters;
    let surplus = |name: &str, ours: u64| delta(record, name).saturating_sub_unsigned(ours);
    let allowed = |of: u64| -i64::try_from(of).unwrap_or(i64::MAX)..=0;
    let differs =
        counters.iter().find(|(name, of)| !allowed(of.fewer).contains(&surplus(name, of.ours)));
    let Some((name, of)) = differs else {
        let message = format!("{} server counters equal memtide's", counters.len());
        let result = CheckResult::Passed;
        return Ok(Check { code, result, message, measured: None, allowed: None });
    };
    // The first query of a run precedes all figures.
    let due = expected.connections.saturating_sub(record.server.before.len() as u64);
    let connected = surplus("total_connections", due);
    let only_more = counters
        .iter()
        .all(|(name, of)| surplus(name, of.ours) >= -i64::try_from(of.fewer).unwrap_or(i64::MAX));
    let of_commands = counters.iter().filter(|(_, of)| of.of_commands);
    let more =
        of_commands.fold(0i64, |sum, (name, of)| sum.saturating_add(surplus(name, of.ours).max(0)));
    if connected > 0 && only_more && more > 0 {
        return Err(more.unsigned_abs());
    }
    let theirs = delta(record, name);
    Ok(Check {
        code,
        result: CheckResult::Failed,
        message: format!("the servers counted {theirs} in {name}, but memtide sent {}", of.ours),
        measured: Some(theirs as f64),
        allowed: Some(of.ours as f64),
    })
}

/// Growth of one counter of a server; none if the server does not report it.
fn grown(record: &Record, server: &str, name: &str) -> Option<i64> {
    match record.server.delta.get(server)?.get(name)? {
        Figure::Whole(grown) => Some(*grown),
        Figure::Real(_) | Figure::Text(_) => None,
    }
}

/// Growth of a counter over all servers.
fn delta(record: &Record, name: &str) -> i64 {
    let each = record.server.delta.keys().filter_map(|server| grown(record, server, name));
    each.fold(0i64, i64::saturating_add)
}
