//! Connection churn in virtual time: connections and their calls follow their laws, and every one
//! is counted, whatever fails.

use crate::arrivals::{KS_AT_1_PERCENT, LAWS, distance};
use crate::prelude::*;
use memtide_base::rng::rand48_draw;
use memtide_record::ChurnRecord;

const CALLS: usize = 5;

/// 4 000 connections at 500 per second, of five calls at 2 000 per second each.
fn world(words: &[(&'static str, &str)]) -> World {
    let world = World::of(
        "connections-total=4000 connection-rate=500 calls=5 call-rate=2k mix=get=1 load=never \
         threads=1 connections=512",
    );
    world.with(words).seed(11)
}

fn churn(rehearsal: &Rehearsal) -> &ChurnRecord {
    rehearsal.record.churn.as_ref().expect("connections are the load")
}

/// The intended instants of each connection's calls; none was lost. The connections of a slot
/// follow each other, each with all its calls.
fn calls(rehearsal: &Rehearsal) -> Vec<Vec<Instant>> {
    let mut places: BTreeMap<u32, Vec<Instant>> = BTreeMap::new();
    for sample in &rehearsal.samples {
        places.entry(sample.connection).or_default().push(sample.intended);
    }
    let mut calls = Vec::new();
    for mut instants in places.into_values() {
        instants.sort_unstable();
        calls.extend(instants.chunks(CALLS).map(<[Instant]>::to_vec));
    }
    calls.sort_unstable();
    calls
}

fn assert_follows(mut gaps: Vec<f64>, (law, share): (&str, fn(f64) -> f64), what: &str) {
    let critical = KS_AT_1_PERCENT / (gaps.len() as f64).sqrt();
    let distance = distance(&mut gaps, share);
    assert!(
        distance < critical,
        "{what} by {law}: distance {distance:.4} over {} gaps, {critical:.4} is allowed",
        gaps.len()
    );
}

#[test]
fn connections_follow_their_law_and_calls_theirs() {
    for (nth, openings) in LAWS.into_iter().enumerate() {
        let of_calls = LAWS[(nth + 1) % LAWS.len()];
        let words = [("connection-arrival", openings.0), ("arrival", of_calls.0)];
        let rehearsal = world(&words).rehearse();
        assert_eq!(churn(&rehearsal).measure.completed, 4_000);
        let calls = calls(&rehearsal);
        assert_eq!(calls.len(), 4_000);
        // The first call is due when its connection opens, a fixed time after the connect begins.
        let gaps = |instants: &[Instant], per_s: f64| -> Vec<f64> {
            let gap = |pair: &[Instant]| pair[1].since(pair[0]).as_s_f64() * per_s;
            instants.windows(2).map(gap).collect()
        };
        let opened: Vec<Instant> = calls.iter().map(|calls| calls[0]).collect();
        assert_follows(gaps(&opened, 500.0), openings, "connections");
        let each = calls.iter().flat_map(|calls| gaps(calls, 2_000.0)).collect();
        assert_follows(each, of_calls, "calls");
    }
}

/// The first instants, in seconds, of a client that draws gaps from draw `skipped` of erand48 on.
fn drawn(gap: impl Fn(f64) -> f64, skipped: u64, count: usize) -> Vec<f64> {
    let mut at = 0.0;
    let next = |index| {
        let due = at;
        at += gap(rand48_draw([1, 2, 3], index));
        due
    };
    (skipped..).map(next).take(count).collect()
}

#[test]
fn gaps_are_those_of_a_c_program_where_that_is_asked_for() {
    let words = fields(
        "connection-arrival=poisson arrival=uniform:0.5 gap-draws=rand48:1,2,3 \
         threads=2",
    );
    let rehearsal = world(&words).rehearse();
    assert_eq!(churn(&rehearsal).measure.completed, 4_000);
    let calls = calls(&rehearsal);
    let start = calls[0][0];
    let openings = drawn(|u| -(1.0 - u).ln() / 500.0, 0, 4_000);
    let off = |at: Instant, since: Instant, second: f64| at.since(since).as_s_f64() - second;
    for (number, (calls, opening)) in (0..).zip(calls.iter().zip(openings)) {
        assert!(off(calls[0], start, opening).abs() < 1e-8, "connection {number}");
        let expected = drawn(|u| (0.5 + u) / 2_000.0, number * (CALLS as u64 - 1), CALLS);
        for (&at, second) in calls.iter().zip(expected) {
            assert!(off(at, calls[0], second).abs() < 1e-8, "calls of connection {number}");
        }
    }
}

#[test]
fn growing_gaps_are_a_rate_that_falls() {
    let words = [("connection-arrival", "ascending:1"), ("connections-total", "60")];
    let rehearsal = world(&words).rehearse();
    let opened: Vec<Instant> = calls(&rehearsal).iter().map(|calls| calls[0]).collect();
    let gaps: Vec<u64> = opened.windows(2).map(|pair| pair[1].since(pair[0]).ns()).collect();
    let expected: Vec<u64> = (1..60).map(|nth| nth * 2_000_000).collect();
    assert_eq!(gaps, expected);
    // The record states the requested rate.
    let rate =
        rehearsal.record.believable.checks.iter().find(|check| check.code == CheckKind::Rate);
    assert_eq!(rate.map(|check| check.result), Some(CheckResult::Passed), "{rate:?}");
}

/// The verdict called an expected number `due`, beside another number that really was.
#[test]
fn connections_that_were_due_are_those_that_the_record_counts() {
    let full = [("on-full", "skip:5ms,4ms"), ("connections", "4"), ("call-rate", "100")];
    let rehearsal = world(&full).rehearse();
    let measure = &churn(&rehearsal).measure;
    assert_eq!((measure.intended, measure.started + measure.dropped), (4_000, 4_000));
    let rate = rehearsal.record.believable.checks.iter();
    let rate = rate.filter(|check| check.code == CheckKind::Rate).map(|check| &check.message);
    let said: Vec<_> = rate.collect();
    assert!(matches!(said[..], [one] if one.contains("requested") && !one.contains("due")));
}

#[test]
fn a_wave_is_of_connections() {
    let mut words = vec![("wave", "ramp:100,900"), ("duration", "8s")];
    words.push(("connections-total", "100000"));
    let mut world = world(&words);
    world.words.retain(|(name, _)| *name != "connection-rate");
    let rehearsal = world.rehearse();
    let measure = &churn(&rehearsal).measure;
    assert!(measure.intended.abs_diff(4_000) <= 1, "{measure:?}");
    let calls = calls(&rehearsal);
    let start = calls[0][0];
    let half = calls.iter().filter(|calls| calls[0].since(start).as_s_f64() < 4.0).count();
    // 100 × 4 + 100 × 4² / 2
    assert!(half.abs_diff(1_200) <= 2, "{half} in the first half");
}

#[test]
fn workers_share_the_connections_of_one_sequence() {
    let alone = world(&[("connection-arrival", "uniform")]).rehearse();
    let shared = world(&[("connection-arrival", "uniform"), ("threads", "3")]).rehearse();
    let opened = |rehearsal: &Rehearsal| -> Vec<Instant> {
        calls(rehearsal).iter().map(|calls| calls[0]).collect()
    };
    assert!(
        opened(&alone) == opened(&shared),
        "connections open at the same instants, whichever worker opens them"
    );
}

#[test]
fn every_connection_and_call_has_one_end_under_faults() {
    let faults = ["reset:1%", "stall:1%", "refuse:5%", "garbage:1%", "server-error:5%"];
    for faults in faults {
        let chained = [("connection-rate", "0"), ("connections", "8")];
        for words in [&[][..], &[("call-rate", "0")], &chained[..]] {
            let mut words = words.to_vec();
            words.extend([("timeout", "200ms"), ("connections-total", "2000")]);
            let mut world = world(&words);
            world.servers[0].faults = faults.parse().expect("a list of faults");
            world.deaths = vec![(0, ms(100), ms(200))];
            let rehearsal = world.rehearse();
            let ChurnRecord { measure, calls_planned, calls_intended, .. } = churn(&rehearsal);
            // Sealing has checked that all counts add up; these show that there was something to
            // add.
            assert_eq!(measure.intended, 2_000, "{faults} {words:?}");
            assert_eq!(*calls_planned, 10_000);
            assert_eq!(*calls_intended + measure.calls_not_made, 10_000);
            assert!(measure.completed > 0 && measure.failed + measure.lost > 0, "{measure:?}");
            assert_eq!(rehearsal.record.ended_by, EndedBy::Operations);
            assert!(rehearsal.failure.is_none());
        }
    }
}

#[test]
fn nobody_there_is_a_failure_with_every_connection_counted() {
    let mut world = world(&[("connections-total", "100")]);
    world.deaths = vec![(0, Instant::ZERO, Instant::NEVER)];
    let rehearsal = world.rehearse();
    let measure = &churn(&rehearsal).measure;
    assert_eq!((measure.failed, measure.causes["refused"]), (100, 100));
    assert_eq!(rehearsal.failure.map(|failure| failure.exit), Some(3));
    assert_eq!(rehearsal.record.warnings.iter().filter(|w| w.code == "connects_failed").count(), 1);
}

const fn ms(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

/// A winner that waits for its recache time was not seen by its deadline: its connection and its
/// slot stayed until the run ended.
#[test]
fn a_call_that_times_out_while_it_is_held_ends_its_connection() {
    let world = World::of(
        "protocol=meta mix=recache=1 load=never keys=1000 calls=1 connections=8 threads=1 \
         recache-time=2s timeout=1s duration=10s warmup=0s",
    );
    let rehearsal = world.seed(3).rehearse();
    let measure = &churn(&rehearsal).measure;
    // Eight slots, and a second for each connection.
    assert!(measure.lost >= 64 && measure.abandoned <= 8, "{measure:?}");
}

/// All connections rest for longer than the timeout, which looked like a server that is gone.
#[test]
fn a_long_pause_after_replies_is_no_silent_server() {
    let world = World::of(
        "mix=get=1 rate=0 ops-max=20 connections=4 threads=1 depth=1 pause-after-reply=10s \
         timeout=1s warmup=0s",
    );
    let record = world.seed(3).rehearse().record;
    assert_eq!((record.totals.answered, record.partial), (20, false), "{:?}", record.ended_by);
}
