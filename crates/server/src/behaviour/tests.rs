//! Round trips of words, queues against Lindley's recursion, and the answers that pauses hold back.

use super::*;
use crate::cases as table;
use memtide_base::Random;

const SEED: u64 = 11;

fn behaviour(word: &str) -> Behaviour {
    word.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn timing(word: &str) -> ReplyTiming {
    ReplyTiming::new(behaviour(word), SEED)
}

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Span::from_us(us)
}

/// Arrivals with a mean gap of 1 ms, some of them in groups.
fn arrivals(count: usize) -> Vec<Instant> {
    let mut random = Random::new(SEED);
    let mut now = Instant::ZERO;
    let next = |_| {
        if random.below(5) > 0 {
            now += Span::from_s_f64(Law::Exponential(1.25e-3).quantile(random.unit()));
        }
        now
    };
    (0..count).map(next).collect()
}

/// Draws of a law, taken from a server without a queue.
fn draws(law: &str, count: usize) -> Vec<Span> {
    let mut timing = timing(law);
    (0..count as u64)
        .map(|number| timing.finish(number, Instant::ZERO).since(Instant::ZERO))
        .collect()
}

#[test]
fn words_read_back_as_they_were_written() {
    table::assert_shown::<Behaviour>(include_str!("tests/words.txt"), "words");
    assert!(behaviour("instant").is_instant() && !behaviour("fixed:1ns").is_instant());
}

#[test]
fn nonsense_is_refused_with_every_form() {
    let words = "|+|instant+|instant:1|fixed|fixed:|fixed:0s|fixed:1|fixed:-1s|fixed:2h|\
         fixed:1s,1s|exponential:x|lognormal:1ms|lognormal:1ms,0|lognormal:1ms,nan|\
         lognormal:1ms,11|queue|queue:1|queue:0,fixed:1ms|queue:1025,fixed:1ms|\
         queue:1,instant|queue:1,queue:1,fixed:1ms|pause:1s|pause:1s,1s|\
         pause:1s,100ms,twice|pause:0s,1s,once|slowing:5|slowing:-5%/s|slowing:inf/s|\
         instant+slowing:5%/s|instant+warming:5%,1s|warming:5%,1s|fixed:1ms+warming:5%|\
         fixed:1ms+warming:5%,0s|fixed:1ms+fixed:1ms|pause:2s,1s+pause:3s,1s|uniform:1ms";
    for word in words.split('|') {
        let error = word.parse::<Behaviour>().expect_err(word).to_string();
        assert!(error.starts_with(&format!("'{word}' is not a behaviour: ")), "{error}");
        assert!(error.contains("queue:K,LAW") && error.contains("pause:EVERY,LENGTH"), "{error}");
    }
}

#[test]
fn one_server_obeys_lindleys_recursion() {
    for law in ["fixed:700us", "exponential:700us", "lognormal:400us,1"] {
        let (arrivals, draws) = (arrivals(20_000), draws(law, 20_000));
        let mut timing = timing(&format!("queue:1,{law}"));
        // Each request waits for the work that remained from the one before when it arrived.
        let mut wait_ns = 0_i128;
        let mut before: Option<(Instant, Span)> = None;
        for (number, (&arrival, &draw)) in arrivals.iter().zip(&draws).enumerate() {
            if let Some((earlier, service)) = before {
                let left = wait_ns + i128::from(service.ns());
                wait_ns = (left - i128::from(arrival.since(earlier).ns())).max(0);
            }
            before = Some((arrival, draw));
            let finish = timing.finish(number as u64, arrival).ns();
            let expected = i128::from(arrival.ns()) + wait_ns + i128::from(draw.ns());
            assert_eq!(i128::from(finish), expected, "{law}, request {number}, seed {SEED}");
        }
    }
}

#[test]
fn several_servers_each_take_the_next_request_when_free() {
    let (arrivals, draws) = (arrivals(20_000), draws("exponential:2ms", 20_000));
    let mut timing = timing("queue:3,exponential:2ms");
    let mut free = [Instant::ZERO; 3];
    for (number, (&arrival, &draw)) in arrivals.iter().zip(&draws).enumerate() {
        let first = free.iter_mut().min().expect("three servers");
        *first = (*first).max(arrival) + draw;
        assert_eq!(timing.finish(number as u64, arrival), *first, "request {number}, seed {SEED}");
    }
}

#[test]
fn independent_requests_do_not_wait_for_each_other() {
    let mut timing = timing("fixed:50us");
    assert_eq!(timing.finish(0, at_us(10)), at_us(60));
    assert_eq!(timing.finish(1, at_us(10)), at_us(60));
    let mut instant = ReplyTiming::new(Behaviour::INSTANT, SEED);
    assert_eq!(instant.finish(0, at_us(10)), at_us(10));
}

#[test]
fn draws_have_their_law_and_depend_on_seed_and_number_alone() {
    let exponential = draws("exponential:1ms", 100_000);
    let mean = exponential.iter().map(|span| span.as_s_f64()).sum::<f64>() / 1e5;
    // Four standard errors.
    assert!((mean - 1e-3).abs() < 4.0 * 1e-3 / 1e5_f64.sqrt(), "mean {mean}, seed {SEED}");
    let mut lognormal = draws("lognormal:2ms,0.5", 100_000);
    let logs = lognormal.iter().map(|span| (span.as_s_f64() / 2e-3).ln().powi(2));
    let sigma = (logs.sum::<f64>() / 1e5).sqrt();
    assert!((sigma - 0.5).abs() < 4.0 * 0.5 / 2e5_f64.sqrt(), "sigma {sigma}, seed {SEED}");
    lognormal.sort();
    let median = lognormal[50_000].as_s_f64();
    assert!((median / 2e-3).ln().abs() < 4.0 * 1.2533 * 0.5 / 1e5_f64.sqrt(), "median {median}");

    let mut backward = timing("exponential:1ms");
    for number in (0..100_u64).rev() {
        let finish = backward.finish(number, Instant::ZERO);
        assert_eq!(finish.since(Instant::ZERO), exponential[number as usize]);
    }
    let mut other = ReplyTiming::new(behaviour("exponential:1ms"), SEED + 1);
    assert_ne!(other.finish(0, Instant::ZERO).since(Instant::ZERO), exponential[0]);
}

#[test]
fn a_warming_server_begins_slow_and_its_excess_fades() {
    let mut timing = timing("fixed:1ms+warming:100%,1s");
    let mut at = |ms: u64| {
        let arrival = at_us(ms * 1000);
        timing.finish(0, arrival).since(arrival).as_s_f64() * 1e3
    };
    for (ms, expected) in [(0, 2.0), (1000, 1.0 + (-1f64).exp()), (20_000, 1.0)] {
        assert!((at(ms) - expected).abs() < 1e-6, "{ms} ms");
    }
}

#[test]
fn a_slowing_server_grows_from_its_first_time() {
    let mut alone = timing("slowing:50%/s");
    assert_eq!(alone.finish(0, at_us(0)), at_us(10));
    assert_eq!(alone.finish(1, at_us(2_000_000)), at_us(2_000_020));
    let mut queue = timing("queue:1,fixed:1ms+slowing:100%/s");
    assert_eq!(queue.finish(0, at_us(1_000_000)), at_us(1_002_000));
    // The second request begins when the first is done, and takes slightly longer because of
    // slowing.
    assert_eq!(queue.finish(1, at_us(1_000_000)), at_us(1_004_002));
}

#[test]
fn a_pause_holds_what_is_due_within_it() {
    let timing = timing("pause:2s,500ms");
    for (due, leaves) in [
        (0, 0),
        (1_999_999, 1_999_999),
        (2_000_000, 2_500_000),
        (2_499_999, 2_500_000),
        (2_500_000, 2_500_000),
        (3_999_999, 3_999_999),
        (4_000_000, 4_500_000),
        (10_100_000, 10_500_000),
    ] {
        assert_eq!(timing.hold(at_us(due)), at_us(leaves), "{due} us");
    }
    let once = self::timing("pause:2s,3s,once");
    for (due, leaves) in [(1_999_999, 1_999_999), (2_000_000, 5_000_000), (5_000_000, 5_000_000)] {
        assert_eq!(once.hold(at_us(due)), at_us(leaves), "{due} us");
    }
    assert_eq!(once.hold(at_us(9_000_000)), at_us(9_000_000));
}

#[test]
fn work_goes_on_during_a_pause() {
    let mut timing = timing("queue:1,fixed:1s+pause:2s,900ms,once");
    assert_eq!(timing.finish(0, at_us(1_500_000)), at_us(2_900_000));
    assert_eq!(timing.finish(1, at_us(1_500_000)), at_us(3_500_000));
}
