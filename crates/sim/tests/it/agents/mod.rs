//! Two agents in one world: two controllers, each with workers and slices of its own, that share a
//! server, and a master that directs their windows.

pub(crate) mod pair;

use crate::prelude::*;
use crate::queues::belief::{merged, number, say, seeds};
use crate::queues::precision::holds_when_narrow;
use memtide_record::WarmupEnd;
use memtide_scenario::Measure;
use memtide_world::driver::Sample;
use pair::{Directed, Pair};

/// Half of M/M/1's server is busy, and its service time is 200 us.
const STEADY: &str = "queue:1,exponential:200us";

fn world(words: &str, seed: u64) -> World {
    World::of(&format!("threads=2 connections=64 mix=get=1 load=never timeout=60s {words}"))
        .behaviour(STEADY)
        .seed(seed)
}

/// Asserts that all operations of `came`, and no others, were intended in the window from `open`
/// until `close` after the beginning of the load, and that every record says the same.
fn one_window(came: &Directed, (open, close): (Span, Span), every_ns: Option<u64>) {
    let within = |sample: &Sample| (open..close).contains(&sample.intended.since(sample.begun));
    assert!(came.samples.iter().all(within), "the window is one for all workers and agents");
    let intended: u64 = came.records.iter().map(|record| record.totals.intended).sum();
    assert_eq!(came.samples.len() as u64, intended);
    // The schedule is known: operation i is due at i × `every_ns`.
    if let Some(every_ns) = every_ns {
        let due = |at: Span| at.ns().div_ceil(every_ns);
        assert_eq!(intended, due(close) - due(open));
    }
    for record in &came.records {
        assert_eq!(record.plan.warmup_s, open.as_s_f64());
        assert_eq!(record.measured_s, (close.saturating_sub(open)).as_s_f64());
        assert!(record.check_conservation().is_ok());
    }
}

#[test]
fn agents_open_the_window_at_the_commanded_instant() {
    for arrival in ["fixed", "poisson"] {
        let world = world("rate=2k duration=10s warmup=auto", 3).with(&[("arrival", arrival)]);
        let came = Pair::of(world).carry_out();
        let open = came.opened.expect("the load is steady");
        assert!(open >= Span::from_ms(1_750) && open < Span::from_ms(2_300), "{open}");
        let ends = came.records.iter().map(|record| record.plan.warmup_end);
        assert!(ends.clone().all(|end| end == WarmupEnd::Steady), "{:?}", ends.collect::<Vec<_>>());
        let every_ns = (arrival == "fixed").then_some(500_000);
        one_window(&came, (open, open + Span::from_s(10)), every_ns);
        let sum = merged(came.records);
        assert_eq!(sum.plan.warmup_end, WarmupEnd::Steady);
        assert!(
            sum.response_figure(Kind::All, Measure::Percentile(50.0)).unwrap().interval.is_some()
        );
    }
}

#[test]
fn agents_whose_load_is_never_steady_open_at_the_latest_instant() {
    let world = world("rate=500 arrival=fixed duration=10s warmup=auto", 1)
        .behaviour("queue:1,fixed:100us+slowing:80%/s");
    let came = Pair::of(world).carry_out();
    assert_eq!(came.opened, None);
    one_window(&came, (Span::from_s(3), Span::from_s(13)), None);
    assert!(came.records.iter().all(|record| record.plan.warmup_end == WarmupEnd::Unsteady));
}

#[test]
fn agents_close_the_window_once_their_figures_together_are_narrow() {
    for (warmup, arrival) in [("0s", "fixed"), ("auto", "poisson")] {
        let words = "rate=2500 at-most=40s";
        let world = world(words, 3).with(&[("arrival", arrival), ("warmup", warmup)]);
        let came = Pair::of(world.with(&[("precision", "rate 5%, p50 10%")])).carry_out();
        let open = came.opened.unwrap_or(Span::ZERO);
        let length = came.closed.expect("the figures are narrow");
        assert!(length >= Span::from_ms(5_750) && length < Span::from_s(12), "{length}");
        one_window(&came, (open, open + length), (arrival == "fixed").then_some(400_000));
        let sum = merged(came.records);
        assert!(
            sum.widths().all(|(_, width)| width <= 1.1),
            "{:?}",
            sum.widths().collect::<Vec<_>>()
        );
    }
}

/// Each agent alone knows less than asked, and no look falls on the end of the longest window.
#[test]
fn agents_that_are_narrow_together_at_the_very_end_have_reached_their_precision() {
    let mut at_its_end = 0;
    for tenths in 30..60 {
        let precision = format!("p50 {}%", f64::from(tenths) / 10.0);
        let world = world("rate=2500 at-most=6s warmup=0s", 5).with(&[("precision", &precision)]);
        let came = Pair::of(World { keeps_samples: false, ..world }).carry_out();
        let sum = merged(came.records);
        let is_narrow = came.closed.is_some() || sum.widths().all(|(_, width)| width <= 1.0);
        at_its_end += u32::from(is_narrow && came.closed.is_none());
        let reached = sum.plan.precision.as_ref().and_then(|precision| precision.reached);
        assert_eq!(reached, Some(is_narrow), "{precision}");
        let is_warned = sum.warnings.iter().any(|warning| warning.code == "imprecise");
        assert_eq!(is_warned, !is_narrow, "{precision}");
    }
    assert!(at_its_end > 0, "no run was narrow at its end alone");
}

#[test]
fn an_interval_of_agents_holds_after_they_ended_when_it_was_narrow() {
    holds_when_narrow("two agents", 3, |seed| {
        let world = world("rate=2500 at-most=5m warmup=0s", seed).with(&[("precision", "p99 5%")]);
        let came = Pair::of(World { keeps_samples: false, ..world }).carry_out();
        assert!(came.closed.is_some(), "seed {seed}");
        merged(came.records)
    });
}

/// The command reaches the second agent after its instant: that share fails and says why, and the
/// first has its window.
#[test]
fn an_agent_that_hears_of_the_window_too_late_fails() {
    for words in ["warmup=auto duration=10s", "warmup=0s at-most=20s precision=p50:20%"] {
        let words = format!("rate=2k {}", words.replace("precision=p50:20%", ""));
        let precision: &[(&str, &str)] =
            if words.contains("at-most") { &[("precision", "p50 20%")] } else { &[] };
        let world = world(&words, 3).with(precision);
        let came = Pair::of(world).hearing_after([Span::ZERO, Span::from_s(1)]).carry_out();
        assert_eq!(came.records.len(), 1, "{words}");
        assert!(
            came.failures.len() == 1
                && came.failures[0].contains(" late, so this share counted another window"),
            "{:?}",
            came.failures
        );
        assert!(came.opened.or(came.closed).is_some());
    }
}

/// With `MEMTIDE_BELIEF_RUNS=100`, at most 9 of 100 may be longer than the least: ten slices, and
/// the time from the decision to the window.
#[test]
fn a_steady_load_of_agents_loses_little() {
    let runs = number("MEMTIDE_BELIEF_RUNS", 4);
    let longer = |seed: &u64| {
        let world = world("rate=2500 duration=20s warmup=auto", *seed);
        let pair = Pair::of(World { keeps_samples: false, ..world });
        pair.carry_out().opened.is_none_or(|open| open > Span::from_ms(2_100))
    };
    let longer = seeds(runs).filter(longer).count();
    say(&format!("warm-up of a steady load by two agents: {longer} of {runs} longer than 2.1 s"));
    let most = 0.09 + 3.5 * (0.09 * 0.91 / runs as f64).sqrt();
    assert!(longer as f64 <= most * runs as f64, "{longer} of {runs}");
}
