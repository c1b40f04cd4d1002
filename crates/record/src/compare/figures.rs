//! The rows of a comparison: the figures of every record, with their ratios to the first record's.

use super::{FigureRow, Unit, Value};
use crate::judge::{Measured, measured};
use crate::record::{Distribution, Missing, Percentile, Record, ServerLoad, ServerReport};
use memtide_scenario::Kind;
use memtide_scenario::Subject;
use std::collections::BTreeSet;

/// The percentiles that have rows.
const PERCENTILES: [Percentile; 4] =
    [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999];

/// A figure that no goal can name, and rules can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    /// Operations answered.
    Answered,
    /// Keys read that the servers had.
    Hits,
    /// Keys read that the servers did not have.
    Misses,
    /// Fraction of the keys read that the servers had.
    HitRatio,
    /// CPU time of memtide.
    ClientCpu,
    /// CPU time of all servers.
    ServerCpu,
}

impl Plain {
    /// All of them, for rules.
    pub(super) const ALL: [Self; 6] = [
        Self::Answered,
        Self::Hits,
        Self::Misses,
        Self::HitRatio,
        Self::ClientCpu,
        Self::ServerCpu,
    ];

    /// Name of its row.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Hits => "hits",
            Self::Misses => "misses",
            Self::HitRatio => "hit_ratio",
            Self::ClientCpu => "client_cpu",
            Self::ServerCpu => "server_cpu",
        }
    }

    /// Unit of its values.
    pub(super) const fn unit(self) -> Unit {
        match self {
            Self::Answered | Self::Hits | Self::Misses => Unit::Count,
            Self::HitRatio => Unit::Fraction,
            Self::ClientCpu | Self::ServerCpu => Unit::CpuSPerMops,
        }
    }

    /// Its value in `record`.
    pub(super) fn of(self, record: &Record) -> Value {
        match self {
            Self::Answered => known(record.totals.answered as f64),
            Self::Hits => known(record.totals.hits as f64),
            Self::Misses => known(record.totals.misses as f64),
            Self::HitRatio => hit_ratio(record),
            Self::ClientCpu => client_cpu(record),
            Self::ServerCpu => server_cpu(record),
        }
    }
}

/// A row for each figure: rates and counts, then times, then the cost in CPU time.
pub(super) fn figures(records: &[&Record]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    let mut row = |name: String, unit, value: &dyn Fn(&Record) -> Value| {
        let values = records.iter().map(|record| value(record)).collect();
        rows.push(FigureRow { name, unit, values: related(values) });
    };
    row("rate".to_owned(), Unit::PerS, &|record| of_goal(Subject::Rate, record));
    row("errors".to_owned(), Unit::Fraction, &|record| of_goal(Subject::Errors, record));
    for plain in [Plain::Answered, Plain::Hits, Plain::Misses, Plain::HitRatio] {
        row(plain.name().to_owned(), plain.unit(), &|record| plain.of(record));
    }
    for kind in kinds(records) {
        let times = |record: &Record| record.judged().response.get(&kind).cloned();
        row(format!("{kind}.mean"), Unit::Ns, &|record| mean(times(record)));
        for percentile in PERCENTILES {
            let name = format!("{kind}.{percentile}");
            row(name, Unit::Ns, &|record| at(times(record), percentile));
        }
    }
    for plain in [Plain::ClientCpu, Plain::ServerCpu] {
        row(plain.name().to_owned(), plain.unit(), &|record| plain.of(record));
    }
    rows
}

/// Every kind of operation for which a record has times.
fn kinds(records: &[&Record]) -> BTreeSet<Kind> {
    let of_all = records.iter().flat_map(|record| &record.judged().response);
    of_all.filter(|(_, times)| times.count > 0).map(|(kind, _)| *kind).collect()
}

fn known(value: f64) -> Value {
    Value { value: Some(value), ..Value::default() }
}

fn missing(why: &str) -> Value {
    Value { missing: Some(why.to_owned()), ..Value::default() }
}

fn of_goal(subject: Subject, record: &Record) -> Value {
    match measured(subject, record) {
        Measured::Known(value) if value.is_finite() => known(value),
        Measured::Missing(why) => missing(&why),
        Measured::Known(_) | Measured::Unanswered => {
            missing("the shares did not run at the same time")
        }
    }
}

fn hit_ratio(record: &Record) -> Value {
    match record.totals.keys {
        0 => missing("nothing was read"),
        keys => known(record.totals.hits as f64 / keys as f64),
    }
}

fn mean(times: Option<Distribution>) -> Value {
    let Some(times) = times.filter(|times| times.count > 0) else {
        return missing("no such operation was measured");
    };
    let Some(mean) = times.mean_ns else { return missing("no such operation was answered") };
    let ci = times.mean_ci_low_ns.zip(times.mean_ci_high_ns);
    Value { ci: ci.map(<[f64; 2]>::from), ..known(mean) }
}

fn at(times: Option<Distribution>, percentile: Percentile) -> Value {
    let Some(times) = times.filter(|times| times.count > 0) else {
        return missing("no such operation was measured");
    };
    match (times.percentile(percentile), times.missing.get(&percentile)) {
        (Some(ns), _) => {
            let (low, high) = ci(&times, percentile);
            let ci = low.zip(high).map(|(low, high)| [low as f64, high as f64]);
            Value { ci, ..known(ns as f64) }
        }
        (None, Some(Missing::Unanswered)) => Value {
            at_least: times.percentile_at_least(percentile).map(|ns| ns as f64),
            ..missing("it falls among operations that were not answered")
        },
        (None, Some(Missing::TooFew { needed, has })) => {
            missing(&format!("it needs {needed} operations, and {has} were measured"))
        }
        (None, None) => missing("the record does not contain it"),
    }
}

fn ci(times: &Distribution, percentile: Percentile) -> (Option<u64>, Option<u64>) {
    match percentile {
        Percentile::P50 => (times.p50_ci_low_ns, times.p50_ci_high_ns),
        Percentile::P90 => (times.p90_ci_low_ns, times.p90_ci_high_ns),
        Percentile::P95 => (times.p95_ci_low_ns, times.p95_ci_high_ns),
        Percentile::P99 => (times.p99_ci_low_ns, times.p99_ci_high_ns),
        Percentile::P999 => (times.p999_ci_low_ns, times.p999_ci_high_ns),
        Percentile::P9999 => (times.p9999_ci_low_ns, times.p9999_ci_high_ns),
    }
}

fn client_cpu(record: &Record) -> Value {
    match record.client.cpu_s_per_mops {
        Some(cost) => known(cost),
        None => missing("the CPU time of memtide is not known"),
    }
}

/// CPU time of all servers per million operations that they executed, from their reports during the
/// load; filling is not included. A server that was restarted or did not always answer has reports
/// of a part of the load only.
fn server_cpu(record: &Record) -> Value {
    let servers = record.server.during.values();
    if record.server.during.is_empty() {
        return missing("the servers' stats were not read during the load");
    }
    let mut all = ServerReport::default();
    for ServerLoad { report, why_unanswered } in servers {
        if report.restarts + report.resets + report.unanswered > 0 || why_unanswered.is_some() {
            return missing("a server was restarted or did not always answer");
        }
        if report.cpu_s_per_mops().is_none() {
            return missing("a server did not report its CPU time, or executed nothing");
        }
        all = all.then(report);
    }
    all.cpu_s_per_mops().map_or_else(|| missing("nothing was executed"), known)
}

/// Returns the values, each with its ratio to the first and whether their intervals are apart.
fn related(mut values: Vec<Value>) -> Vec<Value> {
    let (value, ci) = match values.first() {
        Some(first) => (first.value, first.ci),
        None => (None, None),
    };
    for other in values.iter_mut().skip(1) {
        let ratio = value.zip(other.value).map(|(first, other)| other / first);
        other.ratio = ratio.filter(|ratio| ratio.is_finite());
        other.apart = ci
            .zip(other.ci)
            .map(|([low, high], [other_low, other_high])| other_low > high || other_high < low);
    }
    values
}
