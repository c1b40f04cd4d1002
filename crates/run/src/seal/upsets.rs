//! External disturbances of a run: servers that were gone, restarted or flushed, and keys that went
//! missing.

use super::Material;
use crate::doctor::Missed;
use crate::fill::Held;
use crate::survey::{ServerCommands, Survey};
use memtide_record::warning::{TimeRange, Upset};
use memtide_record::{GONE_MS_MIN, Outage, Record, Warning};
use memtide_scenario::Scenario;
use memtide_workload::OpKind;

/// Fraction of found keys below which a warning is given, even if the initial fraction is unknown.
const HIT_RATIO_MIN: f64 = 0.01;

/// A server that was gone for a while, and when.
struct GoneServer<'a> {
    name: &'a str,
    when: Vec<TimeRange>,
}

/// The servers that were gone for a while.
fn gone_servers(record: &Record) -> Vec<GoneServer<'_>> {
    let start_ms = record.window_start_unix_ns.map_or(0.0, |start| start.0 as f64 / 1e6);
    let each = record.servers.iter().map(|server| {
        let long = server.outages.iter().filter(|outage| is_long(outage));
        let when = long.map(|outage| TimeRange::of(outage, start_ms)).collect();
        GoneServer { name: &server.name, when }
    });
    each.filter(|server| !server.when.is_empty()).collect()
}

fn is_long(outage: &Outage) -> bool {
    outage.until_unix_ms.is_none_or(|until| until - outage.from_unix_ms >= GONE_MS_MIN)
}

/// The outages as clauses, for the sentence of a check.
pub(super) fn gone(record: &Record) -> Vec<String> {
    let servers = gone_servers(record).into_iter();
    servers
        .map(|server| format!("{} was gone {}", server.name, TimeRange::list(&server.when)))
        .collect()
}

/// Part of a run in which servers to be loaded were gone.
pub(super) fn missed(record: &Record) -> Missed {
    let length_s = record.measured_s;
    let ranges = gone_servers(record).into_iter().flat_map(|server| server.when);
    let away_s: f64 = ranges.map(|range| range.within_s(length_s)).sum();
    let all_s = length_s * record.servers.len() as f64;
    let share = if all_s > 0.0 { away_s / all_s } else { 0.0 };
    Missed { share, at_end: record.lost_servers().next().is_some() }
}

/// A warning for each server that was gone for a while.
pub(super) fn away(record: &Record) -> Vec<Warning> {
    let warnings = gone_servers(record).into_iter().map(|GoneServer { name, when }| {
        let is_lost = record.lost_servers().any(|lost| lost == name);
        Warning::Upset(Upset::Gone { server: name.to_owned(), when, is_lost })
    });
    warnings.collect()
}

/// Warnings about restarts, and about flushes that memtide did not send, from the servers' own
/// counters.
pub(super) fn servers(survey: &Survey, commands: &ServerCommands) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for server in survey.after.keys() {
        let ours = commands.flushes.get(server).copied().unwrap_or(0);
        let count = survey.foreign_flushes(server, ours);
        if survey.is_restarted(server) {
            warnings.push(Warning::Upset(Upset::Restarted { server: server.clone() }));
        } else if count > 0 {
            warnings.push(Warning::Upset(Upset::Flushed { server: server.clone(), count }));
        }
    }
    warnings
}

/// A warning if fewer keys were found than the servers held, or almost none.
pub(super) fn hits<W>(record: &Record, material: &Material<'_, W>) -> Option<Warning> {
    let (keys, hits) = (record.totals.keys, record.totals.hits);
    if keys == 0 {
        return None;
    }
    let held = material.filled.held;
    let share = (held.found as f64 / held.keys.max(1) as f64).min(1.0);
    if held.keys > 0 && !material.commands.is_taken && keeps_keys(material.scenario) {
        let missing = (keys - hits) as f64 / keys as f64;
        let short = missing > missing_max(held);
        let of_share = material.lowered.share.is_some();
        let upset = Upset::HitRatio { keys, hits, held: Some(share), of_share };
        return short.then_some(Warning::Upset(upset));
    }
    let few = (hits as f64) < keys as f64 * HIT_RATIO_MIN;
    let upset = Upset::HitRatio { keys, hits, held: None, of_share: false };
    few.then_some(Warning::Upset(upset))
}

/// True if keys were missing that the servers had stored, in the load or in the samples before it;
/// none if keys may be missing for other reasons, or if none was read.
pub(super) fn misses<W>(record: &Record, material: &Material<'_, W>) -> Option<bool> {
    let held = material.filled.held;
    let phases = &record.phases;
    let load = [&phases.warmup, &phases.measure, &phases.cooldown];
    let keys: u64 = load.iter().map(|phase| phase.totals.keys).sum();
    let missing: u64 = load.iter().map(|phase| phase.totals.misses).sum();
    let known = keys > 0 && held.keys > 0 && keeps_keys(material.scenario);
    known.then_some(missing > 0 || held.found < held.keys)
}

/// Largest fraction of missing keys that is compatible with a sample that found `held`. If none of
/// n was missing, a fraction of 7 ÷ n goes unnoticed once in a thousand samples; if some were,
/// chance adds four standard deviations.
fn missing_max(held: Held) -> f64 {
    let missing = (held.keys - held.found) as f64;
    (missing + 4.0 * missing.sqrt() + 7.0) / held.keys as f64
}

/// True if the load never removes a key.
fn keeps_keys(scenario: &Scenario) -> bool {
    let expires = scenario.expiry != 0 && scenario.expiry_share > 0.0;
    !expires && scenario.mix.kinds().all(|kind| kind != OpKind::Delete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sample_leaves_possible_is_allowed() {
        let of = |keys, found| missing_max(Held { keys, found });
        assert_eq!(of(1_000, 1_000), 0.007);
        assert_eq!(of(100_000, 100_000), 0.000_07);
        assert_eq!(of(1_000, 900), 0.147);
    }
}
