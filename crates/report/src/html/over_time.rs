//! Charts over time: response times as a heat map, target and achieved rate, backlog, each server,
//! and the CPU of memtide's own workers.

use super::chart::{Cell, Chart, FromZero, Limit, Line, Stripe, TimedValue, values};
use super::spectrum::{goal_limits, interval};
use crate::axis::{Axis, Scale};
use crate::number::{percent, rate, seconds, time, whole};
use memtide_base::units::format_bytes;
use memtide_metrics::summary::quantile;
use memtide_record::{HostSecond, IntervalRecord, Percentile, Record, SecondRecord, SliceRecord};
use memtide_scenario::Kind;

/// Largest number of points of a line; further rows are merged with their neighbours.
const POINTS_MAX: usize = 1024;
/// Number of cells of the heat map, from the shortest to the longest time.
const CELLS: usize = 40;
/// From this number of CPUs on, only their mean and the busiest have lines.
const CPU_LINES_MAX: usize = 9;
const NS_PER_MS: f64 = 1e6;

/// The charts, in reading order.
pub(super) fn charts(record: &Record) -> Vec<Chart> {
    let charts = [response(record), rates(record), backlog_age(record), counts(record)];
    let more = [servers(record), workers(record), cpus(record), network(record), drops(record)];
    charts.into_iter().chain(more).collect()
}

/// Several records over the time of their loads, with a line for each under its name.
pub(super) fn side_by_side(each: &[(String, &Record)]) -> Vec<Chart> {
    let ends = each.iter().filter_map(|(_, record)| record.seconds.last());
    let x = time_axis(ends.map(|second| second.start_s + second.length_s).fold(1.0, f64::max));
    let times = a_line_each(each, |second| real(second.response_p99_ns));
    let rates = a_line_each(each, |second| Some(per_s(second, second.counts.answered)));
    let busy = a_line_each(each, |second| {
        second.workers.iter().filter_map(|worker| worker.busy).reduce(f64::max)
    });
    let about_times = "99th percentile of response in each second of the load, warm-up included.";
    let about_rates = "Replies in each second of the load.";
    let about_busy = "The part of each second in which it was busy.";
    let of_times = FromZero { word: time, least: NS_PER_MS };
    let of_rates = FromZero { word: rate, least: 1.0 };
    let of_busy = FromZero { word: percent, least: 1.0 };
    vec![
        Chart::of_lines("Response p99 over time", about_times, times, x, of_times),
        Chart::of_lines("Rate over time", about_rates, rates, x, of_rates),
        Chart::of_lines("memtide's busiest worker", about_busy, busy, x, of_busy),
    ]
}

fn a_line_each(
    records: &[(String, &Record)],
    value: fn(&SecondRecord) -> Option<f64>,
) -> Vec<Line> {
    records.iter().map(|(name, record)| of_seconds(name, &record.seconds, value)).collect()
}

/// The time axis, from 0 to the end of the last row.
pub(super) fn time_axis(end_s: f64) -> Axis {
    Axis::over(Scale::Linear, [end_s].into_iter(), seconds).up_to(end_s.max(1e-9))
}

/// Response times as a heat map with percentiles over it.
fn response(record: &Record) -> Chart {
    let slices = &record.slices;
    let rows = &record.intervals;
    // Percentiles of neighbouring rows cannot be merged; those of slices are exact.
    let mut lines = match rows.len() {
        1..=POINTS_MAX => vec![
            of_rows("p50", rows, |row| row.response_p50_ns),
            of_rows("p99", rows, |row| row.response_p99_ns),
        ],
        _ => vec![of_slices("p50", slices, 0.5), of_slices("p99", slices, 0.99)],
    };
    lines.push(of_slices("p99.9", slices, 0.999));
    let end_s = slices.last().map_or(record.measured_s, |slice| slice.start_s + slice.length_s);
    let whole = record.response.get(&Kind::All);
    let lines: Vec<Line> = lines
        .into_iter()
        .zip([Percentile::P50, Percentile::P99, Percentile::P999])
        .map(|(line, at)| line.within([0.0, end_s], whole.and_then(|times| interval(times, at))))
        .collect();
    let histograms: Vec<(&SliceRecord, Vec<(u64, u64)>)> = slices
        .iter()
        .filter_map(|slice| Some((slice, slice.times()?.recorded().collect())))
        .collect();
    let of_cells = histograms.iter().flat_map(|(_, times)| times.iter().map(|(ns, _)| *ns as f64));
    let measured: Vec<f64> = of_cells.chain(values(&lines)).collect();
    let limits = goal_limits(record, &measured);
    let ends = limits.iter().map(|limit: &Limit| limit.at);
    let y = Axis::over(Scale::Log, measured.iter().copied().chain(ends), time);
    let mut about =
        "Response time by when operations were due, in seconds of the measured window. \
                     A darker cell holds more operations. A line breaks where operations were not \
                     answered, or nothing was measured."
            .to_owned();
    if lines.iter().any(|line| !line.band.is_empty()) {
        about += " A band is the 95 % interval of the whole run's percentile: a line that leaves \
                  it shows a change.";
    }
    Chart {
        about,
        cells: cells(&histograms, &y),
        lines,
        limits,
        strip: "not answered",
        stripes: stripes(slices),
        ..Chart::new("Response over time", time_axis(end_s.max(record.measured_s)), y)
    }
}

/// A percentile of each slice.
fn of_slices(name: &str, slices: &[SliceRecord], share: f64) -> Line {
    let values = slices.iter().map(|slice| {
        let times = slice.times();
        let quantile = times.and_then(|it| quantile(&it, slice.unanswered, share).known());
        TimedValue { start_s: slice.start_s, length_s: slice.length_s, value: real(quantile) }
    });
    Line::over_time(name, TimedValue::middle_s, values)
}

/// A time of each row.
fn of_rows(name: &str, rows: &[IntervalRecord], ns: fn(&IntervalRecord) -> Option<u64>) -> Line {
    let values = rows.iter().map(|row| TimedValue {
        start_s: row.start_s,
        length_s: row.length_s,
        value: real(ns(row)),
    });
    Line::over_time(name, TimedValue::middle_s, values)
}

/// The cells of the heat map: for each slice, the fraction of its operations by time.
fn cells(slices: &[(&SliceRecord, Vec<(u64, u64)>)], y: &Axis) -> Vec<Cell> {
    let edges = y.edges(CELLS);
    let mut cells = Vec::new();
    for (slice, times) in slices {
        let mut counts = [0u64; CELLS];
        for (ns, count) in times {
            let cell = (y.place(*ns as f64) * CELLS as f64) as usize;
            counts[cell.min(CELLS - 1)] += count;
        }
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        for (number, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            cells.push(Cell {
                x: [slice.start_s, slice.start_s + slice.length_s],
                y: [edges[number], edges[number + 1]],
                strength: count as f64 / most as f64,
            });
        }
    }
    cells
}

/// The fraction of each slice's operations that were not answered, where there are any.
fn stripes(slices: &[SliceRecord]) -> Vec<Stripe> {
    let unanswered = slices.iter().filter(|slice| slice.unanswered > 0);
    let stripes = unanswered.map(|slice| {
        let share = slice.unanswered as f64 / (slice.answered + slice.unanswered) as f64;
        let x = [slice.start_s, slice.start_s + slice.length_s];
        Stripe { x, strength: share.max(0.05) }
    });
    stripes.collect()
}

/// Target and answered rate.
fn rates(record: &Record) -> Chart {
    let step = record.intervals.len().div_ceil(POINTS_MAX).max(1);
    let rows: Vec<&[IntervalRecord]> = record.intervals.chunks(step).collect();
    let mut lines = vec![
        rate_line("due", &rows, |row| row.intended),
        rate_line("answered", &rows, |row| row.ops),
    ];
    if record.intervals.iter().any(|row| row.unanswered > 0) {
        lines.push(rate_line("not answered", &rows, |row| row.unanswered));
    }
    let end_s = record.intervals.last().map_or(1.0, |row| row.start_s + row.length_s);
    let about = "Operations per second, by when they were due, in seconds of the measured window.";
    let y = FromZero { word: rate, least: 1.0 };
    Chart::of_lines("Target and achieved rate", about, lines, time_axis(end_s), y)
}

/// A count per second, each of several rows together.
fn rate_line(name: &str, rows: &[&[IntervalRecord]], count: fn(&IntervalRecord) -> u64) -> Line {
    let values = rows.iter().map(|rows| {
        let length_s: f64 = rows.iter().map(|row| row.length_s).sum();
        let total: u64 = rows.iter().map(count).sum();
        TimedValue {
            start_s: rows.first().map_or(0.0, |row| row.start_s),
            length_s,
            value: (length_s > 0.0).then(|| total as f64 / length_s),
        }
    });
    Line::over_time(name, TimedValue::middle_s, values)
}

/// A line of one figure of each second, drawn at the second's end.
fn of_seconds(
    name: impl Into<String>,
    seconds: &[SecondRecord],
    value: impl Fn(&SecondRecord) -> Option<f64>,
) -> Line {
    let values = seconds.iter().map(|second| {
        let SecondRecord { start_s, length_s, .. } = *second;
        TimedValue { start_s, length_s, value: value(second) }
    });
    Line::over_time(name, TimedValue::end_s, values)
}

/// A line of one figure of the machine that made the load.
fn of_host(name: &str, record: &Record, value: impl Fn(&HostSecond) -> Option<f64>) -> Line {
    of_seconds(name, &record.seconds, |second| value(second.host.as_ref()?))
}

/// A count in a second, per second.
fn per_s(second: &SecondRecord, count: u64) -> f64 {
    count as f64 / second.length_s.max(1e-9)
}

/// A count or a time as a value of a line.
pub(super) fn real(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

/// Formats a count.
pub(super) fn rounded(count: f64) -> String {
    whole(count.round() as u64)
}

fn load_axis(record: &Record) -> Axis {
    let end_s = record.seconds.last().map_or(1.0, |second| second.start_s + second.length_s);
    time_axis(end_s)
}

fn backlog_age(record: &Record) -> Chart {
    let lines = vec![of_seconds("oldest unsent operation", &record.seconds, |second| {
        second.under_way.oldest_due_s.map(|s| s * 1e9)
    })];
    let about = "How long the oldest unsent operation had been due, at the end of each second of \
                 the load, warm-up included.";
    let y = FromZero { word: time, least: NS_PER_MS };
    Chart::of_lines("Backlog age", about, lines, load_axis(record), y)
}

fn counts(record: &Record) -> Chart {
    let seconds = &record.seconds;
    let lines = vec![
        of_seconds("in flight", seconds, |second| real(second.under_way.in_flight)),
        of_seconds("backlog (due, not sent)", seconds, |second| real(second.under_way.backlog)),
        of_seconds("open connections", seconds, |it| real(it.under_way.connections_open)),
    ];
    let about = "Operations in flight, operations due but not sent, and open connections, at the \
                 end of each second of the load.";
    let y = FromZero { word: rounded, least: 5.0 };
    Chart::of_lines("In flight and backlog", about, lines, load_axis(record), y)
}

/// Answers by server, if there are several.
fn servers(record: &Record) -> Chart {
    let lines = record.plan.servers.iter().enumerate().map(|(number, server)| {
        of_seconds(&server.name, &record.seconds, |second| {
            Some(per_s(second, second.servers.get(number)?.counts.answered))
        })
    });
    let y = FromZero { word: rate, least: 1.0 };
    let about = "Replies per second from each server.";
    Chart::of_lines("Rate of each server", about, lines.collect(), load_axis(record), y)
}

/// Busy time of memtide's own workers, as far as the seconds have it.
fn workers(record: &Record) -> Chart {
    let count = record.seconds.iter().map(|second| second.workers.len()).max().unwrap_or(0);
    let lines = (0..count).map(|number| {
        let name = format!("worker {number}");
        of_seconds(name, &record.seconds, |second| second.workers.get(number)?.busy)
    });
    let lines: Vec<Line> = lines.collect();
    let about = "The part of each second in which a worker of memtide was busy, in the measured \
                 window. From 70 % on, its own queue shows in the times.";
    let is_near = values(&lines).any(|busy| busy > 0.5);
    let y = FromZero { word: percent, least: 0.1 };
    let chart = Chart::of_lines("Workers of memtide", about, lines, load_axis(record), y);
    match is_near {
        true => Chart {
            limits: vec![busy_limit()],
            y: Axis::over(Scale::Linear, [1.0].into_iter(), percent),
            ..chart
        },
        false => chart,
    }
}

/// Share of the time from which on a busy worker's own queue shows in the times.
pub(super) fn busy_limit() -> Limit {
    Limit { name: "limit 70 %".to_owned(), at: 0.7, is_upright: false }
}

/// The CPUs of the machine that made the load, and what was taken from them.
fn cpus(record: &Record) -> Chart {
    let count = record.seconds.iter().filter_map(|second| second.host.as_ref());
    let count = count.map(|host| host.cpus.len()).max().unwrap_or(0);
    let mut lines: Vec<Line> = match count {
        0 | CPU_LINES_MAX.. => vec![
            of_host("all CPUs", record, |host| host.cpu_busy),
            of_host("busiest CPU", record, |host| host.cpu_busy_max),
        ],
        _ => (0..count)
            .map(|cpu| of_host(&format!("CPU {cpu}"), record, |host| host.cpus.get(cpu).copied()))
            .collect(),
    };
    lines.push(of_host("stolen by the hypervisor", record, |host| host.stolen));
    let about = "The part of each second in which the CPUs of memtide's machine were busy, with \
                 whatever ran on it.";
    let y = Axis::over(Scale::Linear, [1.0].into_iter(), percent);
    let chart = Chart::new("CPUs of memtide's machine", load_axis(record), y);
    Chart { about: about.to_owned(), lines, ..chart }
}

/// Bytes over the network interfaces of the machine that made the load.
fn network(record: &Record) -> Chart {
    let seconds = &record.seconds;
    let lines = vec![
        of_seconds("received", seconds, |it| Some(per_s(it, it.host.as_ref()?.received_bytes?))),
        of_seconds("sent", seconds, |it| Some(per_s(it, it.host.as_ref()?.sent_bytes?))),
    ];
    let about = "Bytes per second over all network interfaces of memtide's machine, loopback \
                 included.";
    let y = FromZero {
        word: |count| format!("{}/s", format_bytes(count.round() as u64)),
        least: 1024.0,
    };
    Chart::of_lines("Network of memtide's machine", about, lines, load_axis(record), y)
}

/// What the network of the machine lost, and the threads that waited for its CPUs.
fn drops(record: &Record) -> Chart {
    let lines = vec![
        of_host("TCP retransmits", record, |host| real(host.retransmits)),
        of_host("packets dropped", record, |host| real(host.dropped_packets)),
        of_host("threads ready to run", record, |host| real(host.runnable)),
    ];
    let about = "TCP segments sent again and packets dropped in each second, and threads that ran \
                 or were ready to run at its end, on memtide's machine.";
    let title = "Losses and run queue of memtide's machine";
    Chart::of_lines(title, about, lines, load_axis(record), FromZero { word: rounded, least: 5.0 })
}
