//! Verification reports every value that differs from what was stored: each planted fault is found
//! once, and no correct server is accused.

mod windows;

use crate::prelude::*;
use memtide_record::VerificationCounts;

#[test]
fn every_flipped_bit_of_a_lying_server_is_found_and_listed() {
    let server = Peer::embedded("--fault flip:0.001@get --seed 3");
    let details = scratch("details.json");
    let ran = memtide(&format!(
        "run -s {} --verify 1 --verify-details {} --keys 5k --duration 2s --rate 5k --threads 2 \
         --json -",
        server.name,
        details.display()
    ))
    .exits(1);
    let record = ran.record();
    let found = record.phases.verification();
    let flipped = server.faults("flip");
    assert!(flipped > 0, "a thousandth of {} values was to be flipped", found.checked);
    let right = found.checked - flipped;
    let expected = VerificationCounts {
        checked: found.checked,
        ok: right,
        corrupt: flipped,
        ..VerificationCounts::default()
    };
    assert_eq!(found, expected, "{ran}");
    let text = fs::read_to_string(&details).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, flipped);
    for line in &lines {
        assert_eq!((&line["class"], &line["server"]), (&"corrupt".into(), &(*server.name).into()));
        assert!(line["op"].is_u64() && line["offset"].as_u64().unwrap() < 200, "{line}");
        assert_eq!(line["key"].as_str().unwrap().len(), 30);
    }
}

#[test]
fn each_class_is_told_from_the_others() {
    for (fault, name) in
        [("truncate:1%", "truncated"), ("other-key:1%", "wrong_key"), ("stale:50%", "stale")]
    {
        let server = Peer::embedded(&format!("--fault {fault}"));
        let ran = memtide(&format!(
            "run -s {} --verify 1 --keys 500 --mix get=4,set=1 --multiget 3 --duration 2s \
             --rate 3k --threads 2 --json -",
            server.name
        ))
        .exits(1);
        let found = serde_json::to_value(ran.record().phases.verification()).unwrap();
        let done = server.faults(fault.split(':').next().unwrap());
        assert!(done > 0, "{fault}");
        for class in ["corrupt", "wrong_key", "stale", "truncated"] {
            let count = found[class].as_u64().unwrap();
            let expected = if class == name { done } else { 0 };
            // The server assumes that a reply arrives within 100 ms. On a machine that stalls for
            // longer, that is uncertain for a client that waits for the reply.
            let least = if class == "stale" { expected.min(1) } else { expected };
            let allowed = least..=expected;
            assert!(allowed.contains(&count), "{count} {class} of {done} by {fault}");
        }
    }
}

#[test]
fn a_real_memcached_is_not_accused() {
    let server = Peer::memcached("-t 2");
    let line = format!(
        "run -s {} --verify 1 --keys 2k --value-size etc-value --duration 2s --threads 2 \
         --connections 40 --depth 8 --mix get=6,gets=1,gat=1,set=3,add=1,replace=1,cas=1,delete=1,\
         touch=1,incr=1 --json -",
        server.name
    );
    // The second run finds the first one's values.
    for round in 0..2 {
        let record = memtide(&line).exits(0).record();
        let found = record.phases.verification();
        assert_eq!(found.checked, found.ok, "round {round}: {found:?}");
        assert!(found.checked > 1_000, "round {round}: {found:?}");
    }
}

#[test]
fn values_that_were_stored_without_a_proof_are_no_lies() {
    let server = Peer::embedded("");
    let common = format!("-s {} --keys 2k --duration 1s --rate 2k --json -", server.name);
    let silent = memtide(&format!("run {common}")).exits(0).record();
    assert_eq!(silent.phases.verification(), VerificationCounts::default());
    let record = memtide(&format!("run {common} --verify 1 --load never")).exits(0).record();
    assert!(record.totals.verification.checked > 500);
    let stored =
        |record: &Record| record.phases.load.totals.replies.get("stored").copied().unwrap_or(0);
    // Another scenario's values under the same keys are stored anew, and are no fault.
    let record = memtide(&format!("run {common} --verify 1 --value-size 64")).exits(0).record();
    assert_eq!(stored(&record), 2_000);
    let record = memtide(&format!("run {common} --verify 1 --value-size 64")).exits(0).record();
    assert_eq!(stored(&record), 0, "now they are this scenario's");
}
