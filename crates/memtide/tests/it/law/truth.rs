//! The figures of a record by their paths, and the laws that these obey among themselves: every
//! figure of a distribution follows from its histogram and sums, and parts add up to the whole.

use flate2::read::ZlibDecoder;
use memtide_record::Record;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

/// Buckets of a histogram are at most so wide, as a part of the value.
pub(super) const BUCKET: f64 = 0.008;
/// Percentiles: the name in a record, that in a text, the fraction, the operations that it needs.
pub(super) const PERCENTILES: [(&str, &str, f64, u64); 6] = [
    ("p50_ns", "p50", 0.5, 6),
    ("p90_ns", "p90", 0.9, 36),
    ("p95_ns", "p95", 0.95, 72),
    ("p99_ns", "p99", 0.99, 368),
    ("p999_ns", "p99.9", 0.999, 3_688),
    ("p9999_ns", "p99.99", 0.9999, 36_887),
];

/// A record in both forms, and what was found wrong with an output.
pub(super) struct Law<'a> {
    pub(super) record: &'a Record,
    pub(super) json: &'a Value,
    pub(super) wrong: Vec<String>,
}

impl<'a> Law<'a> {
    pub(super) fn new(record: &'a Record, json: &'a Value) -> Self {
        Self { record, json, wrong: Vec::new() }
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

    /// A figure of the record; a time in seconds or nanoseconds is in nanoseconds.
    pub(super) fn truth(&self, path: &str) -> Option<f64> {
        let record = self.record;
        let busy = record.client.worker_busy.iter().copied();
        let client = &record.client;
        let cpu = client.cpu_user_s.zip(client.cpu_system_s).map(|(user, system)| user + system);
        let report = record.server.during.values().next().map(|load| load.report);
        let ran = record.shards.iter().filter(|shard| shard.has_run());
        match path {
            "=rate" => Some(record.rate.in_schedule_unit()),
            "=hit_ratio" => Some(record.totals.hits as f64 / record.totals.keys as f64),
            "=value_bytes" => {
                let totals = &record.totals;
                Some(totals.value_bytes_read as f64 / totals.values_read as f64)
            }
            "=cpu" => cpu.map(|s| s * 1e9),
            "=per_cpu_s" => client.cpu_s_per_mops.map(|cost| 1e6 / cost),
            "=busy_min" => busy.reduce(f64::min),
            "=busy_max" => busy.reduce(f64::max),
            "=merged" => Some(record.shards.len() as f64),
            "=shares" => {
                Some(ran.map(|shard| shard.share.as_ref().unwrap().units).sum::<u32>().into())
            }
            "=shares_of" => Some(record.shards[0].share.as_ref()?.of.into()),
            "=server_hits" => report?.hit_ratio(),
            "=server_cpu" => report?.cpu_s_per_mops().map(|s| s * 1e9),
            "=server_items" => report?.items.map(|count| count as f64),
            "=server_bytes" => report?.item_bytes.map(|count| count as f64),
            "=server_silent" => Some(report?.unanswered as f64),
            "=server_asked" => report.map(|of| (of.unanswered + of.answers) as f64),
            "=servers" => Some(record.plan.servers.len() as f64),
            "=unanswered" => Some(record.response[&memtide_scenario::Kind::All].unanswered as f64),
            _ if path.starts_with('#') => path[1..].parse().ok(),
            _ => {
                let found = at(self.json, path)?.as_f64()?;
                let is_time =
                    path.ends_with("_s") && !path.ends_with("_per_s") && !path.contains("cpu");
                Some(if is_time { found * 1e9 } else { found })
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

/// Buckets of a histogram: the middle of each and its count.
pub(super) type Buckets = BTreeMap<u64, u64>;

/// Decodes an HdrHistogram (V2, deflated, base64) with two digits.
pub(super) fn decoded(text: &str) -> Option<Buckets> {
    let mut bits = 0u32;
    let mut bytes = Vec::new();
    for (number, letter) in text.trim_end_matches('=').bytes().enumerate() {
        let six = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
            .iter()
            .position(|known| *known == letter)?;
        bits = bits << 6 | six as u32;
        if number % 4 > 0 {
            bytes.push((bits >> (6 - 2 * (number % 4))) as u8);
        }
    }
    let mut inner = Vec::new();
    ZlibDecoder::new(bytes.get(8..)?).read_to_end(&mut inner).ok()?;
    let mut counts = inner.get(40..)?.iter();
    let (mut buckets, mut index) = (Buckets::new(), 0u64);
    while let Some(first) = counts.next() {
        // LEB128 in zigzag; a negative count skips buckets.
        let (mut number, mut shift, mut byte) = (u64::from(first & 0x7f), 7, first);
        while byte & 0x80 != 0 && shift < 56 {
            byte = counts.next()?;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let count = (number >> 1) as i64 ^ -((number & 1) as i64);
        if count < 0 {
            index += count.unsigned_abs();
            continue;
        }
        // 256 single values, then 128 buckets for each doubling.
        let doublings = (index / 128).saturating_sub(1);
        let width = 1 << doublings;
        let middle = ((index - doublings * 128) << doublings) + width / 2;
        if count > 0 {
            buckets.insert(middle, count as u64);
        }
        index += 1;
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
    let json = law.json;
    distributions(law, json, "");
    let record = law.record;
    if let Err(why) = record.check_conservation().and_then(|()| record.check_servers()) {
        law.wrong.push(why);
    }
    let window_s = record.window_ns as f64 / 1e9;
    law.near("measured_s", record.measured_s, window_s, 1e-9);
    if record.is_one_load() {
        let sent: u64 = record.sent_once().values().sum();
        let achieved = record.rate.achieved_per_s;
        law.near("achieved_per_s", achieved, sent as f64 / window_s, 1e-6 * achieved);
        let kinds: f64 = record.rate.kinds_per_s.values().sum();
        law.near("kinds_per_s", kinds, achieved, 1e-6 * achieved);
    }
    let totals = &record.totals;
    let ops: u64 = record.phases.measure.ops.values().sum();
    law.holds(ops == totals.intended, || format!("ops add up to {ops}"));
    let all = &record.response[&memtide_scenario::Kind::All];
    let ranked = totals.intended - totals.unacknowledged;
    law.holds(all.count == ranked, || format!("{} response times of {ranked}", all.count));
    law.holds(all.count - all.unanswered == totals.answered, || "answered times".to_owned());
    let rows = |of: fn(&memtide_record::IntervalRecord) -> u64| -> u64 {
        record.intervals.iter().map(of).sum()
    };
    law.holds(rows(|row| row.ops) == totals.answered, || "answers of intervals".to_owned());
    law.holds(rows(|row| row.hits) == totals.hits, || "hits of intervals".to_owned());
    law.holds(rows(|row| row.misses) == totals.misses, || "misses of intervals".to_owned());
    for row in &record.intervals {
        let per_s = row.ops as f64 / row.length_s;
        law.near("rate of an interval", row.rate_per_s, per_s, 1e-6 * per_s);
    }
    let mut sliced = Buckets::new();
    for slice in &record.slices {
        let buckets = decoded(&slice.histogram).unwrap_or_default();
        law.holds(buckets.values().sum::<u64>() == slice.answered, || "a slice".to_owned());
        buckets.into_iter().for_each(|(value, count)| *sliced.entry(value).or_default() += count);
    }
    let whole = all.histogram.as_deref().and_then(decoded).unwrap_or_default();
    law.holds(sliced == whole, || "slices are not the whole".to_owned());
    seconds(law);
    for goal in &record.goals {
        claims(law, &goal.goal, goal.measured, &goal.why);
    }
    for check in &record.believable.checks {
        claims(law, "a check", check.measured, &check.message);
    }
}

/// Holds a sentence against the figure that it is about.
fn claims(law: &mut Law<'_>, what: &str, measured: Option<f64>, sentence: &str) {
    let Some(measured) = measured else { return };
    let (_, numbers) = super::shown::numbers(sentence);
    let is_said = numbers.is_empty() || numbers.iter().any(|shown| shown.is(measured));
    law.holds(is_said, || format!("{what}: {measured} is not in '{sentence}'"));
}

/// The seconds add up to the load; the backlog's age is possible beside the lag.
fn seconds(law: &mut Law<'_>) {
    let record = law.record;
    let mut loaded = BTreeMap::new();
    for phase in [&record.phases.warmup, &record.phases.measure, &record.phases.cooldown] {
        let totals = serde_json::to_value(&phase.totals).unwrap();
        for (name, value) in totals.as_object().unwrap() {
            *loaded.entry(name.clone()).or_insert(0) += value.as_u64().unwrap_or(0);
        }
    }
    let empty = Vec::new();
    let seconds = law.json["seconds"].as_array().unwrap_or(&empty);
    if seconds.is_empty() {
        return;
    }
    for (name, truth) in loaded {
        let sum: u64 = seconds.iter().filter_map(|second| second[&name].as_u64()).sum();
        let is_there = seconds[0].get(&name).is_some();
        law.holds(!is_there || sum == truth, || format!("seconds: {sum} {name} of {truth}"));
    }
}

/// Holds each distribution in `value` against its own histogram and sums.
fn distributions(law: &mut Law<'_>, value: &Value, path: &str) {
    match value {
        Value::Object(members) if members.contains_key("sum_squares_ns2") => {
            if members.contains_key("mean_ns") {
                distribution(law, value, path);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                distributions(law, member, &format!("{path}.{name}"));
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                distributions(law, item, &format!("{path}.{number}"));
            }
        }
        _ => {}
    }
}

fn distribution(law: &mut Law<'_>, value: &Value, path: &str) {
    let whole = |name: &str| value[name].as_u64();
    let (count, unanswered) = (whole("count").unwrap(), whole("unanswered").unwrap());
    let buckets = match value["histogram"].as_str() {
        Some(text) => decoded(text).unwrap_or_default(),
        None if count > unanswered => return,
        None => Buckets::new(),
    };
    let answered: u64 = buckets.values().sum();
    law.holds(answered + unanswered == count, || format!("{path}: {answered} times of {count}"));
    if answered > 0 {
        let wide = |name: &str| value[name].as_str().unwrap().parse::<f64>().unwrap();
        let mean = wide("sum_ns") / answered as f64;
        law.near(&format!("{path}.mean_ns"), value["mean_ns"].as_f64().unwrap(), mean, 1e-9 * mean);
        let by_buckets = buckets.iter().map(|(middle, count)| middle * count).sum::<u64>() as f64;
        law.near(&format!("{path}.sum_ns"), wide("sum_ns"), by_buckets, BUCKET * by_buckets + 1.0);
        if let Some(stddev) = value["stddev_ns"].as_f64() {
            let n = answered as f64;
            let square = (wide("sum_squares_ns2") - mean * wide("sum_ns")).max(0.0) / (n - 1.0);
            law.near(
                &format!("{path}.stddev_ns"),
                stddev,
                square.sqrt(),
                1e-3 * stddev + 1e-3 * mean,
            );
        }
        for (name, bucket) in
            [("min_ns", buckets.first_key_value()), ("max_ns", buckets.last_key_value())]
        {
            let (bucket, exact) = (*bucket.unwrap().0 as f64, whole(name).unwrap() as f64);
            law.near(&format!("{path}.{name}"), exact, bucket, BUCKET * bucket + 1.0);
        }
    }
    for (name, word, fraction, needed) in PERCENTILES {
        let figure = whole(name);
        let why = &value["missing"][word.replace('.', "")];
        let truth = ranked(&buckets, unanswered, fraction).filter(|_| count >= needed);
        match (figure, truth) {
            (Some(figure), Some(truth)) => {
                let slack = BUCKET * truth as f64 + 1.0;
                law.near(&format!("{path}.{name}"), figure as f64, truth as f64, slack);
            }
            (None, None) => {
                law.holds(count == 0 || why.is_object(), || format!("{path}.{name}: no reason"))
            }
            _ => law.wrong.push(format!("{path}.{name} is {figure:?}, not {truth:?}")),
        }
    }
}
