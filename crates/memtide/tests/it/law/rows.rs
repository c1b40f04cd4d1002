//! Rows of files: the seconds as CSV, JSON Lines and points of InfluxDB, single operations, and the
//! HdrHistogram log. Each column stands in `fields.txt`.

use super::truth::{BUCKET, Buckets, Law, PERCENTILES, at, decoded, field, fields, known, ranked};
use crate::influx::stub::{Point, point};
use memtide_scenario::Kind;
use serde_json::Value;
use std::collections::BTreeMap;

/// A row: cells by column; an empty cell is absent.
pub(crate) type Row = BTreeMap<String, String>;

/// Columns of the seconds, in order, each with what holds it: a word and a part of the record.
fn columns() -> Vec<(&'static str, &'static str, &'static str)> {
    let line = |line: &'static str| {
        let (holds, names) = line.split_once(" | ").unwrap();
        let (word, part) = holds.split_once(' ').unwrap_or((holds, ""));
        names.split(' ').map(move |name| (name, word, part))
    };
    fields("columns").flat_map(line).collect()
}

/// Rows of a CSV file. No cell of ours has quotes.
pub(crate) fn csv(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
    let row = |line: &str| {
        let cells = names.iter().zip(line.split(',')).filter(|(_, cell)| !cell.is_empty());
        cells.map(|(name, cell)| ((*name).to_owned(), cell.to_owned())).collect()
    };
    lines.map(row).collect()
}

/// Rows of a JSON Lines file.
pub(crate) fn json_lines(text: &str) -> Vec<Row> {
    let word = |it: Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
    let row = |line: &str| {
        let cells: BTreeMap<String, Value> = serde_json::from_str(line).unwrap_or_default();
        cells.into_iter().filter(|it| !it.1.is_null()).map(|(name, it)| (name, word(it))).collect()
    };
    text.lines().map(row).collect()
}

fn number(row: &Row, column: &str) -> Option<f64> {
    row.get(column).map(|cell| cell.parse().unwrap_or(f64::NAN))
}

/// True if both have the same rows; numbers may be spelled in other ways.
pub(super) fn are_equal(one: &[Row], other: &[Row]) -> bool {
    let equal = |(name, cell): (&String, &String), row: &Row| {
        row.get(name) == Some(cell)
            || cell.parse::<f64>().is_ok_and(|it| number(row, name) == Some(it))
    };
    let rows = |(one, other): (&Row, &Row)| {
        one.len() == other.len() && one.iter().all(|it| equal(it, other))
    };
    one.len() == other.len() && one.iter().zip(other).all(rows)
}

/// Holds the columns of a file against the table.
pub(super) fn heading(law: &mut Law<'_>, heading: &str) {
    let known: Vec<&str> = columns().iter().map(|column| column.0).collect();
    law.holds(heading == known.join(","), || {
        format!("the table has other columns than '{heading}'")
    });
}

/// Holds the seconds of a run against its record, and against `log`, its histogram log.
pub(super) fn seconds(law: &mut Law<'_>, rows: &[Row], log: &[LogLine]) {
    let (json, columns) = (law.json, columns());
    let of_kind = |kind: &str| -> Vec<&Row> {
        rows.iter().filter(|row| row.get("kind").is_some_and(|it| it == kind)).collect()
    };
    let of_all = of_kind("all");
    // A record keeps no histograms of its seconds: rows that are made of it lack these figures.
    let is_live = rows.iter().any(|row| row.contains_key("measured_answered"));
    // The last row says what of all of them the record lacks, and each row whose load it holds.
    let surplus: f64 = of_kind("surplus").iter().filter_map(|row| number(row, "settled")).sum();
    let lacking = json["rows_without_record"].as_f64().filter(|_| is_live).unwrap_or(0.0);
    law.near("the surplus", surplus, lacking, 0.0);
    let load = json["own"].is_object().then_some("agents");
    let is_said = |row: &Row| row.get("load").map(String::as_str) == load;
    law.holds(rows.iter().all(is_said), || format!("a row does not say that it is of {load:?}"));
    let recorded = json["seconds"].as_array().map_or(&[][..], Vec::as_slice);
    // Seconds of several processes are placed anew in a merged record, by more than is known live.
    let is_one = !is_live || law.record.shards.is_empty();
    law.holds(!is_one || of_all.len() == recorded.len(), || format!("{} seconds", of_all.len()));
    for (column, holds, part) in &columns {
        let is_kept = ["response_p50_ns", "response_p99_ns"].contains(column);
        if *holds == "settled" {
            let sum: f64 = of_all.iter().filter_map(|row| number(row, column)).sum();
            let truth: f64 = recorded.iter().filter_map(|second| second[column].as_f64()).sum();
            law.near(&format!("the sum of {column}"), sum, truth, 0.0);
        }
        for (row, second) in of_all.iter().zip(recorded).filter(|_| is_one) {
            let truth = match *holds {
                "place" if ["step", "kind"].contains(column) => continue,
                "answered" => answered(second),
                "reports" => reported(second, column.trim_start_matches("server_")),
                "host" => second["host"][column.trim_start_matches("host_")].as_f64(),
                "settled" | "same" | "place" => second[column].as_f64(),
                _ if is_kept => second[column].as_f64(),
                _ if is_live => continue,
                _ => None,
            };
            let found = number(row, column);
            law.holds(found == truth, || {
                format!("{column} of a second is {found:?}, not {truth:?}")
            });
        }
        for kind in law.record.response.keys().filter(|_| *holds == "measured" && is_live) {
            let sum: f64 = of_kind(kind.name()).iter().filter_map(|row| number(row, column)).sum();
            let of = |part: &str, figure: &str| json[part][kind.name()][figure].as_f64();
            let truth = match *part {
                "unanswered" => of("response", "unanswered"),
                _ => of(part, "count").zip(of(part, "unanswered")).map(|(all, lost)| all - lost),
            };
            law.near(&format!("{column} of {kind}"), sum, truth.unwrap_or(sum), 0.0);
        }
    }
    let record = law.record;
    let names: Vec<&str> = record.response.keys().map(|kind| kind.name()).collect();
    let is_kind = |row: &Row| {
        row.get("kind").is_some_and(|kind| kind == "surplus" || names.contains(&kind.as_str()))
    };
    law.holds(rows.iter().all(is_kind), || "a row is of no kind".to_owned());
    for kind in names.into_iter().filter(|_| is_live) {
        let rows = of_kind(kind);
        for (part, counted) in [
            ("response", "measured_answered"),
            ("service", "measured_answered"),
            ("lag", "measured_sent"),
        ] {
            times(law, (part, counted), &rows, &json[part][kind]);
        }
        rows.iter().for_each(|row| spectrum(law, row, kind, log));
    }
}

fn has_answered(report: &Value) -> bool {
    report["answers"].as_u64() > Some(0)
}

/// Number of servers that answered; none if none was asked.
fn answered(second: &Value) -> Option<f64> {
    let reports = second["reports"].as_object().filter(|it| !it.is_empty())?;
    Some(reports.values().filter(|report| has_answered(report)).count() as f64)
}

/// Sum of a figure of all servers' reports; none unless all servers answered and have it.
fn reported(second: &Value, figure: &str) -> Option<f64> {
    let reports = second["reports"].as_object().filter(|it| !it.is_empty())?.values();
    reports.map(|report| report[figure].as_f64().filter(|_| has_answered(report))).sum()
}

/// Holds the times of all rows of a kind together, and those of each row among themselves.
fn times(law: &mut Law<'_>, (part, counted): (&str, &str), rows: &[&Row], truth: &Value) {
    let cell = |row: &Row, figure: &str| number(row, &format!("{part}_{figure}_ns"));
    let each = |figure: &'static str| rows.iter().filter_map(move |row| cell(row, figure));
    if truth.is_object() {
        // A second with unanswered operations has those of the answered ones as bounds.
        let longest = each("max").chain(each("max_at_least")).reduce(f64::max);
        for (name, found) in [("min", each("min").reduce(f64::min)), ("max", longest)] {
            let answered = truth[format!("answered_{name}_ns")].as_f64();
            let truth = answered.or(truth[format!("{name}_ns")].as_f64());
            law.holds(found == truth, || format!("{part}_{name}_ns is {found:?}, not {truth:?}"));
        }
        let mean = |row: &Row| cell(row, "mean").or(cell(row, "mean_at_least"));
        let weighed = rows.iter().filter_map(|row| Some(mean(row)? * number(row, counted)?));
        let whole = known(&truth["sum_ns"]).unwrap();
        law.near(&format!("{part}_mean_ns"), weighed.sum(), whole, 1e-6 * whole);
    }
    for row in rows.iter().filter(|_| part != "lag") {
        let is_whole = number(row, "measured_unanswered").is_none_or(|count| count == 0.0);
        let is_there = |figure: &str| cell(row, figure).is_some();
        let is_so = match is_whole {
            true => !is_there("mean_at_least") && !is_there("max_at_least"),
            false => !is_there("mean") && !is_there("max"),
        };
        law.holds(is_so, || format!("{part} of {row:?} forgets unanswered operations"));
    }
    for row in rows {
        let figures = ["min", "p50", "p90", "p99", "p999", "max", "max_at_least"];
        let ascending: Vec<f64> = figures.iter().filter_map(|it| cell(row, it)).collect();
        let is_so = ascending.windows(2).all(|two| two[0] <= two[1] * (1.0 + BUCKET));
        let mean = cell(row, "mean").or(cell(row, "mean_at_least"));
        let mean = mean.unwrap_or(ascending.first().copied().unwrap_or(0.0));
        let within =
            ascending.first().is_none_or(|min| *min <= mean && mean <= *ascending.last().unwrap());
        law.holds(is_so && within, || format!("{part} of a second: {mean} among {ascending:?}"));
    }
}

/// Holds the response percentiles of a row against the line of the log for its second.
fn spectrum(law: &mut Law<'_>, row: &Row, kind: &str, log: &[LogLine]) {
    let start = number(row, "start_s").unwrap_or(f64::NAN);
    let found = log.iter().find(|line| line.tag == kind && (line.start_s - start).abs() < 0.0006);
    let buckets = found.map_or(Buckets::new(), |line| line.buckets.clone());
    let unanswered = number(row, "measured_unanswered").unwrap_or(0.0) as u64;
    let total = buckets.values().sum::<u64>() + unanswered;
    for (name, _, fraction, needed) in
        PERCENTILES.into_iter().filter(|it| !["p95_ns", "p9999_ns"].contains(&it.0))
    {
        let truth = ranked(&buckets, unanswered, fraction).filter(|_| total >= needed);
        let (cell, truth) = (number(row, &format!("response_{name}")), truth.map(|ns| ns as f64));
        let near = cell
            .zip(truth)
            .is_some_and(|(cell, truth)| (cell - truth).abs() <= BUCKET * truth + 1.0);
        law.holds(near || cell == truth, || {
            format!("{name} of {kind} at {start} is {cell:?}, not {truth:?}")
        });
    }
}

/// A line of a log: a histogram, or a number of operations without an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct LogLine {
    tag: String,
    start_s: f64,
    length_s: f64,
    max_ns: f64,
    buckets: Buckets,
    unanswered: u64,
}

/// Parses a log; each line that cannot be understood is noted.
pub(super) fn log(law: &mut Law<'_>, text: &str) -> Vec<LogLine> {
    let began_s = law.record.started_unix_ms as f64 / 1e3;
    let mut lines = Vec::new();
    for line in text.lines() {
        let whole = |word: &str| word.parse().unwrap_or(f64::NAN);
        let inner = |begin: &str| line.strip_prefix(begin)?.strip_suffix(']')?.split_once(' ');
        let cells: Vec<&str> = line.strip_prefix("Tag=").unwrap_or("").split(',').collect();
        if let Some((tag, count)) = inner("#[Unanswered: ") {
            lines.push(LogLine {
                tag: tag.to_owned(),
                unanswered: whole(count) as u64,
                ..LogLine::default()
            });
        } else if let Some((start, _)) = inner("#[StartTime: ").or(inner("#[BaseTime: ")) {
            law.near("the start of the log", whole(start), began_s, 60.0);
        } else if let [tag, start, length, max, text] = cells[..] {
            let (start_s, length_s, max_ns) = (whole(start), whole(length), whole(max) * 1e6);
            let buckets = decoded(text).unwrap_or_default();
            law.holds(!buckets.is_empty(), || format!("'{line}' has no histogram"));
            lines.push(LogLine {
                tag: tag.to_owned(),
                start_s,
                length_s,
                max_ns,
                buckets,
                unanswered: 0,
            });
        } else if let Some(said) = line.strip_prefix("#[Surplus: ") {
            let lacking = law.record.rows_without_record.map(|it| format!(" {it} operations more"));
            let is_so = lacking.is_some_and(|words| said.contains(&words));
            law.holds(is_so, || format!("'{line}' is not what the record lacks"));
        } else {
            let is_load = line.starts_with("#[Load: ");
            let is_known = fields("log").any(|known| known == line);
            law.holds(is_known && (!is_load || law.record.own.is_some()), || {
                format!("no table has the line '{line}'")
            });
        }
    }
    let is_said = law.record.own.is_none() || text.contains("#[Load: ");
    law.holds(is_said || text.is_empty(), || "the log does not say whose load it holds".to_owned());
    lines
}

/// The lines of a step, as of a run; its load began `before_s` after the first one in the log.
pub(super) fn of_step(log: &[LogLine], step: usize, before_s: f64) -> Vec<LogLine> {
    let prefix = format!("step{step}.");
    let own = log.iter().filter(|line| line.tag.starts_with(&prefix));
    let line = |line: &LogLine| LogLine {
        tag: line.tag[prefix.len()..].to_owned(),
        start_s: line.start_s - before_s,
        ..line.clone()
    };
    own.map(line).collect()
}

/// The end of a step's last row, in seconds after the beginning of its load.
pub(super) fn end_s(rows: &[Row]) -> f64 {
    let end = |row: &Row| Some(number(row, "start_s")? + number(row, "length_s")?);
    rows.iter().filter_map(end).fold(0.0, f64::max)
}

/// Holds the log of a run against its record, and its places against those of the rows.
pub(super) fn logged(law: &mut Law<'_>, log: &[LogLine], rows: &[Row]) {
    let mut summed: BTreeMap<&str, (Buckets, u64)> = BTreeMap::new();
    for line in log {
        let last = line.buckets.last_key_value().map_or(0.0, |it| *it.0 as f64);
        law.near("the largest of a line", line.max_ns, last, BUCKET * last + 1.0);
        let sum = summed.entry(&line.tag).or_default();
        line.buckets.iter().for_each(|(value, count)| *sum.0.entry(*value).or_default() += count);
        sum.1 += line.unanswered;
        // The log of a record has slices of the window, not seconds of the load.
        let is_live = rows.iter().any(|row| row.contains_key("measured_answered")) && last > 0.0;
        let near = |row: &Row, column, at: f64| {
            number(row, column).is_some_and(|it| (it - at).abs() < 0.0006)
        };
        let is_it =
            |row: &Row| near(row, "start_s", line.start_s) && near(row, "length_s", line.length_s);
        law.holds(!is_live || rows.iter().any(is_it), || {
            format!("no second is at {} s", line.start_s)
        });
    }
    for (kind, response) in &law.record.response {
        let truth = response.histogram.as_deref().and_then(decoded).unwrap_or_default();
        let found = summed.remove(kind.name()).unwrap_or_default();
        let is_so = found == (truth, response.unanswered);
        law.wrong.extend((!is_so).then(|| format!("the histograms of {kind} are others")));
    }
    law.holds(summed.is_empty(), || format!("{:?} are no kinds", summed.keys()));
}

/// Holds rows of single operations against the record.
pub(super) fn samples(law: &mut Law<'_>, rows: &[Row]) {
    let columns = field("samples", "columns").unwrap();
    let (mut times, mut outcomes) = (BTreeMap::<_, Vec<f64>>::new(), BTreeMap::<&str, u64>::new());
    let mut indices = std::collections::BTreeSet::new();
    for row in rows {
        let is_known = row.keys().all(|name| columns.split(' ').any(|it| it == name));
        let (is_new, at) = (indices.insert(&row["index"]), |column: &str| number(row, column));
        let connections = f64::from(law.record.plan.connections);
        let is_there =
            law.record.churn.is_some() || at("connection").is_none_or(|it| it < connections);
        law.holds(is_known && is_new && is_there, || format!("no table or second has {row:?}"));
        *outcomes.entry(&row["outcome"]).or_default() += 1;
        let length = law.record.plan.key_size.strip_prefix("fixed:").and_then(|it| it.parse().ok());
        let is_key = row.get("key").zip(length).is_none_or(|(key, it): (_, usize)| key.len() == it);
        let stores = ["set", "add", "replace", "append", "prepend", "cas"].contains(&&*row["op"]);
        let is_sized = row.contains_key("key") && stores;
        law.holds(is_key && is_sized == row.contains_key("size"), || {
            format!("{row:?} has another key or a size")
        });
        let is_answered = !["failed", "timed_out", "lost"].contains(&row["outcome"].as_str());
        let since = |end: &str, begin: &str| Some(at(end)? - at(begin)?);
        for (part, ns) in [
            ("response", since("received_ns", "intended_ns").filter(|_| is_answered)),
            ("service", since("received_ns", "sent_ns").filter(|_| is_answered)),
            ("lag", since("sent_ns", "intended_ns")),
        ] {
            for kind in [&*row["op"], "all"] {
                ns.iter().for_each(|ns| times.entry((kind, part)).or_default().push(*ns));
            }
        }
    }
    let totals = &law.record.totals;
    // The bytes of late replies are in no sample.
    if totals.late_replies == 0 {
        let bytes: f64 = rows.iter().filter_map(|row| number(row, "bytes")).sum();
        law.near("bytes of samples", bytes, totals.bytes_received as f64, 0.0);
    }
    law.near("rows of samples", rows.len() as f64, totals.intended as f64, 0.0);
    for (outcome, truth) in
        [("timed_out", totals.timed_out), ("failed", totals.failed), ("lost", totals.lost)]
    {
        let found = outcomes.get(outcome).copied().unwrap_or(0);
        law.near(&format!("samples that are {outcome}"), found as f64, truth as f64, 0.0);
    }
    for (kind, outcome) in [(Kind::GetHit, "hit"), (Kind::GetMiss, "miss")] {
        let is_it = |row: &&Row| row["op"] == "get" && row["outcome"] == outcome;
        let found = rows.iter().filter(is_it).count() as f64;
        let truth = law.record.response.get(&kind).map_or(0, |it| it.count);
        law.near(&format!("samples with a {outcome}"), found, truth as f64, 0.0);
    }
    for ((kind, part), found) in times {
        let truth = |figure: &str| known(&law.json[part][kind][figure]).unwrap_or(f64::NAN);
        let extremes = [f64::min, f64::max].map(|of| found.iter().copied().reduce(of).unwrap());
        // The longest of all is unknown if some were not answered.
        let max = known(&law.json[part][kind]["answered_max_ns"]).unwrap_or(truth("max_ns"));
        let truths = [truth("sum_ns"), truth("min_ns"), max];
        for (found, truth) in [found.iter().sum(), extremes[0], extremes[1]].into_iter().zip(truths)
        {
            law.near(&format!("{part} of {kind}"), found, truth, 0.5);
        }
    }
}

/// The points of a step's single operations as rows, whose times count from when each was due.
pub(super) fn operations_of(lines: &[String], step: usize) -> Vec<Row> {
    let step = step.to_string();
    let points = lines.iter().filter_map(|line| point(line));
    let of_step = points.filter(|(_, tags, ..)| tags.get("step") == Some(&step));
    let row = |(_, tags, fields, _): Point| -> Row {
        let tags = [("op", "kind"), ("outcome", "outcome")]
            .map(|(column, tag)| (column.to_owned(), tags[tag].clone()));
        let columns = [
            ("index", "index"),
            ("bytes", "bytes"),
            ("connection", "connection"),
            ("sent_ns", "lag"),
            ("received_ns", "response"),
        ];
        let figures = columns.into_iter().filter_map(|(column, field)| {
            Some((column.to_owned(), fields.get(field)?.to_string()))
        });
        let due = ("intended_ns".to_owned(), "0".to_owned());
        tags.into_iter().chain(figures).chain([due]).collect()
    };
    of_step.map(row).collect()
}

/// Holds the points of InfluxDB against the rows of seconds and of single operations.
pub(super) fn points(law: &mut Law<'_>, lines: &str, seconds: &[Row], samples: &[Row]) {
    let by_index: BTreeMap<&str, &Row> = samples.iter().map(|row| (&*row["index"], row)).collect();
    let (mut rows, mut count, mut begun) = (Vec::new(), 0, None);
    let mut run: Option<String> = None;
    let mut loads: BTreeMap<String, f64> = BTreeMap::new();
    for (name, tags, fields, time) in lines.lines().filter_map(point) {
        let servers = &law.record.plan.servers;
        let is_served = tags.get("server").is_none_or(|it| servers.iter().any(|of| of.name == *it));
        let is_same = tags.get("run") == Some(run.get_or_insert(tags["run"].clone()));
        law.holds(is_served && is_same, || format!("another server or run: {tags:?}"));
        if name == "memtide_interval" {
            let end = ["start_s", "length_s"].map(|it| fields.get(it).copied().unwrap_or(f64::NAN));
            let began = time as f64 - 1e9 * end.iter().sum::<f64>();
            let run = tags.get("step").cloned().unwrap_or_default();
            let known = *loads.entry(run).or_insert(began);
            law.near("the beginning of the load of a point", began, known, 1_000.0);
            let place = tags.into_iter().filter(|it| ["kind", "step", "load"].contains(&&*it.0));
            rows.push(
                place.chain(fields.into_iter().map(|(name, it)| (name, it.to_string()))).collect(),
            );
            continue;
        }
        count += 1;
        let listed = |section: &str, name: &String| {
            field("samples", section).unwrap().split(' ').any(|it| it == name)
        };
        let is_known = fields.keys().all(|it| listed("fields", it))
            && tags.keys().all(|it| listed("tags", it));
        let index = fields.get("index").map_or(String::new(), f64::to_string);
        let Some(row) = by_index.get(&*index).filter(|_| is_known) else {
            law.wrong.push(format!("no sample or table has {tags:?} {fields:?}"));
            continue;
        };
        let at = |column: &str| number(row, column);
        let since = |end: &str, begin: &str| Some(at(end)? - at(begin)?);
        let truths = [
            ("bytes", at("bytes")),
            ("connection", at("connection")),
            ("response", since("received_ns", "intended_ns")),
            ("service", since("received_ns", "sent_ns")),
            ("lag", since("sent_ns", "intended_ns")),
        ];
        let is_so = truths.iter().all(|(name, truth)| fields.get(*name).copied() == *truth);
        let is_tagged =
            tags.get("kind") == row.get("op") && tags.get("outcome") == row.get("outcome");
        law.holds(is_so && is_tagged, || format!("{tags:?} {fields:?} is not {row:?}"));
        // Nanoseconds since 1970 are no exact fractions.
        let start = fields.get("intended").map_or(f64::NAN, |it| it - at("intended_ns").unwrap());
        law.near("when a point was due", start, *begun.get_or_insert(start), 1_000.0);
        law.near("the time of a point", time as f64, fields["intended"], 1_000.0);
    }
    law.near("points of operations", f64::from(count), samples.len() as f64, 0.0);
    let total = lines.lines().count();
    law.holds(rows.len() + count as usize == total, || "a line is no point".to_owned());
    law.holds(are_equal(&rows, seconds), || "other seconds than as CSV".to_owned());
}

/// Holds the rows of a summary against the record: one, or one for each load.
pub(super) fn summary(law: &mut Law<'_>, text: &str) {
    let columns: Vec<_> = fields("summary").filter_map(|line| line.split_once(" | ")).collect();
    let names: Vec<&str> = columns.iter().map(|column| column.0).collect();
    let heading = text.lines().next().unwrap_or("");
    law.holds(heading == names.join(","), || format!("the table has other columns: {heading}"));
    let rows = csv(text);
    let loads: Vec<_> = rows.iter().map(|row| row.get("load").map(String::as_str)).collect();
    let both =
        if law.record.own.is_some() { &[Some("agents"), Some("master")][..] } else { &[None] };
    law.holds(loads == both, || format!("rows of {loads:?}"));
    let Some((first, own)) = rows.split_first() else { return };
    summed(law, &columns, first);
    for row in own {
        law.own("a row", |law| summed(law, &columns, row));
    }
}

fn summed(law: &mut Law<'_>, columns: &[(&str, &str)], row: &Row) {
    for (name, path) in columns {
        if let Some(path) = path.strip_prefix('~') {
            let truth = (!path.is_empty()).then(|| at(law.json, path).and_then(Value::as_str));
            let is_so = truth.is_none_or(|truth| row.get(*name).map(String::as_str) == truth);
            law.holds(is_so, || format!("{name} is {:?}", row.get(*name)));
            continue;
        }
        if *name == "partial" {
            let is_so = row.get("partial") == Some(&law.record.partial.to_string());
            law.holds(is_so, || format!("partial: {:?}", row.get("partial")));
            continue;
        }
        // The table has times in nanoseconds, and so has the law.
        let is_s = ["measured_s", "client_cpu", "server_cpu"].contains(name);
        let size = if is_s { 1e9 } else { 1.0 };
        let found = number(row, name).map(|it| it * size);
        let truth = law.truth(path).filter(|it| it.is_finite());
        let is_so = match (found, truth) {
            (Some(found), Some(truth)) => (found - truth).abs() <= 1e-9 * truth.abs(),
            // A reason is where the figure is: in the record, or in a comparison.
            (None, _) => *name == "server_cpu" || truth.is_none(),
            (Some(_), None) => false,
        };
        law.holds(is_so, || format!("{name} is {found:?}, not {truth:?}"));
    }
}
