//! Both searches against servers simulated by formulas, with and without noise.

use super::*;
use crate::steps::course::{Course, Decision, StepResult, Trial};
use memtide_base::Rate;
use memtide_base::choice::RateUnit;
use memtide_base::rng::Random;
use memtide_record::GoalResult;
use memtide_record::steps::StepRole;

/// A queue with exponential gaps and service times and one server: the 95th percentile of response
/// time is ln 20 / (μ − λ), so p95 < 10 ms is met up to μ − ln 20 / 10 ms = 700.4/s.
const SERVED_PER_S: f64 = 1_000.0;
const BOUND_S: f64 = 0.010;

const fn ops(per_s: f64) -> Rate {
    Rate::new(per_s, RateUnit::Operations)
}

fn limit() -> f64 {
    SERVED_PER_S - 20f64.ln() / BOUND_S
}

/// Simulates the measurement of a step.
struct Server<'a> {
    p95_s: &'a dyn Fn(f64) -> f64,
    /// Standard deviation of the measured figure's logarithm.
    noise: f64,
    /// Probability of a disturbance that makes a step three times as slow.
    disturbed: f64,
    random: Random,
}

/// Result of a search.
struct Searched {
    trials: Vec<Trial>,
    found: Option<f64>,
    met: u32,
    missed_at: Option<f64>,
}

impl Server<'_> {
    fn step(&mut self, trial: Trial) -> StepResult {
        let rate = trial.rate.per_s;
        let offered = if rate == 0.0 { f64::INFINITY } else { rate };
        let achieved_per_s = offered.min(SERVED_PER_S);
        let p95_s = match offered < SERVED_PER_S {
            true => (self.p95_s)(offered),
            false => 0.064,
        };
        // The sum of twelve uniform draws is nearly normal.
        let normal = (0..12).map(|_| self.random.unit()).sum::<f64>() - 6.0;
        let disturbed = if self.random.unit() < self.disturbed { 3.0 } else { 1.0 };
        let measured_s = p95_s * (self.noise * normal).exp() * disturbed;
        let met = measured_s < BOUND_S;
        let goal = Some(if met { GoalResult::Met } else { GoalResult::Missed });
        let behind = rate > 0.0 && achieved_per_s < 0.95 * rate;
        StepResult { rate: trial.rate, achieved: ops(achieved_per_s), goal, behind }
    }

    fn search(&mut self, mut course: impl Course) -> Searched {
        let mut trials = Vec::new();
        let mut decision = course.first();
        while let Decision::Try(trial) = decision {
            assert!(trials.len() < 200, "it comes to no end: {trials:?}");
            trials.push(trial);
            decision = course.next(&self.step(trial));
        }
        let answer = course.answer().unwrap();
        let (found, met) = (answer.rate_per_s, answer.met);
        Searched { trials, found, met, missed_at: answer.missed_per_s }
    }
}

fn queue(rate: f64) -> f64 {
    20f64.ln() / (SERVED_PER_S - rate)
}

fn quiet(p95_s: &dyn Fn(f64) -> f64) -> Server<'_> {
    Server { p95_s, noise: 0.0, disturbed: 0.0, random: Random::new(1) }
}

const LIMITS: Limits =
    Limits { unit: RateUnit::Operations, rate_min: None, rate_max: None, resolution: 0.02 };

#[test]
fn without_noise_the_limit_is_bracketed_to_the_resolution() {
    for resolution in [0.1, 0.02, 0.001] {
        let searched = quiet(&queue).search(Bracket::new(Limits { resolution, ..LIMITS }));
        let (found, missed) = (searched.found.unwrap(), searched.missed_at.unwrap());
        assert!(found <= limit() && limit() <= missed, "{found}..{missed}");
        assert!(missed <= found * (1.0 + resolution), "{found}..{missed}");
        assert_eq!(searched.met, 2);
        let roles: Vec<StepRole> = searched.trials.iter().map(|trial| trial.role).collect();
        assert_eq!(roles[0], StepRole::Peak);
        assert_eq!(roles[roles.len() - 2..], [StepRole::Confirm; 2]);
    }
}

#[test]
fn a_knee_is_found_as_well_as_a_slope() {
    for knee in [15.0, 123.0, 500.0, 877.0, 999.0] {
        let curve = move |rate: f64| if rate < knee { 0.000_2 } else { 1.0 };
        let searched = quiet(&curve).search(Bracket::new(LIMITS));
        let found = searched.found.unwrap();
        assert!(found <= knee && knee <= found * 1.021, "{found} of {knee}");
    }
}

#[test]
fn with_noise_and_disturbances_the_limit_is_hardly_ever_missed() {
    // Noise of a step of ten seconds; see docs/search.md.
    let noise = 0.092;
    for (disturbed, allowed) in [(0.0, 1), (0.05, 12)] {
        let mut far = 0;
        let mut steps = 0;
        for seed in 0..500 {
            let random = Random::new(seed);
            let mut server = Server { p95_s: &queue, noise, disturbed, random };
            let searched = server.search(Bracket::new(LIMITS));
            let off = searched.found.unwrap() / limit() - 1.0;
            far += u32::from(off.abs() > 0.08);
            steps += searched.trials.len();
        }
        assert!(far <= allowed, "{far} of 500 are more than 8 % off");
        assert!(steps < 500 * 20, "{steps} steps for 500 searches");
    }
}

#[test]
fn one_disturbed_step_does_not_decide() {
    // The first steps, such as the one at half the peak, are slowed down once.
    for disturbed in 1..12 {
        let mut course = Bracket::new(LIMITS);
        let mut server = quiet(&queue);
        let mut decision = course.first();
        let mut number = 0;
        while let Decision::Try(trial) = decision {
            let mut result = server.step(trial);
            if number == disturbed {
                result.goal = Some(GoalResult::Missed);
            }
            number += 1;
            decision = course.next(&result);
        }
        let found = course.answer().unwrap().rate_per_s.unwrap();
        assert!((found / limit() - 1.0).abs() < 0.025, "{found} after step {disturbed}");
    }
}

#[test]
fn what_is_met_nowhere_is_not_found() {
    let searched = quiet(&|_| 0.1).search(Bracket::new(LIMITS));
    assert_eq!(searched.found, None);
    let lowest = searched.trials.last().unwrap().rate.per_s;
    assert_eq!(lowest, 10.0, "a hundredth of the peak");
    assert_eq!(searched.missed_at, Some(10.0));
    let limits = Limits { rate_min: Some(600.0), ..LIMITS };
    let searched = quiet(&|_| 0.1).search(Bracket::new(limits));
    assert!(searched.trials[1..].iter().all(|trial| trial.rate >= ops(600.0)));
    assert_eq!(searched.found, None);
}

#[test]
fn what_is_met_everywhere_is_limited_by_what_may_be_tried_or_can_be_made() {
    let limits = Limits { rate_max: Some(400.0), ..LIMITS };
    let searched = quiet(&queue).search(Bracket::new(limits));
    assert_eq!((searched.found, searched.met, searched.missed_at), (Some(400.0), 2, None));
    assert!(searched.trials.iter().all(|trial| trial.rate == ops(400.0)), "{:?}", searched.trials);
    // If the highest rate misses, the search goes on below it.
    let searched = quiet(&queue).search(Bracket::new(Limits { rate_max: Some(800.0), ..LIMITS }));
    let rates: Vec<f64> = searched.trials.iter().map(|trial| trial.rate.per_s).collect();
    assert_eq!(rates[..2], [800.0, 400.0]);
    assert!((searched.found.unwrap() / limit() - 1.0).abs() < 0.025, "{rates:?}");
    // Above its peak the server falls behind, which is a miss whatever the goal says.
    let searched = quiet(&|_| 0.001).search(Bracket::new(LIMITS));
    let found = searched.found.unwrap();
    assert!((900.0..=1_060.0).contains(&found), "{found}");
}

#[test]
fn a_peak_that_was_too_low_is_no_ceiling() {
    let mut course = Bracket::new(LIMITS);
    course.first();
    let peak = StepResult { rate: ops(0.0), achieved: ops(300.0), goal: None, behind: false };
    let mut decision = course.next(&peak);
    let mut server = quiet(&queue);
    while let Decision::Try(trial) = decision {
        decision = course.next(&server.step(trial));
    }
    let found = course.answer().unwrap().rate_per_s.unwrap();
    assert!((found / limit() - 1.0).abs() < 0.025, "{found}");
}

#[test]
fn mutilates_search_goes_through_the_rates_of_its_source() {
    // Peak 71164, met up to 35000: (71164 + 1) / 2 = 35582 and so on, in whole numbers.
    let mut course = Bisect::new(0.0, 0.1, 0.98);
    assert_eq!(course.first(), Decision::Try(Trial { rate: ops(0.0), role: StepRole::Peak }));
    let told = |rate: f64, achieved_per_s: f64, met: bool| {
        let goal = Some(if met { GoalResult::Met } else { GoalResult::Missed });
        StepResult { rate: ops(rate), achieved: ops(achieved_per_s), goal, behind: false }
    };
    let mut decision = course.next(&told(0.0, 71_164.7, false));
    let mut rates = Vec::new();
    while let Decision::Try(Trial { rate: Rate { per_s: rate, .. }, .. }) = decision {
        rates.push(rate);
        decision = course.next(&told(rate, rate, rate <= 35_000.0));
    }
    let bisected = [35_582.0, 17_791.0, 26_686.0, 31_134.0, 33_358.0, 34_470.0, 35_026.0];
    assert_eq!(rates[..7], bisected);
    // 35026 missed and 34470 is within 2 % of it, so the search retreats: 35026 × 98/100.
    assert_eq!(rates[7..], [34_325.0]);
    assert_eq!(course.answer().unwrap().rate_per_s, Some(34_325.0));
}

#[test]
fn mutilates_search_ends_at_the_peak_or_at_its_floor() {
    let searched = quiet(&queue).search(Bisect::new(650.0, 0.1, 0.98));
    assert_eq!((searched.trials.len(), searched.found), (1, Some(650.0)));
    for (floor, back_off) in [(0.1, 0.98), (0.01, 0.99)] {
        let searched = quiet(&|_| 1.0).search(Bisect::new(0.0, floor, back_off));
        assert_eq!(searched.found, None);
        let last = searched.trials.last().unwrap().rate.per_s;
        assert!(last <= floor * SERVED_PER_S && last > floor * SERVED_PER_S * 0.4, "{last}");
    }
    let random = Random::new(7);
    let mut server = Server { p95_s: &queue, noise: 0.05, disturbed: 0.0, random };
    let found = server.search(Bisect::new(0.0, 0.01, 0.99)).found.unwrap();
    assert!((found / limit() - 1.0).abs() < 0.08, "{found}");
}
