//! Rates that count keys, everywhere a rate is held against another: each is the target's like, and
//! says its unit.

use crate::prelude::*;
use memtide_merge::merge;
use memtide_record::compare::{RuleOutcome, Unit};
use memtide_record::{GoalResult, Rule, compare};

const MULTIGET: f64 = 4.0;

/// A load whose operations have [`MULTIGET`] keys each, and whose rate counts `unit`.
fn world(unit: &str, more: &[(&'static str, &str)]) -> World {
    let world = World::of(&format!(
        "rate-unit={unit} multiget=4 mix=get=1 keys=1000 duration=8s connections=16 arrival=fixed"
    ));
    world.with(more).behaviour("fixed:500us")
}

/// The record of a load of 400 `unit`/s.
fn record(unit: &str, more: &[(&'static str, &str)]) -> Record {
    world(unit, more).with(&[("rate", "400")]).rehearse().record
}

#[test]
fn a_rate_is_judged_in_its_unit() {
    for (unit, words) in [("ops", "/s"), ("keys", " keys/s")] {
        let record = record(unit, &[("goal", "rate>390,rate<410,rate>1k,rate<200")]);
        let results = record.goals.iter().map(|goal| goal.result);
        use GoalResult::{Met, Missed};
        assert_eq!(results.collect::<Vec<_>>(), [Met, Met, Missed, Missed], "{unit}");
        assert!(record.goals[2].why.ends_with(words), "{:?}", record.goals[2]);
        let check =
            record.believable.checks.iter().find(|check| check.code == CheckKind::Rate).unwrap();
        assert_eq!(check.result, CheckResult::Passed, "{check:?}");
        assert!(check.message.contains(&format!("400{words} were requested")), "{check:?}");
        let (target, achieved) = (record.target().unwrap(), record.achieved());
        assert!((achieved / target - 1.0).abs() < 0.01, "{achieved} of {target}");
    }
}

#[test]
fn a_condition_is_judged_in_the_unit_of_the_rate() {
    for (unit, condition, is_true) in [
        ("ops", "rate<350", false),
        ("ops", "rate<450", true),
        ("keys", "rate<350", false),
        ("keys", "rate<450", true),
        ("keys", "rate>350", true),
    ] {
        let record = record(unit, &[("abort-on", condition)]);
        let why = record.aborted.as_ref().map_or("", |aborted| &aborted.why);
        assert_eq!(record.ended_by == EndedBy::Aborted, is_true, "{unit} {condition}: {why}");
        assert!(!is_true || why.ends_with("keys/s") == (unit == "keys"), "{why}");
    }
}

#[test]
fn searches_and_scans_judge_rates_in_keys() {
    let mut scan = Scan::new("400,800".parse().unwrap(), RateUnit::Keys);
    let scanned = world("keys", &[("goal", "rate>350")]).rehearse_steps(&mut scan, Data::Kept);
    for step in &scanned.steps {
        assert!(
            (step.achieved() / step.target().unwrap() - 1.0).abs() < 0.1,
            "{}",
            step.achieved()
        );
        assert_eq!((step.behind, step.goal), (false, Some(GoalResult::Met)), "{}", step.rate());
        assert_eq!(step.rate().unit, RateUnit::Keys);
        let rate = &step.record.rate;
        assert!((step.record.achieved().per_s / rate.achieved_per_s / MULTIGET - 1.0).abs() < 1e-9);
    }
    // One server with service times of 1 ms: at most 1 000 operations, 4 000 keys.
    let keyed = world("keys", &[("goal", "all.p95<10ms")]).behaviour("queue:1,fixed:1ms");
    let limits = Limits { unit: RateUnit::Keys, rate_min: None, rate_max: None, resolution: 0.05 };
    let performed = keyed.rehearse_steps(&mut Bracket::new(limits), Data::Kept);
    let found = performed.conclusion.answer.unwrap().rate_per_s.unwrap();
    assert!((3_000.0..=4_000.0).contains(&found), "{found} keys per second");
}

#[test]
fn rates_are_compared_in_the_unit_that_all_records_have() {
    let [ops, keys] = ["ops", "keys"].map(|unit| record(unit, &[]));
    let rules: [Rule; 2] = ["rate<-10%", "rate>1k"].map(|rule| rule.parse().unwrap());
    let rows = |a: &Record, b: &Record| {
        let records = [a, b].map(|record| ("run".to_owned(), record.clone()));
        let compared = compare(&records, &rules);
        let row = compared.figures.iter().find(|row| row.name == "rate").unwrap();
        let values: Vec<f64> =
            row.values.iter().map(|value| value.value.unwrap().round()).collect();
        (row.unit, values, compared.rules)
    };
    let (unit, values, rules) = rows(&keys, &keys);
    assert_eq!((unit, values), (Unit::KeysPerS, vec![400.0, 400.0]));
    assert!(rules[0].why.contains("400 keys/s"), "{rules:?}");
    let (unit, values, rules) = rows(&ops, &keys);
    assert_eq!((unit, values), (Unit::PerS, vec![400.0, 100.0]), "operations of both");
    assert_eq!(rules[0].result, RuleOutcome::Failed, "{rules:?}");
}

#[test]
fn merged_rates_keep_their_unit() {
    let share = |number| {
        let world = world("keys", &[("rate", "400"), ("load", "always")]);
        World { share: Some(Share::one(number, 2)), ..world }.rehearse().record
    };
    let whole = merge(&[share(0), share(1)], Scenarios::Same).unwrap();
    assert!((whole.achieved() / whole.target().unwrap() - 1.0).abs() < 0.02, "{:?}", whole.rate);
    assert_eq!(whole.achieved().unit, RateUnit::Keys);
    let half = merge(&[share(0)], Scenarios::Same).unwrap();
    let unreported = half.missing.unwrap().unreported.unwrap();
    assert!(unreported.abs_diff(half.totals.intended) <= 1, "operations: {unreported}");
    // Rates in different units have no sum; operations have.
    let [ops, keys] = ["ops", "keys"].map(|unit| record(unit, &[]));
    for both in [[&ops, &keys], [&keys, &ops]] {
        let any = merge(&both.map(Record::clone), Scenarios::Any).unwrap();
        assert_eq!(
            (any.achieved().unit, any.target(), any.plan.rate()),
            (RateUnit::Operations, None, None)
        );
        assert!(any.achieved().per_s > 100.0, "{:?}", any.rate);
    }
}
