//! Windows after which nothing is sent, at a server of known capacity with more operations due than
//! it can answer: every figure has a closed form.

use crate::prelude::*;
use memtide_record::{Missing, Percentile};

/// The server takes 1 ms for each operation and has one connection of depth 1, so it can answer 1
/// 000/s.
const CAPACITY: u64 = 1_000;
/// The length of the window, in seconds.
const LENGTH_S: u64 = 4;

fn rehearse(times: u64, more: &[(&'static str, &str)]) -> Rehearsal {
    let rate = times * CAPACITY;
    let world = World::of(&format!(
        "rate={rate} arrival=fixed duration={LENGTH_S}s warmup=0s mix=get=9,set=1 load=never \
         connections=1 depth=1 timeout=60s cooldown=stop"
    ));
    world.with(more).behaviour("queue:1,fixed:1ms").rehearse()
}

#[test]
fn overload_by_a_factor_leaves_the_rest_unsent_and_says_how_long_it_took_at_least() {
    for times in [2, 5, 20] {
        let ran = rehearse(times, &[]);
        let (record, totals) = (&ran.record, &ran.record.totals);
        let (can, all) = (CAPACITY * LENGTH_S, times * CAPACITY * LENGTH_S);
        // Operation i is due after i/times ms and sent after i ms.
        assert_eq!((totals.intended, totals.sent, totals.answered), (all, can, can));
        assert_eq!((totals.dropped, totals.dropped_at_end), (all - can, all - can));
        assert_eq!((record.partial, record.ended_by, record.exit), (false, EndedBy::Duration, 0));
        assert_eq!(record.measured_s, LENGTH_S as f64);
        assert_eq!(record.answered_until_s, Some(LENGTH_S as f64));
        assert_eq!(record.phases.cooldown.totals.intended, 0);
        let rate = record.believable.checks.iter().find(|check| check.code == CheckKind::Rate);
        assert_eq!(rate.map(|check| check.result), Some(CheckResult::Failed), "times {times}");
        assert_eq!(record.servers[0].totals.dropped_at_end, Some(all - can));
        assert_eq!(record.servers[0].response, record.response[&Kind::All]);
        let over_time: u64 = record.intervals.iter().map(|row| row.unanswered).sum();
        assert_eq!(over_time, all - can);
        known_times(&ran, times);
    }
}

/// Answered operation i took 1 ms longer than it waited, i − i/times ms. The others took at least
/// the rest of the window from their intended instant.
fn known_times(ran: &Rehearsal, times: u64) {
    let (can, all) = (CAPACITY * LENGTH_S, times * CAPACITY * LENGTH_S);
    let ms = 1_000_000;
    let due_ns = |i: u64| i * ms / times;
    let answered = (0..can).map(|i| (i + 1) * ms - due_ns(i));
    let unsent = (can..all).map(|i| LENGTH_S * 1_000 * ms - due_ns(i));
    let response = &ran.record.response[&Kind::All];
    assert_eq!((response.count, response.unanswered), (all, all - can));
    assert_eq!(response.sum_ns.0, answered.clone().map(u128::from).sum());
    let bounds = response.bounds.as_ref().expect("some were cut off");
    assert_eq!(bounds.count, all - can);
    assert_eq!(bounds.sum_ns.0, unsent.clone().map(u128::from).sum());
    assert_eq!(response.at_least_ns, unsent.clone().min());
    assert_eq!(Some(bounds.max_ns), unsent.clone().max());
    let mut pooled: Vec<u64> = answered.clone().chain(unsent).collect();
    pooled.sort_unstable();
    let mut answered: Vec<u64> = answered.collect();
    answered.sort_unstable();
    for percentile in Percentile::ALL {
        let rank = (percentile.fraction() * all as f64).ceil() as usize;
        let near = |seen: Option<u64>, right: u64| {
            let seen = seen.unwrap_or_else(|| panic!("{percentile} at {times} times"));
            assert!(seen.abs_diff(right) <= right / 200, "{percentile}: {seen} for {right}");
        };
        match answered.get(rank - 1) {
            Some(&exact) => near(response.percentile(percentile), exact),
            None if response.missing[&percentile] != Missing::Unanswered => {}
            None => {
                assert_eq!(response.percentile(percentile), None);
                near(response.percentile_at_least(percentile), pooled[rank - 1]);
            }
        }
    }
    assert_eq!(response.max_at_least_ns, pooled.last().copied());
}

#[test]
fn a_run_that_keeps_up_is_the_same_as_one_that_drains() {
    let more = [("connections", "64"), ("rate", "700"), ("arrival", "fixed")];
    let stopped = rehearse(1, &more).record;
    let drained = rehearse(1, &[&more[..], &[("cooldown", "drain")]].concat()).record;
    assert_eq!(stopped.totals, drained.totals);
    assert_eq!(stopped.response, drained.response);
    assert_eq!(stopped.intervals, drained.intervals);
    assert_eq!((stopped.totals.dropped, stopped.totals.abandoned), (0, 0));
}

#[test]
fn what_is_dropped_when_all_is_full_is_told_from_what_is_left_at_the_end() {
    let totals = rehearse(3, &[("on-full", "skip:5ms,4ms")]).record.totals;
    // At 3 000/s, the operations that are 4 to 5 ms behind still wait.
    assert!((10..=17).contains(&totals.dropped_at_end), "{}", totals.dropped_at_end);
    assert_eq!(totals.dropped_when_full() + totals.dropped_at_end, totals.dropped);
    assert!(totals.dropped_when_full() > 2 * CAPACITY * LENGTH_S - 40);
    let totals = rehearse(3, &[("on-full", "drop")]).record.totals;
    assert!(totals.dropped_at_end <= 1, "{}", totals.dropped_at_end);
}

#[test]
fn a_server_that_says_nothing_more_keeps_a_run_for_a_second_at_most() {
    let mut world = World::of(
        "rate=1000 duration=1s warmup=0s load=never connections=4 depth=1 timeout=60s \
         cooldown=stop",
    )
    .behaviour("fixed:3s");
    world.keeps_samples = true;
    let ran = world.rehearse();
    let totals = &ran.record.totals;
    assert_eq!((totals.answered, totals.abandoned), (0, 4));
    assert_eq!(totals.dropped_at_end, totals.intended - 4);
    assert!(!ran.record.partial);
    let response = &ran.record.response[&Kind::All];
    let bounds = response.bounds.as_ref().expect("none was answered");
    assert_eq!((bounds.count, bounds.others_at_least_ns), (totals.intended, None));
    // The first operation was sent at once, and awaited until a second after the end.
    let most = Span::from_ns(bounds.max_ns);
    assert!(most > Span::from_ms(1_900) && most <= Span::from_s(2), "{most:?}");
}
