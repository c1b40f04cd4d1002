//! Values read back within a bucket, and moments are exact.

use super::*;

#[test]
fn values_read_back_within_a_bucket() {
    let mut histogram = Histogram::<u32>::new();
    for value in [1u64, 127, 128, 1_000, 90_250, 5_000_000, 10_000_000_000] {
        histogram.clear();
        histogram.record(value - 1);
        histogram.record(value);
        histogram.record(value * 2);
        let read = histogram.value_at_rank(2).unwrap() as f64;
        assert!((read / value as f64 - 1.0).abs() <= 0.008, "{value} reads as {read}");
    }
}

#[test]
fn moments_are_exact_and_survive_folding_and_bytes() {
    let mut parts = [Histogram::<u32>::new(), Histogram::new()];
    for value in 1..=1000u64 {
        parts[(value % 2) as usize].record(value * 1_000);
    }
    let mut whole = Histogram::<u64>::new();
    parts.iter().for_each(|part| whole.absorb(part));
    assert_eq!(whole.moments().mean(), Some(500_500.0));
    assert_eq!((whole.moments().min, whole.moments().max), (1_000, 1_000_000));
    assert!((whole.moments().deviation().unwrap() - 288_674.99).abs() < 0.01);
    let back = Histogram::<u64>::from_text(&whole.to_text(), *whole.moments()).unwrap();
    assert_eq!(back.value_at_rank(990), whole.value_at_rank(990));
    assert!(Histogram::<u64>::from_text("nonsense", *whole.moments()).is_none());
}

#[test]
fn what_came_since_is_what_was_recorded_since() {
    let mut whole = Histogram::<u64>::new();
    [1_000, 90_250, 7_000_000].into_iter().for_each(|value| whole.record(value));
    let earlier = whole.clone();
    assert_eq!(whole.since(&earlier).moments(), &Moments::EMPTY);
    assert_eq!(whole.since(&Histogram::new()), whole);
    let mut later = Histogram::<u64>::new();
    for value in [900, 90_250, 5_000_000] {
        whole.record(value);
        later.record(value);
    }
    let since = whole.since(&earlier);
    let (found, right) = (*since.moments(), *later.moments());
    assert_eq!((found.count, found.sum, found.min), (right.count, right.sum, right.min));
    assert_eq!(found.sum_squares, right.sum_squares);
    assert!((found.max as f64 / right.max as f64 - 1.0).abs() < 0.008, "{}", found.max);
    assert_eq!(since.value_at_rank(2), later.value_at_rank(2));
}

#[test]
fn too_large_a_value_is_counted_as_saturated() {
    let mut histogram = Histogram::<u32>::new();
    histogram.record(VALUE_MAX * 2);
    assert_eq!(histogram.moments().saturated, 1);
    assert_eq!(histogram.moments().max, VALUE_MAX * 2);
}
