//! A server's report during a load: differences of its `stats` counters.

use super::Figure;
use memtide_base::Span;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures of a server by name, as received.
type Figures = BTreeMap<String, Figure>;

/// Growth of a server's counters between two of its `stats` replies, and its state at the last
/// reply. A figure is none if the server does not report it. After a restart or a reset, earlier
/// counts of the stretch are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ServerReport {
    /// Number of `stats` replies.
    pub answers: u64,
    /// Number of `stats` requests without a reply, or without one in time.
    pub unanswered: u64,
    /// Time covered, in nanoseconds: from the reply before the stretch to its last reply.
    pub length_ns: u64,
    /// Keys read, plus commands that store, touch, delete or count.
    pub operations: Option<u64>,
    /// Keys read (`cmd_get`).
    pub gets: Option<u64>,
    /// Keys read and found (`get_hits`).
    pub hits: Option<u64>,
    /// Keys read and not found (`get_misses`).
    pub misses: Option<u64>,
    /// Storage commands (`cmd_set`).
    pub sets: Option<u64>,
    /// Items evicted for lack of memory.
    pub evictions: Option<u64>,
    /// CPU time of the server in user mode (`rusage_user`), in microseconds.
    pub cpu_user_us: Option<u64>,
    /// CPU time of the server in the kernel (`rusage_system`), in microseconds.
    pub cpu_system_us: Option<u64>,
    /// Items stored at the end (`curr_items`).
    pub items: Option<u64>,
    /// Bytes of these items (`bytes`).
    pub item_bytes: Option<u64>,
    /// Connections open at the end, including memtide's `stats` connection and listening sockets
    /// (`curr_connections`).
    pub connections: Option<u64>,
    /// Number of restarts of the server.
    pub restarts: u64,
    /// Number of resets of its counters (`stats reset`).
    pub resets: u64,
}

/// Counters that count operations.
const OPERATIONS: [&str; 9] = [
    "cmd_get",
    "cmd_set",
    "cmd_touch",
    "delete_hits",
    "delete_misses",
    "incr_hits",
    "incr_misses",
    "decr_hits",
    "decr_misses",
];
/// Counters that only grow until they are reset.
const GROWING: [&str; 5] = ["cmd_get", "cmd_set", "cmd_touch", "total_connections", "total_items"];

impl ServerReport {
    /// The report for two replies, `first` and `last`, received `length` apart.
    pub fn between(first: &Figures, last: &Figures, length: Span) -> Self {
        let is_restarted = is_restarted(first, last);
        let is_reset = !is_restarted && GROWING.iter().any(|name| went_back(first, last, name));
        // What was counted before a restart is not included.
        let first = Some(first).filter(|_| !is_restarted);
        let count = |name| grown(first, last, name, whole);
        let cpu_us = |name| grown(first, last, name, microseconds);
        let each = OPERATIONS.iter().filter_map(|name| count(name));
        Self {
            answers: 1,
            unanswered: 0,
            length_ns: length.ns(),
            operations: each.reduce(u64::saturating_add),
            gets: count("cmd_get"),
            hits: count("get_hits"),
            misses: count("get_misses"),
            sets: count("cmd_set"),
            evictions: count("evictions"),
            cpu_user_us: cpu_us("rusage_user"),
            cpu_system_us: cpu_us("rusage_system"),
            items: whole(last, "curr_items"),
            item_bytes: whole(last, "bytes"),
            connections: whole(last, "curr_connections"),
            restarts: u64::from(is_restarted),
            resets: u64::from(is_reset),
        }
    }

    /// The report of a query without a reply.
    pub fn none() -> Self {
        Self { unanswered: 1, ..Self::default() }
    }

    /// Joins this report and that of the `next` stretch.
    pub fn then(&self, next: &Self) -> Self {
        Self {
            answers: self.answers.saturating_add(next.answers),
            unanswered: self.unanswered.saturating_add(next.unanswered),
            length_ns: self.length_ns.saturating_add(next.length_ns),
            operations: sum(self.operations, next.operations),
            gets: sum(self.gets, next.gets),
            hits: sum(self.hits, next.hits),
            misses: sum(self.misses, next.misses),
            sets: sum(self.sets, next.sets),
            evictions: sum(self.evictions, next.evictions),
            cpu_user_us: sum(self.cpu_user_us, next.cpu_user_us),
            cpu_system_us: sum(self.cpu_system_us, next.cpu_system_us),
            items: next.items.or(self.items),
            item_bytes: next.item_bytes.or(self.item_bytes),
            connections: next.connections.or(self.connections),
            restarts: self.restarts.saturating_add(next.restarts),
            resets: self.resets.saturating_add(next.resets),
        }
    }

    /// Joins the reports of the `next` stretch, by server.
    pub fn append(reports: &mut BTreeMap<String, Self>, next: &BTreeMap<String, Self>) {
        for (server, next) in next {
            let report = reports.entry(server.clone()).or_default();
            *report = report.then(next);
        }
    }

    /// Adds the reports that another process received in the same time. For each server one
    /// process's report is kept, independent of the order of merging.
    pub(crate) fn unite(reports: &mut BTreeMap<String, Self>, others: &BTreeMap<String, Self>) {
        for (server, other) in others {
            let report = reports.entry(server.clone()).or_default();
            *report = (*report).max(*other);
        }
    }

    /// CPU seconds per million operations; none if the server does not report them, and without
    /// operations.
    pub fn cpu_s_per_mops(&self) -> Option<f64> {
        let cpu_us = self.cpu_user_us?.saturating_add(self.cpu_system_us?);
        let operations = self.operations.filter(|operations| *operations > 0)?;
        // Microseconds per operation equal seconds per million.
        Some(cpu_us as f64 / operations as f64)
    }

    /// Hit ratio: fraction of the keys read that were found, 0 to 1; none without reads.
    pub fn hit_ratio(&self) -> Option<f64> {
        let (hits, misses) = (self.hits?, self.misses?);
        let all = hits.saturating_add(misses);
        (all > 0).then(|| hits as f64 / all as f64)
    }
}

/// The sum of what is known.
fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).reduce(u64::saturating_add)
}

/// True if `last` comes from another process than `first`.
fn is_restarted(first: &Figures, last: &Figures) -> bool {
    let pids = first.get("pid").zip(last.get("pid"));
    pids.is_some_and(|(first, last)| first != last) || went_back(first, last, "uptime")
}

/// Growth of a figure, as `read`, since the `first` reply.
fn grown(
    first: Option<&Figures>,
    last: &Figures,
    name: &str,
    read: fn(&Figures, &str) -> Option<u64>,
) -> Option<u64> {
    let now = read(last, name)?;
    // A counter that fell has begun again from zero.
    let then = first.and_then(|first| read(first, name)).filter(|then| *then <= now);
    Some(now - then.unwrap_or(0))
}

fn went_back(first: &Figures, last: &Figures, name: &str) -> bool {
    whole(first, name).zip(whole(last, name)).is_some_and(|(first, last)| last < first)
}

fn whole(figures: &Figures, name: &str) -> Option<u64> {
    match figures.get(name)? {
        Figure::Whole(number) => u64::try_from(*number).ok(),
        Figure::Real(_) | Figure::Text(_) => None,
    }
}

fn microseconds(figures: &Figures, name: &str) -> Option<u64> {
    let seconds = figures.get(name)?.as_f64().filter(|seconds| *seconds >= 0.0)?;
    Some((seconds * 1e6).round() as u64)
}

#[cfg(test)]
mod tests;
