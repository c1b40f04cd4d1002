//! The figures of a record by their paths, and the laws that these obey among themselves: each
//! figure of a distribution follows from its histogram and sums, and parts add up to the whole.

use super::shown::numbers;
use flate2::read::ZlibDecoder;
use memtide_record::{Figure, IntervalRecord, Record, ServerReport, steps::Steps};
use memtide_scenario::Kind;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

/// Buckets of a histogram are at most so wide, as a part of the value.
pub(super) const BUCKET: f64 = 0.008;
/// Percentiles: the name in a record, that of the reason, the fraction, the operations needed.
pub(super) const PERCENTILES: [(&str, &str, f64, u64); 6] = [
    ("p50_ns", "p50", 0.5, 6),
    ("p90_ns", "p90", 0.9, 36),
    ("p95_ns", "p95", 0.95, 72),
    ("p99_ns", "p99", 0.99, 368),
    ("p999_ns", "p999", 0.999, 3_688),
    ("p9999_ns", "p9999", 0.9999, 36_887),
];

/// What `fields.txt` says of a name in a section; empty if nothing.
pub(super) fn field(section: &str, name: &str) -> Option<&'static str> {
    fields(section)
        .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('|'))
        .map(str::trim)
}

/// The lines of a section of `fields.txt`.
pub(super) fn fields(section: &str) -> impl Iterator<Item = &'static str> {
    let lines = include_str!("fields.txt").lines();
    let head = format!("[{section}]");
    lines.skip_while(move |line| *line != head).skip(1).take_while(|line| !line.is_empty())
}

/// A record in both forms, the steps that it is one of, and what was found wrong with an output.
pub(super) struct Law<'a> {
    pub(super) record: &'a Record,
    pub(super) json: &'a Value,
    pub(super) steps: Option<&'a Steps>,
    pub(super) wrong: Vec<String>,
}

impl<'a> Law<'a> {
    pub(super) fn new(record: &'a Record, json: &'a Value) -> Self {
        Self { record, json, steps: None, wrong: Vec::new() }
    }

    /// Notes `what` unless it is so.
    pub(super) fn holds(&mut self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.wrong.push(what());
        }
    }

    /// Notes two figures that differ by more than `slack`.
    pub(super) fn near(&mut self, what: &str, figure: f64, truth: f64, slack: f64) {
        self.holds((figure - truth).abs() <= slack, || format!("{what} is {figure}, not {truth}"));
    }

    /// Holds what is said of the master's own load, if anything is.
    pub(super) fn own(&mut self, said: &str, hold: impl FnOnce(&mut Law<'_>)) {
        match self.record.own.as_deref() {
            _ if said.is_empty() => {}
            None => self.wrong.push("the record has no load of the master".to_owned()),
            Some(record) => {
                let mut own = Law::new(record, &self.json["own"]);
                hold(&mut own);
                self.wrong.extend(own.wrong.into_iter().map(|why| format!("own load: {why}")));
            }
        }
    }

    /// A figure of the record; times are in nanoseconds.
    pub(super) fn truth(&self, path: &str) -> Option<f64> {
        let record = self.record;
        let (totals, client) = (&record.totals, &record.client);
        let busy = client.worker_busy.iter().copied();
        let report = || record.server.during.values().next().map(|load| load.report);
        let ratio = |part: u64, whole: u64| Some(part as f64 / whole as f64);
        match path {
            "=rate" => Some(record.achieved().per_s),
            "=without_answer" => ratio(totals.unanswered(), 1),
            "=errors" => ratio(totals.tried().1, 1),
            "=error_ratio" => ratio(totals.tried().1, totals.tried().0),
            "=hit_ratio" => ratio(totals.hits, totals.keys),
            "=value_bytes" => ratio(totals.value_bytes_read, totals.values_read),
            "=cpu" => Some((client.cpu_user_s? + client.cpu_system_s?) * 1e9),
            "=client_cpu" => client.cpu_s_per_mops.map(|s| s * 1e9),
            "=per_cpu_s" => client.cpu_s_per_mops.map(|cost| 1e6 / cost),
            "=busy_min" => busy.reduce(f64::min),
            "=busy_max" => busy.reduce(f64::max),
            "=none_in_flight" => {
                let of = |workers: usize, window_ns: u64| workers as u64 * window_ns;
                let shares = record.shards.iter();
                let shares = shares.map(|it| of(it.client.worker_busy.len(), it.window_ns)).sum();
                let is_merged = !record.shards.is_empty();
                let all = if is_merged { shares } else { of(busy.len(), record.window_ns) };
                ratio(all.saturating_sub(totals.in_flight_ns), all)
            }
            "=merged" => ratio(record.shards.len() as u64, 1),
            "=servers" => ratio(record.plan.servers.len() as u64, 1),
            "=shares" => ratio(record.shards.iter().filter(|it| it.has_run()).count() as u64, 1),
            "=shares_of" => ratio(record.shards[0].share.as_ref()?.of.into(), 1),
            "=believable" => Some(f64::from(record.stands())),
            "=partial" => Some(f64::from(record.partial)),
            "=incomplete" => {
                let churn = record.churn.as_ref()?;
                let times = [&churn.connect, &churn.connect_service, &churn.lifetime];
                ratio(times.iter().map(|it| it.unanswered).max()?, 1)
            }
            "=unanswered" => ratio(record.response[&Kind::All].unanswered, 1),
            "=server_hits" => report()?.hit_ratio(),
            "=server_cpu" => {
                let reports = || record.server.during.values().map(|load| load.report);
                let cpu = |it: ServerReport| Some((it.cpu_user_us? + it.cpu_system_us?) as f64);
                let cpu_us = reports().map(cpu).sum::<Option<f64>>()?;
                let operations = reports().map(|it| it.operations).sum::<Option<u64>>()?;
                // Microseconds per operation equal seconds per million.
                (operations > 0).then(|| 1e9 * cpu_us / operations as f64)
            }
            "=server_items" => ratio(report()?.items?, 1),
            "=server_bytes" => ratio(report()?.item_bytes?, 1),
            "=server_silent" => ratio(report()?.unanswered, 1),
            "=server_asked" => report().map(|of| (of.unanswered + of.answers) as f64),
            _ if path.starts_with('#') => path[1..].parse().ok(),
            _ => {
                let found = known(at(self.json, path)?)?;
                let is_other = path.ends_with("_per_s") || path.contains("cpu");
                Some(if path.ends_with("_s") && !is_other { found * 1e9 } else { found })
            }
        }
    }
}

/// A member of a JSON value, by a path with points.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => value.get(name),
    })
}

/// A number, also one that is written as a word; the largest of several.
pub(super) fn known(value: &Value) -> Option<f64> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_f64).reduce(f64::max),
        _ => value.as_f64().or_else(|| value.as_str()?.parse().ok()),
    }
}

/// Buckets of a histogram: the middle of each and its count.
pub(super) type Buckets = BTreeMap<u64, u64>;

/// Decodes an HdrHistogram (V2, deflated, base64) with two digits.
pub(super) fn decoded(text: &str) -> Option<Buckets> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut bytes) = (0u32, Vec::new());
    for (number, letter) in text.trim_end_matches('=').bytes().enumerate() {
        bits = bits << 6 | LETTERS.iter().position(|known| *known == letter)? as u32;
        if number % 4 > 0 {
            bytes.push((bits >> (6 - 2 * (number % 4))) as u8);
        }
    }
    let mut inner = Vec::new();
    ZlibDecoder::new(bytes.get(8..)?).read_to_end(&mut inner).ok()?;
    let mut counts = inner.get(40..)?.iter();
    let (mut buckets, mut index) = (Buckets::new(), 0u64);
    while let Some(mut byte) = counts.next() {
        // LEB128 in zigzag; a negative count skips buckets.
        let (mut number, mut shift) = (u64::from(byte & 0x7f), 7);
        while byte & 0x80 != 0 && shift < 56 {
            byte = counts.next()?;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let count = (number >> 1) as i64 ^ -((number & 1) as i64);
        // 256 single values, then 128 buckets for each doubling.
        let doublings = (index / 128).saturating_sub(1);
        let middle = ((index - doublings * 128) << doublings) + (1 << doublings) / 2;
        index += if count < 0 { count.unsigned_abs() } else { 1 };
        if count > 0 {
            buckets.insert(middle, count as u64);
        }
    }
    Some(buckets)
}

/// The value at a fraction of `buckets` and of operations that rank above them.
pub(super) fn ranked(buckets: &Buckets, unanswered: u64, fraction: f64) -> Option<u64> {
    let total = buckets.values().sum::<u64>() + unanswered;
    let mut left = ((fraction * total as f64 - 1e-9).ceil() as u64).max(1);
    buckets.iter().find_map(|(value, count)| {
        let is_it = left <= *count;
        left = left.saturating_sub(*count);
        is_it.then_some(*value)
    })
}

/// Holds every figure of a record against the others.
pub(super) fn record(law: &mut Law<'_>) {
    let (record, totals) = (law.record, &law.record.totals);
    distributions(law, law.json, "");
    // A member that no record has, or another spelling, is lost when it is written again.
    let again = serde_json::to_value(record).unwrap();
    law.holds(again == *law.json, || "the record is written again as another".to_owned());
    if let Err(why) = record.check_conservation().and_then(|()| record.check_servers()) {
        law.wrong.push(why);
    }
    let window_s = record.window_ns as f64 / 1e9;
    law.near("measured_s", record.measured_s, window_s, 1e-9);
    if record.is_one_load() {
        let sent = record.sent_once().values().sum::<u64>() as f64;
        let achieved = record.rate.achieved_per_s;
        // Shares have windows of their own, which are not quite as long.
        let slack = achieved * if record.shards.is_empty() { 1e-6 } else { 0.02 };
        law.near("achieved_per_s", achieved, sent / window_s, slack);
        law.near("kinds_per_s", record.rate.kinds_per_s.values().sum(), achieved, slack);
    }
    costs(law);
    let all = &record.response[&Kind::All];
    let rows = |of: fn(&IntervalRecord) -> u64| record.intervals.iter().map(of).sum::<u64>();
    for (what, sum, whole) in [
        ("hits and misses", totals.hits + totals.misses, totals.keys),
        ("ops", record.phases.measure.ops.values().sum(), totals.sent),
        ("response times", all.count, totals.intended - totals.unacknowledged),
        ("answered times", all.count - all.unanswered, totals.answered),
        ("answers of intervals", rows(|row| row.ops), totals.answered),
        ("hits of intervals", rows(|row| row.hits), totals.hits),
        ("misses of intervals", rows(|row| row.misses), totals.misses),
    ] {
        law.near(what, sum as f64, whole as f64, 0.0);
    }
    for (server, name, figure) in record
        .server
        .delta
        .iter()
        .flat_map(|(server, of)| of.iter().map(move |it| (server, it.0, it.1)))
    {
        let whole = |of: &BTreeMap<_, BTreeMap<_, Figure>>| match of.get(server)?.get(name)? {
            Figure::Whole(count) => Some(*count),
            _ => None,
        };
        let grown = whole(&record.server.after)
            .zip(whole(&record.server.before))
            .map(|(now, then)| now - then);
        let is_so = grown.is_none_or(|grown| matches!(figure, Figure::Whole(it) if *it == grown));
        law.holds(is_so, || format!("{name} of {server} grew by {figure:?}"));
    }
    let mut sliced = Buckets::new();
    for slice in &record.slices {
        let buckets = decoded(&slice.histogram).unwrap_or_default();
        law.near("a slice", buckets.values().sum::<u64>() as f64, slice.answered as f64, 0.0);
        buckets.into_iter().for_each(|(value, count)| *sliced.entry(value).or_default() += count);
    }
    let whole = all.histogram.as_deref().and_then(decoded).unwrap_or_default();
    law.holds(sliced == whole, || "slices are not the whole".to_owned());
    let goals = record.goals.iter().map(|goal| (goal.measured, &goal.why));
    let checks = record.believable.checks.iter().map(|check| (check.measured, &check.message));
    for (measured, sentence) in goals.chain(checks) {
        // A sign is not looked at.
        let (_, told) = numbers(&sentence.replace(" -", " −"));
        let is_told =
            measured.is_none_or(|it| told.is_empty() || told.iter().any(|told| told.is(it)));
        law.holds(is_told, || format!("{measured:?} is not in '{sentence}'"));
    }
    seconds(law);
}

/// Rates in keys follow from keys; workers are busy at most always.
fn costs(law: &mut Law<'_>) {
    let (record, totals) = (law.record, &law.record.totals);
    if let Some(keys_per_s) = record.rate.keys_per_s.filter(|it| it.is_finite()) {
        let ops = record.phases.measure.ops.iter();
        let by_keys = |kind: &Kind| ["get", "gets", "gat", "gats", "cas"].contains(&kind.name());
        let gets: u64 = ops.filter(|(kind, _)| by_keys(kind)).map(|it| it.1).sum();
        let keys = (totals.keys_asked + totals.sent - gets) as f64 / totals.sent as f64;
        let truth = record.rate.achieved_per_s * keys;
        law.near("keys_per_s", keys_per_s, truth, 0.02 * truth);
    }
    let client = &record.client;
    law.holds(client.worker_busy.iter().all(|it| *it <= 1.0), || {
        format!("workers are {:?} busy", client.worker_busy)
    });
}

/// The seconds add up to the load, and what is in flight at the end of each is what was sent and
/// has not ended.
fn seconds(law: &mut Law<'_>) {
    let record = law.record;
    for second in &record.seconds {
        let (age, end) = (second.under_way.oldest_due_s, second.start_s + second.length_s);
        law.holds(age.is_none_or(|age| (0.0..=end).contains(&age)), || {
            format!("{age:?} s was the age of the backlog {end} s after the load began")
        });
    }
    let mut open = 0i64;
    for second in &record.seconds {
        let counts = &second.counts;
        let ended = counts.answered + counts.failed + counts.timed_out + counts.lost;
        open += counts.sent as i64 - (ended + counts.unacknowledged) as i64;
        // What never was sent ends, too; seconds of several processes end at different instants.
        let is_known = record.shards.is_empty() && counts.abandoned + counts.dropped == 0;
        if !is_known || record.totals.timed_out_queued > 0 {
            break;
        }
        let in_flight = second.under_way.in_flight;
        law.holds(in_flight.is_none_or(|it| it as i64 == open), || {
            format!("{in_flight:?} are in flight at the end of a second, not {open}")
        });
    }
    let seconds = law.json["seconds"].as_array().map_or(&[][..], Vec::as_slice);
    let loaded = [&record.phases.warmup, &record.phases.measure, &record.phases.cooldown];
    let loaded = loaded.map(|phase| serde_json::to_value(&phase.totals).unwrap());
    let names = loaded[0]
        .as_object()
        .unwrap()
        .keys()
        .filter(|name| seconds.first().is_some_and(|it| it.get(name).is_some()));
    for name in names {
        let sum = |of: &[Value]| of.iter().filter_map(|it| it[name].as_f64()).sum::<f64>();
        law.near(&format!("seconds' {name}"), sum(seconds), sum(&loaded), 0.0);
    }
}

/// Holds each distribution in `value` against its own histogram and sums.
fn distributions(law: &mut Law<'_>, value: &Value, path: &str) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(it) if it.contains_key("mean_ns") => return distribution(law, value, path),
        Value::Object(it) if it.contains_key("sum_squares") => return counts(law, value, path),
        Value::Object(members) => members.iter().map(|(name, it)| (name.clone(), it)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, it)| (at.to_string(), it)).collect()
        }
        _ => return,
    };
    members.into_iter().for_each(|(name, it)| distributions(law, it, &format!("{path}.{name}")));
}

/// Holds figures of counts against their histogram.
fn counts(law: &mut Law<'_>, value: &Value, path: &str) {
    let buckets = value["histogram"].as_str().and_then(decoded).unwrap_or_default();
    let total: u64 = buckets.values().sum();
    let sum: f64 = buckets.iter().map(|(value, count)| (value * count) as f64).sum();
    let at = |fraction| ranked(&buckets, 0, fraction).unwrap_or(0) as f64;
    let figures =
        [("min", 0.0), ("p50", 0.5), ("p99", 0.99), ("max", 1.0)].map(|it| (it.0, at(it.1)));
    for (name, truth) in
        [("count", total as f64), ("mean", sum / total as f64)].into_iter().chain(figures)
    {
        let figure = value[name].as_f64().unwrap_or(truth);
        law.holds((figure - truth).abs() <= BUCKET * truth || total == 0, || {
            format!("{path}.{name}: {figure}")
        });
    }
}

fn distribution(law: &mut Law<'_>, value: &Value, path: &str) {
    let figure = |name: &str| known(&value[name]).unwrap_or(f64::NAN);
    let (count, unanswered) = (figure("count") as u64, figure("unanswered") as u64);
    let buckets = match value["histogram"].as_str() {
        Some(text) => decoded(text).unwrap_or_default(),
        None if count > unanswered => return,
        None => Buckets::new(),
    };
    let answered = buckets.values().sum::<u64>() as f64;
    law.near(&format!("times of {path}"), answered, (count - unanswered.min(count)) as f64, 0.0);
    if let (Some((first, _)), Some((last, _))) =
        (buckets.first_key_value(), buckets.last_key_value())
    {
        let (sum, mean) = (figure("sum_ns"), figure("sum_ns") / answered);
        let by_buckets = buckets.iter().map(|(middle, count)| middle * count).sum::<u64>() as f64;
        let square = (figure("sum_squares_ns2") - mean * sum).max(0.0) / answered;
        let stddev = value["stddev_ns"].as_f64().unwrap_or(square.sqrt());
        let is_whole = unanswered == 0;
        let longest = if is_whole { "max_ns" } else { "answered_max_ns" };
        let of_whole = [
            ("mean_ns", figure("mean_ns"), mean, 1e-9 * mean),
            ("stddev_ns", stddev, square.sqrt(), 1e-3 * (stddev + mean)),
        ];
        let of_answered = [
            ("sum_ns", sum, by_buckets, BUCKET * by_buckets + 1.0),
            ("min_ns", figure("min_ns"), *first as f64, BUCKET * *first as f64 + 1.0),
            (longest, figure(longest), *last as f64, BUCKET * *last as f64 + 1.0),
        ];
        for (name, found, truth, slack) in
            of_whole.into_iter().filter(|_| is_whole).chain(of_answered)
        {
            law.near(&format!("{path}.{name}"), found, truth, slack);
        }
    }
    lower_bounds(law, value, path);
    for (name, reason, fraction, needed) in PERCENTILES {
        let why = &value["missing"][reason];
        let truth = ranked(&buckets, unanswered, fraction).filter(|_| count >= needed);
        let is_so = match (value[name].as_f64(), truth.map(|ns| ns as f64)) {
            (Some(found), Some(truth)) => (found - truth).abs() <= BUCKET * truth + 1.0,
            (None, None) if why.is_null() => count == 0,
            (None, None) if why["why"] == "unanswered" => count >= needed,
            (None, None) => why["needed"] == needed && why["has"] == count,
            _ => false,
        };
        law.holds(is_so, || format!("{path}.{name} is {}, not {truth:?}: {why}", value[name]));
    }
}

/// Holds mean, deviation and maximum of times of which some are unknown: they are null, and their
/// bounds count each unanswered operation with what is known of it.
fn lower_bounds(law: &mut Law<'_>, value: &Value, path: &str) {
    let figure = |name: &str| known(&value[name]).unwrap_or(0.0);
    let names =
        ["mean", "stddev", "max"].map(|name| (format!("{name}_ns"), format!("{name}_at_least_ns")));
    let (count, unanswered) = (figure("count"), figure("unanswered"));
    if unanswered == 0.0 {
        let is_so = names.iter().all(|(_, least)| value[least].is_null());
        return law.holds(is_so, || format!("{path} has a bound, and all were answered"));
    }
    let is_so = names.iter().all(|(name, _)| value[name].is_null());
    law.holds(is_so, || format!("{path} has a mean, deviation or maximum without all operations"));
    let bounds = &value["bounds"];
    let of_bounds = |name: &str| known(&bounds[name]).unwrap_or(0.0);
    let others = unanswered - of_bounds("count");
    let each =
        known(if bounds.is_null() { &value["at_least_ns"] } else { &bounds["others_at_least_ns"] });
    let answered = count - unanswered;
    let mean = if answered > 0.0 { figure("sum_ns") / answered } else { 0.0 };
    let sum = figure("sum_ns") + of_bounds("sum_ns") + others * each.unwrap_or(mean);
    law.near(
        &format!("{path}.mean_at_least_ns"),
        figure("mean_at_least_ns"),
        sum / count,
        1e-9 * sum,
    );
    let longest = [
        figure("answered_max_ns"),
        of_bounds("max_ns"),
        each.filter(|_| others > 0.0).unwrap_or(0.0),
    ];
    let longest = longest.into_iter().fold(0.0, f64::max);
    law.near(&format!("{path}.max_at_least_ns"), figure("max_at_least_ns"), longest, 0.0);
    // The answered ones alone scatter by a part of this, about whatever mean.
    let of_answered = (figure("sum_squares_ns2") - mean * figure("sum_ns")).max(0.0) / count;
    let stddev = figure("stddev_at_least_ns");
    law.holds(stddev * 1.001 + 1.0 >= of_answered.sqrt() && stddev <= longest, || {
        format!("{path}.stddev_at_least_ns is {stddev}, not {} or more", of_answered.sqrt())
    });
}
