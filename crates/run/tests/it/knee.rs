//! How often the interval of a search holds the knee: the set-up of docs/search.md, one queue with
//! exponential gaps and times, simulated operation by operation and judged by the intervals of real
//! runs.
//!
//! `cargo xtask proof search` makes 1 000 searches instead of a few, and prints what they took.
#![allow(clippy::disallowed_methods, reason = "the number of searches comes from the environment")]
#![allow(clippy::print_stdout, reason = "the table is for people")]

use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_base::rng::Random;
use memtide_belief::{Confidence, Sample};
use memtide_metrics::slices::coarse;
use memtide_metrics::{Histogram, Slice};
use memtide_record::GoalResult;
use memtide_run::steps::{Bracket, Course, Decision, Limits, StepResult, Trial};

const SERVED_PER_S: f64 = 1_000.0;
const BOUND_NS: f64 = 10e6;
const STEP_S: f64 = 10.0;
const WARMUP_S: f64 = 2.0;
const SLICES: usize = 64;
/// A disturbed step has a stall of the server of this length, once in two seconds.
const STALL_S: f64 = 0.06;
const STALL_EVERY_S: f64 = 2.0;
/// Searches without the environment's word.
const FEW: u32 = 40;

/// The rate at which the 95th percentile is 10 ms: μ − ln 20 / X.
fn knee() -> f64 {
    SERVED_PER_S - 20f64.ln() / (BOUND_NS / 1e9)
}

/// The goal's result of a run at `rate`, by the interval of the 95th percentile, and how far that
/// is from its bound.
fn judged(
    random: &mut Random,
    rate: f64,
    length_s: f64,
    is_disturbed: bool,
) -> (GoalResult, Option<[f64; 2]>) {
    let mut exponential = |mean: f64| -(1.0 - random.unit()).ln() * mean;
    let (mut whole, mut slices) = (Histogram::new(), vec![Slice::default(); SLICES]);
    let (mut at, mut free) = (0.0, 0.0f64);
    let mut stall = if is_disturbed { STALL_EVERY_S / 2.0 } else { f64::INFINITY };
    let end = WARMUP_S + length_s;
    loop {
        at += exponential(1.0 / rate);
        if at >= end {
            break;
        }
        if at >= stall {
            free = free.max(stall) + STALL_S;
            stall += STALL_EVERY_S;
        }
        free = free.max(at) + exponential(1.0 / SERVED_PER_S);
        let (ns, place) = (((free - at) * 1e9) as u64, (at - WARMUP_S) / length_s);
        if place >= 0.0 {
            whole.record(ns);
            let slice = &mut slices[(place * SLICES as f64) as usize];
            *slice.buckets.entry(coarse(ns)).or_default() += 1;
            slice.answered += 1;
            slice.sum_ns += u128::from(ns);
        }
    }
    let sample = Sample { whole: &whole, unanswered: 0, slices: &slices, rates: &[] };
    let ranks = sample.ranks_at(&[0.5, 0.9, 0.95], Confidence::P98).pop();
    let interval = ranks.and_then(Result::ok).and_then(|ranks| sample.between(&ranks));
    let goal = match &interval {
        Some(of) if of.high < BOUND_NS => GoalResult::Met,
        Some(of) if of.low >= BOUND_NS => GoalResult::Missed,
        _ => GoalResult::Undecided,
    };
    (goal, interval.map(|of| [of.low, of.high].map(|end| (end / BOUND_NS).ln())))
}

/// What one search found, the seconds that its steps took, and their number.
fn search(random: &mut Random, disturbed: f64) -> (Option<(f64, f64)>, f64, usize) {
    let unit = RateUnit::Operations;
    let limits = Limits { unit, rate_min: None, rate_max: None, resolution: 0.02 };
    let mut course = Bracket::new(limits);
    let (mut decision, mut length, mut steps) = (course.first(), 0.0, 0);
    while let Decision::Try(trial) = decision {
        let Trial { rate, longer, .. } = trial;
        let window = STEP_S * f64::from(longer);
        (length, steps) = (length + WARMUP_S + window, steps + 1);
        let is_disturbed = random.unit() < disturbed;
        let of = StepResult::of(trial);
        decision = course.next(&match rate.per_s {
            0.0 => StepResult { achieved: Rate::new(SERVED_PER_S, unit), ..of },
            // A server falls behind above its peak.
            per_s if per_s > SERVED_PER_S * 1.05 => StepResult { behind: true, ..of },
            per_s => {
                let (goal, off) = judged(random, per_s, window, is_disturbed);
                StepResult { goal: Some(goal), off, ..of }
            }
        });
    }
    let answer = course.answer().expect("a search has an answer");
    (answer.rate_per_s.zip(answer.missed_per_s), length, steps)
}

#[test]
fn the_interval_of_a_search_holds_the_knee() {
    let asked = std::env::var("MEMTIDE_SEARCHES").ok().and_then(|word| word.parse().ok());
    let searches = asked.unwrap_or(FEW);
    let middle = |mut values: Vec<f64>, part: f64| {
        values.sort_by(f64::total_cmp);
        values[(part * (values.len() - 1) as f64) as usize]
    };
    for disturbed in [0.0, 0.2] {
        let (mut held, mut near, mut none) = (0, 0, 0);
        let (mut widths, mut lengths, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..searches {
            let mut random = Random::new(u64::from(seed));
            let (found, length, count) = search(&mut random, disturbed);
            lengths.push(length);
            steps.push(count as f64);
            let Some((low, high)) = found else {
                none += 1;
                continue;
            };
            held += u32::from(low <= knee() && knee() <= high);
            near += u32::from(low >= knee() * 0.93 && high <= knee() * 1.07);
            widths.push(high / low - 1.0);
        }
        println!(
            "{:.0} % disturbed: the knee is inside in {held} of {searches} ({none} have no \
             interval), {near} end within 7 % of it; width {:.3} ({:.3} at most in 9 of 10); {:.0} \
             s ({:.0}), {:.0} steps ({:.0})",
            disturbed * 100.0,
            middle(widths.clone(), 0.5),
            middle(widths, 0.9),
            middle(lengths.clone(), 0.5),
            middle(lengths, 0.9),
            middle(steps.clone(), 0.5),
            middle(steps, 0.9),
        );
        // Few searches cannot tell 93 % from 85 %.
        let least = if searches >= 500 { 0.93 } else { 0.85 };
        assert!(f64::from(held) >= least * f64::from(searches), "{held} of {searches}");
    }
}
