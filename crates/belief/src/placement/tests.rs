//! The sides of bounds, for runs whose figures are known.

use super::*;
use memtide_metrics::Histogram;
use memtide_metrics::slices::coarse;

/// A run of slices, and all of their times.
struct Run {
    whole: Histogram<u64>,
    slices: Vec<Slice>,
}

impl Run {
    /// A run of 64 slices of `each` operations, which took the ns that `ns` says of a slice and a
    /// number in it.
    fn of(each: u64, ns: impl Fn(u64, u64) -> u64) -> Self {
        let mut run = Self { whole: Histogram::new(), slices: vec![Slice::default(); 64] };
        for (at, slice) in run.slices.iter_mut().enumerate() {
            for nth in 0..each {
                let ns = ns(at as u64, nth);
                run.whole.record(ns);
                *slice.buckets.entry(coarse(ns)).or_default() += 1;
                slice.answered += 1;
                slice.sum_ns += u128::from(ns);
            }
        }
        run
    }

    fn place(&self, p: f64, ns: f64) -> Placement {
        self.sample().place(p, &bound(ns), Confidence::P95)
    }

    fn sample(&self) -> Sample<'_> {
        Sample { whole: &self.whole, unanswered: 0, slices: &self.slices, rates: &[] }
    }
}

fn bound(ns: f64) -> Bound {
    Bound { ns, without_own: 1.0, drifts: false }
}

#[test]
fn few_operations_tell_if_nearly_all_are_on_one_side() {
    // 192 operations of 481 ms, among which no 99th percentile has an interval.
    let run = Run::of(3, |_, _| 481_000_000);
    assert_eq!(run.place(0.99, 1e6).side, Some(Side::Above));
    assert_eq!(run.place(0.999, 1e6).side, Some(Side::Above));
    let fast = run.place(0.999, 1e9);
    assert_eq!(fast.side, None, "3 688 operations without a slow one are needed");
    let times = fast.longer.expect("a longer run would tell");
    assert!((3_688.0 / 192.0..3_688.0 / 192.0 * 1.25).contains(&times), "{times}");
}

#[test]
fn a_run_that_rises_all_the_time_is_above_a_bound_far_below_it_and_below_one_far_above() {
    let run = Run::of(100, |at, nth| 700_000_000 + at * 8_000_000 + nth * 1_000);
    assert_eq!(run.place(0.5, 10e6).side, Some(Side::Above));
    assert_eq!(run.place(0.5, 100e6).side, Some(Side::Above));
    assert_eq!(run.place(0.5, 600e6).side, Some(Side::Above), "it moves away from it");
    assert_eq!(run.place(0.5, 1_300e6).side, None, "it may rise further");
    assert_eq!(run.place(0.5, 60e9).side, Some(Side::Below));
    let sample = run.sample();
    let mean = |ns| sample.place_mean(&bound(ns), Confidence::P95).side;
    assert_eq!([10e6, 1_300e6, 60e9].map(mean), [Some(Side::Above), None, Some(Side::Below)]);
}

#[test]
fn a_run_that_wanders_is_above_a_bound_only_if_that_is_further_away_than_it_wandered() {
    let run = Run::of(100, |at, nth| {
        700_000_000 + (if at < 32 { at } else { 64 - at }) * 8_000_000 + nth * 1_000
    });
    assert_eq!(run.place(0.5, 10e6).side, Some(Side::Above));
    assert_eq!(run.place(0.5, 600e6).side, None, "it came from there, or may go there");
}

#[test]
fn what_only_memtides_own_delay_puts_above_a_bound_is_not_above_it() {
    let run = Run::of(100, |_, nth| 1_000_000 + nth * 1_000);
    let sample = run.sample();
    let with = |without_own| Bound { ns: 500_000.0, without_own, drifts: false };
    let placed = sample.place(0.99, &with(0.001), Confidence::P95);
    assert_eq!((placed.side, placed.by_own), (None, true));
    let placed = sample.place(0.99, &with(0.9), Confidence::P95);
    assert_eq!((placed.side, placed.by_own), (Some(Side::Above), false));
    let mean = sample.place_mean(&with(0.3), Confidence::P95);
    assert_eq!((mean.side, mean.by_own), (None, true));
}

#[test]
fn of_a_figure_that_drifts_every_part_must_tell() {
    // More than half of the operations are slow, but not in the last eighth of the run.
    let run = Run::of(1_000, |at, nth| {
        let slow = if at < 56 { 55 } else { 49 };
        if (nth * 7 + at * 13) % 100 < slow { 3_000_000 } else { 1_000_000 }
    });
    let sample = run.sample();
    let side = |drifts| {
        let bound = Bound { drifts, ..bound(2_000_000.0) };
        sample.place(0.5, &bound, Confidence::P95).side
    };
    assert_eq!([false, true].map(side), [Some(Side::Above), None]);
}

#[test]
fn unanswered_operations_are_above_every_bound() {
    let run = Run::of(100, |_, _| 1_000);
    let mut slices = run.slices.clone();
    slices.iter_mut().for_each(|slice| slice.unanswered += 10);
    let sample = Sample { whole: &run.whole, unanswered: 640, slices: &slices, rates: &[] };
    let side = |p| sample.place(p, &bound(1e12), Confidence::P95).side;
    assert_eq!([0.5, 0.99].map(side), [Some(Side::Below), Some(Side::Above)]);
}
