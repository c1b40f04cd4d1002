//! The grammar of rates, and the course of a scan.

use super::*;
use memtide_record::GoalResult;

/// The rates of a scan of `word`, at most `most`.
fn tried(word: &str, most: usize) -> Vec<f64> {
    let mut scan = Scan::new(word.parse().unwrap(), RateUnit::Operations);
    let mut rates = Vec::new();
    let mut decision = scan.first();
    while let Decision::Try(trial) = decision
        && rates.len() < most
    {
        rates.push(trial.rate.per_s);
        decision = scan.next(&StepResult::of(trial));
    }
    assert_eq!(scan.answer(), None, "nothing was looked for");
    rates
}

#[test]
fn ranges_hold_both_ends_and_lists_their_order() {
    assert_eq!(tried("10k..40k+10k", 9), [10e3, 20e3, 30e3, 40e3]);
    assert_eq!(tried("10k..35k+10k", 9), [10e3, 20e3, 30e3]);
    assert_eq!(tried("0.1..0.3+0.1", 9).len(), 3);
    assert_eq!(tried("5k", 9), [5e3]);
    assert_eq!(tried("20k, 0,10k", 9), [20e3, 0.0, 10e3]);
    assert_eq!(tried("5k..5k+0", 4), [5e3; 4]);
    assert_eq!(tried("5k..5k+1k", 4), [5e3]);
    assert_eq!("20k,30k,10k".parse::<Rates>().unwrap().highest(), 30e3);
}

#[test]
fn what_is_no_range_is_refused_with_a_reason() {
    for (word, reason) in [
        ("", "rate"),
        ("10k,", "rate"),
        ("fast", "fast"),
        ("10k..20k", "step is missing"),
        ("20k..10k+1k", "below the start"),
        ("10k..20k+0", "never reaches the end"),
        ("1..1G+1", "more than 10000"),
        ("-5", "rate"),
    ] {
        let why = word.parse::<Rates>().unwrap_err();
        assert!(why.contains(reason) && why.contains("10k..100k+10k"), "{why}");
    }
}

/// The answer of a scan whose steps have these results: rate, goal, behind, spoilt.
fn answered(steps: &[(f64, GoalResult, bool, bool)]) -> Answer {
    let mut scan = Scan::new("100..500+100".parse().unwrap(), RateUnit::Operations);
    scan.first();
    for &(rate, goal, behind, spoilt) in steps {
        let rate = Rate::new(rate, RateUnit::Operations);
        let trial = Trial { rate, role: StepRole::Scan, longer: 1 };
        scan.next(&StepResult { goal: Some(goal), behind, spoilt, ..StepResult::of(trial) });
    }
    scan.answer().unwrap()
}

#[test]
fn the_answer_is_the_highest_rate_that_did() {
    let answer = answered(&[
        (100.0, GoalResult::Met, false, false),
        (200.0, GoalResult::Met, false, false),
        (300.0, GoalResult::Missed, false, false),
        (400.0, GoalResult::Met, true, false),
        (500.0, GoalResult::Undecided, false, false),
    ]);
    assert_eq!((answer.rate_per_s, answer.missed_per_s), (Some(200.0), Some(300.0)));
    assert_eq!((answer.met, answer.missed), (1, 0));
    // Noise and memtide's own lack of time decide nothing, and a miss below the answer is noise.
    let answer = answered(&[
        (100.0, GoalResult::Missed, false, false),
        (200.0, GoalResult::Met, false, false),
        (300.0, GoalResult::Undecided, false, false),
        (400.0, GoalResult::Missed, false, true),
    ]);
    assert_eq!((answer.rate_per_s, answer.missed_per_s), (Some(200.0), None));
    let gap = answer.undecided.map(|it| (it.from_per_s, it.to_per_s));
    assert_eq!(gap, Some((300.0, 400.0)), "they are named");
    // A rate that a further step decided is not undecided, nor is one above what missed.
    let answer = answered(&[
        (100.0, GoalResult::Undecided, false, false),
        (100.0, GoalResult::Met, false, false),
        (200.0, GoalResult::Missed, false, false),
        (300.0, GoalResult::Undecided, false, false),
    ]);
    assert_eq!((answer.rate_per_s, answer.undecided), (Some(100.0), None));
}
