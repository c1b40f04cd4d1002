//! Histograms as lines of an HdrHistogram log, version 1.3, which the HDR tools can read.
//!
//! Buckets have two significant digits: at most 0.8 % wide, from 1 ns to an hour.

use super::Interval;
use crate::record::{Distribution, Record};
use memtide_metrics::Histogram;
use memtide_scenario::Kind;
use std::fmt::Write;

/// The code of the warning that a log holds operations that the record does not.
const ROWS_WITHOUT_RECORD: &str = "rows_without_record";
/// Logs state the maximum of a line in milliseconds.
const NS_PER_MS: f64 = 1e6;

/// The lines before the first histogram. `start_unix_s` is the time of day at which the log's
/// instants begin, if known; `of_agents` is true if the log holds the load of a master's agents,
/// and not the master's own beside it.
pub fn log_head(start_unix_s: Option<f64>, of_agents: bool) -> String {
    let mut head = "#[Histogram log format version 1.3]\n".to_owned();
    if of_agents {
        head += "#[Load: of the agents, without the master's own]\n";
    }
    if let Some(start) = start_unix_s {
        // Writing to a `String` cannot fail.
        let _ = writeln!(head, "#[BaseTime: {start:.3} (seconds since epoch)]");
        let _ = writeln!(head, "#[StartTime: {start:.3} (seconds since epoch)]");
    }
    head + "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
            \"Interval_Compressed_Histogram\"\n"
}

/// The lines after the last histogram of a run, or of step `step` of a search or scan: a comment,
/// if the log holds operations that the record does not.
pub fn log_end(record: &Record, step: Option<u32>) -> String {
    let of_step = step.map_or_else(String::new, |step| format!("in step {step}, "));
    let surplus = record.warnings.iter().filter(|it| it.code == ROWS_WITHOUT_RECORD);
    surplus.map(|it| format!("#[Surplus: {of_step}{}]\n", it.message)).collect()
}

impl Interval {
    /// A line of response times for each kind. The tag is the kind; in a step of a search or scan,
    /// the step and the kind, such as `step3.get`. `before_s` is the time that passed before the
    /// load began.
    pub fn log_lines(&self, step: Option<u32>, before_s: f64) -> String {
        let (start_s, length_s) = (before_s + self.start.as_s_f64(), self.length.as_s_f64());
        let mut lines = String::new();
        for (kind, times) in &self.response {
            lines += &line(&tag(*kind, step), start_s, length_s, times);
        }
        for (kind, count) in &self.unanswered {
            lines += &not_in_it(&tag(*kind, step), *count);
        }
        lines
    }
}

/// The log of a record: for all operations, each slice of the window; for each kind, the whole
/// window. Only a head if nothing was measured.
pub fn log_of(record: &Record) -> String {
    let start = record.window_start_unix_ns.map(|start| start.0 as f64 / 1e9);
    let mut log = log_head(start, record.own.is_some());
    for slice in &record.slices {
        let Some(row) = slice.row() else { continue };
        let times = Histogram::from_recorded(row.response);
        if times.count() > 0 {
            log += &line(Kind::All.name(), slice.start_s, slice.length_s, &times);
        }
    }
    let each = record.response.iter().filter(|(kind, _)| **kind != Kind::All);
    for (kind, response) in each {
        let times = Distribution::times(response).unwrap_or_default();
        if times.count() > 0 {
            log += &line(kind.name(), 0.0, record.measured_s, &times);
        }
    }
    for (kind, response) in record.response.iter().filter(|(_, it)| it.unanswered > 0) {
        log += &not_in_it(kind.name(), response.unanswered);
    }
    log
}

fn tag(kind: Kind, step: Option<u32>) -> String {
    step.map_or_else(|| kind.name().to_owned(), |step| format!("step{step}.{kind}"))
}

fn line(tag: &str, start_s: f64, length_s: f64, times: &Histogram<u64>) -> String {
    let max_ms = times.moments().max as f64 / NS_PER_MS;
    let bytes = times.to_text();
    format!("Tag={tag},{start_s:.3},{length_s:.3},{max_ms:.6},{bytes}\n")
}

/// A comment line that counts the unanswered operations: they have no time, and rank above all that
/// have one.
fn not_in_it(tag: &str, count: u64) -> String {
    format!("#[Unanswered: {tag} {count}]\n")
}

#[cfg(test)]
mod tests;
