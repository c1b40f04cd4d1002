//! Windows with a change, and windows that only scatter.

use super::*;

/// Values that scatter without a trend: multiples of the golden ratio, modulo 1.
fn scatter(at: usize) -> f64 {
    (at as f64 * 0.618_033_988_749_895).fract()
}

#[test]
fn a_ratio_that_rises_is_named_with_its_change() {
    let rising: Vec<_> = (0..64).map(|at| (100.0 + at as f64 + scatter(at), 1.0)).collect();
    let drift = Drift::of_ratio(&rising).expect("64 slices have a trend");
    assert!(drift.is_established(), "{drift:?}");
    assert!((drift.change - 0.48).abs() < 0.02, "{drift:?}");
    let falling: Vec<_> = rising.into_iter().rev().collect();
    let drift = Drift::of_ratio(&falling).expect("64 slices have a trend");
    assert!(drift.is_established() && drift.change < -0.4, "{drift:?}");
}

#[test]
fn neither_scatter_nor_a_step_too_small_nor_equal_values_are_drift() {
    let of = |value: fn(usize) -> f64| {
        let slices: Vec<_> = (0..64).map(|at| (value(at), 1.0)).collect();
        Drift::of_ratio(&slices).expect("64 slices have a trend").is_established()
    };
    assert!(!of(|at| 100.0 + scatter(at)));
    assert!(!of(|_| 100.0));
    assert!(!of(|_| 0.0));
    assert!(!of(|at| 1_000.0 + at as f64 * 0.4), "2.6 % is below what counts");
    assert!(of(|at| 1_000.0 + at as f64));
}

#[test]
fn slow_waves_are_no_drift() {
    let wave = |at: usize| 100.0 + 10.0 * (at as f64 / 64.0 * 5.0 * std::f64::consts::TAU).sin();
    let slices: Vec<_> = (0..64).map(|at| (wave(at), 1.0)).collect();
    let drift = Drift::of_ratio(&slices).expect("64 slices have a trend");
    assert!(!drift.is_established(), "{drift:?}");
}

#[test]
fn too_few_slices_have_no_trend() {
    assert_eq!(Drift::of_ratio(&[(1.0, 1.0); 9]), None);
    assert_eq!(Drift::of_percentile(&vec![Slice::default(); 64], 0.5), None);
}

#[test]
fn a_percentile_lies_within_its_bucket_and_not_among_the_unanswered() {
    let mut slice = Slice { answered: 4, ..Slice::default() };
    slice.buckets.insert(slices::coarse(100_000), 4);
    let p50 = percentile(&slice, 0.5).expect("half are in the bucket");
    assert_eq!(slices::coarse(p50 as u64), slices::coarse(100_000));
    slice.unanswered = 5;
    assert_eq!(percentile(&slice, 0.5), None);
}
