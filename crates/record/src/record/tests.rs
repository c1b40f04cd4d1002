//! The JSON format of a record: exact names, writing and reading back, and the JSON Schema.

use super::*;
use crate::judge::{Measured, measured};
use crate::pages::{expect_document, expect_explained};
use crate::schemas::published;
use crate::warning::{LateCause, Warning};
use memtide_base::Span;
use memtide_metrics::counter::Counters;
use memtide_metrics::histogram::{Histogram, Moments};
use memtide_scenario::{Scenario, Subject};
use serde_json::{Value, json};

/// A record with something in every part.
pub(crate) fn sample() -> Record {
    let mut times = Histogram::<u64>::new();
    (1..=990).for_each(|i| times.record(i * 1_000));
    let response = Distribution::of(&times, 10, Span::from_s(5));
    let counters = Counters { intended: 1000, answered: 990, timed_out: 10, ..Counters::default() };
    let counts =
        PhaseCounts { ops: [(Kind::Get, 900), (Kind::Set, 100)].into(), ..(&counters).into() };
    let figures = |gets: &str| {
        let named = [("cmd_get", gets), ("version", "1.6.18"), ("rusage_user", "0.25")];
        let figures = named.map(|(name, word)| (name.to_owned(), Figure::from_word(word)));
        [("a:11211".to_owned(), figures.into())].into()
    };
    let check = |code, result, message: &str| Check {
        code,
        result,
        message: message.to_owned(),
        measured: Some(0.5),
        allowed: None,
    };
    let late = Warning::GeneratorLate {
        percentile: Percentile::P99,
        seen_ns: 40_000,
        ideal_ns: 28_000,
        cause: LateCause::Wake,
    };
    Record {
        scenario: Scenario::default().words(),
        totals: counts.totals.clone(),
        phases: Phases { measure: counts, ..Phases::default() },
        servers: vec![ServerRecord { name: "a:11211".to_owned(), ..ServerRecord::default() }],
        server: ServerCounters::new(figures("5"), figures("905")),
        believable: Believable::from_checks(vec![
            check(CheckKind::Rate, CheckResult::Passed, "achieved 1000/s of 1000/s"),
            check(CheckKind::GeneratorP99, CheckResult::Failed, "30 % of p99 is our own"),
        ]),
        goals: vec![GoalRecord {
            goal: "get.p99<1ms".to_owned(),
            result: GoalResult::Undecided,
            measured: None,
            why: "too few".to_owned(),
        }],
        response: [(Kind::Set, response.clone()), (Kind::All, response.clone())].into(),
        client_delay: response,
        intervals: vec![IntervalRecord::default()],
        machine_cpu: Some(MachineCpu::default()),
        warnings: vec![(&late).into()],
        ..Record::default()
    }
}

#[test]
fn a_record_reads_back_as_itself() {
    let text = sample().to_json();
    assert_eq!(Record::from_json(&text), Ok(sample()));
}

#[test]
fn another_version_is_refused() {
    let mut value = serde_json::to_value(sample()).unwrap();
    value["schema"] = json!("memtide.record/3");
    let error = Record::from_json(&value.to_string()).unwrap_err();
    assert!(error.contains("memtide.record/3") && error.contains("memtide.record/2"), "{error}");
}

/// Asserts that an object has at least `names`.
fn assert_names(value: &Value, names: &str) {
    let object = value.as_object().unwrap_or_else(|| panic!("{value} is no object"));
    for name in names.split(' ') {
        assert!(object.contains_key(name), "{name} is missing beside {:?}", object.keys());
    }
}

#[test]
fn names_are_the_published_ones() {
    let value = serde_json::to_value(sample()).unwrap();
    assert_eq!(value["schema"], "memtide.record/2");
    assert_names(
        &value,
        "scenario plan machine started_unix_ms ended_unix_ms totals phases servers server \
             believable goals rate response service lag lag_split client_delay in_flight_at_send \
             outstanding_at_send intervals client machine_cpu warnings loop partial",
    );
    let totals = "intended answered failed timed_out lost dropped unacknowledged abandoned \
             late_replies keys hits misses bytes_sent bytes_received errors replies connections";
    assert_names(&value["totals"], totals);
    assert_names(&value["totals"]["replies"], "stored not_stored exists not_found");
    assert_names(&value["totals"]["connections"], "opened failed lost");
    assert_names(&value["phases"], "load warmup measure cooldown");
    assert_names(&value["phases"]["load"], totals);
    assert_eq!(value["phases"]["measure"]["ops"], json!({ "get": 900, "set": 100 }));
    assert_names(&value["server"], "before after delta");
    assert_names(&value["believable"], "verdict reasons");
    assert_eq!(value["believable"]["verdict"], "within");
    assert_eq!(value["goals"][0]["result"], "undecided");
    assert_names(&value["rate"], "target_per_s achieved_per_s");
    let distribution =
        "count mean_ns stddev_ns min_ns max_ns p50_ns p90_ns p95_ns p99_ns p999_ns p9999_ns";
    assert_names(&value["response"]["all"], distribution);
    assert_names(&value["client_delay"], distribution);
    assert_names(&value["lag_split"], "generator client_busy server disconnected");
    assert_names(
        &value["intervals"][0],
        "start_s ops rate_per_s hits misses response_p50_ns response_p99_ns",
    );
    assert_names(&value["client"], "cpu_user_s cpu_system_s cpu_s_per_mops rss_max_bytes");
    assert_names(&value["machine_cpu"], "avg min max least_of_1s most_of_1s");
    assert_names(&value["warnings"][0], "code message remedy");
}

#[test]
fn absent_percentiles_say_why() {
    let response = &sample().response[&Kind::All];
    assert_eq!((response.count, response.unanswered), (1000, 10));
    assert!(response.p50_ns.is_some_and(|p50| p50.abs_diff(500_000) < 5_000));
    assert!(response.p99_ns.is_some());
    assert_eq!(response.p999_ns, None);
    let value = serde_json::to_value(response).unwrap();
    assert_eq!(value["at_least_ns"], 5_000_000_000u64);
    assert_eq!(value["p999_ns"], Value::Null);
    assert_eq!(value["missing"]["p999"], json!({ "why": "too_few", "needed": 3688, "has": 1000 }));
    let mut times = Histogram::<u64>::new();
    (0..900).for_each(|_| times.record(7));
    let response = Distribution::of(&times, 100, Span::from_s(5));
    assert_eq!(response.missing[&Percentile::P99], Missing::Unanswered);
    assert_eq!(response.p90_ns, Some(7));
    let empty = Distribution::of(&Histogram::new(), 0, Span::from_s(5));
    assert_eq!((empty.min_ns, empty.mean_ns, empty.at_least_ns), (None, None, None));
}

#[test]
fn a_percentile_among_operations_that_were_cut_off_has_a_bound_of_its_own() {
    let ms = 1_000_000;
    let (mut times, mut bounds) = (Histogram::<u64>::new(), Histogram::<u64>::new());
    (0..400).for_each(|_| times.record(8 * ms));
    (0..500).for_each(|nth| bounds.record((1 + nth / 5) * ms));
    let response = Distribution::cut_off(&times, 600, Span::from_s(5), &bounds);
    assert_eq!((response.count, response.unanswered), (1_000, 600));
    // Five bounds at each millisecond, and all answers at the eighth: rank 500 is at 20.
    let p50 = response.percentile_at_least(Percentile::P50).unwrap();
    assert!(p50.abs_diff(20 * ms) < ms / 5, "{p50}");
    assert_eq!((response.p50_ns, response.at_least_ns), (None, Some(ms)));
    // A hundred other operations timed out.
    let p90 = response.percentile_at_least(Percentile::P90).unwrap();
    assert!(p90.abs_diff(100 * ms) < ms, "{p90}");
    assert_eq!(response.percentile_at_least(Percentile::P95), Some(5_000 * ms));
    assert_eq!(response.max_at_least_ns, Some(5_000 * ms));
    assert_eq!(response.percentile_at_least(Percentile::P999), None, "too few");
    let text = serde_json::to_string(&response).unwrap();
    let read: Distribution = serde_json::from_str(&text).unwrap();
    assert_eq!(read, response);
    assert_eq!((read.times(), read.bounds()), (Some(times.clone()), Some(bounds.clone())));
    // A bound may be below an answered time; the maximum never is.
    let response = Distribution::cut_off(&times, 500, Span::from_s(5), &bounds);
    assert_eq!(response.bounds.as_ref().unwrap().others_at_least_ns, None);
    assert_eq!(response.max_at_least_ns, Some(100 * ms));
    times.record(200 * ms);
    let response = Distribution::cut_off(&times, 500, Span::from_s(5), &bounds);
    assert_eq!(response.max_at_least_ns, Some(200 * ms));
}

#[test]
fn operations_that_timed_out_rank_where_their_timeout_is() {
    let ms = 1_000_000;
    let (mut times, mut bounds) = (Histogram::<u64>::new(), Histogram::<u64>::new());
    (0..400).for_each(|_| times.record(8 * ms));
    (0..400).for_each(|_| bounds.record(20 * ms));
    (0..100).for_each(|_| bounds.record(100 * ms));
    // A hundred timed out after 50 ms in another run than those of 100 ms: ranks 801 to 900.
    let response = Distribution::cut_off(&times, 600, Span::from_ms(50), &bounds);
    assert_eq!(response.percentile_at_least(Percentile::P90), Some(50 * ms));
    let p95 = response.percentile_at_least(Percentile::P95).unwrap();
    assert!(p95.abs_diff(100 * ms) < ms, "{p95}");
}

#[test]
fn histograms_and_sums_merge_exactly_after_the_way_through_json() {
    let response = sample().response[&Kind::All].clone();
    let text = serde_json::to_string(&response).unwrap();
    let read: Distribution = serde_json::from_str(&text).unwrap();
    let moments = Moments {
        count: read.count - read.unanswered,
        saturated: read.saturated,
        min: read.min_ns.unwrap(),
        max: read.longest_answered().unwrap(),
        sum: read.sum_ns.0,
        sum_squares: read.sum_squares_ns2.0,
    };
    let times = Histogram::<u64>::from_text(&read.histogram.unwrap(), moments).unwrap();
    assert_eq!(Distribution::of(&times, read.unanswered, Span::from_s(5)), response);
    let wide = Wide(u128::MAX);
    let text = serde_json::to_string(&wide).unwrap();
    assert_eq!(serde_json::from_str::<Wide>(&text).unwrap(), wide);
    assert!(serde_json::from_str::<Wide>("\"-1\"").is_err());
}

#[test]
fn counts_must_add_up_in_every_phase() {
    let mut record = sample();
    assert_eq!(record.check_conservation(), Ok(()));
    record.phases.warmup.totals.intended = 1;
    let error = record.check_conservation().unwrap_err();
    assert!(error.starts_with("warmup: 1 operations were intended but 0 ended"), "{error}");
    record.phases.warmup.totals.dropped = 1;
    assert_eq!(record.check_conservation(), Ok(()));
    record.phases.warmup.totals.dropped_at_end = 2;
    let error = record.check_conservation().unwrap_err();
    assert!(error.contains("2 of 1 dropped operations at the end"), "{error}");
    record.phases.warmup.totals.dropped_at_end = 1;
    record.totals.hits += 1;
    assert!(record.check_conservation().is_err());
}

#[test]
fn the_servers_figures_are_subtracted_where_they_are_numbers() {
    let server = sample().server;
    let delta = &server.delta["a:11211"];
    assert_eq!(delta["cmd_get"], Figure::Whole(900));
    assert_eq!(delta["rusage_user"], Figure::Real(0.0));
    assert!(!delta.contains_key("version"));
    for word in ["inf", "NaN", "1.6.18", "", "-", "1e3", "99999999999999999999"] {
        assert_eq!(Figure::from_word(word), Figure::Text(word.to_owned()));
    }
    assert_eq!(Figure::from_word("-3"), Figure::Whole(-3));
}

/// Counters that all differ, the totals that a record should make of them, and how many are
/// compared.
macro_rules! told {
    (
        told {
            $(
                $(#[doc = $doc:tt])* $(#[missing = $missing:ident])?
                $counter:ident => $count:ident: $of_server:ty
                $(, second $second:ident $meaning:literal)?;
            )*
        }
        untold $untold:tt
    ) => {{
        let mut counters = Counters::default();
        let mut number = 0;
        $(number += 1; counters.$counter = number;)*
        (counters, [$(stringify!($count)),*])
    }};
}

#[test]
fn every_counter_of_the_list_is_told_summed_and_known_of_a_server() {
    let (counters, names) = memtide_metrics::counters!(told);
    let mut totals = Totals::from(&counters);
    let numbers =
        |value: Value| -> Vec<_> { names.iter().map(|name| value[*name].as_u64()).collect() };
    let once: Vec<_> = (1..=names.len() as u64).map(Some).collect();
    assert_eq!(numbers(json!(totals)), once);
    assert_eq!(numbers(json!(ServerTotals::of(totals.clone(), &Totals::default()))), once);
    totals.add(&totals.clone());
    let twice: Vec<_> = once.iter().map(|number| number.map(|number| 2 * number)).collect();
    assert_eq!(numbers(json!(totals)), twice);
    let value = json!(totals);
    let members: Vec<&String> = value.as_object().unwrap().keys().take(names.len()).collect();
    assert_eq!(members, names, "in the order of the list");
}

#[test]
fn kinds_keep_their_order() {
    let value = serde_json::to_string(&sample().response).unwrap();
    assert!(value.find("\"all\"") < value.find("\"set\""));
}

#[test]
fn the_json_schema_is_the_written_one_and_holds_a_record() {
    let mut wrong = json!(sample());
    wrong["totals"]["intended"] = json!("many");
    let right = [json!(sample()), json!(Record::default())];
    expect_schema::<Record>("record.schema.json", &right, &wrong);
}

#[test]
fn the_page_explains_every_part() {
    let value = json!(sample());
    expect_explained("record.md", &[&value, &value["response"]["all"], &value["totals"]]);
}

/// Asserts that the JSON schema of `T` is `docs/{name}`, that it holds each of `right`, and that it
/// does not hold `wrong`.
pub(crate) fn expect_schema<T: JsonSchema>(name: &str, right: &[Value], wrong: &Value) {
    let schema = referring(expect_valid::<T>(right));
    expect_document(name, &format!("{}\n", serde_json::to_string_pretty(&schema).unwrap()));
    let published = published(name);
    assert!(right.iter().all(|value| published.is_valid(value)), "docs/{name}");
    assert!(!published.is_valid(wrong), "docs/{name}");
}

/// A schema of something with records in it, which refers to the schema of records instead of
/// repeating its parts; that schema itself stays as it is.
fn referring(mut schema: Value) -> Value {
    let of_record = serde_json::to_value(schemars::schema_for!(Record)).unwrap();
    if schema == of_record {
        return schema;
    }
    let known = &of_record["$defs"];
    let parts = schema["$defs"].as_object_mut().unwrap();
    let is_repeated = |name: &String, part: &Value| name == "Record" || known[name] == *part;
    let mut repeated = Vec::new();
    parts.retain(|name, part| {
        let is_repeated = is_repeated(name, part);
        repeated.extend(is_repeated.then(|| name.clone()));
        !is_repeated
    });
    let text = repeated.iter().fold(schema.to_string(), |text, name| {
        let part = if name == "Record" { String::new() } else { format!("#/$defs/{name}") };
        text.replace(&format!("\"#/$defs/{name}\""), &format!("\"record.schema.json{part}\""))
    });
    serde_json::from_str(&text).unwrap()
}

/// Asserts that the JSON schema of `T` holds each of `values`; returns it.
pub(crate) fn expect_valid<T: JsonSchema>(values: &[Value]) -> Value {
    let schema = serde_json::to_value(schemars::schema_for!(T)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for value in values {
        let errors: Vec<String> = validator.iter_errors(value).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0]);
    }
    schema
}

/// Texts of an agent or a file are shown on a terminal: nothing in them moves its cursor, forges a
/// line or fills it.
/// The reason was that shares did not run at the same time.
#[test]
fn a_rate_in_keys_that_was_not_counted_is_missing_for_that_reason() {
    let mut record = sample();
    record.plan.rate_unit = Some("keys".to_owned());
    record.rate.keys_per_s = None;
    let unit = RateUnit::Keys;
    let why = "the record does not say how many keys were sent";
    assert_eq!(record.rate_missing(unit), Some(why));
    assert_eq!(measured(Subject::Rate, &record, unit), Measured::Missing(why.to_owned()));
    record.rate.keys_per_s = Some(2_000.0);
    assert_eq!(measured(Subject::Rate, &record, unit), Measured::Known(2_000.0));
    record.rate.achieved_per_s = f64::NAN;
    record.rate.keys_per_s = None;
    assert_eq!(record.rate_missing(unit), Some("the shares did not run at the same time"));
}

#[test]
fn texts_of_others_are_printable_and_bounded_once_they_are_read() {
    let mut record = sample();
    let escape = "\u{1b}[2J\n\u{202e}evil\u{9b}";
    let share = ShareRecord { not_run: Some(format!("{escape} reason")), ..ShareRecord::default() };
    record.share = Some(share);
    let warning = WarningRecord {
        code: "late".to_owned(),
        message: format!("{escape}{}", "x".repeat(100_000)),
        remedy: escape.to_owned(),
    };
    record.warnings = vec![warning];
    record.plan.servers =
        vec![PlannedServer { name: escape.to_owned(), ..PlannedServer::default() }];
    let read = Record::from_json(&record.to_json()).unwrap();
    let shown = format!("{read:?}");
    assert!(!shown.contains("\\u{") && !shown.contains("\\n"), "an escape is read");
    assert_eq!(read.share.unwrap().not_run.unwrap(), " [2J  evil  reason");
    let message = &read.warnings[0].message;
    assert!(message.contains("evil") && message.chars().count() <= TEXT_CHARS_MAX + 1);
}
