//! Rows of files: the seconds as CSV, JSON Lines and points of InfluxDB, single operations as CSV
//! and JSON Lines, and the HdrHistogram log. Each column stands in a table here.

use super::truth::{BUCKET, Buckets, Law, PERCENTILES, decoded, ranked};
use crate::influx::stub::point;
use memtide_scenario::Kind;
use serde_json::Value;
use std::collections::BTreeMap;

/// A row: cells by column; an empty cell is absent.
pub(super) type Row = BTreeMap<String, String>;

/// What holds a column of the seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    /// It says which row it is.
    Place,
    /// Its sum is that of warm-up, window and cool-down; each row is that of the record.
    Settled,
    /// Its sum for each kind is a count of these distributions.
    Measured(&'static str),
    /// A figure of the times of the row, all of which are in these distributions.
    Times(&'static str),
    /// Each row is that of the record.
    Same,
    /// Each row is the sum of the servers' reports in the record.
    Reports,
}

/// Columns of the seconds, in order.
const COLUMNS: [(&str, Holds); 54] = {
    use Holds::{Measured, Place, Reports, Same, Settled, Times};
    [
        ("step", Place),
        ("start_s", Place),
        ("length_s", Place),
        ("kind", Place),
        ("settled", Settled),
        ("sent", Settled),
        ("answered", Settled),
        ("failed", Settled),
        ("timed_out", Settled),
        ("lost", Settled),
        ("dropped", Settled),
        ("unacknowledged", Settled),
        ("abandoned", Settled),
        ("hits", Settled),
        ("misses", Settled),
        ("bytes_sent", Settled),
        ("bytes_received", Settled),
        ("measured_sent", Measured("lag")),
        ("measured_answered", Measured("response")),
        ("measured_unanswered", Measured("unanswered")),
        ("response_mean_ns", Times("response")),
        ("response_min_ns", Times("response")),
        ("response_p50_ns", Times("response")),
        ("response_p90_ns", Times("response")),
        ("response_p99_ns", Times("response")),
        ("response_p999_ns", Times("response")),
        ("response_max_ns", Times("response")),
        ("service_mean_ns", Times("service")),
        ("service_min_ns", Times("service")),
        ("service_p50_ns", Times("service")),
        ("service_p99_ns", Times("service")),
        ("service_max_ns", Times("service")),
        ("lag_mean_ns", Times("lag")),
        ("lag_min_ns", Times("lag")),
        ("lag_p50_ns", Times("lag")),
        ("lag_p99_ns", Times("lag")),
        ("lag_max_ns", Times("lag")),
        ("in_flight", Same),
        ("backlog", Same),
        ("oldest_due_s", Same),
        ("connections_open", Same),
        ("server_operations", Reports),
        ("server_gets", Reports),
        ("server_hits", Reports),
        ("server_misses", Reports),
        ("server_sets", Reports),
        ("server_evictions", Reports),
        ("server_cpu_user_us", Reports),
        ("server_cpu_system_us", Reports),
        ("server_items", Reports),
        ("server_item_bytes", Reports),
        ("server_connections", Reports),
        ("server_restarts", Reports),
        ("server_resets", Reports),
    ]
};

/// Rows of a CSV file. No cell of ours has quotes.
pub(super) fn csv(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
    let row = |line: &str| {
        names
            .iter()
            .zip(line.split(','))
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(name, cell)| ((*name).to_owned(), cell.to_owned()))
            .collect()
    };
    lines.map(row).collect()
}

/// Rows of a JSON Lines file.
pub(super) fn json_lines(text: &str) -> Vec<Row> {
    let word = |value: Value| match value {
        Value::String(word) => word,
        number => number.to_string(),
    };
    let row = |line: &str| match serde_json::from_str(line) {
        Ok(Value::Object(cells)) => cells
            .into_iter()
            .filter(|(_, it)| !it.is_null())
            .map(|(name, it)| (name, word(it)))
            .collect(),
        _ => Row::new(),
    };
    text.lines().map(row).collect()
}

/// Rows of the seconds among points of InfluxDB. Where a second begins is its time.
pub(super) fn points(lines: &[String]) -> Vec<Row> {
    let row = |line: &String| {
        let Some((name, tags, fields, _)) = point(line) else { return Some(Row::new()) };
        (name == "memtide_interval").then(|| {
            let tags =
                tags.into_iter().filter(|(name, _)| ["kind", "step"].contains(&name.as_str()));
            tags.chain(fields.into_iter().map(|(name, it)| (name, it.to_string()))).collect()
        })
    };
    lines.iter().filter_map(row).collect()
}

fn number(row: &Row, column: &str) -> Option<f64> {
    row.get(column).map(|cell| cell.parse().unwrap_or(f64::NAN))
}

/// True if both rows have the same cells; numbers may be spelled in other ways.
pub(super) fn are_equal(one: &[Row], other: &[Row]) -> bool {
    let equal = |(one, other): (&Row, &Row)| {
        one.len() == other.len()
            && one.iter().zip(other).all(|((name, cell), (also, likewise))| {
                name == also
                    && (cell == likewise
                        || cell.parse::<f64>().ok().is_some_and(|it| likewise.parse() == Ok(it)))
            })
    };
    one.len() == other.len() && one.iter().zip(other).all(equal)
}

/// Holds the columns of rows against the table; of those in `heading`, none may be unknown.
pub(super) fn heading(law: &mut Law<'_>, heading: &str) {
    let known: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    law.holds(heading == known.join(","), || {
        format!("the table has other columns than '{heading}'")
    });
}

/// Holds the seconds of a run against its record, and against `log`, its histogram log.
pub(super) fn seconds(law: &mut Law<'_>, rows: &[Row], log: &Log) {
    let record = law.record;
    let of_all: Vec<&Row> =
        rows.iter().filter(|row| row.get("kind").is_some_and(|it| it == "all")).collect();
    let recorded = law.json["seconds"].as_array().cloned().unwrap_or_default();
    law.holds(of_all.len() == recorded.len(), || {
        format!("{} of {} seconds", of_all.len(), recorded.len())
    });
    for (row, second) in of_all.iter().zip(&recorded) {
        for (column, holds) in COLUMNS {
            let found = number(row, column);
            let truth = match holds {
                Holds::Settled | Holds::Same | Holds::Place => second[column].as_f64(),
                Holds::Reports => reported(second, column.trim_start_matches("server_")),
                Holds::Times("response")
                    if ["response_p50_ns", "response_p99_ns"].contains(&column) =>
                {
                    second[column].as_f64()
                }
                _ => continue,
            };
            if !["step", "kind"].contains(&column) {
                law.holds(found == truth, || {
                    format!("{column} of a second is {found:?}, not {truth:?}")
                });
            }
        }
    }
    // A record keeps no histograms of its seconds: rows that are made of it lack their times.
    if !rows.iter().any(|row| row.contains_key("measured_answered")) {
        let lacks = |(column, holds): &(&str, Holds)| {
            matches!(holds, Holds::Measured(_) | Holds::Times(_))
                && !["response_p50_ns", "response_p99_ns"].contains(column)
        };
        for (column, _) in COLUMNS.iter().filter(|it| lacks(it)) {
            law.holds(!rows.iter().any(|row| row.contains_key(*column)), || {
                format!("{column} is not in a record")
            });
        }
        return;
    }
    let json = law.json;
    let kinds: Vec<(&str, &Kind)> =
        record.response.keys().map(|kind| (kind.name(), kind)).collect();
    for row in rows {
        let is_known =
            row.get("kind").is_some_and(|name| kinds.iter().any(|(kind, _)| kind == name));
        law.holds(is_known, || format!("{:?} is no kind", row.get("kind")));
    }
    for (kind, _) in kinds {
        let of_kind: Vec<&Row> =
            rows.iter().filter(|row| row.get("kind").is_some_and(|it| it == kind)).collect();
        let sum = |column: &str| of_kind.iter().filter_map(|row| number(row, column)).sum::<f64>();
        for (column, holds) in COLUMNS {
            let truth = match holds {
                Holds::Measured("unanswered") => json["response"][kind]["unanswered"].as_f64(),
                Holds::Measured(part) => count(&json[part][kind]),
                _ => continue,
            };
            if let Some(truth) = truth {
                law.near(&format!("{column} of {kind}"), sum(column), truth, 0.0);
            }
        }
        for (part, counted) in [
            ("response", "measured_answered"),
            ("service", "measured_answered"),
            ("lag", "measured_sent"),
        ] {
            times(law, (part, counted), &of_kind, &json[part][kind]);
        }
        for row in &of_kind {
            spectrum(law, row, kind, log);
        }
    }
}

/// The number of times in a distribution.
fn count(distribution: &Value) -> Option<f64> {
    Some(distribution["count"].as_f64()? - distribution["unanswered"].as_f64()?)
}

/// Sum of a figure of all servers' reports; none unless all have it.
fn reported(second: &Value, figure: &str) -> Option<f64> {
    let reports = second["reports"].as_object()?.values();
    reports
        .map(|report| report[figure].as_f64())
        .sum::<Option<f64>>()
        .filter(|_| second["reports"].as_object().is_some_and(|it| !it.is_empty()))
}

/// Holds the times of all rows of a kind together, and those of each row among themselves.
fn times(law: &mut Law<'_>, (part, counted): (&str, &str), rows: &[&Row], truth: &Value) {
    let column = |figure: &str| format!("{part}_{figure}_ns");
    let each = |figure: &str| -> Vec<f64> {
        rows.iter().filter_map(|row| number(row, &column(figure))).collect()
    };
    let (min, max) =
        (each("min").into_iter().reduce(f64::min), each("max").into_iter().reduce(f64::max));
    if truth.is_object() {
        law.holds(min == truth["min_ns"].as_f64(), || format!("{} is {min:?}", column("min")));
        law.holds(max == truth["max_ns"].as_f64(), || format!("{} is {max:?}", column("max")));
        let weighed = rows
            .iter()
            .filter_map(|row| Some(number(row, &column("mean"))? * number(row, counted)?));
        let (sum, whole) =
            (weighed.sum::<f64>(), truth["sum_ns"].as_str().unwrap().parse().unwrap());
        law.near(&column("mean"), sum, whole, 1e-6 * whole);
    }
    for row in rows {
        let ascending: Vec<f64> = ["min", "p50", "p90", "p99", "p999", "max"]
            .iter()
            .filter_map(|it| number(row, &column(it)))
            .collect();
        let is_so = ascending.windows(2).all(|two| two[0] <= two[1] * (1.0 + BUCKET));
        law.holds(is_so, || format!("{part} of a second: {ascending:?}"));
        let mean = number(row, &column("mean"));
        let within =
            mean.is_none_or(|mean| ascending[0] <= mean && mean <= ascending[ascending.len() - 1]);
        law.holds(within, || format!("{} is {mean:?} among {ascending:?}", column("mean")));
    }
}

/// Holds the response percentiles of a row against the line of the log for its second.
fn spectrum(law: &mut Law<'_>, row: &Row, kind: &str, log: &Log) {
    let start = number(row, "start_s").unwrap_or(f64::NAN);
    let found =
        log.lines.iter().find(|line| line.tag == kind && (line.start_s - start).abs() < 0.0006);
    let none = Buckets::new();
    let buckets = found.map_or(&none, |line| &line.buckets);
    let unanswered = number(row, "measured_unanswered").unwrap_or(0.0) as u64;
    let total = buckets.values().sum::<u64>() + unanswered;
    for (name, _, fraction, needed) in PERCENTILES {
        let Some(cell) = COLUMNS.iter().find(|(column, _)| *column == format!("response_{name}"))
        else {
            continue;
        };
        let truth = ranked(buckets, unanswered, fraction).filter(|_| total >= needed);
        match (number(row, cell.0), truth) {
            (None, None) => {}
            (Some(cell), Some(truth)) => {
                law.near(name, cell, truth as f64, BUCKET * truth as f64 + 1.0)
            }
            (cell, truth) => {
                law.wrong.push(format!("{name} of {kind} at {start} is {cell:?}, not {truth:?}"))
            }
        }
    }
}

/// An HdrHistogram log.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) lines: Vec<LogLine>,
    pub(super) unanswered: BTreeMap<String, u64>,
}

/// A line of a log.
#[derive(Clone, Debug)]
pub(super) struct LogLine {
    pub(super) tag: String,
    pub(super) start_s: f64,
    pub(super) length_s: f64,
    max_ns: f64,
    buckets: Buckets,
}

impl Log {
    /// The lines of a step, as of a run.
    pub(super) fn of_step(&self, step: usize) -> Self {
        let prefix = format!("step{step}.");
        let own = || self.lines.iter().filter(|line| line.tag.starts_with(&prefix));
        let before = own().map(|line| line.start_s).fold(f64::INFINITY, f64::min);
        let line = |line: &LogLine| LogLine {
            tag: line.tag[prefix.len()..].to_owned(),
            start_s: line.start_s - before,
            ..line.clone()
        };
        Self { lines: own().map(line).collect(), unanswered: BTreeMap::new() }
    }
}

/// Parses a log; each line that cannot be understood is noted.
pub(super) fn log(wrong: &mut Vec<String>, text: &str) -> Log {
    let mut log = Log::default();
    for line in text.lines() {
        let cells: Vec<&str> = line.split(',').collect();
        let count = line
            .strip_prefix("#[Unanswered: ")
            .and_then(|it| it.trim_end_matches(']').split_once(' '));
        if let Some((tag, count)) = count {
            *log.unanswered.entry(tag.to_owned()).or_default() += count.parse().unwrap_or(0);
        } else if let ([tag, start, length, max, text], true) = (&cells[..], line.starts_with("Tag=")) {
            let whole = |word: &str| word.parse().unwrap_or(f64::NAN);
            let (start_s, length_s, max_ns) = (whole(start), whole(length), whole(max) * 1e6);
            match decoded(text) {
                Some(buckets) => log.lines.push(LogLine { tag: tag[4..].to_owned(), start_s, length_s, max_ns, buckets }),
                None => wrong.push(format!("'{line}' has no histogram")),
            }
        } else if !["#[Histogram log format version 1.3]", "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""].contains(&line)
            && !line.starts_with("#[StartTime: ") && !line.starts_with("#[")
        {
            wrong.push(format!("no table has the line '{line}'"));
        }
    }
    log
}

/// Holds the log of a run against its record; `prefix` is that of the tags.
pub(super) fn logged(law: &mut Law<'_>, log: &Log, prefix: &str) {
    let mut summed: BTreeMap<&str, Buckets> = BTreeMap::new();
    for line in log.lines.iter().filter(|line| line.tag.starts_with(prefix)) {
        let last = line.buckets.last_key_value().map_or(0.0, |(value, _)| *value as f64);
        law.near("the largest of a line", line.max_ns, last, BUCKET * last + 1.0);
        let sum = summed.entry(&line.tag[prefix.len()..]).or_default();
        line.buckets.iter().for_each(|(value, count)| *sum.entry(*value).or_default() += count);
    }
    for (kind, response) in &law.record.response {
        let truth = response.histogram.as_deref().and_then(decoded).unwrap_or_default();
        let found = summed.remove(kind.name()).unwrap_or_default();
        law.holds(found == truth, || format!("the histograms of {kind} are others"));
        let lost = log.unanswered.get(&format!("{prefix}{kind}")).copied().unwrap_or(0);
        law.holds(lost == response.unanswered, || format!("{lost} of {kind} have no answer"));
    }
    law.holds(summed.is_empty(), || format!("{:?} are no kinds", summed.keys()));
}

/// Columns of the samples.
const SAMPLE: &str = "intended_ns,sent_ns,received_ns,op,outcome,bytes,connection,index,key,size";

/// Holds rows of single operations against the record.
pub(super) fn samples(law: &mut Law<'_>, rows: &[Row]) {
    let known: Vec<&str> = SAMPLE.split(',').collect();
    let (mut times, mut outcomes) =
        (BTreeMap::<(String, &str), Vec<f64>>::new(), BTreeMap::<String, u64>::new());
    for row in rows {
        law.holds(row.keys().all(|name| known.contains(&name.as_str())), || {
            format!("no table has {row:?}")
        });
        let at = |column: &str| number(row, column);
        let mut add = |part, of: Option<f64>| {
            for kind in [row["op"].clone(), "all".to_owned()] {
                of.iter().for_each(|ns| times.entry((kind.clone(), part)).or_default().push(*ns));
            }
        };
        add("response", at("received_ns").and_then(|it| Some(it - at("intended_ns")?)));
        add("service", at("received_ns").and_then(|it| Some(it - at("sent_ns")?)));
        add("lag", at("sent_ns").and_then(|it| Some(it - at("intended_ns")?)));
        *outcomes.entry(row["outcome"].clone()).or_default() += 1;
    }
    let totals = &law.record.totals;
    law.near("rows of samples", rows.len() as f64, totals.intended as f64, 0.0);
    for (outcome, truth) in [
        ("timed_out", totals.timed_out),
        ("failed", totals.failed),
        ("lost", totals.lost),
        ("dropped", totals.dropped),
    ] {
        let found = outcomes.get(outcome).copied().unwrap_or(0);
        law.holds(found == truth, || format!("{found} samples are {outcome}, not {truth}"));
    }
    for ((kind, part), mut found) in times {
        let truth = &law.json[part][&kind];
        if !truth.is_object() {
            continue;
        }
        found.sort_by(f64::total_cmp);
        let sum: f64 = found.iter().sum();
        law.near(
            &format!("{part} of {kind}, added"),
            sum,
            truth["sum_ns"].as_str().unwrap().parse().unwrap(),
            0.5,
        );
        for (name, exact) in [("min_ns", found[0]), ("max_ns", found[found.len() - 1])] {
            law.near(
                &format!("{part} {name} of {kind}"),
                exact,
                truth[name].as_f64().unwrap_or(f64::NAN),
                0.0,
            );
        }
    }
}

/// Holds points of single operations against the record.
pub(super) fn operations(law: &mut Law<'_>, lines: &[String]) {
    let (mut sums, mut count) = (BTreeMap::<(String, &str), f64>::new(), 0.0);
    for (name, tags, fields, _) in lines.iter().filter_map(|line| point(line)) {
        if name != "memtide_operation" {
            continue;
        }
        count += 1.0;
        let known = ["intended", "index", "bytes", "connection", "response", "service", "lag"];
        law.holds(fields.keys().all(|it| known.contains(&it.as_str())), || format!("{fields:?}"));
        let known = ["kind", "outcome", "server", "run", "a"];
        law.holds(tags.keys().all(|it| known.contains(&it.as_str())), || format!("{tags:?}"));
        for part in ["response", "service", "lag"] {
            *sums.entry((tags["kind"].clone(), part)).or_default() +=
                fields.get(part).unwrap_or(&0.0);
        }
    }
    law.near("points of operations", count, law.record.totals.intended as f64, 0.0);
    for ((kind, part), sum) in sums {
        let truth = law.json[part][&kind]["sum_ns"].as_str().and_then(|it| it.parse().ok());
        law.near(&format!("{part} of {kind}"), sum, truth.unwrap_or(f64::NAN), 0.5);
    }
}
