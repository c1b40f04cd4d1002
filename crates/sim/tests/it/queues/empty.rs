//! The share of time in which nothing was in flight, to the nanosecond what the operations
//! themselves say, and for a queue what theory says; and the rate of answers.

use crate::harness::{World, fields};
use memtide_record::compare::FIGURES;
use memtide_record::{RateRecord, Record};
use memtide_world::driver::Sample;

/// The figure of a record.
fn share(record: &Record) -> f64 {
    let figure = FIGURES.iter().find(|figure| figure.name == "none_in_flight");
    figure.expect("it is a figure").of(record).value.expect("it was measured")
}

/// The time in the measured window in which one of these operations was in flight, if all were made
/// by one worker.
fn covered_ns(record: &Record, samples: &[Sample], begins_ns: u64) -> u64 {
    let ends_ns = begins_ns + record.window_ns;
    let mut spans: Vec<_> =
        samples.iter().map(|sample| (sample.sent.ns(), sample.received.ns())).collect();
    spans.sort_unstable();
    let (mut sum, mut until) = (0, begins_ns);
    for (sent, received) in spans {
        let (from, to) = (sent.max(until), received.min(ends_ns));
        sum += to.saturating_sub(from);
        until = until.max(to);
    }
    sum
}

#[test]
fn the_time_with_nothing_in_flight_is_that_between_operations() {
    for words in [
        "rate=2000 connections=1 threads=1",
        "rate=3000 connections=8 threads=1 arrival=poisson",
        "rate=900 connections=2 depth=4 threads=1 arrival=uniform mix=get=9,set=1",
    ] {
        for seed in 1..=8 {
            let mut world = World::new(&fields("warmup=0s duration=2s load=never timeout=10s"));
            world.words.extend(fields(words).iter().map(|&(name, word)| (name, word.to_owned())));
            let made = world.behaviour("exponential:300us").seed(seed).rehearse();
            let begins = made.samples[0].begun + made.plan.window.warmup;
            let covered = covered_ns(&made.record, &made.samples, begins.ns());
            assert_eq!(made.record.totals.in_flight_ns, covered, "{words}, seed {seed}");
            let ends = begins.ns() + made.record.window_ns;
            let came = made.samples.iter().filter(|sample| sample.received.ns() < ends).count();
            assert_eq!(made.record.answered_in_window, Some(came as u64), "{words}, seed {seed}");
            assert!((0.01..0.99).contains(&share(&made.record)), "{words}, seed {seed}");
        }
    }
}

#[test]
fn a_queue_is_empty_as_often_as_its_utilisation_says() {
    let of = |seed| {
        let words = "rate=700 arrival=poisson duration=60s load=never connections=256 threads=1";
        let world = World::new(&fields(words)).behaviour("queue:1,exponential:1ms").seed(seed);
        share(&world.rehearse().record)
    };
    let shares: Vec<f64> = (1..=16).map(of).collect();
    let (mean, error) = crate::harness::mean_and_error(&shares);
    // M/M/1 with utilisation 0.7.
    assert!((mean - 0.3).abs() < 4.0 * error, "{mean} ± {error}");
}

/// All that it was sent is answered in the end, by far after the window.
#[test]
fn a_server_answers_as_often_as_it_can_and_not_as_often_as_it_is_asked() {
    let words = "rate=400 arrival=fixed warmup=1s duration=1s timeout=60s threads=1 \
                 connections=4 depth=500";
    let world = World::new(&fields(words)).behaviour("queue:1,fixed:10ms");
    let record = world.rehearse().record;
    assert_eq!((record.totals.answered, record.rate.achieved_per_s), (400, 400.0));
    assert_eq!((record.answered_in_window, record.rate.answered_per_s), (Some(100), Some(100.0)));
    record.check_rate().unwrap();
    let wrong = RateRecord { answered_per_s: Some(400.0), ..record.rate.clone() };
    let why = Record { rate: wrong, ..record }.check_rate().unwrap_err();
    assert_eq!(why, "100 operations a second were answered, not 400");
}

#[test]
fn a_closed_loop_always_has_something_in_flight() {
    let world = World::new(&fields("rate=0 connections=4 duration=1s load=never"));
    let made = world.behaviour("exponential:100us").rehearse();
    assert_eq!(share(&made.record), 0.0);
}
