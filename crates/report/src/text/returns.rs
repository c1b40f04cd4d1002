//! Lines about servers that lost connections: how many were restored and how soon, and when a
//! server was away.

use crate::layout::{TextLayout, labelled};
use crate::number::{seconds, whole};
use memtide_record::{Outage, Reconnects, Record, ServerRecord};

/// Largest number of outages of one server that are listed.
const STRETCHES_MAX: usize = 8;
const NS_PER_S: f64 = 1e9;
const MS_PER_S: f64 = 1e3;

/// Adds a line for each server that lost connections; none under connection churn.
pub(super) fn returns(out: &mut TextLayout, record: &Record) {
    for server in record.servers.iter().filter(|server| !server.reconnects.is_zero()) {
        labelled(out, "recovery", &sentence(server, window_start_ms(record)));
    }
}

/// Beginning of the measured window, in ms since 1970.
fn window_start_ms(record: &Record) -> f64 {
    record.window_start_unix_ns.map_or(0.0, |start| (start.0 / 1_000) as f64 / MS_PER_S)
}

fn sentence(server: &ServerRecord, start_ms: f64) -> String {
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
    let at = |unix_ms: u64| {
        let s = (unix_ms as f64 - start_ms) / MS_PER_S;
        if s < 0.0 { format!("−{}", seconds(-s)) } else { seconds(s) }
    };
    let from = at(away.from_unix_ms);
    match away.until_unix_ms {
        None => format!("from {from} to the end"),
        Some(until) => {
            let length = seconds((until - away.from_unix_ms) as f64 / MS_PER_S);
            format!("from {from} to {} ({length})", at(until))
        }
    }
}

#[cfg(test)]
mod tests;
