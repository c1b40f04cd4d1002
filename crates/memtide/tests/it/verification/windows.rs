//! Clients with windows against real servers: objects that expire.

use crate::prelude::*;
use memtide_record::VerificationCounts;

#[test]
fn what_expires_does_so_in_time_on_memcached_and_too_early_on_a_liar() {
    let window = "--clients 4 --threads 1 --window 100 --mix get=99,set=1 --rate 2k \
                  --expiry-share 0.5 --verify-expiry --timeout 20s --json -";
    let honest = Peer::memcached("");
    let run =
        memtide(&format!("run -s {} {window} --expiry 5 --verify 1 --duration 9s", honest.name));
    let record = run.exits(0).record();
    let found = record.phases.verification();
    let right = VerificationCounts { checked: found.ok, ok: found.ok, ..Default::default() };
    assert_eq!(found, right, "nothing is wrong, and what never expires is there");
    assert!(record.totals.misses > 1_000, "things do expire: {}", record.totals.misses);
    let liar = Peer::embedded("--fault expire-early:0.01@get --seed 5");
    let ran =
        memtide(&format!("run -s {} {window} --expiry 600 --verify 1 --duration 2s", liar.name))
            .exits(1);
    let found = ran.record().phases.verification();
    assert!(found.unexpired_unget > 0 && found.verify_misses > 0, "{ran}");
    let struck = liar.faults("expire-early");
    assert_eq!(found.unexpired_unget + found.verify_misses, struck, "{ran}");
}
