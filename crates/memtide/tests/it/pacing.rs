//! Intended instants, and the keys of operations. Both are functions of the seed, so every figure
//! here is the same in every run.

use crate::child::{assert_counters_equal, memtide};
use crate::peer::Peer;
use crate::peer::rogue::{Answer, Recorder, Rogue, say};
use memtide_schema::Kind;
use memtide_schema::record::{LoopKind, Missing, Percentile};
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn every_arrival_law_keeps_the_asked_rate() {
    let peer = Peer::memcached("");
    for law in ["poisson", "fixed", "uniform", "pareto:0,16,0.15", "etc"] {
        for schedule in ["shared", "connection"] {
            let line = format!(
                "run -s {} --arrival {law} --schedule {schedule} --rate 2k --duration 400ms \
                 --keys 100 --timeout 20s --connections 4 --json -",
                peer.name
            );
            let record = memtide(&line).exits(0).record();
            assert_counters_equal(&record);
            // 800 are due. The widest distribution has ten times Poisson's variance, and a σ of 90.
            let intended = record.totals.intended;
            assert!((500..=1_100).contains(&intended), "{law}, {schedule}: {intended}");
            if law == "fixed" {
                assert!((796..=804).contains(&intended), "{schedule}: {intended}");
            }
            assert_eq!(record.totals.answered, intended, "{law}, {schedule}");
        }
    }
}

#[test]
fn every_wave_has_its_mean_rate() {
    let peer = Peer::memcached("");
    for wave in
        ["ramp:500,1500", "step:500,1500@100ms", "sine:1000,500,200ms", "random:500,1500@50ms"]
    {
        let line = format!(
            "run -s {} --wave {wave} --arrival fixed --duration 400ms --keys 100 --timeout 20s \
             --json -",
            peer.name
        );
        let record = memtide(&line).exits(0).record();
        assert_counters_equal(&record);
        let intended = record.totals.intended;
        // Random levels have their own mean; all others average exactly 1000/s.
        let allowed = if wave.starts_with("random") { 200..=600 } else { 398..=402 };
        assert!(allowed.contains(&intended), "{wave}: {intended}");
    }
}

#[test]
fn a_closed_loop_says_that_its_times_are_those_at_saturation() {
    let peer = Peer::memcached("");
    let line = format!("run -s {} --keys 100 --ops-max 2k", peer.name);
    let text = memtide(&line).exits(0);
    assert!(text.out.starts_with("closed loop: throughput is the result"), "{text}");
    assert!(text.out.contains("--rate "), "{text}");
    let record = memtide(&format!("{line} --json -")).exits(0).record();
    assert_eq!(record.loop_kind, LoopKind::Closed);
    assert_eq!(record.rate.target_per_s, None);
}

/// A server that never replies: one operation stays in flight.
fn silent() -> Rogue {
    Rogue::polite(|_| Answer::Silence)
}

const ONE_PLACE: &str = "--load never --mix get=1 --connections 1 --depth 1 --rate 1000 \
                         --arrival fixed --duration 300ms --json -";

#[test]
fn what_finds_no_room_is_dropped_when_the_scenario_says_so() {
    let server = silent();
    let line = format!("run -s {} --on-full drop --timeout 2s {ONE_PLACE}", server.name);
    let run = memtide(&line).exits(0);
    let totals = run.record().totals;
    assert!((299..=301).contains(&totals.intended), "{run}");
    assert_eq!((totals.sent, totals.timed_out), (1, 1), "{run}");
    assert_eq!(totals.dropped, totals.intended - 1, "{run}");
}

#[test]
fn what_finds_no_room_waits_until_its_deadline_otherwise() {
    let server = silent();
    let line = format!("run -s {} --timeout 400ms {ONE_PLACE}", server.name);
    let run = memtide(&line).exits(0);
    let record = run.record();
    let totals = &record.totals;
    assert_eq!(totals.timed_out, totals.intended, "{run}");
    assert_eq!((totals.sent, totals.timed_out_queued), (1, totals.intended - 1), "{run}");
    let all = &record.response[&Kind::All];
    assert_eq!((all.count, all.unanswered), (totals.intended, totals.intended));
    assert_eq!(all.at_least_ns, Some(400_000_000), "{run}");
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
    let text = memtide(&line).exits(0);
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

#[test]
fn zipf_gives_the_first_ranks_their_exact_shares_as_a_server_sees_them() {
    const OPS: u64 = 300_000;
    const KEYS: u64 = 1_000_000;
    let recorder = Recorder::new();
    let flags = format!("--mix get=1 --popularity zipf:0.99 --keys {KEYS} --ops-max {OPS}");
    let line = format!("run -s {} --load never {flags} --depth 64", recorder.rogue.name);
    memtide(&line).exits(0);
    let counts = recorder.take_counts();
    assert_eq!(counts.iter().sum::<u64>(), OPS);
    let all: f64 = (1..=KEYS).map(|rank| (rank as f64).powf(-0.99)).sum();
    for rank in 1..=3 {
        let share = (rank as f64).powf(-0.99) / all;
        let expected = OPS as f64 * share;
        let deviation = (OPS as f64 * share * (1.0 - share)).sqrt();
        let seen = counts[rank - 1] as f64;
        assert!((seen - expected).abs() <= 4.0 * deviation, "rank {rank}: {seen} of {expected}");
    }
}

#[test]
fn a_hotspot_gets_its_share_and_the_other_popularities_theirs() {
    const OPS: u64 = 20_000;
    let recorder = Recorder::new();
    let asked = |popularity: &str| {
        let flags = format!("--mix get=1 --popularity {popularity} --keys 100 --ops-max {OPS}");
        memtide(&format!("run -s {} --load never {flags}", recorder.rogue.name)).exits(0);
        recorder.take_counts()
    };
    let hot: u64 = asked("hotspot:20%,80%")[..20].iter().sum();
    // 80 % of 20 000 with a σ of 57.
    assert!((15_770..=16_230).contains(&hot), "the hot fifth got {hot}");
    assert!(asked("sequential").iter().all(|&count| count == OPS / 100));
    let uniform = asked("uniform");
    // 200 each with a σ of 14: none of a hundred deviates by six σ.
    assert!(uniform.len() == 100 && uniform[0] < 285 && uniform[99] > 115, "{uniform:?}");
}
