//! Slices hold what a list of all operations gives.

use super::*;

fn slices() -> Vec<Slice> {
    let of = |times: &[u64], unanswered| {
        let mut slice = Slice { unanswered, ..Slice::default() };
        for &ns in times {
            *slice.buckets.entry(coarse(ns)).or_default() += 1;
            slice.answered += 1;
            slice.sum_ns += u128::from(ns);
        }
        slice
    };
    vec![of(&[0, 1, 15, 16, 1_000_000, u64::MAX], 7), of(&[], 0), of(&[12_345; 300], 0)]
}

#[test]
fn slices_are_read_back_as_they_were_written() {
    let slices = slices();
    assert_eq!(from_text(&to_text(&slices), slices.len()), Some(slices.clone()));
    assert_eq!(from_text(&to_text(&slices), slices.len() - 1), None, "too many");
    assert_eq!(from_text(&to_text(&slices), slices.len() + 1), None, "too few");
    assert_eq!(from_text("no text of slices", 3), None);
    assert_eq!(from_text(&to_text(&[]), 0), Some(Vec::new()));
}

#[test]
fn a_coarse_bucket_is_an_eighth_of_a_doubling() {
    for exponent in 8..40 {
        let base = 1u64 << exponent;
        let distinct: Vec<u16> = (0..8).map(|nth| coarse(base + nth * base / 8)).collect();
        assert!(distinct.is_sorted_by(|a, b| a + 1 == *b), "{exponent}: {distinct:?}");
        assert_eq!(coarse(base + base / 8 - 1), distinct[0]);
        assert_eq!(coarse(2 * base), distinct[7] + 1);
    }
    assert_eq!(coarse(u64::MAX), coarse(3_600_000_000_000));
}

#[test]
fn absorbing_adds_all_counts_and_saturates() {
    let mut sum = slices().remove(0);
    let other = Slice { unanswered: u64::MAX, ..sum.clone() };
    sum.absorb(&other);
    assert_eq!((sum.answered, sum.unanswered), (12, u64::MAX));
    assert_eq!(sum.buckets[&coarse(0)], 6, "0, 1 and 15 share the first bucket");
    assert_eq!(sum.count(), u64::MAX);
}

#[test]
fn a_rank_has_the_edges_of_its_bucket() {
    let mut times = crate::Histogram::<u64>::new();
    [3, 300, 300, 100_000].into_iter().for_each(|ns| times.record(ns));
    assert_eq!(times.edges_at_rank(1), Some((3, 4)));
    assert_eq!(times.edges_at_rank(3), Some((300, 302)));
    let (low, high) = times.edges_at_rank(4).expect("there are four");
    assert!(low <= 100_000 && 100_000 < high && high - low == 512, "{low} {high}");
    assert_eq!(times.edges_at_rank(5), None);
}
