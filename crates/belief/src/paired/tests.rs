//! Trials by drawn ratios: how often they find a difference that is there, and one that is not.

use super::*;

/// A ratio by a normal law of this mean and deviation of its logarithm: the sum of twelve
/// uniform draws.
fn ratio(random: &mut impl FnMut() -> f64, mean: f64, deviation: f64) -> f64 {
    let sum: f64 = (0..12).map(|_| random()).sum();
    (mean + deviation * (sum - 6.0)).exp()
}

/// The findings of trials that end as soon as they are exact, and their mean number of pairs.
fn trials(seed: u64, mean: f64, deviation: f64, figures: usize) -> ([usize; 4], f64) {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let (mut found, mut pairs) = ([0; 4], 0);
    for _ in 0..TRIALS {
        let mut ratios = vec![Vec::new(); figures];
        loop {
            for of in &mut ratios {
                of.push(ratio(&mut random, mean, deviation));
            }
            let all: Vec<_> = ratios.iter().filter_map(|of| Paired::of(of, figures)).collect();
            if all.len() == figures && all.iter().all(|of| of.is_exact(0.05)) {
                let findings = all.iter().map(|of| of.finding(0.05));
                // One figure that is called different counts for the trial.
                let differs = |it: &Finding| matches!(it, Finding::Higher | Finding::Lower);
                let first = all[0].finding(0.05);
                let finding = findings.clone().find(differs).unwrap_or(first);
                found[finding as usize] += 1;
                pairs += all[0].pairs;
                break;
            }
        }
    }
    (found, pairs as f64 / TRIALS as f64)
}

const TRIALS: usize = 400;

#[test]
fn equal_arms_are_called_different_in_few_trials() {
    for (figures, deviation) in [(1, 0.01), (1, 0.05), (3, 0.02), (3, 0.05)] {
        let ([higher, lower, ..], pairs) = trials(1, 0.0, deviation, figures);
        let wrong = higher + lower;
        let case = format!("{figures} figures, deviation {deviation}, {pairs} pairs");
        assert!(wrong as f64 <= 0.08 * TRIALS as f64, "{case}: {wrong} of {TRIALS}");
    }
}

#[test]
fn the_asked_difference_is_found() {
    for deviation in [0.01, 0.03, 0.06] {
        let ([higher, ..], pairs) = trials(2, 0.05f64.ln_1p(), deviation, 1);
        let case = format!("deviation {deviation}, {pairs} pairs");
        assert!(higher as f64 >= 0.9 * TRIALS as f64, "{case}: {higher} of {TRIALS}");
    }
}

/// Groups of ten runs each, with a run effect of 2 %; and how often one run each is apart.
#[test]
fn groups_of_ten_find_differences_and_rarely_where_there_are_none() {
    let mut state = 3u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let (mut wrong, mut found) = (0, 0);
    for _ in 0..TRIALS {
        let mut group =
            |mean| -> Vec<f64> { (0..10).map(|_| ratio(&mut random, mean, 0.02)).collect() };
        let differs = |of: &[[Vec<f64>; 2]]| {
            let each = of.iter().filter_map(|[a, b]| Paired::of_groups(a, b, of.len()));
            each.filter(|it| it.range()[0] > 0.0 || it.range()[1] < 0.0).count() > 0
        };
        let figures: Vec<_> = (0..3).map(|_| [group(0.0), group(0.0)]).collect();
        wrong += usize::from(differs(&figures));
        found += usize::from(differs(&[[group(0.0), group(0.05f64.ln_1p())]]));
    }
    assert!(wrong as f64 <= 0.08 * TRIALS as f64, "{wrong} of {TRIALS} equal groups differ");
    assert!(found as f64 >= 0.9 * TRIALS as f64, "5 % were found in {found} of {TRIALS}");
    assert_eq!(Paired::of_groups(&[1.0], &[1.0, 2.0], 1), None);
    // Sampling alone leaves intervals apart in few cases; an effect beside it in many.
    assert!(by_chance(0.04, [0.02, 0.02], 0.0) < 0.01);
    assert!(by_chance(0.02, [0.01, 0.01], 0.01) > 0.15);
    assert!(by_chance(1.1, [0.003, 0.003], 0.01) < 1e-9, "three times as much is no chance");
}

#[test]
fn groups_with_zeros_are_told_apart_by_their_difference() {
    let [low, high] = contrast(&[0.0, 0.0, 3.0], &[0.0, 0.0, 0.0], 1.0, 1).unwrap();
    assert!(low < 0.0 && high > 0.0, "{low} to {high}");
    let [low, _] = contrast(&[0.0, 1.0, 2.0], &[90.0, 100.0, 95.0], 1.05, 1).unwrap();
    assert!(low > 80.0, "{low}");
    assert_eq!(contrast(&[0.0; 3], &[0.0; 3], 2.0, 1), Some([0.0; 2]));
    assert_eq!(contrast(&[0.0], &[1.0, 2.0], 1.0, 1), None);
    assert_eq!(contrast(&[0.0, f64::INFINITY], &[1.0, 2.0], 1.0, 1), None);
}

#[test]
fn values_in_steps_are_no_finer_than_a_step() {
    let same = Paired::of(&[1.0; 6], 1).unwrap().not_finer_than(1.01);
    assert!((same.range()[1] - 0.01).abs() < 1e-9 && !same.is_exact(0.01), "{same:?}");
}

#[test]
fn what_is_no_ratio_or_too_few_has_no_interval() {
    assert_eq!(Paired::of(&[1.1], 1), None);
    assert_eq!(Paired::of(&[1.1, 0.0], 1), None);
    assert_eq!(Paired::of(&[1.1, f64::NAN, 1.0], 1), None);
    let same = Paired::of(&[1.0; 6], 4).unwrap();
    assert_eq!((same.range(), same.finding(0.01)), ([0.0; 2], Finding::Equal));
    assert!(same.is_exact(0.001) && !Paired::of(&[1.0; 5], 4).unwrap().is_exact(0.001));
}
