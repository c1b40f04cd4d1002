//! The interval of a median of runs, and runs that differ by more than they know.

use super::*;

#[test]
fn the_medians_interval_is_between_two_runs() {
    let of = |count: usize| {
        let values: Vec<f64> = (1..=count).map(|value| value as f64).collect();
        Repeated::of(&values).unwrap()
    };
    // Printed tables: 6 runs reach 96.9 %, 10 runs leave one out on each side.
    assert_eq!((of(6).range, (of(6).confidence * 1e3).round()), ([1.0, 6.0], 969.0));
    assert_eq!((of(10).range, (of(10).confidence * 1e3).round()), ([2.0, 9.0], 979.0));
    assert_eq!((of(3).range, of(3).confidence), ([1.0, 3.0], 0.75));
    assert_eq!((of(4).median, of(5).median), (2.5, 3.0));
    assert_eq!(Repeated::of(&[1.0]), None);
    assert_eq!(Repeated::of(&[1.0, 0.0]), None);
}

#[test]
fn runs_that_differ_by_more_than_their_error_are_named() {
    let mut state = 5u64;
    let mut normal = || {
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| unit()).sum::<f64>() - 6.0
    };
    let mut named = [0, 0];
    for _ in 0..400 {
        for (at, effect) in [0.0, 0.05].into_iter().enumerate() {
            let deviation = 0.02f64.hypot(effect);
            let values: Vec<f64> = (0..8).map(|_| (deviation * normal()).exp()).collect();
            let is_unsteady = Repeated::of(&values).unwrap().is_unsteady(&[0.02; 8]);
            named[at] += usize::from(is_unsteady);
        }
    }
    assert!(named[0] <= 12, "{} of 400 without an effect", named[0]);
    assert!(named[1] >= 340, "{} of 400 with one", named[1]);
}
