//! What the report says of percentiles and of a closed loop. The intended instants and the keys of
//! operations are tested in virtual time.

use crate::peer::rogue::{Rogue, say};
use crate::prelude::*;
use memtide_record::{LoopKind, Missing, Percentile};

#[test]
fn a_closed_loop_says_that_its_times_are_those_at_saturation() {
    let peer = Peer::memcached("");
    let line = format!("run -s {} --keys 100 --ops-max 2k", peer.name);
    let text = memtide(&line).exits(0);
    assert!(text.out.contains("\nclosed loop: throughput is the result"), "{text}");
    let record = memtide(&format!("{line} --json -")).exits(0).record();
    assert_eq!(record.loop_kind, LoopKind::Closed);
    assert_eq!(record.rate.target_per_s, None);
}

#[test]
fn errors_rank_above_every_answer_so_they_cannot_improve_a_percentile() {
    // Every twentieth get is refused at once: faster than any real reply.
    let asked = AtomicU64::new(0);
    let server = Rogue::polite(move |_| match asked.fetch_add(1, Ordering::Relaxed) % 20 {
        19 => say("SERVER_ERROR busy\r\n"),
        _ => say("END\r\n"),
    });
    let line = format!("run -s {} --load never --mix get=1 --ops-max 4k", server.name);
    let run = memtide(&format!("{line} --json -")).exits(0);
    let record = run.record();
    assert_eq!((record.totals.answered, record.totals.failed), (3_800, 200), "{run}");
    assert_eq!(record.totals.errors["server_error"], 200);
    for kind in [Kind::All, Kind::Get] {
        let times = &record.response[&kind];
        assert!(times.p50_ns.is_some() && times.p90_ns.is_some(), "{run}");
        assert_eq!((times.p99_ns, times.p999_ns), (None, None), "{run}");
        assert_eq!(times.missing[&Percentile::P99], Missing::Unanswered);
        assert_eq!(times.at_least_ns, Some(5_000_000_000));
        assert_eq!((times.count, times.unanswered), (4_000, 200));
    }
    let text = memtide(&format!("{line} --full")).exits(0);
    let all = text.out.lines().find(|line| line.starts_with("all ")).unwrap();
    assert!(all.contains("> 5 s"), "{text}");
    assert!(text.out.contains("server_error 200"), "{text}");
}

#[test]
fn percentiles_without_enough_operations_are_absent_and_say_so() {
    let peer = Peer::memcached("");
    let line = format!("run -s {} --mix get=1 --keys 100 --json - --ops-max", peer.name);
    for (count, known, missing) in [
        (367, Percentile::P95, Some(Percentile::P99)),
        (368, Percentile::P99, Some(Percentile::P999)),
        (3_688, Percentile::P999, Some(Percentile::P9999)),
        (36_887, Percentile::P9999, None),
    ] {
        let record = memtide(&format!("{line} {count}")).exits(0).record();
        let all = &record.response[&Kind::All];
        assert!(all.percentile(known).is_some(), "{known} of {count}");
        let Some(missing) = missing else { continue };
        assert_eq!(all.percentile(missing), None, "{missing} of {count}");
        assert!(matches!(all.missing[&missing], Missing::TooFew { has, .. } if has == count));
    }
}
