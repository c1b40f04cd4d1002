//! The figures of a run that are one number, by the names of the crate scenario: what each is in a
//! record, or why it is not known.
//!
//! Rate, errors and times are judged elsewhere.

use crate::record::{ClientRecord, Record, ServerLoad, ServerReport};
use memtide_base::choice::RateUnit;
use memtide_scenario::FigureName;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure of a run that is one number, with its value. Every output that shows figures of runs
/// shows all of [`FIGURES`].
#[derive(Debug)]
pub struct RunFigure {
    /// Which figure it is.
    pub id: FigureName,
    /// Name in goals, rules, rows of tables and properties.
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
        id: FigureName::Answered,
        name: FigureName::Answered.name(),
        label: "answered",
        unit: Unit::PerS,
        line: Some(("answered", "by the replies of the measured window")),
        value: answered,
    },
    in_a_line(FigureName::Hits, "keys found", Unit::Count, |it| known(it.totals.hits as f64)),
    in_a_line(FigureName::Misses, "keys not found", Unit::Count, |it| {
        known(it.totals.misses as f64)
    }),
    in_a_line(FigureName::HitRatio, "hit ratio", Unit::Fraction, hit_ratio),
    in_a_line(FigureName::ClientCpu, "CPU of memtide", Unit::CpuSPerMops, client_cpu),
    in_a_line(FigureName::ServerCpu, "CPU of the servers", Unit::CpuSPerMops, server_cpu),
    in_a_line(FigureName::WorkerBusy, "busiest worker", Unit::Fraction, worker_busy),
    RunFigure {
        id: FigureName::NoneInFlight,
        name: FigureName::NoneInFlight.name(),
        label: "nothing in flight",
        unit: Unit::Fraction,
        line: Some(("idle", "of the workers' time, with nothing in flight")),
        value: none_in_flight,
    },
    in_a_line(FigureName::MachineCpu, "CPUs of the machine", Unit::Fraction, machine_cpu),
    RunFigure {
        id: FigureName::Stolen,
        name: FigureName::Stolen.name(),
        label: "stolen CPU time",
        unit: Unit::Fraction,
        line: Some(("stolen", "of the CPUs' time, by the hypervisor")),
        value: stolen,
    },
];

/// A figure that the report says in a line with others.
const fn in_a_line(
    id: FigureName,
    label: &'static str,
    unit: Unit,
    value: fn(&Record) -> Value,
) -> RunFigure {
    RunFigure { id, name: id.name(), label, unit, line: None, value }
}

impl RunFigure {
    /// The row of a figure that a user names.
    pub(crate) fn named(id: FigureName) -> &'static Self {
        FIGURES.iter().find(|figure| figure.id == id).expect("every figure has a row")
    }

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

/// Unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Operations per second.
    PerS,
    /// Keys per second.
    KeysPerS,
    /// Number of operations, keys or errors.
    Count,
    /// Fraction, 0 to 1.
    Fraction,
    /// Seconds of CPU time per million operations.
    CpuSPerMops,
}

/// A figure of one record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Value {
    /// The figure; none if it is unknown.
    pub value: Option<f64>,
    /// Lower bound of a percentile that falls among unanswered operations, or of a mean without
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Reason why the figure is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The figure divided by the first record's; absent in the first record, if either is unknown,
    /// and if the first is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// 95 % confidence interval; absent if the record has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
    /// True if this confidence interval and the first record's do not overlap, so that chance alone
    /// does not explain the difference; absent if either is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<bool>,
}

pub(crate) fn known(value: f64) -> Value {
    Value { value: Some(value), ..Value::default() }
}

pub(crate) fn missing(why: &str) -> Value {
    Value { missing: Some(why.to_owned()), ..Value::default() }
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
    let all = match record.shards.is_empty() {
        true => time_ns(&record.client, record.window_ns),
        false => record.shards.iter().map(|it| time_ns(&it.client, it.window_ns)).sum(),
    };
    let carried = record.totals.in_flight_ns as f64;
    let share = (carried > 0.0 && all > 0.0).then(|| (1.0 - carried / all).clamp(0.0, 1.0));
    or_missing(share, "no operation was in flight, or the record does not say when")
}

/// The time of all workers together in a window of this length.
fn time_ns(client: &ClientRecord, window_ns: u64) -> f64 {
    client.worker_busy.len() as f64 * window_ns as f64
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_that_can_be_named_has_its_row() {
        let rows: Vec<FigureName> = FIGURES.iter().map(|figure| figure.id).collect();
        assert_eq!(rows, FigureName::ALL);
    }
}
