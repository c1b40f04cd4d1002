//! Histograms as lines of an HdrHistogram log, version 1.3, which the HDR tools can read.
//!
//! Buckets have two significant digits: at most 0.8 % wide, from 1 ns to an hour.

use super::Interval;
use crate::record::{Distribution, Record};
use memtide_metrics::Histogram;
use memtide_scenario::Kind;
use std::fmt::Write;

/// Logs state the maximum of a line in milliseconds.
const NS_PER_MS: f64 = 1e6;

/// The lines before the first histogram. `start_unix_s` is the time of day at which the log's
/// instants begin, if known.
pub fn log_head(start_unix_s: Option<f64>) -> String {
    let mut head = "#[Histogram log format version 1.3]\n".to_owned();
    if let Some(start) = start_unix_s {
        // Writing to a `String` cannot fail.
        let _ = writeln!(head, "#[BaseTime: {start:.3} (seconds since epoch)]");
        let _ = writeln!(head, "#[StartTime: {start:.3} (seconds since epoch)]");
    }
    head + "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
            \"Interval_Compressed_Histogram\"\n"
}

impl Interval {
    /// A line of response times for each kind. The tag is the kind; in a step of a search or scan,
    /// the step and the kind, such as `step3.get`. `before_s` is the time that passed before the
    /// load began.
    pub fn log_lines(&self, step: Option<u32>, before_s: f64) -> String {
        let place = (before_s + self.start.as_s_f64(), self.length.as_s_f64());
        let mut lines = String::new();
        for (kind, times) in &self.response {
            lines += &line(&tag(*kind, step), place, times);
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
    let mut log = log_head(start);
    for slice in &record.slices {
        let Some(row) = slice.row() else { continue };
        let times = Histogram::from_recorded(row.response);
        if times.count() > 0 {
            log += &line(Kind::All.name(), (slice.start_s, slice.length_s), &times);
        }
    }
    let each = record.response.iter().filter(|(kind, _)| **kind != Kind::All);
    for (kind, response) in each {
        let times = Distribution::times(response).unwrap_or_default();
        if times.count() > 0 {
            log += &line(kind.name(), (0.0, record.measured_s), &times);
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

fn line(tag: &str, (start_s, length_s): (f64, f64), times: &Histogram<u64>) -> String {
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
mod tests {
    use super::*;
    use memtide_base::Span;

    #[test]
    fn a_second_is_a_tagged_line_per_kind() {
        let mut times = Histogram::new();
        [1_000, 2_500_000].into_iter().for_each(|ns| times.record(ns));
        let second = Interval {
            start: Span::from_s(3),
            length: Span::from_ms(1_007),
            response: [(Kind::All, times.clone()), (Kind::Get, times)].into(),
            unanswered: [(Kind::All, 4)].into(),
            ..Interval::default()
        };
        let log = log_head(Some(1.5e9)) + &second.log_lines(None, 0.25);
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines[0], "#[Histogram log format version 1.3]");
        assert_eq!(lines[2], "#[StartTime: 1500000000.000 (seconds since epoch)]");
        assert!(lines[4].starts_with("Tag=all,3.250,1.007,2.500000,HIST"), "{}", lines[4]);
        assert!(lines[5].starts_with("Tag=get,3.250,1.007,2.500000,HIST"), "{}", lines[5]);
        assert_eq!(lines[6..], ["#[Unanswered: all 4]"]);
        assert!(second.log_lines(Some(2), 0.0).starts_with("Tag=step2.all,3.000,"));
    }

    #[test]
    fn the_buckets_of_a_line_are_those_of_the_histogram() {
        let mut times = Histogram::new();
        for shift in 0..42 {
            (0..9).for_each(|n| times.record((129 + n * 31) << shift >> 7));
        }
        let moments = *times.moments();
        let line = line("all", (0.0, 1.0), &times);
        let text = line.trim_end().rsplit(',').next().unwrap();
        let back = Histogram::from_text(text, moments).unwrap();
        assert_eq!(back, times);
    }
}
