//! Intervals of samples whose figures are known.

use super::*;
use memtide_metrics::slices::coarse;

/// Slices of `each` operations of 100 µs, of which every tenth took 1 ms.
fn times(count: usize, each: u64) -> (Histogram<u64>, Vec<Slice>) {
    let mut whole = Histogram::new();
    let mut slices = vec![Slice::default(); count];
    for (at, slice) in slices.iter_mut().enumerate() {
        for nth in 0..each {
            // The slow ones wander through the slices, so that their number varies.
            let is_slow = (nth + at as u64 * 7) % 10 < u64::from(at % 2 == 0) * 2;
            let ns = if is_slow { 1_000_000 } else { 100_000 };
            whole.record(ns);
            *slice.buckets.entry(coarse(ns)).or_default() += 1;
            slice.answered += 1;
            slice.sum_ns += u128::from(ns);
        }
    }
    (whole, slices)
}

#[test]
fn an_interval_holds_its_percentile() {
    let (whole, slices) = times(64, 1_000);
    let sample = Sample { whole: &whole, unanswered: 0, slices: &slices, rates: &[] };
    for (p, ns) in [(0.5, 100_000.0), (0.99, 1_000_000.0)] {
        let ranks = sample.ranks(&[0.5, p]).pop().expect("two").expect("it is printed");
        assert!(ranks.low < p && p < ranks.high, "{ranks:?}");
        let of = sample.between(&ranks).expect("there are such ranks");
        assert!(of.low <= ns && ns <= of.high, "{p}: {of:?}");
    }
    let mean = sample.mean().expect("it is printed");
    assert!(mean.low < 190_000.0 && 190_000.0 < mean.high, "{mean:?}");
}

#[test]
fn refusals_say_why_and_know_how_much_longer_a_run_takes() {
    let (whole, slices) = times(64, 10);
    let sample = Sample { whole: &whole, unanswered: 0, slices: &slices, rates: &[] };
    let ranks = sample.ranks(&[0.5, 0.999]);
    assert!(ranks[0].is_ok(), "{ranks:?}");
    let Err(refusal @ Refusal::FewBeyond { .. }) = ranks[1] else { panic!("{ranks:?}") };
    assert_eq!(refusal.words(), "0 effective operations above it");
    assert!(refusal.longer().is_some_and(|factor| factor > 2.0), "{refusal:?}");
    let few = Refusal::FewBeyond { effective: 1.2, longer: 5.0 };
    assert_eq!(few.words(), "1 effective operation above it");
    let short = Refusal::FewEffective { effective: 12.0, longer: 4.0 };
    assert_eq!((short.words().as_str(), short.longer()), ("12 effective operations", Some(4.0)));
    assert_eq!(Refusal::Unanswered.longer(), None);
}

#[test]
fn what_the_slices_do_not_hold_has_no_interval() {
    let (whole, slices) = times(64, 1_000);
    let refused = |unanswered, slices: &[Slice]| {
        let sample = Sample { whole: &whole, unanswered, slices, rates: &[] };
        assert_eq!(sample.mean().is_err(), sample.ranks(&[0.5])[0].is_err());
        sample.ranks(&[0.5])[0].err()
    };
    assert_eq!(refused(0, &slices), None);
    assert_eq!(refused(7, &slices), Some(Refusal::Partial));
    assert_eq!(refused(0, &slices[1..]), Some(Refusal::Partial));
    let mut sum = Slice::default();
    slices.iter().for_each(|slice| sum.absorb(slice));
    assert_eq!(refused(0, &[sum]), Some(Refusal::FewSlices));
    let empty = Sample { whole: &Histogram::new(), unanswered: 0, slices: &[], rates: &[] };
    assert_eq!(empty.ranks(&[0.5])[0], Err(Refusal::Nothing));
}

#[test]
fn a_percentile_near_unanswered_operations_has_no_upper_end() {
    let (whole, mut slices) = times(64, 1_000);
    slices.iter_mut().for_each(|slice| slice.unanswered = 20);
    let sample = Sample { whole: &whole, unanswered: 64 * 20, slices: &slices, rates: &[] };
    let ranks = sample.ranks(&[0.5, 0.9, 0.99]);
    assert!(ranks[0].is_ok() && ranks[1].is_ok(), "{ranks:?}");
    assert_eq!(ranks[2], Err(Refusal::Unanswered));
}

#[test]
fn a_rate_without_scatter_is_exact() {
    let even: Vec<(u64, f64)> =
        (0..64).map(|at| if at < 63 { (100, 1.0) } else { (50, 0.5) }).collect();
    assert!(rate_half_width(&even).expect("it is known") < 1e-12);
    let uneven: Vec<(u64, f64)> = (0..64).map(|at| (100 + at * 7 % 13, 1.0)).collect();
    let half = rate_half_width(&uneven).expect("it is known");
    assert!(half > 0.001 && half < 0.05, "{half}");
    assert_eq!(rate_half_width(&even[..10]), None);
}
