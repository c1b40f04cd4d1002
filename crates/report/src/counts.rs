//! Lines of counts: outcomes of operations, keys and bytes, and the cost to the client.
//!
//! A line that would only say "none" is left out, unless readers look for it.

use crate::figure::lines;
use crate::layout::{TextLayout, labelled};
use crate::number::{counted, percent, whole};
use memtide_base::units::format_bytes;
use memtide_record::{Counts, DatagramCounts, ItemFigures, Record, ServerLoad, Totals};
use memtide_scenario::Kind;
use std::collections::BTreeMap;

/// Formats a mean with one decimal, which is left out if zero.
fn trimmed(mean: f64) -> String {
    let text = format!("{mean:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Adds all lines of counts.
pub(crate) fn counts(out: &mut TextLayout, record: &Record) {
    let totals = &record.totals;
    labelled(out, "operations", &outcomes(totals));
    if totals.keys > 0 {
        let hits = percent(totals.hits as f64 / totals.keys as f64);
        let (keys, found, missed) = (whole(totals.keys), whole(totals.hits), whole(totals.misses));
        let mut text = format!("{keys} read: {found} hits ({hits}), {missed} misses");
        if totals.values_read > 0 {
            let mean = totals.value_bytes_read as f64 / totals.values_read as f64;
            text.push_str(&format!(", values of {} B", trimmed(mean)));
        }
        labelled(out, "keys", &text);
    }
    if let Some(items) = &record.items {
        labelled(out, "items", &of_items(items));
    }
    // Reads and stored values are the normal case, and already in the table.
    line_of(out, "replies", &totals.replies, |name| !matches!(name, "values" | "stored"));
    line_of(out, "errors", &totals.errors, |_| true);
    let connections = &totals.connections;
    if record.churn.is_none() && connections.failed + connections.lost > 0 {
        let (opened, failed) = (whole(connections.opened), whole(connections.failed));
        let lost = whole(connections.lost);
        labelled(out, "reconnects", &format!("{opened} opened, {failed} failed, {lost} lost"));
    }
    let (full, resumed) = (connections.handshakes_full, connections.handshakes_resumed);
    if full + resumed > 0 {
        labelled(out, "handshakes", &format!("{} full, {} resumed", whole(full), whole(resumed)));
    }
    if !totals.datagrams.is_zero() {
        labelled(out, "datagrams", &datagrams(&totals.datagrams));
    }
    let (sent, received) = (format_bytes(totals.bytes_sent), format_bytes(totals.bytes_received));
    labelled(out, "bytes", &format!("{sent} sent, {received} received"));
    if let Some(client) = client(record) {
        labelled(out, "client", &client);
    }
    let busy = record.client.worker_busy.iter().copied();
    if let (Some(least), Some(most)) = (busy.clone().reduce(f64::min), busy.reduce(f64::max)) {
        let text = match least < most {
            true => format!("busy {} to {} of the time", percent(least), percent(most)),
            false => format!("busy {} of the time", percent(most)),
        };
        labelled(out, "workers", &text);
    }
    if let Some(cpu) = &record.machine_cpu {
        let (avg, min, max) = (percent(cpu.avg), percent(cpu.min), percent(cpu.max));
        let text = format!("CPUs {avg} busy (idlest {min}, busiest {max})");
        labelled(out, "machine", &text);
    }
    for (server, load) in &record.server.during {
        if let Some(text) = served(load, record) {
            let name = if record.server.during.len() > 1 { server.as_str() } else { "server" };
            // A part that begins with a count would read as one of the name.
            let colon = if text.starts_with(|c: char| c.is_ascii_digit()) { ":" } else { "" };
            labelled(out, "stats", &format!("{name}{colon} {text}"));
        }
    }
    lines(out, record);
}

/// What servers said of the items that were read.
fn of_items(items: &ItemFigures) -> String {
    let age = in_seconds(&items.age_s).map(|text| format!("last access {text} before"));
    let ttl = in_seconds(&items.ttl_s).map(|text| format!("left until expiry {text}"));
    let read = items.read_before.mean.map(|share| format!("read before {}", percent(share)));
    // They have no time until expiry, and are not among those above.
    let Counts { count, sum, .. } = &items.never_expires;
    let endless =
        (sum.0 > 0).then(|| format!("{} of {} never expire", whole(sum.0 as u64), whole(*count)));
    let parts: Vec<String> = [age, ttl, endless, read].into_iter().flatten().collect();
    if parts.is_empty() { "the servers said nothing".to_owned() } else { parts.join("; ") }
}

/// The percentiles of counted seconds, if both are known.
fn in_seconds(counts: &Counts) -> Option<String> {
    let (p50, p99) = counts.p50.zip(counts.p99)?;
    Some(format!("p50 {p50} s, p99 {p99} s"))
}

/// A server's report on the load of `record`, as a sentence; `None` if it reported nothing.
pub(crate) fn served(load: &ServerLoad, record: &Record) -> Option<String> {
    let report = &load.report;
    let mut parts = Vec::new();
    if let Some(found) = report.hit_ratio() {
        parts.push(format!("found {} of the keys", percent(found)));
        // They are misses for memtide.
        if record.phases.each().iter().any(|(_, of)| of.ops.contains_key(&Kind::Recache)) {
            parts.push("items without a value included".to_owned());
        }
    }
    if let Some(cpu_s) = report.cpu_s_per_mops() {
        parts.push(format!("took {cpu_s:.2} s of CPU per million operations"));
    }
    if let (Some(items), Some(bytes)) = (report.items, report.item_bytes) {
        parts.push(format!("held {} ({})", counted(items, "item"), format_bytes(bytes)));
    }
    if let Some(evictions) = report.evictions.filter(|evictions| *evictions > 0) {
        parts.push(format!("evicted {}", whole(evictions)));
    }
    if report.restarts > 0 {
        parts.push(format!("was restarted {}", times(report.restarts)));
    }
    if report.resets > 0 {
        parts.push(format!("had its counters reset {}", times(report.resets)));
    }
    if report.unanswered > 0 {
        let asked = report.unanswered.saturating_add(report.answers);
        let (missed, asked) = (whole(report.unanswered), whole(asked));
        parts.push(format!("{missed} of {asked} stats requests failed"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{} times", whole(count)),
    }
}

/// Number of operations with an outcome.
#[derive(Clone, Copy)]
pub(crate) struct OutcomeCount {
    /// Name of the outcome in the record.
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    pub(crate) count: u64,
}

/// The outcomes of operations.
pub(crate) fn outcome_counts(totals: &Totals) -> [OutcomeCount; 7] {
    [
        ("answered", "answered", totals.answered),
        ("failed", "failed", totals.failed),
        ("timed_out", "timed out", totals.timed_out),
        ("lost", "lost", totals.lost),
        ("dropped", "dropped", totals.dropped),
        ("unacknowledged", "unacknowledged", totals.unacknowledged),
        ("abandoned", "abandoned", totals.abandoned),
    ]
    .map(|(name, words, count)| OutcomeCount { name, words, count })
}

/// The outcomes that are errors.
pub(crate) fn errors(totals: &Totals) -> impl Iterator<Item = OutcomeCount> {
    let all = outcome_counts(totals).into_iter();
    all.filter(|of| !matches!(of.name, "answered" | "unacknowledged"))
}

fn outcomes(totals: &Totals) -> String {
    let parts = outcome_counts(totals).into_iter().filter(|of| of.count > 0);
    let parts: Vec<OutcomeCount> = parts.collect();
    let each = parts.iter().map(|&OutcomeCount { name, words, count }| match name {
        "answered" if totals.refused > 0 => {
            let refused = whole(totals.refused);
            format!("{} answered ({refused} of them with an error)", whole(count))
        }
        "timed_out" if totals.timed_out_queued > 0 => {
            let queued = whole(totals.timed_out_queued);
            format!("{} timed out ({queued} of them never sent)", whole(count))
        }
        "dropped" if totals.dropped_at_end > 0 => {
            let unsent = whole(totals.dropped_at_end);
            format!("{} dropped ({unsent} of them not sent before the window ended)", whole(count))
        }
        _ => format!("{} {words}", whole(count)),
    });
    let mut text = match (totals.intended, parts.as_slice()) {
        (0, _) => "none was due".to_owned(),
        (intended, [OutcomeCount { words, .. }])
            if totals.timed_out_queued + totals.refused == 0 =>
        {
            format!("{}, all {words}", whole(intended))
        }
        (intended, _) => {
            format!("{} due: {}", whole(intended), each.collect::<Vec<_>>().join(", "))
        }
    };
    if totals.late_replies > 0 {
        text.push_str(&format!("; {} replies came too late", whole(totals.late_replies)));
    }
    text
}

/// Unusual datagrams by kind, as far as there were any.
fn datagrams(counts: &DatagramCounts) -> String {
    let parts = [
        (counts.disordered, "out of order"),
        (counts.duplicate, "duplicate"),
        (counts.late, "late"),
        (counts.lost, "missing from incomplete replies"),
        (counts.foreign, "for no known request"),
    ];
    counted_parts(&parts).join(", ")
}

/// The parts that are not zero, each with its count: `3 corrupt`.
pub(crate) fn counted_parts(parts: &[(u64, &str)]) -> Vec<String> {
    let some = parts.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, name)| format!("{} {name}", whole(*count))).collect()
}

/// Adds a line of the counts that are not zero, by name; no line if all are zero.
pub(crate) fn line_of(
    out: &mut TextLayout,
    label: &str,
    counts: &BTreeMap<String, u64>,
    shown: impl Fn(&str) -> bool,
) {
    let shown = counts.iter().filter(|(name, count)| **count > 0 && shown(name));
    let each: Vec<String> =
        shown.map(|(name, count)| format!("{name} {}", whole(*count))).collect();
    if !each.is_empty() {
        labelled(out, label, &each.join(", "));
    }
}

/// CPU time and memory of the client; `None` if the CPU time is unknown.
fn client(record: &Record) -> Option<String> {
    let client = &record.client;
    let (user, system) = client.cpu_user_s.zip(client.cpu_system_s)?;
    let cpu_s = user + system;
    let mut text = format!("{cpu_s:.2} s of CPU ({user:.2} user, {system:.2} system)");
    if let Some(per_mops) = client.cpu_s_per_mops.filter(|per_mops| *per_mops > 0.0) {
        let per_cpu_s = whole((1e6 / per_mops).round() as u64);
        text.push_str(&format!(", {per_cpu_s} operations per CPU-second"));
    }
    if let Some(bytes) = client.rss_max_bytes {
        text.push_str(&format!(", {} of memory", format_bytes(bytes)));
    }
    Some(text)
}
