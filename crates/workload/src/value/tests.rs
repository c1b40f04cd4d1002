//! Values have the sizes of their law, differ, and stay within their limit.

use super::*;
use std::collections::HashSet;

const MIB: usize = 1 << 20;

fn space(law: &str, bytes_max: usize) -> ValueSpace {
    ValueSpace::new(law.parse().unwrap(), bytes_max, 1)
}

#[test]
fn etc_values_have_the_published_moments() {
    let space = space("etc-value", MIB);
    let n = 100_000;
    let mut sizes: Vec<f64> = (0..n).map(|id| space.len(id) as f64).collect();
    let mean = sizes.iter().sum::<f64>() / n as f64;
    assert!((mean - 194.445).abs() < 4.0 * 477.0 / (n as f64).sqrt(), "mean {mean}");
    sizes.sort_by(f64::total_cmp);
    for (p, size, tolerance) in
        [(0.5, 39.2, 0.04), (0.75, 213.9, 0.03), (0.9, 520.2, 0.03), (0.99, 1898.7, 0.05)]
    {
        let got: f64 = sizes[(p * n as f64) as usize];
        assert!((got / size - 1.0).abs() < tolerance, "quantile {p}: {got} for {size}");
    }
    let small = sizes.iter().filter(|&&size| size < 15.0).count() as f64 / n as f64;
    // Four standard errors; rounding moves no value across the boundary at 15.
    assert!((small - 0.44155).abs() < 4.0 * (0.44155f64 * 0.55845 / n as f64).sqrt(), "{small}");
}

#[test]
fn values_are_what_their_length_says_and_stay_in_their_limit() {
    for (law, bytes_max) in
        [("fixed:200", MIB), ("fixed:200", 100), ("uniform:0,5000", MIB), ("exponential:1M", 3000)]
    {
        let space = space(law, bytes_max);
        for id in 0..2000 {
            let value = space.slice(id);
            assert_eq!(value.len(), space.len(id));
            assert!(value.len() <= bytes_max);
            assert!(value.iter().all(u8::is_ascii_graphic));
        }
    }
    assert_eq!(space("fixed:0", MIB).slice(5), b"");
    assert_eq!(space("fixed:1M", MIB).slice(5).len(), MIB);
    assert_eq!(space("fixed:200", 0).len(5), 0);
}

#[test]
fn values_of_different_keys_differ() {
    let space = space("fixed:200", MIB);
    let distinct: HashSet<&[u8]> = (0..1000).map(|id| space.slice(id)).collect();
    // Two of a thousand may by chance begin at the same one of 131 000 positions.
    assert!(distinct.len() > 980, "{}", distinct.len());
    let other = ValueSpace::new("fixed:200".parse().unwrap(), MIB, 2);
    assert_ne!(space.slice(7), other.slice(7));
}

#[test]
fn a_clone_shares_the_pool() {
    let space = space("etc-value", MIB);
    let clone = space.clone();
    assert!(std::ptr::eq(space.slice(3), clone.slice(3)));
}

#[test]
fn numbers_have_ten_digits_and_room_both_ways() {
    let mut seen = HashSet::new();
    for id in 0..1000 {
        let digits = numeric_value(id, 1);
        let number: u64 = std::str::from_utf8(&digits).unwrap().parse().unwrap();
        assert!((3_000_000_000..9_000_000_000).contains(&number));
        seen.insert(number);
    }
    assert_eq!(seen.len(), 1000);
}

#[test]
fn values_can_consist_of_one_letter() {
    let space = space("uniform:0,500", MIB).filled_with(b'0');
    assert!((0..500).all(|id| space.slice(id).iter().all(|&byte| byte == b'0')));
}

#[test]
fn numbers_change_by_one_or_by_a_law() {
    let plain = space("fixed:10", MIB);
    assert!((0..100).all(|index| plain.delta(index) == 1));
    let law = |word: &str| plain.clone().with_deltas(word.parse().unwrap());
    assert_eq!(law("fixed:1GiB").delta(7), 1 << 30);
    let even = law("uniform:5,9");
    assert!((0..1000).all(|index| (5..=9).contains(&even.delta(index))));
    let draws = "rand48:4660,22136,25923".parse().unwrap();
    let as_c = law("uniform-real:1,16").with_draws(draws);
    assert_eq!([0, 1, 2].map(|index| as_c.delta(index)), [13, 5, 2]);
}
