//! The rows of a comparison: the figures of every record, with their ratios to the first record's.

use super::{FigureRow, Unit, Value};
use crate::belief::SOME_UNANSWERED;
use crate::judge::{Measured, measured};
use crate::record::{
    Distribution, Missing, Percentile, PlanRecord, Record, ServerLoad, ServerReport,
};
use memtide_base::choice::RateUnit;
use memtide_scenario::{Kind, Subject};
use std::collections::BTreeSet;

/// The percentiles that have rows.
const PERCENTILES: [Percentile; 4] =
    [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999];

/// A figure of a run that is one number, and that no goal names. Every output that shows figures of
/// runs shows all of [`FIGURES`].
#[derive(Debug)]
pub struct RunFigure {
    /// Name in rules, rows of tables and properties.
    pub name: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Its line in the report on stdout: the label, and the words that follow the value. None if
    /// the report says the figure in a line with others.
    pub line: Option<(&'static str, &'static str)>,
    value: fn(&Record) -> Value,
}

/// The figures, in reading order. A row here is all that an output needs.
pub const FIGURES: &[RunFigure] = &[
    RunFigure {
        name: "answered",
        label: "answered",
        unit: Unit::PerS,
        line: Some(("answered", "by the replies of the measured window")),
        value: answered,
    },
    in_a_line("hits", "keys found", Unit::Count, |it| known(it.totals.hits as f64)),
    in_a_line("misses", "keys not found", Unit::Count, |it| known(it.totals.misses as f64)),
    in_a_line("hit_ratio", "hit ratio", Unit::Fraction, hit_ratio),
    in_a_line("client_cpu", "CPU of memtide", Unit::CpuSPerMops, client_cpu),
    in_a_line("server_cpu", "CPU of the servers", Unit::CpuSPerMops, server_cpu),
    in_a_line("worker_busy", "busiest worker", Unit::Fraction, worker_busy),
    RunFigure {
        name: "none_in_flight",
        label: "nothing in flight",
        unit: Unit::Fraction,
        line: Some(("idle", "of the workers' time, with nothing in flight")),
        value: none_in_flight,
    },
    in_a_line("machine_cpu", "CPUs of the machine", Unit::Fraction, machine_cpu),
    RunFigure {
        name: "stolen",
        label: "stolen CPU time",
        unit: Unit::Fraction,
        line: Some(("stolen", "of the CPUs' time, by the hypervisor")),
        value: stolen,
    },
];

/// A figure that the report says in a line with others.
const fn in_a_line(
    name: &'static str,
    label: &'static str,
    unit: Unit,
    value: fn(&Record) -> Value,
) -> RunFigure {
    RunFigure { name, label, unit, line: None, value }
}

impl RunFigure {
    /// Its name among members that are not compared: a rate ends with `suffix`, so that it is no
    /// count.
    pub fn member(&self, suffix: &str) -> String {
        let suffix = if self.unit == Unit::PerS { suffix } else { "" };
        format!("{}{suffix}", self.name)
    }

    /// Its value in `record`, or the reason why there is none.
    pub fn of(&self, record: &Record) -> Value {
        (self.value)(record)
    }
}

impl PartialEq for RunFigure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A row for each figure: rates and counts, then times, then the cost, which begins with the first
/// CPU time.
pub(super) fn figures(records: &[&Record]) -> Vec<FigureRow> {
    let mut rows = Vec::new();
    let mut row = |name: String, unit, value: &dyn Fn(&Record) -> Value| {
        let values = records.iter().map(|record| value(record)).collect();
        rows.push(FigureRow { name, unit, values: related(values) });
    };
    let counted = PlanRecord::common_unit(records.iter().map(|record| &record.plan));
    let per_s = match counted {
        RateUnit::Operations => Unit::PerS,
        RateUnit::Keys => Unit::KeysPerS,
    };
    row("rate".to_owned(), per_s, &|record| rate(record, counted));
    row("errors".to_owned(), Unit::Fraction, &|record| of_goal(Subject::Errors, record, counted));
    let is_cost = |figure: &RunFigure| figure.unit == Unit::CpuSPerMops;
    let (results, cost) = FIGURES.split_at(FIGURES.iter().position(is_cost).unwrap_or(0));
    for figure in results {
        row(figure.name.to_owned(), figure.unit, &|record| figure.of(record));
    }
    for kind in kinds(records) {
        let times = |record: &Record| record.judged().response.get(&kind).cloned();
        row(format!("{kind}.mean"), Unit::Ns, &|record| mean(times(record)));
        for percentile in PERCENTILES {
            let name = format!("{kind}.{percentile}");
            row(name, Unit::Ns, &|record| at(times(record), percentile));
        }
    }
    for figure in cost {
        row(figure.name.to_owned(), figure.unit, &|record| figure.of(record));
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

fn of_goal(subject: Subject, record: &Record, unit: RateUnit) -> Value {
    match measured(subject, record, unit) {
        Measured::Known(value) => known(value),
        Measured::Missing(why) => missing(&why),
        Measured::Unanswered => missing("it falls among unanswered operations"),
    }
}

/// The rate. A record has an interval of the rate of operations, and none of the rate of keys.
fn rate(record: &Record, unit: RateUnit) -> Value {
    let value = of_goal(Subject::Rate, record, unit);
    let is_known = value.value.is_some() && unit == RateUnit::Operations;
    Value { ci: record.rate_figure().interval.filter(|_| is_known), ..value }
}

/// The rate of answers. A server that answers less than it is sent has a lower one.
fn answered(record: &Record) -> Value {
    match record.rate_missing(RateUnit::Operations) {
        Some(why) => missing(why),
        None => or_missing(
            record.rate.answered_per_s,
            "the measured window was cut off, or the record is of an older version",
        ),
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
    match times.mean_ns {
        Some(mean) => Value { ci: times.mean_interval(), ..known(mean) },
        None if times.count == times.unanswered => missing("no such operation was answered"),
        None => Value { at_least: times.mean_at_least_ns, ..missing(SOME_UNANSWERED) },
    }
}

fn at(times: Option<Distribution>, percentile: Percentile) -> Value {
    let Some(times) = times.filter(|times| times.count > 0) else {
        return missing("no such operation was measured");
    };
    match (times.percentile(percentile), times.missing.get(&percentile)) {
        (Some(ns), _) => {
            let ci = times.interval(percentile).map(|ends| ends.map(|end| end as f64));
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

/// The value if it is known, or the reason why it is not.
fn or_missing(value: Option<f64>, why: &str) -> Value {
    value.map_or_else(|| missing(why), known)
}

fn worker_busy(record: &Record) -> Value {
    let busiest = record.client.worker_busy.iter().copied().reduce(f64::max);
    or_missing(busiest, "the busy time of the workers is not known")
}

/// The part of the workers' time in which they had no operation in flight. Each share has a window
/// of its own; a record from before the figure counted no such time.
fn none_in_flight(record: &Record) -> Value {
    let time_ns = |workers: usize, window_ns: u64| workers as f64 * window_ns as f64;
    let of_shards = record.shards.iter();
    let of_shards = of_shards.map(|it| time_ns(it.client.worker_busy.len(), it.window_ns)).sum();
    let all = match record.shards.is_empty() {
        true => time_ns(record.client.worker_busy.len(), record.window_ns),
        false => of_shards,
    };
    let carried = record.totals.in_flight_ns as f64;
    let share = (carried > 0.0 && all > 0.0).then(|| (1.0 - carried / all).clamp(0.0, 1.0));
    or_missing(share, "no operation was in flight, or the record does not say when")
}

fn machine_cpu(record: &Record) -> Value {
    let busy = record.machine_cpu.as_ref().map(|cpu| cpu.avg);
    or_missing(busy, "the CPU load of the machine is not known")
}

fn stolen(record: &Record) -> Value {
    let stolen = record.machine_cpu.as_ref().and_then(|cpu| cpu.stolen);
    or_missing(stolen, "the steal time of the machine is not known")
}

fn client_cpu(record: &Record) -> Value {
    or_missing(record.client.cpu_s_per_mops, "the CPU time of memtide is not known")
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
    or_missing(all.cpu_s_per_mops(), "nothing was executed")
}

/// Returns the values, each with its ratio to the first and whether their intervals are apart.
fn related(mut values: Vec<Value>) -> Vec<Value> {
    let (value, ci) = values.first().map_or((None, None), |first| (first.value, first.ci));
    for other in values.iter_mut().skip(1) {
        let ratio = value.zip(other.value).map(|(first, other)| other / first);
        other.ratio = ratio.filter(|ratio| ratio.is_finite());
        other.apart = ci
            .zip(other.ci)
            .map(|([low, high], [other_low, other_high])| other_low > high || other_high < low);
    }
    values
}
