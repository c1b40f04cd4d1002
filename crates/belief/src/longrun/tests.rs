//! The deviation of a mean whose parts depend on each other.

use super::*;

#[test]
fn alternating_residuals_are_no_positive_correlation() {
    let alternating: Vec<f64> = (0..64).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let of = LongRun::of(alternating, 0);
    assert!((of.variance - 64.0 * 64.0 / 63.0).abs() < 1e-9, "{of:?}");
    assert_eq!((of.freedom, of.skew), (63.0, 0.0));
}

#[test]
fn long_waves_are_merged_and_leave_few_degrees_of_freedom() {
    let wave: Vec<f64> = (0..64).map(|at| if at % 32 < 16 { 1.0 } else { -1.0 }).collect();
    let of = LongRun::of(wave, 0);
    assert!(of.variance > 5.0 * 64.0, "{of:?}");
    assert!(of.freedom < 8.0, "{of:?}");
}

#[test]
fn residuals_of_zero_have_no_variance() {
    assert_eq!(LongRun::of(vec![0.0; 64], 0).variance, 0.0);
    assert_eq!(LongRun::of(Vec::new(), 0).variance, 0.0);
    assert_eq!(merged(&[1.0, 2.0, 3.0, 4.0, 5.0]), [3.0, 12.0]);
}
