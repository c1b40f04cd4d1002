//! Seconds of the load as rows of a table: one for all operations, and one for each kind.
//!
//! A cell is empty where the second lacks the figure; it is never a false zero.

use super::Interval;
use crate::record::{
    HostSecond, Percentile, Record, SecondRecord, ServerReport, SettledCounts, UnderWay,
    mean_at_least,
};
use crate::sample::{CellForm, Column};
use memtide_base::Span;
use memtide_metrics::summary::quantile;
use memtide_metrics::{Histogram, histogram::Moments};
use memtide_scenario::{Kind, RowText};
use serde_json::{Map, Value};

/// A row of an intervals file. All rows have the same columns, in the same order.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalRow(Map<String, Value>);

/// Percentiles of response time.
const RESPONSE: [Percentile; 4] =
    [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999];
/// Percentiles of service time and lag.
const OTHERS: [Percentile; 2] = [Percentile::P50, Percentile::P99];

/// The column that says whose load a row holds.
const LOAD: &str = "load";
/// Its word where rows are those of the agents, without the master's own load.
const OF_AGENTS: &str = "agents";
/// The kind of the row that says how many operations of the rows are not in the record.
const SURPLUS: &str = "surplus";

/// A figure of a server's report.
type ReportFigure = fn(&ServerReport) -> Option<u64>;

impl IntervalRow {
    /// The rows of `interval`: all operations, then each kind it contains. `step` is the number of
    /// its step, in a search or scan.
    pub fn of_interval(interval: &Interval, step: Option<u32>) -> Vec<Self> {
        let Interval { response, service, lag, unanswered, .. } = interval;
        let kinds = Kind::ALL.iter().filter(|kind| {
            **kind == Kind::All
                || [response, service, lag].iter().any(|by| by.contains_key(kind))
                || unanswered.contains_key(kind)
        });
        kinds.map(|kind| Self::of_kind(interval, *kind, step)).collect()
    }

    fn of_kind(interval: &Interval, kind: Kind, step: Option<u32>) -> Self {
        let mut row = Self(Map::new());
        row.place(step, interval.start.as_s_f64(), interval.length.as_s_f64(), kind.name());
        let is_all = kind == Kind::All;
        row.counts(is_all.then_some(&interval.counts));
        let [response, service, lag] = [&interval.response, &interval.service, &interval.lag]
            .map(|by| by.get(&kind).cloned().unwrap_or_default());
        let unanswered = interval.unanswered.get(&kind).copied().unwrap_or(0);
        // Only the reply shows whether a get is a hit.
        let is_known_when_sent = !matches!(kind, Kind::GetHit | Kind::GetMiss);
        row.set("measured_sent", is_known_when_sent.then_some(lag.count()));
        row.set("measured_answered", response.count());
        row.set("measured_unanswered", unanswered);
        row.times("response", &response, &RESPONSE, Some([unanswered; 2]));
        // How many of them were sent is unknown.
        row.times("service", &service, &OTHERS, Some([0, unanswered]));
        row.times("lag", &lag, &OTHERS, None);
        row.under_way(is_all.then_some(&interval.under_way));
        row.reports(interval.reports.values().filter(|_| is_all));
        row.host(interval.host.as_ref().filter(|_| is_all));
        row.load(interval.is_of_agents);
        row
    }

    /// The rows of the seconds in a record: all operations together, with two percentiles.
    pub fn of_record(record: &Record) -> Vec<Self> {
        let of_agents = record.own.is_some();
        record.seconds.iter().map(|second| Self::of_second(second, of_agents)).collect()
    }

    /// The row after the last one, which ended at `until`: how many operations of all rows are not
    /// in `record`, because the record of their agent did not arrive. None if there are none.
    pub fn surplus(record: &Record, step: Option<u32>, until: Span) -> Option<Self> {
        let operations = record.rows_without_record?;
        let mut row = Self::of_second(&SecondRecord::default(), record.own.is_some());
        let figures = row.0.iter_mut().filter(|(name, _)| *name != LOAD);
        figures.for_each(|(_, value)| *value = Value::Null);
        row.place(step, until.as_s_f64(), 0.0, SURPLUS);
        row.set("settled", operations);
        Some(row)
    }

    fn of_second(second: &SecondRecord, of_agents: bool) -> Self {
        let mut row = Self(Map::new());
        row.place(None, second.start_s, second.length_s, Kind::All.name());
        row.counts(Some(&second.counts));
        for column in ["measured_sent", "measured_answered", "measured_unanswered"] {
            row.set(column, Value::Null);
        }
        let none = Histogram::new();
        row.times("response", &none, &RESPONSE, Some([0; 2]));
        row.times("service", &none, &OTHERS, Some([0; 2]));
        row.times("lag", &none, &OTHERS, None);
        row.set("response_p50_ns", second.response_p50_ns);
        row.set("response_p99_ns", second.response_p99_ns);
        row.under_way(Some(&second.under_way));
        row.reports(second.reports.values());
        row.host(second.host.as_ref());
        row.load(of_agents);
        row
    }

    /// The columns with their cells; null where the second lacks the figure.
    pub fn cells(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The columns of every row, in order. A name ends in its unit; a name without a unit counts
    /// operations, keys or connections.
    pub fn columns() -> Vec<Column> {
        let row = Self::of_second(&SecondRecord::default(), false);
        row.0.into_iter().map(|(name, _)| column(name)).collect()
    }

    /// `rows` as lines of text, with a heading if they are the first rows of a file.
    pub fn text(rows: &[Self], form: RowText, is_first: bool) -> String {
        let mut text = String::new();
        for (number, row) in rows.iter().enumerate() {
            if form == RowText::Csv && is_first && number == 0 {
                text += &(row.csv_header() + "\n");
            }
            text += &match form {
                RowText::Csv => row.to_csv(),
                RowText::JsonLines => row.to_json(),
            };
            text.push('\n');
        }
        text
    }

    /// The names of the columns, separated by commas.
    fn csv_header(&self) -> String {
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        names.join(",")
    }

    /// The cells, separated by commas. Only numbers and known words, so nothing needs quotes.
    fn to_csv(&self) -> String {
        let cells = self.0.values().map(|value| match value {
            Value::Null => String::new(),
            Value::String(word) => word.clone(),
            number => number.to_string(),
        });
        cells.collect::<Vec<_>>().join(",")
    }

    /// The row as a JSON object on one line.
    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).expect("names and numbers are always written")
    }

    fn place(&mut self, step: Option<u32>, start_s: f64, length_s: f64, kind: &str) {
        self.set("step", step);
        self.set("start_s", start_s);
        self.set("length_s", length_s);
        self.set("kind", kind);
    }

    fn set(&mut self, column: &str, value: impl Into<Value>) {
        self.0.insert(column.to_owned(), value.into());
    }

    /// Adds outcomes; empty cells if unknown.
    fn counts(&mut self, counts: Option<&SettledCounts>) {
        let each = serde_json::to_value(counts.copied().unwrap_or_default());
        let Ok(Value::Object(each)) = each else { return };
        for (column, value) in each {
            self.0.insert(column, if counts.is_some() { value } else { Value::Null });
        }
    }

    /// Adds the times of answered operations. `above` is the least and the largest number of
    /// operations that rank above them; none if every operation has such a time.
    fn times(
        &mut self,
        name: &str,
        times: &Histogram<u64>,
        percentiles: &[Percentile],
        above: Option<[u64; 2]>,
    ) {
        let moments: &Moments = times.moments();
        let [min, max] = [moments.min, moments.max].map(|ns| (moments.count > 0).then_some(ns));
        let [least, most] = above.unwrap_or_default();
        let is_whole = most == 0;
        self.set(&format!("{name}_mean_ns"), moments.mean().filter(|_| is_whole));
        self.set(&format!("{name}_min_ns"), min);
        for percentile in percentiles {
            let column = format!("{name}_{}_ns", percentile.to_string().replace('.', ""));
            let [value, of_most] =
                [least, most].map(|above| quantile(times, above, percentile.fraction()).known());
            self.set(&column, value.filter(|_| value == of_most));
        }
        self.set(&format!("{name}_max_ns"), max.filter(|_| is_whole));
        if above.is_some() {
            let mean = mean_at_least(moments, most, 0).filter(|_| !is_whole);
            self.set(&format!("{name}_mean_at_least_ns"), mean);
            self.set(&format!("{name}_max_at_least_ns"), max.filter(|_| !is_whole));
        }
    }

    /// Adds what was in flight and the backlog at the end; empty cells if unknown.
    fn under_way(&mut self, under_way: Option<&UnderWay>) {
        let under_way = under_way.copied().unwrap_or_default();
        self.set("in_flight", under_way.in_flight);
        self.set("backlog", under_way.backlog);
        self.set("oldest_due_s", under_way.oldest_due_s);
        self.set("connections_open", under_way.connections_open);
    }

    /// Adds the number of servers that answered, and the servers' reports, summed over all servers;
    /// a sum is empty if the figure of one of them is unknown.
    fn reports<'a>(&mut self, reports: impl Iterator<Item = &'a ServerReport> + Clone) {
        let answered = reports.clone().map(|of| u64::from(of.answers > 0)).reduce(|a, b| a + b);
        self.set("servers_answered", answered);
        let sums: [(&str, ReportFigure); 13] = [
            ("operations", |of| of.operations),
            ("gets", |of| of.gets),
            ("hits", |of| of.hits),
            ("misses", |of| of.misses),
            ("sets", |of| of.sets),
            ("evictions", |of| of.evictions),
            ("cpu_user_us", |of| of.cpu_user_us),
            ("cpu_system_us", |of| of.cpu_system_us),
            ("items", |of| of.items),
            ("item_bytes", |of| of.item_bytes),
            ("connections", |of| of.connections),
            ("restarts", |of| Some(of.restarts)),
            ("resets", |of| Some(of.resets)),
        ];
        for (figure, of) in sums {
            let known = reports.clone().map(|report| of(report).filter(|_| report.answers > 0));
            let sum = known.reduce(|a, b| Some(a?.saturating_add(b?))).flatten();
            self.set(&format!("server_{figure}"), sum);
        }
    }

    /// Adds the machine that made the load; empty cells if it is unknown.
    fn host(&mut self, host: Option<&HostSecond>) {
        let host = host.cloned().unwrap_or_default();
        self.set("host_cpu_busy", host.cpu_busy);
        self.set("host_cpu_busy_max", host.cpu_busy_max);
        self.set("host_stolen", host.stolen);
        self.set("host_runnable", host.runnable);
        self.set("host_received_bytes", host.received_bytes);
        self.set("host_sent_bytes", host.sent_bytes);
        self.set("host_dropped_packets", host.dropped_packets);
        self.set("host_retransmits", host.retransmits);
        self.set("host_available_bytes", host.available_bytes);
    }

    /// Says whose load it is, if that is not all of it.
    fn load(&mut self, of_agents: bool) {
        self.set(LOAD, of_agents.then_some(OF_AGENTS));
    }
}

/// Type of the column with this name. Only the columns that identify a second are filled in every
/// row.
fn column(name: String) -> Column {
    let (meaning, is_optional) = match &*name {
        "step" => ("the step of a search or scan", true),
        "start_s" => ("where the second begins after the beginning of the load", false),
        "length_s" => ("how long it was", false),
        "kind" => ("the kind of operation; all for all together; surplus for the last row", false),
        LOAD => ("agents if the master's own load is not in it", true),
        "measured_sent" => ("operations of the measured window that were sent", true),
        "measured_answered" => ("operations of the measured window that were answered", true),
        "measured_unanswered" => ("operations of the measured window without an answer", true),
        "in_flight" => ("operations that were sent and not answered at its end", true),
        "backlog" => ("operations that were due and not sent at its end", true),
        "oldest_due_s" => ("how long the oldest of the backlog had been due", true),
        "connections_open" => ("connections that were open at its end", true),
        "servers_answered" => ("servers that told of themselves", true),
        times if times.starts_with("response_") => ("received - intended of measured ones", true),
        times if times.starts_with("service_") => ("received - sent of measured ones", true),
        times if times.starts_with("lag_") => ("sent - intended of measured ones", true),
        report if report.starts_with("server_") => ("what all servers said of themselves", true),
        host if host.starts_with("host_") => ("the machine that made the load", true),
        _ => ("what ended in it, measured or not", true),
    };
    let unit = ["ns", "us", "s"]
        .into_iter()
        .find(|unit| name.strip_suffix(unit).is_some_and(|before| before.ends_with('_')));
    let unit = unit.or_else(|| name.contains("bytes").then_some("bytes"));
    let cell = match unit {
        _ if name == "kind" || name == LOAD => CellForm::Word,
        Some("s") => CellForm::Fraction,
        _ if name.starts_with("host_cpu") || name == "host_stolen" => CellForm::Fraction,
        _ if name.contains("_mean_") => CellForm::Fraction,
        _ => CellForm::Whole,
    };
    Column { name: name.into(), cell, unit, is_optional, meaning }
}

#[cfg(test)]
mod tests;
