//! Records written by the last program of version 1: read, merged and written again.

use super::super::Record;
use super::*;
use crate::merge::{Scenarios, merge};

const RUN: &str = include_str!("run.json");
const MERGED: &str = include_str!("merged.json");

#[test]
fn a_record_of_version_one_keeps_its_figures() {
    let record = Record::from_json(RUN).unwrap();
    assert_eq!(record.check_conservation(), Ok(()));
    assert_eq!((record.totals.intended, record.totals.answered), (400, 400));
    let old: Value = serde_json::from_str(RUN).unwrap();
    let new = serde_json::to_value(&record).unwrap();
    assert_eq!(new["schema"], "memtide.record/2");
    for part in ["totals", "phases", "response", "believable", "intervals", "slices", "goals"] {
        assert_eq!(new[part], old[part], "{part}");
    }
    // Outputs are no part of what was measured.
    assert_eq!(
        (&old["scenario"]["json"], &old["scenario"]["quiet"]),
        (&"run.json".into(), &true.into())
    );
    assert!(OUTPUTS.iter().all(|field| !record.scenario.contains_key(*field)));
    assert_eq!((record.planned, record.lanes, record.tags.len()), (None, None, 0));
    assert_eq!(Record::from_json(&record.to_json()), Ok(record));
}

#[test]
fn connections_that_come_and_go_have_their_new_names() {
    let record = Record::from_json(MERGED).unwrap();
    let old: Value = serde_json::from_str(MERGED).unwrap();
    let churn = record.churn.as_ref().expect("connections were the load");
    assert_eq!(churn.measure.completed, old["lives"]["measure"]["lived"].as_u64().unwrap());
    assert_eq!(churn.measure.started, old["lives"]["measure"]["begun"].as_u64().unwrap());
    assert_eq!(churn.started_per_s, old["lives"]["begun_per_s"].as_f64().unwrap());
    assert_eq!(record.shards.len(), 2);
    assert!(record.shards.iter().all(|shard| shard.churn_target_per_s == Some(40.0)));
    assert_eq!(record.plan.churn.as_ref().map(|churn| churn.calls), Some(3));
    assert_eq!(record.check_conservation(), Ok(()));
}

#[test]
fn records_of_both_versions_merge_into_one() {
    let (one, two) = (Record::from_json(RUN).unwrap(), Record::from_json(MERGED).unwrap());
    let records = [Record::from_json(&one.to_json()).unwrap(), two];
    let merged = merge(&records, Scenarios::Any).unwrap();
    assert_eq!((merged.shards.len(), merged.planned), (3, None));
    assert_eq!(merged.totals.intended, 400 + records[1].totals.intended);
}

#[test]
fn other_json_is_left_alone() {
    let newest = Record::default().to_json();
    assert!(!is_in(&newest) && !is_in("{") && !is_in("[1]") && is_in(RUN));
    for text in ["{}", "null", "[]", "{\"schema\":1}", "{\"schema\":\"memtide.record/1\"}"] {
        let mut value: Value = serde_json::from_str(text).unwrap();
        upgrade(&mut value);
        assert!(serde_json::from_value::<Record>(value).is_err(), "{text}");
    }
}
