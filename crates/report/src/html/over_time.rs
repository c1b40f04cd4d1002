//! Charts over time: response times as a heat map, target and achieved rate, backlog, each server,
//! and the CPU of memtide's own workers.

use super::chart::{Cell, Chart, Limit, Line, values};
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
    let lines = |value: fn(&SecondRecord) -> Option<f64>| -> Vec<Line> {
        each.iter().map(|(name, record)| of_seconds(name, &record.seconds, value)).collect()
    };
    let ends = each.iter().filter_map(|(_, record)| record.seconds.last());
    let x = time_axis(ends.map(|second| second.start_s + second.length_s).fold(1.0, f64::max));
    let times = lines(|second| second.response_p99_ns.map(|ns| ns as f64));
    let rates = lines(|second| Some(second.counts.answered as f64 / second.length_s.max(1e-9)));
    let busy =
        lines(|second| second.workers.iter().filter_map(|worker| worker.busy).reduce(f64::max));
    let about = "99th percentile of response in each second of the load, warm-up included.";
    let of_rates = ("Rate over time", "Replies in each second of the load.");
    let of_busy = ("memtide's busiest worker", "The part of each second in which it was busy.");
    vec![
        of_lines(("Response p99 over time", about), times, (x, time, NS_PER_MS)),
        of_lines(of_rates, rates, (x, rate, 1.0)),
        of_lines(of_busy, busy, (x, percent, 1.0)),
    ]
}

/// The time axis, from 0 to the end of the last row.
pub(super) fn time_axis(end_s: f64) -> Axis {
    Axis::over(Scale::Linear, [end_s].into_iter(), seconds).up_to(end_s.max(1e-9))
}

/// The middle of a stretch.
const MIDDLE: fn(f64, f64) -> f64 = |start_s, length_s| start_s + length_s / 2.0;
/// The end of a stretch.
pub(super) const END: fn(f64, f64) -> f64 = |start_s, length_s| start_s + length_s;

/// Response times as a heat map with percentiles over it.
fn response(record: &Record) -> Chart {
    let slices = &record.slices;
    let of_slices = |name: &str, share: f64| {
        let value = |slice: &SliceRecord| {
            Some(quantile(&slice.times()?, slice.unanswered, share).known()? as f64)
        };
        let stretch = |slice: &SliceRecord| (slice.start_s, slice.length_s, value(slice));
        Line::over_time(name, MIDDLE, slices.iter().map(stretch))
    };
    let of_rows = |name: &str, value: fn(&IntervalRecord) -> Option<u64>| {
        let stretch =
            |row: &IntervalRecord| (row.start_s, row.length_s, value(row).map(|ns| ns as f64));
        Line::over_time(name, MIDDLE, record.intervals.iter().map(stretch))
    };
    // Percentiles of neighbouring rows cannot be merged; those of slices are exact.
    let mut lines = match record.intervals.len() {
        1..=POINTS_MAX => vec![
            of_rows("p50", |row| row.response_p50_ns),
            of_rows("p99", |row| row.response_p99_ns),
        ],
        _ => vec![of_slices("p50", 0.5), of_slices("p99", 0.99)],
    };
    lines.push(of_slices("p99.9", 0.999));
    let end_s = slices.last().map_or(record.measured_s, |slice| slice.start_s + slice.length_s);
    let whole = record.response.get(&Kind::All);
    let of_run = |at| whole.and_then(|times| interval(times, at));
    let lines: Vec<Line> = lines
        .into_iter()
        .zip([Percentile::P50, Percentile::P99, Percentile::P999])
        .map(|(line, at)| line.within([0.0, end_s], of_run(at)))
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
fn stripes(slices: &[SliceRecord]) -> Vec<([f64; 2], f64)> {
    let stripe = |slice: &SliceRecord| {
        let all = slice.answered + slice.unanswered;
        let share = (slice.unanswered > 0).then(|| slice.unanswered as f64 / all as f64)?;
        Some(([slice.start_s, slice.start_s + slice.length_s], share.max(0.05)))
    };
    slices.iter().filter_map(stripe).collect()
}

/// Target and answered rate.
fn rates(record: &Record) -> Chart {
    let step = record.intervals.len().div_ceil(POINTS_MAX).max(1);
    let rows: Vec<&[IntervalRecord]> = record.intervals.chunks(step).collect();
    let line = |name: &str, count: fn(&IntervalRecord) -> u64| {
        let stretch = |rows: &&[IntervalRecord]| {
            let length_s: f64 = rows.iter().map(|row| row.length_s).sum();
            let total: u64 = rows.iter().map(count).sum();
            let start_s = rows.first().map_or(0.0, |row| row.start_s);
            (start_s, length_s, (length_s > 0.0).then(|| total as f64 / length_s))
        };
        Line::over_time(name, MIDDLE, rows.iter().map(stretch))
    };
    let mut lines = vec![line("due", |row| row.intended), line("answered", |row| row.ops)];
    if record.intervals.iter().any(|row| row.unanswered > 0) {
        lines.push(line("not answered", |row| row.unanswered));
    }
    let end_s = record.intervals.last().map_or(1.0, |row| row.start_s + row.length_s);
    let about = "Operations per second, by when they were due, in seconds of the measured window.";
    of_lines(("Target and achieved rate", about), lines, (time_axis(end_s), rate, 1.0))
}

/// A chart of lines from zero to the largest value, or to `least` if that is more.
pub(super) fn of_lines(
    (title, about): (&'static str, &str),
    lines: Vec<Line>,
    (x, word, least): (Axis, fn(f64) -> String, f64),
) -> Chart {
    let y = Axis::over(Scale::Linear, values(&lines).chain([least]), word);
    Chart { about: about.to_owned(), lines, ..Chart::new(title, x, y) }
}

/// A line of one figure of each second, drawn at the second's end.
fn of_seconds(
    name: impl Into<String>,
    seconds: &[SecondRecord],
    value: impl Fn(&SecondRecord) -> Option<f64>,
) -> Line {
    let stretch = |second: &SecondRecord| (second.start_s, second.length_s, value(second));
    Line::over_time(name, END, seconds.iter().map(stretch))
}

fn load_axis(record: &Record) -> Axis {
    let end_s = record.seconds.last().map_or(1.0, |second| second.start_s + second.length_s);
    time_axis(end_s)
}

fn backlog_age(record: &Record) -> Chart {
    let age = |second: &SecondRecord| second.under_way.oldest_due_s.map(|s| s * 1e9);
    let lines = vec![of_seconds("oldest unsent operation", &record.seconds, age)];
    let about = "How long the oldest unsent operation had been due, at the end of each second of \
                 the load, warm-up included.";
    of_lines(("Backlog age", about), lines, (load_axis(record), time, NS_PER_MS))
}

fn counts(record: &Record) -> Chart {
    let count = |name: &str, value: fn(&SecondRecord) -> Option<u64>| {
        of_seconds(name, &record.seconds, move |second| value(second).map(|count| count as f64))
    };
    let lines = vec![
        count("in flight", |second| second.under_way.in_flight),
        count("backlog (due, not sent)", |second| second.under_way.backlog),
        count("open connections", |second| second.under_way.connections_open),
    ];
    let about = "Operations in flight, operations due but not sent, and open connections, at the \
                 end of each second of the load.";
    let word = |count: f64| whole(count.round() as u64);
    of_lines(("In flight and backlog", about), lines, (load_axis(record), word, 5.0))
}

/// Answers by server, if there are several.
fn servers(record: &Record) -> Chart {
    let of_server = |(number, name): (usize, String)| {
        of_seconds(name, &record.seconds, move |second| {
            let server = second.servers.get(number)?;
            Some(server.counts.answered as f64 / second.length_s.max(1e-9))
        })
    };
    let names = record.plan.servers.iter().map(|server| server.name.clone());
    let lines: Vec<Line> = names.enumerate().map(of_server).collect();
    let about = "Replies per second from each server.";
    of_lines(("Rate of each server", about), lines, (load_axis(record), rate, 1.0))
}

/// Busy time of memtide's own workers, as far as the seconds have it.
fn workers(record: &Record) -> Chart {
    let count = record.seconds.iter().map(|second| second.workers.len()).max().unwrap_or(0);
    let of_worker = |number: usize| {
        of_seconds(format!("worker {number}"), &record.seconds, move |second| {
            second.workers.get(number)?.busy
        })
    };
    let lines: Vec<Line> = (0..count).map(of_worker).collect();
    let about = "The part of each second in which a worker of memtide was busy, in the measured \
                 window. From 70 % on, its own queue shows in the times.";
    let limit = Limit { name: "limit 70 %".to_owned(), at: 0.7, is_upright: false };
    let is_near = values(&lines).any(|busy| busy > 0.5);
    let chart = of_lines(("Workers of memtide", about), lines, (load_axis(record), percent, 0.1));
    match is_near {
        true => Chart {
            limits: vec![limit],
            y: Axis::over(Scale::Linear, [1.0].into_iter(), percent),
            ..chart
        },
        false => chart,
    }
}

/// The CPUs of the machine that made the load, and what was taken from them.
fn cpus(record: &Record) -> Chart {
    let of_host = |name: String, value: &dyn Fn(&HostSecond) -> Option<f64>| {
        of_seconds(name, &record.seconds, |second| value(second.host.as_ref()?))
    };
    let count = record.seconds.iter().filter_map(|second| second.host.as_ref());
    let count = count.map(|host| host.cpus.len()).max().unwrap_or(0);
    let mut lines: Vec<Line> = match count {
        0 | CPU_LINES_MAX.. => vec![
            of_host("all CPUs".to_owned(), &|host| host.cpu_busy),
            of_host("busiest CPU".to_owned(), &|host| host.cpu_busy_max),
        ],
        _ => {
            let of_cpu =
                |cpu| of_host(format!("CPU {cpu}"), &move |host| host.cpus.get(cpu).copied());
            (0..count).map(of_cpu).collect()
        }
    };
    lines.push(of_host("stolen by the hypervisor".to_owned(), &|host| host.stolen));
    let about = "The part of each second in which the CPUs of memtide's machine were busy, with \
                 whatever ran on it.";
    let chart =
        of_lines(("CPUs of memtide's machine", about), lines, (load_axis(record), percent, 1.0));
    Chart { y: Axis::over(Scale::Linear, [1.0].into_iter(), percent), ..chart }
}

/// Bytes over the network interfaces of the machine that made the load.
fn network(record: &Record) -> Chart {
    let per_second = |name: &str, value: fn(&HostSecond) -> Option<u64>| {
        of_seconds(name, &record.seconds, move |second| {
            let bytes = value(second.host.as_ref()?)?;
            Some(bytes as f64 / second.length_s.max(1e-9))
        })
    };
    let lines = vec![
        per_second("received", |host| host.received_bytes),
        per_second("sent", |host| host.sent_bytes),
    ];
    let about = "Bytes per second over all network interfaces of memtide's machine, loopback \
                 included.";
    let word = |count: f64| format!("{}/s", format_bytes(count.round() as u64));
    of_lines(("Network of memtide's machine", about), lines, (load_axis(record), word, 1024.0))
}

/// What the network of the machine lost, and the threads that waited for its CPUs.
fn drops(record: &Record) -> Chart {
    let count = |name: &str, value: fn(&HostSecond) -> Option<u64>| {
        of_seconds(name, &record.seconds, move |second| {
            value(second.host.as_ref()?).map(|count| count as f64)
        })
    };
    let lines = vec![
        count("TCP retransmits", |host| host.retransmits),
        count("packets dropped", |host| host.dropped_packets),
        count("threads ready to run", |host| host.runnable),
    ];
    let about = "TCP segments sent again and packets dropped in each second, and threads that ran \
                 or were ready to run at its end, on memtide's machine.";
    let word = |count: f64| whole(count.round() as u64);
    let texts = ("Losses and run queue of memtide's machine", about);
    of_lines(texts, lines, (load_axis(record), word, 5.0))
}
