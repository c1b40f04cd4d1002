//! Records that the proof refuses, and the texts that it changes.

use super::*;
use serde_json::json;
use std::path::Path;

fn record() -> Value {
    json!({
        "totals": {"intended": 9, "answered": 9, "keys": 8, "hits": 8},
        "shards": [{}, {}, {}, {}],
        "server": {"expected": {"counters": {
            "cmd_get": {"ours": 8}, "cmd_set": {"ours": 1},
        }}},
        "believable": {"checks": [{"code": "server_counters", "result": "passed"}]},
    })
}

#[test]
fn a_record_without_a_share_a_hit_or_an_answer_is_refused() {
    assert!(figures(&record(), 4).unwrap().contains("hits 8 of 8"));
    assert!(figures(&record(), 3).is_err());
    for (name, count) in [("hits", 7), ("answered", 8), ("keys", 0)] {
        let mut wrong = record();
        wrong["totals"][name] = json!(count);
        assert!(figures(&wrong, 4).is_err(), "{name}");
    }
    // Keys of a share that did not fill are not found.
    let mut missing = record();
    missing["shards"] = json!([{}, {}, {}]);
    missing["totals"]["hits"] = json!(6);
    assert!(figures(&missing, 3).unwrap().contains("hits 6 of 8"));
}

#[test]
fn the_server_has_counted_what_memtide_has() {
    assert_eq!(counted(&record(), 9), Ok(()));
    assert!(counted(&record(), 10).is_err());
    let mut skipped = record();
    skipped["believable"]["checks"][0]["result"] = json!("skipped");
    assert!(counted(&skipped, 9).is_err());
    skipped["server"] = Value::Null;
    assert!(counted(&skipped, 0).is_err());
}

#[test]
fn what_a_step_changes_stands_in_the_manifests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kubernetes");
    for (name, from, _) in STEPS.iter().flat_map(|step| step.changes) {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{name}: {from}");
    }
}
