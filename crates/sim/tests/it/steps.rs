//! Searches and scans over the real controller and engine, against a server whose limit is known.

mod rates;

use crate::harness::Performed;
use crate::prelude::*;
use memtide_record::GoalResult;
use memtide_record::steps::{StepRole, StepsEnd};
use memtide_run::steps::{Bisect, Measured, Time};
use memtide_scenario::Measure;

const LIMITS: Limits =
    Limits { unit: RateUnit::Operations, rate_min: None, rate_max: None, resolution: 0.02 };

/// One queue with one server and service times of 1 ms: the response's p95 is ln 20 / (μ − λ).
fn world(duration: &'static str, goal: &'static str) -> World {
    World::of(&format!(
        "duration={duration} warmup=1s mix=get=1 keys=1000 connections=16 goal={goal}"
    ))
    .behaviour("queue:1,exponential:1ms")
}

fn search(world: World) -> Performed {
    let performed = world.rehearse_steps(&mut Bracket::new(LIMITS), Data::Kept);
    assert_eq!(performed.conclusion.ended_by, StepsEnd::Done);
    performed
}

#[test]
fn a_search_finds_the_rate_at_which_theory_has_the_goal_met() {
    // μ − ln 20 / X
    let limit = 1_000.0 - 20f64.ln() / 0.010;
    for seed in 1..=6 {
        let performed = search(world("10s", "all.p95<10ms").seed(seed));
        let answer = performed.conclusion.answer.unwrap();
        let (low, high) = (answer.rate_per_s.unwrap(), answer.missed_per_s.unwrap());
        assert!(low <= limit && limit <= high, "{low}–{high} with seed {seed}");
        assert!(high < low * 1.25, "{low}–{high} with seed {seed}");
        assert!(answer.met == 1, "{answer:?}");
        assert_eq!(performed.conclusion.exit, 0);
        let peak = &performed.steps[0];
        assert_eq!((peak.role, peak.rate_per_s), (StepRole::Peak, None));
        let lengths = performed.steps.iter().map(|step| step.record.measured_s);
        let longest = lengths.fold(0.0, f64::max);
        assert!((40.0..=240.0).contains(&longest), "the longest step took {longest} s");
        assert!((peak.achieved_per_s / 1_000.0 - 1.0).abs() < 0.05, "{}", peak.achieved_per_s);
    }
}

#[test]
fn mutilates_search_finds_it_by_its_own_figure() {
    let limit = 1_000.0 - 20f64.ln() / 0.010;
    let mut course = Bisect::new(0.0, 0.1, 0.98);
    let measure = Measure::Percentile(95.0);
    let (kinds, with_agents) = (vec![Kind::Get, Kind::Set], Vec::new());
    let measured = Measured { kinds, measure, time: Time::Service, with_agents };
    let aim = Aim::AtMost { measured, bound_ns: 10e6 };
    // A goal of the scenario's own has no effect on this search.
    let world = world("30s", "all.p95<1ns");
    let performed = world.rehearse_towards(aim, &mut course, Data::Anew);
    let found = performed.conclusion.answer.unwrap().rate_per_s.unwrap();
    assert!((found / limit - 1.0).abs() < 0.08, "{found}");
    let [peak, second, ..] = &performed.steps[..] else { panic!("too few steps") };
    let high = peak.achieved_per_s.floor();
    assert_eq!((second.low_per_s, second.high_per_s), (Some(1.0), Some(high)));
    assert_eq!(second.rate_per_s, Some(((high + 1.0) / 2.0).floor()));
    for step in &performed.steps {
        let met = step.figure_ns.unwrap() <= 10e6;
        assert_eq!(step.goal, Some(if met { GoalResult::Met } else { GoalResult::Missed }));
    }
    assert_eq!(performed.steps.last().unwrap().goal, Some(GoalResult::Met));
    assert_eq!(performed.conclusion.exit, 0);
}

#[test]
fn the_first_step_fills_and_later_ones_find_the_data() {
    for (data, probed) in [(Data::Kept, 0), (Data::Anew, 1_000)] {
        let mut scan = Scan::new("100..300+100".parse().unwrap(), RateUnit::Operations);
        let performed = world("2s", "all.p95<1s").rehearse_steps(&mut scan, data);
        assert_eq!(performed.steps.len(), 3);
        for step in &performed.steps {
            let load = &step.record.phases.load.totals;
            let stored = load.replies.get("stored").copied().unwrap_or(0);
            let first = step.number == 1;
            assert_eq!(stored, if first { 1_000 } else { 0 }, "step {}", step.number);
            assert_eq!(load.keys, if first { 2_000 } else { probed }, "step {}", step.number);
            assert_eq!(step.record.totals.misses, 0);
            assert!(step.record.phases.warmup.totals.intended > 50, "each is warmed up");
        }
        let answer = performed.conclusion.answer.unwrap();
        assert_eq!((answer.rate_per_s, answer.missed_per_s), (Some(300.0), None));
    }
}

#[test]
fn a_step_does_not_pay_for_what_the_one_before_no_longer_waited_for() {
    let mut world = world("2s", "all.p95<10ms");
    // The first step has 1 500 operations in flight at its end and waits a second for them.
    world.words.extend([("depth", "100".to_owned()), ("cooldown", "stop".to_owned())]);
    let mut scan = Scan::new("1500,300".parse().unwrap(), RateUnit::Operations);
    let performed = world.rehearse_steps(&mut scan, Data::Kept);
    let [full, step] = &performed.steps[..] else { panic!("two were asked for") };
    assert!(full.record.totals.abandoned > 400, "{}", full.record.totals.abandoned);
    assert_eq!(step.goal, Some(GoalResult::Met));
    assert!(step.record.response[&Kind::All].max_ns.unwrap() < 100_000_000);
}

#[test]
fn steps_draw_gaps_of_their_own_and_a_search_is_a_function_of_its_seed() {
    let scan = || {
        let mut scan = Scan::new("300,300".parse().unwrap(), RateUnit::Operations);
        world("2s", "all.p95<1s").rehearse_steps(&mut scan, Data::Kept)
    };
    let (one, two) = (scan(), scan());
    assert_eq!(one.hash, two.hash);
    let intended = |step: usize| one.steps[step].record.totals.intended;
    assert_ne!(intended(0), intended(1));
}

#[test]
fn a_step_that_falls_behind_meets_nothing() {
    let mut scan = Scan::new("500,2000".parse().unwrap(), RateUnit::Operations);
    // A goal that is met only because unsent operations cannot fail.
    let performed = world("2s", "errors<100%").rehearse_steps(&mut scan, Data::Kept);
    let behind: Vec<bool> = performed.steps.iter().map(|step| step.behind).collect();
    assert_eq!(behind, [false, true]);
    let answer = performed.conclusion.answer.unwrap();
    assert_eq!((answer.rate_per_s, answer.missed_per_s), (Some(500.0), Some(2_000.0)));
}

#[test]
fn what_is_met_nowhere_is_an_answer_as_well() {
    let performed = search(world("2s", "all.p95<1us"));
    assert_eq!(performed.conclusion.exit, 1);
    assert_eq!(performed.conclusion.answer.unwrap().rate_per_s, None);
    let lowest = performed.steps.last().unwrap();
    assert!(lowest.rate_per_s.unwrap() < 11.0, "{:?}", lowest.rate_per_s);
}

#[test]
fn an_interrupted_search_has_what_it_found_so_far() {
    let mut world = world("10s", "all.p95<10ms");
    world.interrupt_at = Instant::ZERO + Span::from_s(100);
    let performed = world.rehearse_steps(&mut Bracket::new(LIMITS), Data::Kept);
    let conclusion = performed.conclusion;
    assert_eq!((conclusion.ended_by, conclusion.exit), (StepsEnd::Interrupted, 130));
    assert!(performed.steps.len() > 3, "of 11 seconds and some, or longer");
    let met = performed.steps.iter().filter(|step| step.goal == Some(GoalResult::Met));
    let highest = met.filter_map(|step| step.rate_per_s).reduce(f64::max);
    assert_eq!(conclusion.answer.unwrap().rate_per_s, highest);
    assert!(highest.is_some());
    assert!(performed.steps.iter().all(|step| !step.record.partial));
}

#[test]
fn a_server_that_goes_away_ends_the_scan_with_what_was_found() {
    let mut world = world("10s", "all.p95<10ms");
    world.deaths = vec![(0, Instant::ZERO + Span::from_s(30), Instant::NEVER)];
    let mut scan = Scan::new("100..1000+100".parse().unwrap(), RateUnit::Operations);
    let performed = world.rehearse_steps(&mut scan, Data::Kept);
    let conclusion = performed.conclusion;
    assert_eq!((conclusion.ended_by, conclusion.exit), (StepsEnd::Failed, 3));
    assert!(conclusion.failure.unwrap().contains("sim0"));
    assert_eq!(performed.steps.len(), 2);
    assert_eq!(conclusion.answer.unwrap().rate_per_s, Some(200.0));
}

/// It ended with 0, as if the last step had measured both servers.
#[test]
fn a_server_that_goes_away_in_the_last_step_ends_the_scan_with_3() {
    let mut world = world("10s", "all.p95<100s");
    world.servers.push(world.servers[0].clone());
    world.deaths = vec![(1, Instant::ZERO + Span::from_s(9), Instant::NEVER)];
    let mut scan = Scan::new("100..100+100".parse().unwrap(), RateUnit::Operations);
    let conclusion = world.rehearse_steps(&mut scan, Data::Kept).conclusion;
    assert_eq!((conclusion.ended_by, conclusion.exit), (StepsEnd::Failed, 3));
    let why = conclusion.failure.unwrap();
    assert!(why.starts_with("server sim1 was gone at the end of the last step"), "{why}");
}
