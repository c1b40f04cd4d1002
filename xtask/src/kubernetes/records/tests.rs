//! Records that the proof refuses.

use super::*;
use serde_json::json;

fn record() -> Value {
    json!({
        "totals": {"intended": 9, "answered": 9, "keys": 8, "hits": 8},
        "shards": [{}, {}],
        "server": {"expected": {"counters": {
            "cmd_get": {"ours": 8}, "cmd_set": {"ours": 1},
        }}},
        "believable": {"checks": [{"code": "server_counters", "result": "passed"}]},
    })
}

#[test]
fn a_record_without_a_share_a_hit_or_an_answer_has_no_figures() {
    assert!(figures(&record(), 2, true).unwrap().contains("hits 8 of 8"));
    assert!(figures(&record(), 3, true).is_err());
    for (name, count) in [("hits", 7), ("answered", 8), ("keys", 0)] {
        let mut wrong = record();
        wrong["totals"][name] = json!(count);
        assert!(figures(&wrong, 2, true).is_err(), "{name}");
    }
}

#[test]
fn keys_of_a_share_that_did_not_fill_are_not_found() {
    let mut record = record();
    record["totals"]["hits"] = json!(6);
    assert!(figures(&record, 2, false).unwrap().contains("hits 6 of 8"));
}

#[test]
fn the_server_has_counted_what_memtide_has() {
    assert_eq!(counted(&record(), 9).unwrap(), "9 gets and sets");
    assert!(counted(&record(), 10).is_err());
    let mut skipped = record();
    skipped["believable"]["checks"][0]["result"] = json!("skipped");
    assert!(counted(&skipped, 9).is_err());
    skipped["server"] = Value::Null;
    assert!(counted(&skipped, 0).is_err());
}
