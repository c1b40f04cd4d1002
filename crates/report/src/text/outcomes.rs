//! Lines about what became of connections and of values: connection churn, servers that lost
//! connections, and whether the servers returned the stored values.

use crate::counts::{counted_parts, line_of};
use crate::layout::{TextLayout, labelled};
use crate::number::{counted, rate, seconds, whole};
use memtide_record::{
    ChurnCounts, ChurnRecord, Outage, Reconnects, Record, ServerRecord, VerificationCounts,
};

/// Largest number of outages of one server that are listed.
const STRETCHES_MAX: usize = 8;
const NS_PER_S: f64 = 1e9;
const MS_PER_S: f64 = 1e3;

/// Adds the line with the connections per second, under connection churn.
pub(super) fn churn_rate(out: &mut TextLayout, record: &Record) {
    let Some(churn) = &record.churn else { return };
    let begun = rate(churn.started_per_s);
    let text = match churn.target_per_s {
        Some(target) => format!("{begun} started of {} requested", rate(target)),
        None => format!("{begun} started, each when another closed"),
    };
    labelled(out, "connects", &text);
}

/// Adds the lines with the outcomes of connections.
pub(super) fn churn(out: &mut TextLayout, record: &Record) {
    let Some(churn) = &record.churn else { return };
    let mut text = outcomes(&churn.measure);
    text.push_str(&format!("; at most {} open at once", whole(churn.concurrent_max)));
    if is_full(churn, record) {
        text.push_str(", the limit of --connections");
    }
    labelled(out, "churn", &text);
    line_of(out, "causes", &churn.measure.causes, |_| true);
    if churn.measure.calls_not_made > 0 {
        let unmade = counted(churn.measure.calls_not_made, "call");
        labelled(out, "not sent", &format!("{unmade} of connections that failed or were lost"));
    }
}

/// True if connections that were due at a rate may have waited for a slot.
fn is_full(churn: &ChurnRecord, record: &Record) -> bool {
    churn.target_per_s.is_some() && churn.concurrent_max >= u64::from(record.plan.connections)
}

fn outcomes(counts: &ChurnCounts) -> String {
    let parts = [
        (counts.completed, "completed"),
        (counts.failed, "failed"),
        (counts.lost, "lost"),
        (counts.dropped, "dropped"),
        (counts.abandoned, "abandoned"),
    ];
    let intended = counted(counts.intended, "connection");
    let some: Vec<_> = parts.iter().filter(|(count, _)| *count > 0).collect();
    match some.as_slice() {
        [] => "no connection was due".to_owned(),
        [(_, name)] => format!("{intended}, all {name}"),
        _ => format!("{intended} due: {}", counted_parts(&parts).join(", ")),
    }
}

/// Adds a line for each server that lost connections; none under connection churn.
pub(super) fn returns(out: &mut TextLayout, record: &Record) {
    for server in record.servers.iter().filter(|server| !server.reconnects.is_zero()) {
        labelled(out, "recovery", &recovery(server, window_start_ms(record)));
    }
}

/// Beginning of the measured window, in ms since 1970.
fn window_start_ms(record: &Record) -> f64 {
    record.window_start_unix_ns.map_or(0.0, |start| (start.0 / 1_000) as f64 / MS_PER_S)
}

fn recovery(server: &ServerRecord, start_ms: f64) -> String {
    let Reconnects { lost, reconnected, disconnected_ns, disconnected_ns_max } = server.reconnects;
    let name = &server.name;
    let mut text =
        format!("{name}: {} of {} lost connections reopened", whole(reconnected), whole(lost));
    if reconnected > 0 {
        let mean = seconds(disconnected_ns as f64 / reconnected as f64 / NS_PER_S);
        let most = seconds(disconnected_ns_max as f64 / NS_PER_S);
        text.push_str(&format!(", after {mean} on average and {most} at most"));
    }
    let told = server.outages.iter().take(STRETCHES_MAX);
    let told: Vec<String> = told.map(|away| stretch(*away, start_ms)).collect();
    if !told.is_empty() {
        text.push_str(&format!("; gone {}", told.join(", ")));
    }
    if let Some(more) = server.outages.len().checked_sub(STRETCHES_MAX).filter(|more| *more > 0) {
        text.push_str(&format!(" and {} more", whole(more as u64)));
    }
    text
}

/// Formats an outage relative to the beginning of the measured window; negative before it.
fn stretch(away: Outage, start_ms: f64) -> String {
    let from = since(start_ms, away.from_unix_ms);
    match away.until_unix_ms {
        None => format!("from {from} to the end"),
        Some(until) => {
            let length = seconds((until - away.from_unix_ms) as f64 / MS_PER_S);
            format!("from {from} to {} ({length})", since(start_ms, until))
        }
    }
}

fn since(start_ms: f64, unix_ms: u64) -> String {
    let s = (unix_ms as f64 - start_ms) / MS_PER_S;
    if s < 0.0 { format!("−{}", seconds(-s)) } else { seconds(s) }
}

/// Adds the results of verification over all phases; nothing without verification.
pub(super) fn verification(out: &mut TextLayout, record: &Record) {
    let found = record.phases.verification();
    if found.checked > 0 {
        labelled(out, "verified", &verified(&found));
    }
    if found.expired_get + found.unexpired_unget > 0 {
        let VerificationCounts { expired_get, unexpired_unget, .. } = found;
        let text = format!(
            "wrong: {} returned after their expiry, {} missing before it",
            whole(expired_get),
            whole(unexpired_unget)
        );
        labelled(out, "expiry", &text);
    }
}

fn verified(found: &VerificationCounts) -> String {
    let VerificationCounts { corrupt, wrong_key, stale, truncated, .. } = *found;
    let parts = [
        (corrupt, "corrupt"),
        (wrong_key, "of another key"),
        (stale, "stale"),
        (truncated, "truncated"),
    ];
    let wrong = counted_parts(&parts);
    let checked = whole(found.checked);
    let mut text = match wrong.is_empty() {
        true => format!("{checked} values, all correct"),
        false => format!("{checked} values, wrong: {}", wrong.join(", ")),
    };
    if found.verify_misses > 0 {
        text.push_str(&format!("; {} more were not returned", whole(found.verify_misses)));
    }
    text
}

#[cfg(test)]
mod tests;
