//! A warm-up that is found: all workers open the window at one instant, a steady load loses little,
//! and a transient stays out of the figures.

use super::belief::{least, number, say, seeds};
use crate::prelude::*;
use memtide_base::Span;
use memtide_record::WarmupEnd;
use memtide_scenario::Measure;
use memtide_world::driver::Sample;

/// The longest warm-up of a steady load that counts as the least one: ten slices, and the time from
/// the decision to the window.
const LEAST_S: f64 = 1.35;

/// Half of M/M/1's server is busy, and its service time is 200 us.
const STEADY: &str = "queue:1,exponential:200us";

fn world(rate: u64, seconds: u64, seed: u64) -> World {
    let words = format!(
        "rate={rate} duration={seconds}s warmup=auto threads=2 connections=256 mix=get=1 \
         load=never timeout=60s"
    );
    World { keeps_samples: false, ..World::of(&words).seed(seed) }
}

fn warmup(record: &Record) -> (f64, WarmupEnd) {
    (record.plan.warmup_s, record.plan.warmup_end)
}

#[test]
fn every_worker_opens_the_window_at_the_commanded_instant() {
    for arrival in ["fixed", "poisson"] {
        let world = world(2_000, 5, 3).with(&[("arrival", arrival)]).behaviour(STEADY);
        let came = World { keeps_samples: true, ..world }.rehearse();
        let (length_s, end) = warmup(&came.record);
        assert_eq!(end, WarmupEnd::Steady);
        let length = Span::from_s_f64(length_s);
        let load = &came.record.phases.warmup.totals;
        // The schedule is known: operation i of 2 000 per second is due at i × 500 us.
        if arrival == "fixed" {
            let before = length.ns().div_ceil(500_000);
            assert_eq!((load.intended, came.record.totals.intended), (before, 10_000));
        }
        assert_eq!(came.samples.len() as u64, came.record.totals.intended);
        let within = |sample: &Sample| {
            let since = sample.intended.since(sample.begun);
            since >= length && since < length + Span::from_s(5)
        };
        assert!(came.samples.iter().all(within), "the window is one for all workers");
        assert_eq!(came.record.measured_s, 5.0);
    }
}

#[test]
fn a_load_that_is_never_steady_opens_at_the_latest_instant_and_is_named() {
    let came = world(500, 10, 1).behaviour("queue:1,fixed:100us+slowing:80%/s").rehearse();
    assert_eq!(warmup(&came.record), (3.0, WarmupEnd::Unsteady));
    let warned = came.record.warnings.iter().any(|warning| warning.code == "unsteady_warmup");
    assert!(warned, "{:?}", came.record.warnings);
}

/// With `MEMTIDE_BELIEF_RUNS=100`, at most 9 of 100 may be longer.
#[test]
fn a_steady_load_loses_little() {
    let runs = number("MEMTIDE_BELIEF_RUNS", 10);
    for rate in [2_500, 4_000] {
        let longer = |seed: &u64| {
            let came = world(rate, 10, *seed).behaviour(STEADY).rehearse();
            warmup(&came.record).0 > LEAST_S
        };
        let longer = seeds(runs).filter(longer).count();
        say(&format!(
            "warm-up of a steady load, {rate}/s: {longer} of {runs} longer than {LEAST_S} s"
        ));
        let most = 0.09 + 3.5 * (0.09 * 0.91 / runs as f64).sqrt();
        assert!(longer as f64 <= most * runs as f64, "{longer} of {runs}");
    }
}

/// p99's interval holds the truth although service times begin twice as long.
#[test]
fn a_transient_stays_out_of_the_figures() {
    let runs = number("MEMTIDE_BELIEF_RUNS", 6);
    let truth = |rate: f64| 0.01f64.ln() / (rate / 1e9 - 1.0 / 200_000.0);
    for (warming, rate) in [("+warming:100%,300ms", 2_500), ("+warming:50%,1s", 2_500)] {
        let (mut held, mut printed, mut lengths, mut steady) = (0.0, 0.0, Vec::new(), 0);
        for seed in seeds(runs) {
            let record =
                world(rate, 20, seed).behaviour(&format!("{STEADY}{warming}")).rehearse().record;
            lengths.push(warmup(&record).0);
            steady += u64::from(warmup(&record).1 == WarmupEnd::Steady);
            let figure = record.response_figure(Kind::All, Measure::Percentile(99.0));
            let Some([low, high]) = figure.and_then(|figure| figure.interval) else { continue };
            printed += 1.0;
            let truth = truth(rate as f64);
            held += f64::from(u8::from(low <= truth && truth <= high));
        }
        lengths.sort_by(f64::total_cmp);
        say(&format!(
            "{warming} at {rate}/s: p99's interval holds in {held} of {printed} ({runs} runs, \
             {steady} steady); warm-up {} to {}, median {}",
            lengths[0],
            lengths[lengths.len() - 1],
            lengths[lengths.len() / 2]
        ));
        assert!(held >= least(runs) * printed, "{warming}: {held} of {printed}");
    }
}
