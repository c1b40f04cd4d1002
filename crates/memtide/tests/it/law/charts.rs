//! The charts of a page: each point of each line is the record's, in its words and in the drawing.

use super::files::{attribute, between, inner};
use super::shown::numbers;
use super::truth::{BUCKET, Law, decoded, ranked};
use memtide_record::steps::{Point, Steps};
use memtide_record::{
    Distribution, HostSecond, IntervalRecord, Percentile, Record, SecondRecord, ServerReport,
    SliceRecord,
};
use memtide_scenario::{Goal, Kind};
use std::collections::BTreeSet;

/// Points of a line: x and y; times are in ns, but x of a chart over time is in seconds.
type Points = Vec<(f64, f64)>;
type Lines = Vec<(String, Points)>;

/// A chart of a page by its title: its lines, whether y is logarithmic, and whether its values come
/// from the buckets of a histogram.
struct Truth {
    title: &'static str,
    lines: Lines,
    is_log: bool,
    slack: f64,
}

impl Truth {
    /// True if there is something to draw: a point, or times and operations without an answer.
    fn is_shown(&self, record: &Record) -> bool {
        let has_any = || record.slices.iter().any(|it| it.answered + it.unanswered > 0);
        let has_cells = self.title == "Response over time" && has_any();
        has_cells || self.lines.iter().any(|line| !line.1.is_empty())
    }
}

/// Holds the charts of a run's page.
pub(super) fn of_run(law: &mut Law<'_>, page: &str) {
    // The table of contents names the load before.
    let (page, own) = page.rsplit_once("Load of the master itself").unwrap_or((page, ""));
    let record = law.record;
    let mut truths = vec![spectrum(record)];
    truths.extend(over_time(record));
    truths.extend(under_way(record));
    truths.extend(of_host(record));
    truths.push(lag(record));
    truths.extend(of_servers(record));
    hold(law, page, truths);
    over(law, page);
    law.own(own, |law| hold(law, own, vec![spectrum(law.record)]));
}

/// Holds the chart of a search or a scan.
pub(super) fn of_steps(law: &mut Law<'_>, steps: &Steps, page: &str) {
    let mut points: Vec<Point> = steps.steps.iter().map(|step| step.point()).collect();
    points.sort_by(|a, b| a.achieved.per_s.total_cmp(&b.achieved.per_s));
    // A closed loop beside other steps is a limit of the chart, and no point.
    if points.iter().any(|it| it.target.is_some()) {
        points.retain(|it| it.target.is_some());
    }
    let line = |name: &str, ns: fn(&Point) -> Option<u64>| {
        let at = |it: &Point| Some((it.achieved.per_s, ns(it)? as f64));
        (name.to_owned(), points.iter().filter_map(at).collect())
    };
    let lines = vec![
        line("p50", |it| it.response_p50_ns),
        line("p95", |it| it.response_p95_ns),
        line("p99", |it| it.response_p99_ns),
        line("service p99", |it| it.service_p99_ns),
        line("lag p99", |it| it.lag_p99_ns),
    ];
    hold(law, page, vec![Truth { title: "Times against rate", lines, is_log: true, slack: 0.0 }]);
}

/// Number of cells of the heat map from the bottom to the top.
const CELLS: usize = 40;

/// Holds what is drawn beside the lines of charts of times: the cells of the heat map, the stripes
/// of unanswered operations, the bands of intervals, and the goals.
fn over(law: &mut Law<'_>, page: &str) {
    let record = law.record;
    let goals: Vec<Goal> = record.goals.iter().filter_map(|it| it.goal.parse().ok()).collect();
    let all = &record.response[&Kind::All];
    let spectrum_is_of_all = record.response.len() != 2;
    for chart in between(page, "<figure class=\"chart\">", "</figure>") {
        let title = between(&chart, "<strong>", "</strong>").concat();
        let Some(ticks) =
            ticks(&chart, true).filter(|_| chart.contains("µs") || chart.contains("ms"))
        else {
            continue;
        };
        let bands = between(&chart, "<path class=\"band\" d=\"", "\"");
        let ends = |at: Percentile| all.interval(at).map(|ends| ends.map(|ns| ns as f64));
        let known: Vec<Vec<f64>> = match &*title {
            "Response over time" => {
                heat(law, &chart, ticks);
                let of = [Percentile::P50, Percentile::P99, Percentile::P999];
                let of = of.into_iter().filter_map(ends);
                // A line without a point is not drawn.
                of.map(|[low, high]| vec![high, high, low, low]).take(bands.len()).collect()
            }
            "Percentile spectrum" if spectrum_is_of_all => {
                let of: Vec<[f64; 2]> = Percentile::ALL.into_iter().filter_map(ends).collect();
                let (upper, lower) = (of.iter().map(|it| it[1]), of.iter().rev().map(|it| it[0]));
                [upper.chain(lower).collect::<Vec<_>>()]
                    .into_iter()
                    .filter(|it| !it.is_empty())
                    .collect()
            }
            _ => continue,
        };
        law.holds(bands.len() == known.len(), || format!("{title} has {} bands", bands.len()));
        for (band, ends) in bands.iter().zip(known) {
            let places = band.trim_end_matches('z').split(['M', 'L']).filter(|it| !it.is_empty());
            let places: Vec<f64> =
                places.filter_map(|it| it.split_once(' ')?.1.parse().ok()).collect();
            let is_so = places.len() == ends.len()
                && places
                    .iter()
                    .zip(&ends)
                    .all(|(place, ns)| (place - below(*ns, ticks)).abs() < 4.0);
            law.holds(is_so, || format!("a band of {title} is at {places:?}, not of {ends:?}"));
        }
        let limits = between(&chart, "<path class=\"limit\" d=\"M0 ", "H");
        let names =
            between(&chart, "<span class=\"limit\"><i aria-hidden=\"true\"></i>", "</span>");
        for (limit, name) in limits.iter().zip(&names) {
            let goal = goals.iter().find(|goal| goal.to_string() == inner(name));
            let place = limit.parse::<f64>().unwrap_or(f64::NAN);
            let is_so = goal.is_some_and(|it| (place - below(it.bound, ticks)).abs() < 4.0);
            law.holds(is_so, || format!("'{name}' of {title} is drawn at {limit}"));
        }
    }
}

/// Where a value of a logarithmic chart is drawn, below its top.
fn below(value: f64, [low, high]: [(f64, f64); 2]) -> f64 {
    let share = (value / low.1).ln() / (high.1 / low.1).ln();
    400.0 * (1.0 - low.0 - share * (high.0 - low.0))
}

/// Rectangles of a chart whose class begins with a letter: left, top, width, and its level.
fn rectangles(chart: &str, letter: char) -> Vec<([f64; 3], usize)> {
    let of_level = |level: usize| {
        let path = between(chart, &format!("<path class=\"{letter}{level}\" d=\""), "\"").concat();
        let place = |it: &str| {
            let mut numbers = it.split([' ', 'h', 'v', 'z']).filter_map(|it| it.parse().ok());
            ([(); 3].map(|()| numbers.next().unwrap_or(f64::NAN)), level)
        };
        path.split('M').filter(|it| !it.is_empty()).map(place).collect::<Vec<_>>()
    };
    (0..8).flat_map(of_level).collect()
}

/// Holds the heat map: each cell has the strength of the count of its times in its slice, and the
/// counts of all cells are those of the record; and a stripe for each slice with unanswered
/// operations.
fn heat(law: &mut Law<'_>, chart: &str, ticks: [(f64, f64); 2]) {
    let record = law.record;
    let [cells, stripes] = ['h', 'u'].map(|letter| rectangles(chart, letter));
    let end_s = record.slices.last().map_or(0.0, |it| it.start_s + it.length_s);
    let end_s = end_s.max(record.measured_s);
    let is_at = |rectangle: &[f64; 3], slice: &SliceRecord| {
        (rectangle[0] - 1_000.0 * slice.start_s / end_s).abs() < 0.06
            && (rectangle[2] - 1_000.0 * slice.length_s / end_s).abs() < 0.06
    };
    let level = |share: f64| (share.clamp(0.0, 1.0).sqrt() * 7.0).round() as usize;
    let mut drawn = 0;
    for slice in &record.slices {
        // A bucket near an edge may be in either cell: the least and the most of each cell.
        let mut counts = [[0u64; 2]; CELLS];
        for (ns, count) in decoded(&slice.histogram).unwrap_or_default() {
            let place = CELLS as f64 * (1.0 - below(ns as f64, ticks) / 400.0);
            let [from, to] = [place - 0.3, place + 0.3].map(|it| (it as usize).min(CELLS - 1));
            counts[from][1] += count;
            counts[to][1] += if from == to { 0 } else { count };
            counts[from][0] += if from == to { count } else { 0 };
        }
        let most = [0, 1].map(|at| counts.iter().map(|it| it[at]).max().unwrap_or(0).max(1) as f64);
        for (number, [least, largest]) in counts.into_iter().enumerate() {
            let top = 10.0 * (CELLS - 1 - number) as f64;
            let found: Vec<usize> = cells
                .iter()
                .filter(|(it, _)| is_at(it, slice) && (it[1] - top).abs() < 0.06)
                .map(|it| it.1)
                .collect();
            drawn += found.len();
            let levels = [level(least as f64 / most[1]), level(largest as f64 / most[0])];
            let is_so = match found[..] {
                [] => least == 0,
                [found] => largest > 0 && (levels[0]..=levels[1]).contains(&found),
                _ => false,
            };
            law.holds(is_so, || {
                format!("cell {number} of slice {} is {found:?}, not {levels:?}", slice.start_s)
            });
        }
        let share = slice.unanswered as f64 / (slice.answered + slice.unanswered).max(1) as f64;
        let found = stripes.iter().filter(|(it, _)| is_at(it, slice) && it[1] < 0.0);
        let found: Vec<usize> = found.map(|it| it.1).collect();
        let known = (slice.unanswered > 0).then(|| level(share.max(0.05)));
        law.holds(found.iter().copied().eq(known), || {
            format!("the stripe of slice {} is {found:?}, not {known:?}", slice.start_s)
        });
    }
    law.holds(drawn == cells.len(), || format!("{} cells are of no slice", cells.len() - drawn));
}

fn spectrum(record: &Record) -> Truth {
    let kinds = record.response.iter();
    let kinds = kinds.filter(|(kind, _)| **kind != Kind::All || record.response.len() != 2);
    let mut lines: Lines =
        kinds.map(|(kind, it)| (format!("{} response", kind.name()), percentiles(it))).collect();
    for (name, of) in [("service", &record.service), ("lag", &record.lag)] {
        lines.extend(of.get(&Kind::All).map(|times| (name.to_owned(), percentiles(times))));
    }
    Truth { title: "Percentile spectrum", lines, is_log: true, slack: BUCKET }
}

fn lag(record: &Record) -> Truth {
    let split = &record.lag_split;
    let parts = [
        ("generator", &split.generator),
        ("client busy", &split.client_busy),
        ("server", &split.server),
        ("disconnected", &split.disconnected),
    ];
    let lines = parts.map(|(name, times)| (name.to_owned(), percentiles(times)));
    Truth { title: "Lag by cause", lines: lines.into(), is_log: true, slack: BUCKET }
}

/// The percentiles of a distribution, twelve for each nine, as far as there are enough operations.
fn percentiles(times: &Distribution) -> Points {
    let buckets = times.histogram.as_deref().and_then(decoded).unwrap_or_default();
    if times.longest_answered().is_none_or(|max| max == 0) {
        return Points::new();
    }
    let shares = (1..=72).map(|step| 1.0 - 10f64.powf(-f64::from(step) / 12.0));
    let point = |share: f64| {
        // One of this number is above the percentile with a probability of 97.5 %.
        let needed = (0.025f64.ln() / share.ln()).ceil();
        let ns = ranked(&buckets, times.unanswered, share)?;
        (times.count as f64 >= needed).then_some((share, ns as f64))
    };
    shares.map_while(point).collect()
}

fn over_time(record: &Record) -> Vec<Truth> {
    let rows = |name: &str, y: fn(&IntervalRecord) -> Option<f64>| {
        let at = |row: &IntervalRecord| Some((row.start_s + row.length_s / 2.0, y(row)?));
        (name.to_owned(), record.intervals.iter().filter_map(at).collect())
    };
    let slice = |slice: &SliceRecord| {
        let buckets = decoded(&slice.histogram)?;
        let count = slice.answered + slice.unanswered;
        let ns = ranked(&buckets, slice.unanswered, 0.999).filter(|_| count >= 3_688)?;
        Some((slice.start_s + slice.length_s / 2.0, ns as f64))
    };
    let p999 = record.slices.iter().filter_map(slice).collect();
    let times = vec![
        rows("p50", |row| row.response_p50_ns.map(|ns| ns as f64)),
        rows("p99", |row| row.response_p99_ns.map(|ns| ns as f64)),
        ("p99.9".to_owned(), p999),
    ];
    let mut rates = vec![
        rows("due", |row| Some(row.intended as f64 / row.length_s)),
        rows("answered", |row| Some(row.ops as f64 / row.length_s)),
    ];
    if record.intervals.iter().any(|row| row.unanswered > 0) {
        rates.push(rows("not answered", |row| Some(row.unanswered as f64 / row.length_s)));
    }
    vec![
        Truth { title: "Response over time", lines: times, is_log: true, slack: BUCKET },
        Truth { title: "Target and achieved rate", lines: rates, is_log: false, slack: 0.0 },
    ]
}

/// A figure of each second, at its end.
fn ends(record: &Record, name: &str, y: impl Fn(&SecondRecord) -> Option<f64>) -> (String, Points) {
    let at = |it: &SecondRecord| Some((it.start_s + it.length_s, y(it)?));
    (name.to_owned(), record.seconds.iter().filter_map(at).collect())
}

fn under_way(record: &Record) -> Vec<Truth> {
    let count = |name: &str, y: fn(&SecondRecord) -> Option<u64>| {
        ends(record, name, move |it| y(it).map(|count| count as f64))
    };
    let age = ends(record, "oldest unsent operation", |it| Some(it.under_way.oldest_due_s? * 1e9));
    let counts = vec![
        count("in flight", |it| it.under_way.in_flight),
        count("backlog (due, not sent)", |it| it.under_way.backlog),
        count("open connections", |it| it.under_way.connections_open),
    ];
    let of_server = |(number, server): (usize, &memtide_record::PlannedServer)| {
        ends(record, &server.name, move |it| {
            Some(it.servers.get(number)?.counts.answered as f64 / it.length_s)
        })
    };
    let servers = record.plan.servers.iter().enumerate().map(of_server).collect();
    let count = record.seconds.iter().map(|second| second.workers.len()).max().unwrap_or(0);
    let of_worker = |number: usize| {
        ends(record, &format!("worker {number}"), move |it| it.workers.get(number)?.busy)
    };
    let workers = (0..count).map(of_worker).collect();
    [
        ("Backlog age", vec![age]),
        ("In flight and backlog", counts),
        ("Rate of each server", servers),
        ("Workers of memtide", workers),
    ]
    .map(|(title, lines)| Truth { title, lines, is_log: false, slack: 0.0 })
    .into()
}

/// Charts of the machine that made the load.
fn of_host(record: &Record) -> Vec<Truth> {
    let line = |name: &str, y: &dyn Fn(&SecondRecord, &HostSecond) -> Option<f64>| {
        ends(record, name, |it| y(it, it.host.as_ref()?))
    };
    let seconds = record.seconds.iter();
    let count = seconds.filter_map(|it| Some(it.host.as_ref()?.cpus.len())).max().unwrap_or(0);
    let of_cpu = |cpu: usize| line(&format!("CPU {cpu}"), &move |_, it| it.cpus.get(cpu).copied());
    let mut cpus: Lines = match count {
        1..=8 => (0..count).map(of_cpu).collect(),
        _ => vec![
            line("all CPUs", &|_, it| it.cpu_busy),
            line("busiest CPU", &|_, it| it.cpu_busy_max),
        ],
    };
    cpus.push(line("stolen by the hypervisor", &|_, it| it.stolen));
    let rate = |of: &SecondRecord, bytes: Option<u64>| Some(bytes? as f64 / of.length_s);
    let network = vec![
        line("received", &|of, it| rate(of, it.received_bytes)),
        line("sent", &|of, it| rate(of, it.sent_bytes)),
    ];
    let counted = |count: Option<u64>| count.map(|count| count as f64);
    let losses = vec![
        line("TCP retransmits", &|_, it| counted(it.retransmits)),
        line("packets dropped", &|_, it| counted(it.dropped_packets)),
        line("threads ready to run", &|_, it| counted(it.runnable)),
    ];
    [
        ("CPUs of memtide's machine", cpus),
        ("Network of memtide's machine", network),
        ("Losses and run queue of memtide's machine", losses),
    ]
    .map(|(title, lines)| Truth { title, lines, is_log: false, slack: 0.0 })
    .into()
}

/// Charts of the reports of the servers: a line for each, below one for all if they are several.
fn of_servers(record: &Record) -> Vec<Truth> {
    let seconds = stretches(record);
    let end = |of: &[&SecondRecord]| of.last().map_or(0.0, |it| it.start_s + it.length_s);
    let length = |of: &[&SecondRecord]| of.iter().map(|it| it.length_s).sum::<f64>();
    let sum = |of: &[&SecondRecord], count: fn(&SecondRecord) -> u64| {
        of.iter().map(|it| count(it)).sum::<u64>() as f64
    };
    let report = |of: &[&SecondRecord], name: &str| {
        let mut reports = of.iter().filter_map(|it| it.reports.get(name));
        let first = *reports.next()?;
        Some(reports.fold(first, |sum, next| sum.then(next)))
    };
    let line = |name: &str, names: &[&str], of_reports: OfReports| {
        let at = |of: &Vec<&SecondRecord>| {
            let reports: Option<Vec<_>> = names.iter().map(|name| report(of, name)).collect();
            Some((end(of), of_reports(&reports?)?))
        };
        (name.to_owned(), seconds.iter().filter_map(at).collect::<Points>())
    };
    let answered =
        |of: &Vec<&SecondRecord>| (end(of), sum(of, |it| it.counts.answered) / length(of));
    let found = |of: &Vec<&SecondRecord>| {
        let [hits, misses] = [sum(of, |it| it.counts.hits), sum(of, |it| it.counts.misses)];
        (hits + misses > 0.0).then(|| (end(of), hits / (hits + misses)))
    };
    let own = [
        ("answered, counted by memtide", seconds.iter().map(answered).collect::<Points>()),
        ("counted by memtide", seconds.iter().filter_map(found).collect()),
    ]
    .map(|(name, points)| (name.to_owned(), points));
    // Servers stand by their names.
    let names = record.plan.servers.iter().map(|it| &*it.name).collect::<BTreeSet<_>>();
    let names: Vec<&str> = names.into_iter().collect();
    let truth = |(number, (title, of_reports)): (usize, (&'static str, OfReports))| {
        let all = (names.len() > 1).then(|| line("all servers", &names, of_reports));
        let each = names.iter().map(|name| line(name, &[name], of_reports));
        let mut lines: Lines = all.into_iter().chain(each).collect();
        let is_any = lines.iter().any(|line| !line.1.is_empty());
        lines.extend(own.get(number).cloned().filter(|_| is_any));
        Truth { title, lines, is_log: false, slack: 0.0 }
    };
    OF_REPORTS.into_iter().enumerate().map(truth).collect()
}

/// The seconds; a last one that is short is part of the one before.
fn stretches(record: &Record) -> Vec<Vec<&SecondRecord>> {
    let mut seconds: Vec<Vec<&SecondRecord>> =
        record.seconds.iter().map(|second| vec![second]).collect();
    if let [.., before, last] = &record.seconds[..]
        && last.length_s < before.length_s / 2.0
    {
        seconds.pop();
        seconds.last_mut().unwrap().push(last);
    }
    seconds
}

/// A figure of the servers together; none unless all report it.
type OfReports = fn(&[ServerReport]) -> Option<f64>;

const OF_REPORTS: [(&str, OfReports); 8] = [
    ("Rate at the servers", |all| sum_of(all, |it| rate(it, it.operations?))),
    ("Hit ratio", |all| {
        let [hits, misses] =
            [sum_of(all, |it| Some(it.hits? as f64))?, sum_of(all, |it| Some(it.misses? as f64))?];
        (hits + misses > 0.0).then(|| hits / (hits + misses))
    }),
    ("CPU of the servers", |all| {
        sum_of(all, |it| Some(rate(it, it.cpu_user_us? + it.cpu_system_us?)? / 1e6))
    }),
    ("CPU per million operations", |all| {
        let cpu_us = sum_of(all, |it| Some((it.cpu_user_us? + it.cpu_system_us?) as f64))?;
        let operations = sum_of(all, |it| Some(it.operations? as f64))?;
        let has_any = operations > 0.0 && all.iter().all(|it| it.restarts == 0);
        has_any.then(|| 1e9 * cpu_us / operations)
    }),
    ("Items", |all| sum_of(all, |it| stated(it, it.items?))),
    ("Memory of items", |all| sum_of(all, |it| stated(it, it.item_bytes?))),
    ("Evictions", |all| sum_of(all, |it| rate(it, it.evictions?))),
    ("Connections at the servers", |all| sum_of(all, |it| stated(it, it.connections?))),
];

fn sum_of(all: &[ServerReport], of: impl Fn(&ServerReport) -> Option<f64>) -> Option<f64> {
    all.iter().map(of).sum()
}

fn rate(report: &ServerReport, count: u64) -> Option<f64> {
    (report.length_ns > 0).then(|| count as f64 * 1e9 / report.length_ns as f64)
}

fn stated(report: &ServerReport, state: u64) -> Option<f64> {
    (report.answers > 0).then_some(state as f64)
}

/// Holds the charts in a part of a page: those with a line that has points, and no other.
fn hold(law: &mut Law<'_>, page: &str, truths: Vec<Truth>) {
    let charts = between(page, "<figure class=\"chart\">", "</figure>");
    let truths: Vec<Truth> = truths.into_iter().filter(|it| it.is_shown(law.record)).collect();
    let titles: Vec<String> =
        charts.iter().map(|it| between(it, "<strong>", "</strong>").concat()).collect();
    let is_so = titles.iter().eq(truths.iter().map(|it| it.title));
    law.holds(is_so, || {
        let known: Vec<&str> = truths.iter().map(|it| it.title).collect();
        format!("charts {titles:?}, not {known:?}")
    });
    for (chart, truth) in charts.iter().zip(&truths) {
        chart_of(law, chart, truth);
        let sign = format!("<strong>{}</strong> did not change: ", truth.title);
        for folded in between(page, &sign, "</summary>") {
            let words = between(chart, "<g class=", "</g>").into_iter().map(|line| {
                let words = attribute(&line, "data-v").unwrap_or_default();
                let first = words.split('|').next().unwrap().to_owned();
                format!("{} {first}", attribute(&line, "data-name").unwrap_or_default())
            });
            let truth = words.collect::<Vec<_>>().join(", ");
            law.holds(inner(&folded) == truth, || format!("'{folded}' is not {truth}"));
        }
    }
}

fn chart_of(law: &mut Law<'_>, chart: &str, truth: &Truth) {
    let lines = between(chart, "<g class=", "</g>");
    let known: Vec<&(String, Points)> =
        truth.lines.iter().filter(|line| !line.1.is_empty()).collect();
    let names: Vec<String> = lines.iter().filter_map(|it| attribute(it, "data-name")).collect();
    law.holds(names.iter().eq(known.iter().map(|it| &it.0)), || {
        format!("{} has the lines {names:?}", truth.title)
    });
    let ticks = ticks(chart, truth.is_log);
    for (line, (name, points)) in lines.iter().zip(known) {
        let what = format!("{name} of {}", truth.title);
        let list = |attribute_name: &str| -> Vec<String> {
            let list = attribute(line, attribute_name).unwrap_or_default();
            list.split('|').map(str::to_owned).collect()
        };
        let (at, words) = (list("data-t"), list("data-v"));
        law.holds(at.len() == points.len() && words.len() == points.len(), || {
            format!("{what} has {} points, not {}", words.len(), points.len())
        });
        for ((at, word), (x, y)) in at.iter().zip(&words).zip(points) {
            let is_there = is_x(truth.title, at, *x);
            law.holds(is_there && is_y(word, *y, truth.slack), || {
                format!("{what} is {word} at {at}, not {y} at {x}")
            });
        }
        drawn(law, (&what, line), &list("data-x"), points, (&ticks, truth.is_log));
    }
}

/// True if a word for x is `x`.
fn is_x(title: &str, word: &str, x: f64) -> bool {
    let first = |word: &str| numbers(word).1.first().copied();
    match title {
        "Percentile spectrum" | "Lag by cause" => {
            // As many digits as there are nines.
            let digits = word.split_once('.').map_or(0, |it| it.1.len() as i32);
            let share = word.strip_prefix('p').and_then(|it| it.parse::<f64>().ok());
            share.is_some_and(|it| (it - 100.0 * x).abs() <= 0.51 * 10f64.powi(-digits))
        }
        "Times against rate" => first(word).is_some_and(|it| it.is(x)),
        _ => first(word).is_some_and(|it| it.is(x * 1e9)),
    }
}

fn is_y(word: &str, y: f64, slack: f64) -> bool {
    let near = |value: f64| (value - y).abs() <= (slack + 0.006) * y;
    numbers(word).1.first().is_some_and(|it| it.is(y) || (slack > 0.0 && near(it.value)))
}

/// Place and value of the first and the last tick of y above zero.
fn ticks(chart: &str, is_log: bool) -> Option<[(f64, f64); 2]> {
    let tick = |it: &String| {
        let place = between(it, "bottom:", "%").first()?.parse::<f64>().ok()?;
        let words = inner(it.split_once('>')?.1);
        let value = if words == "0" { 0.0 } else { numbers(&words).1.first()?.value };
        (value > 0.0 || !is_log).then_some((place / 100.0, value))
    };
    let all: Vec<(f64, f64)> =
        between(chart, "<span class=\"y\"", "</span>").iter().filter_map(tick).collect();
    (all.len() > 1).then(|| [all[0], all[all.len() - 1]])
}

/// Holds the drawing of a line: it goes through the places of its points.
fn drawn(
    law: &mut Law<'_>,
    (what, line): (&str, &str),
    across: &[String],
    points: &Points,
    (ticks, is_log): (&Option<[(f64, f64); 2]>, bool),
) {
    let path = between(line, "<path class=\"line\" d=\"", "\"").concat();
    let places = path.split(['M', 'L']).filter(|it| !it.is_empty());
    let places: Vec<(&str, f64)> = places
        .filter_map(|it| it.trim_end_matches("h0").split_once(' '))
        .filter_map(|(x, y)| Some((x, y.parse().ok()?)))
        .collect();
    law.holds(places.iter().map(|it| it.0).eq(across.iter().map(String::as_str)), || {
        format!("{what} is drawn at {places:?}, not at {across:?}")
    });
    let Some([low, high]) = ticks else { return };
    let scale = |value: f64| if is_log { value.ln() } else { value };
    for ((_, place), (_, y)) in places.iter().zip(points) {
        let share = (scale(*y) - scale(low.1)) / (scale(high.1) - scale(low.1));
        let truth = 400.0 * (1.0 - low.0 - share * (high.0 - low.0));
        // Ticks are placed to a ten-thousandth, and a bucket is a hundredth wide.
        law.holds((place - truth).abs() < 4.0 || (is_log && *y <= 0.0), || {
            format!("{what} is drawn {place} below the top, not {truth}")
        });
    }
}
