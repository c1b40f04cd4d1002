//! Percentiles of a run's response times as HdrHistogram prints them (`.hgrm`), for its plotter.
//!
//! Values are milliseconds. Ranks are the record's: unanswered operations rank above all others,
//! and the table then ends below 1, without mean, deviation and maximum, which are not known.

use memtide_metrics::Histogram;
use memtide_metrics::summary::rank;
use memtide_record::{Distribution, Record};
use memtide_scenario::Kind;

const NS_PER_MS: f64 = 1e6;
/// Number of rows for each halving of the distance to 1: the default of the HDR tools.
const TICKS_PER_HALF_DISTANCE: f64 = 5.0;
/// Header line with the histogram's layout: buckets of 256 values, each twice as wide as the one
/// before.
const BUCKETS: &str = "#[Buckets =           35, SubBuckets     =          256]\n";

/// Response times of all operations; if a master measured beside its agents, only the master's.
pub fn hgrm(record: &Record) -> String {
    let response = record.judged().response.get(&Kind::All);
    let times = response.and_then(Distribution::times).unwrap_or_default();
    let unanswered = response.map_or(0, |response| response.unanswered);
    let whose = match record.own {
        Some(_) => "#[Load = the master's own, beside the agents' load]\n",
        None => "",
    };
    table(&times, unanswered) + whose
}

fn table(times: &Histogram<u64>, unanswered: u64) -> String {
    let total = times.count().saturating_add(unanswered);
    let mut out = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut buckets = times.recorded();
    let (mut below, mut value) = (0, 0);
    let mut level = 0.0;
    loop {
        let wanted = rank(level, total);
        while below < wanted {
            let Some((middle, count)) = buckets.next() else { break };
            below += count;
            value = middle.clamp(times.moments().min, times.moments().max);
        }
        // The last bucket is the row of 1; unanswered operations rank above it.
        if below < wanted || below == total {
            break;
        }
        let distance = 1.0 / (1.0 - level);
        let ms = value as f64 / NS_PER_MS;
        out += &format!("{ms:>12.6} {level:>14.12} {below:>10} {distance:>14.2}\n");
        level += (1.0 - level).log2().ceil().exp2() / TICKS_PER_HALF_DISTANCE / 2.0;
    }
    if unanswered > 0 {
        let above = "which rank above every value";
        out += &format!("#[Unanswered = {unanswered:>9} of {total}, {above}]\n");
        return out + BUCKETS;
    }
    let moments = times.moments();
    let max = moments.max as f64 / NS_PER_MS;
    if total > 0 {
        out += &format!("{max:>12.6} {:>14.12} {total:>10}\n", 1.0);
    }
    let mean = moments.mean().unwrap_or(0.0) / NS_PER_MS;
    let deviation = moments.deviation().unwrap_or(0.0) / NS_PER_MS;
    out += &format!("#[Mean    = {mean:>12.6}, StdDeviation   = {deviation:>12.6}]\n");
    out += &format!("#[Max     = {max:>12.6}, Total count    = {total:>12}]\n");
    out + BUCKETS
}

#[cfg(test)]
mod tests;
