//! The servers' own reports during the load: charts over time, and a line for each server.
//!
//! Only `reports` of the seconds are shown; memtide's measurements of servers are in `over_time`.

use super::chart::{Chart, Limit, Line, TimedValue, values};
use super::figures::unbroken;
use super::over_time::{real, rounded, time_axis};
use super::section;
use crate::axis::{Axis, Scale};
use crate::counts::served;
use crate::number::{percent, rate, seconds};
use maud::{Markup, html};
use memtide_base::units::format_bytes;
use memtide_record::{Record, SecondRecord, ServerLoad, ServerReport};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of servers with a line each.
const SERVERS_MAX: usize = 8;
/// Largest number of points of all lines together; further seconds are merged with their
/// neighbours.
const POINTS_MAX: usize = 16_384;
/// Largest number of restarts listed for a server.
const LISTED_MAX: usize = 8;

/// The section; nothing if no server was queried.
pub(super) fn servers(record: &Record) -> Markup {
    let timeline = Timeline::of(record);
    html! {
        @if !record.server.during.is_empty() || !timeline.names.is_empty() {
            (section("Servers"))
            p.faint {
                "The servers' answers to stats, requested once a second during the load. Their \
                 counters include the commands of all clients."
            }
            @for chart in timeline.charts() { (chart.markup()) }
            ul {
                @for (name, load) in &record.server.during {
                    li { strong { (name) } " " (unbroken(&timeline.sentence(name, load, record))) }
                }
            }
        }
    }
}

/// The load in stretches of a second or more, with the servers queried in them.
struct Timeline<'a> {
    names: BTreeSet<&'a str>,
    stretches: Vec<Stretch<'a>>,
    /// Name of the line for all servers.
    sum: &'static str,
}

/// A stretch of the load.
struct Stretch<'a> {
    end_s: f64,
    length_s: f64,
    /// Number of answers that memtide counted in it.
    answered: u64,
    hits: u64,
    misses: u64,
    reports: BTreeMap<&'a str, ServerReport>,
}

impl<'a> Stretch<'a> {
    fn of(seconds: &'a [SecondRecord]) -> Self {
        let mut reports: BTreeMap<&str, ServerReport> = BTreeMap::new();
        for (name, next) in seconds.iter().flat_map(|second| &second.reports) {
            let report = reports.entry(name).or_default();
            *report = report.then(next);
        }
        Self {
            end_s: seconds.last().map_or(0.0, |second| second.start_s + second.length_s),
            length_s: length_s(seconds),
            answered: seconds.iter().map(|second| second.counts.answered).sum(),
            hits: seconds.iter().map(|second| second.counts.hits).sum(),
            misses: seconds.iter().map(|second| second.counts.misses).sum(),
            reports,
        }
    }
}

impl<'a> Timeline<'a> {
    fn of(record: &'a Record) -> Self {
        let names = record.seconds.iter().flat_map(|second| second.reports.keys());
        let names: BTreeSet<&str> = names.map(String::as_str).collect();
        let lines = if names.len() > SERVERS_MAX { 1 } else { names.len() + 1 };
        let points = POINTS_MAX / (FIGURES.len() * lines);
        let step = record.seconds.len().div_ceil(points).max(1);
        let is_all = names.len() == record.plan.servers.len();
        Self {
            stretches: stretches(&record.seconds, step),
            sum: if is_all { "all servers" } else { "servers that were asked" },
            names,
        }
    }

    fn charts(&self) -> Vec<Chart> {
        let marks = self.marks();
        let charts = FIGURES.iter().filter_map(|figure| self.chart(figure));
        charts.map(|chart| Chart { limits: marks.clone(), ..chart }).collect()
    }

    /// The chart of a figure; none if no server reports it.
    fn chart(&self, figure: &Figure) -> Option<Chart> {
        let mut lines: Vec<Line> = Vec::new();
        if self.names.len() > 1 {
            lines.push(self.line(self.sum, |stretch| {
                let each = self.names.iter().map(|name| stretch.reports.get(name));
                let each: Vec<&ServerReport> = each.collect::<Option<_>>()?;
                (figure.of_all)(&each)
            }));
        }
        if self.names.len() <= SERVERS_MAX {
            lines.extend(self.names.iter().map(|name| {
                self.line(*name, |stretch| (figure.of_all)(&[stretch.reports.get(name)?]))
            }));
        }
        lines.retain(|line| !line.is_empty());
        if lines.is_empty() {
            return None;
        }
        if let Some((name, own)) = figure.own {
            lines.push(self.line(name, own));
        }
        let end_s = self.stretches.last().map_or(0.0, |stretch| stretch.end_s);
        let y = Axis::over(Scale::Linear, values(&lines).chain([figure.least]), figure.word);
        let about = figure.about.to_owned();
        Some(Chart { about, lines, ..Chart::new(figure.title, time_axis(end_s), y) })
    }

    fn line(&self, name: impl Into<String>, value: impl Fn(&Stretch<'_>) -> Option<f64>) -> Line {
        let values = self.stretches.iter().map(|of| TimedValue {
            start_s: of.end_s - of.length_s,
            length_s: of.length_s,
            value: value(of),
        });
        Line::over_time(name, TimedValue::end_s, values)
    }

    /// Marks of restarts and resets, each at the end of the stretch that reports it.
    fn marks(&self) -> Vec<Limit> {
        let mut marks = Vec::new();
        for stretch in &self.stretches {
            if stretch.reports.values().any(|report| report.restarts > 0) {
                marks.push(Limit::upright("restart", stretch.end_s));
            }
            if stretch.reports.values().any(|report| report.resets > 0) {
                marks.push(Limit::upright("stats reset", stretch.end_s));
            }
        }
        marks
    }

    /// A server's report on the whole load, with its restarts and the reason for missing replies.
    fn sentence(&self, name: &str, load: &ServerLoad, record: &Record) -> String {
        let said = served(load, record);
        let mut sentence = said.unwrap_or_else(|| "reported nothing".to_owned());
        let restarts = self
            .stretches
            .iter()
            .filter(|stretch| stretch.reports.get(name).is_some_and(|of| of.restarts > 0));
        let at: Vec<String> = restarts.map(|of| seconds(of.end_s)).collect();
        if !at.is_empty() {
            let listed = at[..at.len().min(LISTED_MAX)].join(", ");
            let more = if at.len() > LISTED_MAX { " and later" } else { "" };
            sentence += &format!("; restarts seen at {listed}{more}");
        }
        if let Some(why) = &load.why_unanswered {
            sentence += &format!("; reason: {why}");
        }
        sentence
    }
}

/// Joins the seconds to stretches of `step`. A remainder is part of the last stretch unless it is
/// long enough for its own figures.
fn stretches(seconds: &[SecondRecord], step: usize) -> Vec<Stretch<'_>> {
    let mut parts: Vec<&[SecondRecord]> = seconds.chunks(step).collect();
    if let [.., before, last] = parts.as_slice()
        && length_s(last) < length_s(before) / 2.0
    {
        parts.truncate(parts.len() - 2);
        parts.push(&seconds[parts.len() * step..]);
    }
    parts.into_iter().map(Stretch::of).collect()
}

fn length_s(seconds: &[SecondRecord]) -> f64 {
    seconds.iter().map(|second| second.length_s).sum()
}

/// A figure of the servers' reports, and its chart.
struct Figure {
    title: &'static str,
    about: &'static str,
    /// The figure over these servers together; none unless all report it.
    of_all: fn(&[&ServerReport]) -> Option<f64>,
    /// memtide's own count, shown beside the figure.
    own: Option<(&'static str, Own)>,
    word: fn(f64) -> String,
    /// The axis reaches from zero to at least this value.
    least: f64,
}

type Own = fn(&Stretch<'_>) -> Option<f64>;

/// The figures, in reading order.
const FIGURES: [Figure; 8] = [
    Figure {
        title: "Rate at the servers",
        about: "Keys read plus store, touch, delete and counting commands, per second. memtide \
                counts a read of several keys as one operation. A line breaks where a server did \
                not answer.",
        of_all: |all| sum(all, |report| per_s(report, report.operations)),
        own: Some(("answered, counted by memtide", |stretch| {
            (stretch.length_s > 0.0).then(|| stretch.answered as f64 / stretch.length_s)
        })),
        word: rate,
        least: 1.0,
    },
    Figure {
        title: "Hit ratio",
        about: "Fraction of the keys read that were found. Servers count an item without a \
                value, which recache makes, as found.",
        of_all: |all| {
            let (hits, misses) = (sum(all, |of| real(of.hits))?, sum(all, |of| real(of.misses))?);
            (hits + misses > 0.0).then(|| hits / (hits + misses))
        },
        own: Some(("counted by memtide", |stretch| {
            let keys = stretch.hits + stretch.misses;
            (keys > 0).then(|| stretch.hits as f64 / keys as f64)
        })),
        word: percent,
        least: 1.0,
    },
    Figure {
        title: "CPU of the servers",
        about: "CPU time of the servers, in user space and in the kernel; 100 % is one CPU.",
        of_all: |all| sum(all, |report| per_s(report, cpu_us(report)).map(|us| us / 1e6)),
        own: None,
        word: percent,
        least: 0.01,
    },
    Figure {
        title: "CPU per million operations",
        about: "CPU seconds of the servers per million keys read and commands. Seconds in which a \
                server was restarted have no point.",
        of_all: |all| {
            if all.iter().any(|report| report.restarts > 0) {
                return None;
            }
            let (cpu_us, operations) =
                (sum(all, |of| real(cpu_us(of)))?, sum(all, |of| real(of.operations))?);
            // Microseconds per operation equal seconds per million.
            (operations > 0.0).then(|| cpu_us / operations)
        },
        own: None,
        word: seconds,
        least: 1.0,
    },
    Figure {
        title: "Items",
        about: "Items in the servers.",
        of_all: |all| sum(all, |report| answered(report, report.items)),
        own: None,
        word: rounded,
        least: 5.0,
    },
    Figure {
        title: "Memory of items",
        about: "Bytes that the items occupy.",
        of_all: |all| sum(all, |report| answered(report, report.item_bytes)),
        own: None,
        word: |bytes| format_bytes(bytes.round() as u64),
        least: 1_000.0,
    },
    Figure {
        title: "Evictions",
        about: "Items per second that the servers evicted to make room.",
        of_all: |all| sum(all, |report| per_s(report, report.evictions)),
        own: None,
        word: rate,
        least: 1.0,
    },
    Figure {
        title: "Connections at the servers",
        about: "Open connections of all clients, including listening sockets and memtide's \
                connection for stats.",
        of_all: |all| sum(all, |report| answered(report, report.connections)),
        own: None,
        word: rounded,
        least: 5.0,
    },
];

/// Sum over all servers; none unless all are known.
fn sum(all: &[&ServerReport], of: impl Fn(&ServerReport) -> Option<f64>) -> Option<f64> {
    all.iter().map(|report| of(report)).sum()
}

fn per_s(report: &ServerReport, count: Option<u64>) -> Option<f64> {
    (report.length_ns > 0).then_some(count? as f64 / (report.length_ns as f64 / 1e9))
}

fn cpu_us(report: &ServerReport) -> Option<u64> {
    Some(report.cpu_user_us?.saturating_add(report.cpu_system_us?))
}

/// A state that the server reported in this stretch.
fn answered(report: &ServerReport, state: Option<u64>) -> Option<f64> {
    real(state.filter(|_| report.answers > 0))
}
