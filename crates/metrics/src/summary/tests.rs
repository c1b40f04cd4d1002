//! Quantiles need the published number of samples, and rank unanswered operations last.

use super::*;

#[test]
fn needs_are_the_published_ones() {
    assert_eq!(samples_needed(0.99), 368);
    assert_eq!(samples_needed(0.999), 3_688);
    assert_eq!(samples_needed(0.9999), 36_887);
    assert_eq!(samples_needed(0.5), 6);
}

#[test]
fn unanswered_operations_rank_above_answered_ones() {
    let mut times = Histogram::<u64>::new();
    (0..980).for_each(|_| times.record(1_000));
    assert_eq!(quantile(&times, 20, 0.98), Quantile::Known(1_000));
    assert_eq!(quantile(&times, 20, 0.99), Quantile::Unanswered);
    assert_eq!(quantile(&times, 0, 0.999), Quantile::TooFew { needed: 3_688 });
}

#[test]
fn ranks_are_whole() {
    assert_eq!(rank(0.99, 100), 99);
    assert_eq!(rank(0.5, 1), 1);
    assert_eq!(rank(0.999, 10_000), 9_990);
}
