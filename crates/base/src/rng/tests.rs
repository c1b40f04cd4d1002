//! Randomness that is a function of a seed.

use super::*;

#[test]
fn draws_do_not_depend_on_what_was_drawn_before() {
    let forward: Vec<u64> = (0..100).map(|i| hash(7, Stream::KEY, i)).collect();
    let backward: Vec<u64> = (0..100).rev().map(|i| hash(7, Stream::KEY, i)).collect();
    assert!(forward.iter().eq(backward.iter().rev()));
    assert_ne!(hash(7, Stream::KEY, 0), hash(7, Stream::KIND, 0));
    assert_ne!(hash(7, Stream::KEY, 0), hash(8, Stream::KEY, 0));
}

#[test]
fn unit_is_open_and_uniform() {
    assert!(unit(0) > 0.0 && unit(u64::MAX) < 1.0);
    let mut random = Random::new(1);
    let n = 100_000;
    let mean = (0..n).map(|_| random.unit()).sum::<f64>() / f64::from(n);
    // Four standard errors of the mean of a uniform law.
    assert!((mean - 0.5).abs() < 4.0 * (1.0f64 / 12.0 / f64::from(n)).sqrt());
}

#[test]
fn below_covers_its_range_evenly() {
    let mut counts = [0u32; 7];
    let mut random = Random::new(3);
    for _ in 0..70_000 {
        counts[random.below(7) as usize] += 1;
    }
    assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
}
