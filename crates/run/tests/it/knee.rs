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
use memtide_belief::{Bound, Confidence, Placement, Sample, Side};
use memtide_metrics::slices::coarse;
use memtide_metrics::{Histogram, Slice};
use memtide_record::GoalResult;
use memtide_run::steps::{Bracket, Course, Decision, Limits, StepResult, Trial};
use memtide_scenario::Measure;

const SERVED_PER_S: f64 = 1_000.0;
/// What docs/search.md searches for: a 95th percentile of 10 ms, by steps of 10 s.
const P95: Aimed = Aimed { measure: Measure::Percentile(95.0), bound_ns: 10e6, step_s: 10.0 };
const WARMUP_S: f64 = 2.0;
const SLICES: usize = 64;
/// A disturbed step has a stall of the server of this length, once in two seconds.
const STALL_S: f64 = 0.06;
const STALL_EVERY_S: f64 = 2.0;
/// Searches without the environment's word.
const FEW: u32 = 40;

/// A goal, and the length of the steps that look for the rates that meet it.
#[derive(Clone, Copy, Debug)]
struct Aimed {
    measure: Measure,
    bound_ns: f64,
    step_s: f64,
}

impl Aimed {
    /// The rate at which the goal's figure is its bound: μ − 1 ÷ X for the mean,
    /// μ − ln(1 ÷ (1 − p)) ÷ X for a percentile.
    fn knee(self) -> f64 {
        let times = match self.measure {
            Measure::Percentile(percent) => -(1.0 - percent / 100.0).ln(),
            Measure::Mean | Measure::Max => 1.0,
        };
        SERVED_PER_S - times / (self.bound_ns / 1e9)
    }

    fn place(self, sample: &Sample<'_>, confidence: Confidence) -> Placement {
        let bound = Bound { ns: self.bound_ns, without_own: 1.0, drifts: false };
        match self.measure {
            Measure::Percentile(percent) => sample.place(percent / 100.0, &bound, confidence),
            Measure::Mean | Measure::Max => sample.place_mean(&bound, confidence),
        }
    }

    /// How far the figure is from its bound, where it has an interval.
    fn off(self, sample: &Sample<'_>) -> Option<[f64; 2]> {
        let interval = match self.measure {
            Measure::Percentile(percent) => {
                let p = percent / 100.0;
                let chain: Vec<f64> =
                    [0.5, 0.9, 0.99].into_iter().filter(|of| *of < p).chain([p]).collect();
                let ranks = sample.ranks_at(&chain, Confidence::P98).pop();
                ranks.and_then(Result::ok).and_then(|ranks| sample.between(&ranks))
            }
            Measure::Mean | Measure::Max => sample.mean_at(Confidence::P98).ok(),
        };
        interval.map(|of| [of.low, of.high].map(|end| (end / self.bound_ns).ln()))
    }
}

/// The result of a step at `trial`'s rate, by the operations of one queue.
fn judged(
    random: &mut Random,
    aimed: Aimed,
    trial: Trial,
    confidence: Confidence,
    is_disturbed: bool,
) -> StepResult {
    let (rate, length_s) = (trial.rate.per_s, aimed.step_s * f64::from(trial.longer));
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
    let placement = aimed.place(&sample, confidence);
    let goal = match placement.side {
        Some(Side::Below) => GoalResult::Met,
        Some(Side::Above) => GoalResult::Missed,
        None => GoalResult::Undecided,
    };
    StepResult {
        goal: Some(goal),
        off: aimed.off(&sample),
        longer_by: placement.longer,
        ..StepResult::of(trial)
    }
}

/// What a search found.
struct Found {
    low: Option<f64>,
    high: Option<f64>,
    /// The seconds that its steps took, and their number.
    length_s: f64,
    steps: usize,
}

fn search(random: &mut Random, aimed: Aimed, disturbed: f64) -> Found {
    let unit = RateUnit::Operations;
    let limits = Limits { unit, rate_min: None, rate_max: None, resolution: 0.02 };
    let mut course = Bracket::new(limits);
    let (mut decision, mut length_s, mut steps) = (course.first(), 0.0, 0);
    let mut looks: Vec<f64> = Vec::new();
    while let Decision::Try(trial) = decision {
        let per_s = trial.rate.per_s;
        (length_s, steps) =
            (length_s + WARMUP_S + aimed.step_s * f64::from(trial.longer), steps + 1);
        let earlier = looks.iter().filter(|look| **look == per_s).count();
        looks.push(per_s);
        let is_disturbed = random.unit() < disturbed;
        let of = StepResult::of(trial);
        decision = course.next(&match per_s {
            0.0 => StepResult { achieved: Rate::new(SERVED_PER_S, unit), ..of },
            // A server falls behind above its peak.
            per_s if per_s > SERVED_PER_S * 1.05 => StepResult { behind: true, ..of },
            _ => judged(random, aimed, trial, Confidence::after(earlier as u32), is_disturbed),
        });
    }
    let answer = course.answer().expect("a search has an answer");
    Found { low: answer.rate_per_s, high: answer.missed_per_s, length_s, steps }
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
            let found = search(&mut random, P95, disturbed);
            lengths.push(found.length_s);
            steps.push(found.steps as f64);
            let Some((low, high)) = found.low.zip(found.high) else {
                none += 1;
                continue;
            };
            held += u32::from(low <= P95.knee() && P95.knee() <= high);
            near += u32::from(low >= P95.knee() * 0.93 && high <= P95.knee() * 1.07);
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

/// The interval of a search holds the knee of any goal, also with steps that are short for it: then
/// it is wide, or the search says that it is undecided.
#[test]
fn the_interval_of_a_search_holds_the_knee_of_every_goal() {
    let asked = std::env::var("MEMTIDE_SEARCHES").ok().and_then(|word| word.parse::<u32>().ok());
    let (searches, steps) = match asked {
        Some(all) => (all / 10, &[1.0, 2.0, 5.0, 10.0][..]),
        None => (20, &[1.0][..]),
    };
    let percentiles = [50.0, 95.0, 99.0, 99.9].map(Measure::Percentile);
    for measure in percentiles.into_iter().chain([Measure::Mean]) {
        for &step_s in steps {
            let any = Aimed { measure, bound_ns: 1e9, step_s };
            // The knee is at 70 % of the capacity.
            let bound_ns = (SERVED_PER_S - any.knee()) / (0.3 * SERVED_PER_S) * 1e9;
            let aimed = Aimed { bound_ns, ..any };
            let (mut held, mut far, mut open, mut none) = (0, 0, 0, 0);
            for seed in 0..searches {
                let mut random = Random::new(u64::from(seed) + 1_000_000);
                let Found { low, high, .. } = search(&mut random, aimed, 0.0);
                let knee = aimed.knee();
                held += u32::from(low.is_none_or(|low| low <= knee))
                    * u32::from(high.is_none_or(|high| knee <= high));
                far += u32::from(high.is_some_and(|high| high > 1.1 * SERVED_PER_S));
                open += u32::from(low.is_none() || high.is_none());
                none += u32::from(low.is_none() && high.is_none());
            }
            println!(
                "{measure:?} within {:.1} ms, steps of {step_s} s: inside in {held} of {searches}; \
                 the upper end above 1.1 × the capacity in {far}, one end open in {open}, both \
                 in {none}",
                bound_ns / 1e6
            );
            assert!(f64::from(held) >= 0.88 * f64::from(searches), "{held} of {searches}");
            assert_eq!(far, 0, "a server that carries less misses every goal");
        }
    }
}
