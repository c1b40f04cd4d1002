//! The figures of a record other than its distributions of response times, counted again: lag,
//! squares, kinds, keys, bytes, rows over time and servers. If the samples alone do not determine a
//! figure, it is compared with the bounds that they give.

use crate::check::{equal, is_answered, was_sent};
use crate::harness::Rehearsal;
use memtide_base::{Instant, Span};
use memtide_record::{Distribution, ServerTotals};
use memtide_scenario::Kind;
use memtide_workload::{OpKind, Outcome};
use memtide_world::Sample;

/// The time since 1970 at the world's beginning.
const WORLD_SINCE_UNIX: Span = Span::from_s(1_800_000_000);

/// Checks all figures.
///
/// # Errors
/// A sentence that names the figure that differs, and the difference.
pub fn recount(rehearsal: &Rehearsal) -> Result<(), String> {
    moments(rehearsal)?;
    kinds(rehearsal)?;
    keys_and_bytes(rehearsal)?;
    rows(rehearsal)?;
    servers(rehearsal)
}

/// Count, sum, sum of squares, extremes and mean of response, service and lag.
fn moments(rehearsal: &Rehearsal) -> Result<(), String> {
    let record = &rehearsal.record;
    let response = |s: &Sample| is_answered(s.outcome).then(|| s.received.since(s.intended).ns());
    let service = |s: &Sample| is_answered(s.outcome).then(|| s.received.since(s.sent).ns());
    let lag = |s: &Sample| was_sent(s).then(|| s.sent.since(s.intended).ns());
    type Time<'a> = &'a dyn Fn(&Sample) -> Option<u64>;
    let tables: [(&str, _, Time<'_>); 3] = [
        ("response", &record.response, &response),
        ("service", &record.service, &service),
        ("lag", &record.lag, &lag),
    ];
    for (table, said, time) in tables {
        for (kind, said) in said {
            // A get of several keys is a hit here only if all of its keys were found.
            if matches!(kind, Kind::GetHit | Kind::GetMiss) {
                continue;
            }
            let belongs = |s: &&Sample| *kind == Kind::All || Kind::from(s.kind) == *kind;
            let times = rehearsal.samples.iter().filter(belongs).filter_map(time);
            exact(&format!("{table} of {kind}"), said, &times.collect::<Vec<u64>>())?;
        }
    }
    Ok(())
}

fn exact(name: &str, said: &Distribution, times: &[u64]) -> Result<(), String> {
    equal(&format!("count of {name}"), said.count - said.unanswered, times.len() as u64)?;
    let sum: u128 = times.iter().map(|&ns| u128::from(ns)).sum();
    let squares: u128 = times.iter().map(|&ns| u128::from(ns) * u128::from(ns)).sum();
    // A mean without those that were not answered is none.
    let is_whole = said.unanswered == 0 && !times.is_empty();
    let mean = is_whole.then(|| sum as f64 / times.len() as f64);
    let counted = (times.iter().min().copied(), times.iter().max().copied(), mean, sum, squares);
    let longest = said.longest_answered();
    let said = (said.min_ns, longest, said.mean_ns, said.sum_ns.0, said.sum_squares_ns2.0);
    if said == counted {
        return Ok(());
    }
    Err(format!("moments of {name}: the record says {said:?}, counting anew gives {counted:?}"))
}

/// The operations sent of each kind, by intended and by sent instant.
fn kinds(rehearsal: &Rehearsal) -> Result<(), String> {
    let record = &rehearsal.record;
    let Some(start_unix) = record.window_start_unix_ns else { return Ok(()) };
    // Samples count from the beginning of the world.
    let start = Instant::from_ns(start_unix.0 as u64) - WORLD_SINCE_UNIX;
    // A run that ends with its last operation has a record whose window is shorter than the plan.
    let window = start..start + rehearsal.plan.window.duration;
    for kind in OpKind::ALL {
        let sent = || rehearsal.samples.iter().filter(|s| s.kind == kind && was_sent(s));
        let said = |of: &std::collections::BTreeMap<Kind, u64>| {
            of.get(&Kind::from(kind)).copied().unwrap_or(0)
        };
        let name = kind.name();
        equal(&format!("sent {name}"), said(&record.phases.measure.ops), sent().count() as u64)?;
        // Operations due in the warm-up may have been sent in the window, and have no sample.
        let within = sent().filter(|s| window.contains(&s.sent)).count() as u64;
        let most = within + said(&record.phases.warmup.ops);
        let said = said(&record.sent_in_window);
        if !(within..=most).contains(&said) {
            return Err(format!("{name} sent in the window: {said} is not {within} to {most}"));
        }
    }
    Ok(())
}

/// Keys found and missed, and bytes of answers.
fn keys_and_bytes(rehearsal: &Rehearsal) -> Result<(), String> {
    let totals = &rehearsal.record.totals;
    equal("keys found or missed", totals.keys, totals.hits + totals.misses)?;
    let count = |outcome: Outcome| {
        let reads = rehearsal.samples.iter().filter(|s| reads(s.kind) && s.outcome == outcome);
        reads.count() as u64
    };
    let (hits, misses) = (count(Outcome::Hit), count(Outcome::Miss));
    // A read of several keys is a hit if one of its keys was found.
    if totals.keys == hits + misses {
        equal("hits", totals.hits, hits)?;
        equal("misses", totals.misses, misses)?;
    } else if totals.keys < hits + misses || totals.hits < hits || totals.misses < misses {
        return Err(format!("{} keys of {hits} hits and {misses} misses", totals.keys));
    }
    // Late answers and the first halves of cas and recache are in no sample.
    let bytes: u64 = rehearsal.samples.iter().map(|s| u64::from(s.bytes)).sum();
    let halves = rehearsal.samples.iter().any(|s| s.kind.stores_second());
    if totals.late_replies == 0 && !halves {
        equal("bytes received", totals.bytes_received, bytes)
    } else if totals.bytes_received < bytes {
        Err(format!("{} bytes were received, but {bytes} answered", totals.bytes_received))
    } else {
        Ok(())
    }
}

fn reads(kind: OpKind) -> bool {
    // What the winner of a recache found is not in its outcome, as with cas.
    kind.reads() && !kind.stores_second()
}

/// The rows over time add up to the whole.
fn rows(rehearsal: &Rehearsal) -> Result<(), String> {
    let (record, totals) = (&rehearsal.record, &rehearsal.record.totals);
    let sum = |of: fn(&memtide_record::IntervalRecord) -> u64| {
        record.intervals.iter().map(of).sum::<u64>()
    };
    equal("answers in all rows", sum(|row| row.ops), totals.answered)?;
    equal("hits in all rows", sum(|row| row.hits), totals.hits)?;
    equal("misses in all rows", sum(|row| row.misses), totals.misses)?;
    let slices = &record.slices;
    let answered = slices.iter().map(|slice| slice.answered).sum();
    let unanswered = slices.iter().map(|slice| slice.unanswered).sum();
    equal("answers in all slices", answered, totals.answered)?;
    equal("unanswered in all slices", unanswered, totals.unanswered())
}

/// Every operation that was sent is counted for one server, and the known counts of all servers add
/// up to the totals.
fn servers(rehearsal: &Rehearsal) -> Result<(), String> {
    let servers = &rehearsal.record.servers;
    let count = |is: &dyn Fn(&Sample) -> bool| {
        rehearsal.samples.iter().filter(|sample| was_sent(sample) && is(sample)).count() as u64
    };
    let sum =
        |of: fn(&ServerTotals) -> u64| servers.iter().map(|server| of(&server.totals)).sum::<u64>();
    equal("sent to all servers", sum(|of| of.sent), count(&|_| true))?;
    equal("answers of all servers", sum(|of| of.answered), count(&|s| is_answered(s.outcome)))?;
    if servers.iter().all(|server| server.totals.lost.is_some()) {
        let lost = count(&|s| s.outcome == Outcome::Lost);
        equal("lost by all servers", sum(|of| of.lost.unwrap_or(0)), lost)?;
    }
    if servers.is_empty() {
        return Ok(());
    }
    let totals = &rehearsal.record.totals;
    for (name, of, total) in [
        ("failed", (|of| of.failed) as fn(&ServerTotals) -> u64, totals.failed),
        ("unacknowledged", |of| of.unacknowledged, totals.unacknowledged),
        ("late_replies", |of| of.late_replies, totals.late_replies),
        ("keys_asked", |of| of.keys_asked, totals.keys_asked),
        ("hits", |of| of.hits, totals.hits),
        ("misses", |of| of.misses, totals.misses),
        ("bytes_sent", |of| of.bytes_sent, totals.bytes_sent),
        ("bytes_received", |of| of.bytes_received, totals.bytes_received),
        ("opened", |of| of.connections.opened, totals.connections.opened),
        ("connects failed", |of| of.connections.failed, totals.connections.failed),
        ("connections lost", |of| of.connections.lost, totals.connections.lost),
        ("errors", |of| of.errors.values().sum(), totals.errors.values().sum()),
        ("replies", |of| of.replies.values().sum(), totals.replies.values().sum()),
        ("checked", |of| of.verification.checked, totals.verification.checked),
    ] {
        equal(&format!("{name} of all servers"), total, sum(of))?;
    }
    for (name, of, total) in [
        ("intended", (|of| of.intended) as fn(&ServerTotals) -> Option<u64>, totals.intended),
        ("timed_out", |of| of.timed_out, totals.timed_out),
        ("timed_out_queued", |of| of.timed_out_queued, totals.timed_out_queued),
        ("lost", |of| of.lost, totals.lost),
        ("dropped", |of| of.dropped, totals.dropped),
        ("abandoned", |of| of.abandoned, totals.abandoned),
    ] {
        let known: Option<u64> = servers.iter().map(|server| of(&server.totals)).sum();
        // A count of 0 is never unknown, and with a single server all counts are known.
        if known.is_some() || total == 0 || servers.len() == 1 {
            equal(&format!("{name} of all servers"), total, known.unwrap_or(0))?;
        }
    }
    Ok(())
}
