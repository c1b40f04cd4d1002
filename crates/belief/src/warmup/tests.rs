//! Transients, rising hit ratios and steady loads.

use super::*;

/// Values that scatter without a trend: multiples of the golden ratio, modulo 1.
fn scatter(at: usize) -> u64 {
    ((at as f64 * 0.618_033_988_749_895).fract() * 10.0) as u64
}

/// The number of slices after which a load is found steady, if it is within 100.
fn settled(of: impl Fn(usize) -> WarmupSlice) -> Option<usize> {
    let mut settling = Settling::default();
    (1..=100).find(|&count| {
        settling.take(of(count - 1));
        settling.is_settled()
    })
}

fn timed(response_ns: u64) -> WarmupSlice {
    WarmupSlice { answered: 1, response_ns, keys: 1, hits: 1 }
}

#[test]
fn a_steady_load_is_steady_after_the_fewest_slices() {
    assert_eq!(settled(|at| timed(100 + scatter(at))), Some(SLICES_MIN));
    assert_eq!(settled(|_| timed(100)), Some(SLICES_MIN));
}

#[test]
fn a_transient_is_left_out_twice() {
    let step = |at: usize| timed(if at < 15 { 200 } else { 100 } + scatter(at));
    // Ten equal slices do not show that a step will come.
    let mut settling = Settling::default();
    (0..25).for_each(|at| settling.take(step(at)));
    assert!(!settling.is_settled());
    (25..30).for_each(|at| settling.take(step(at)));
    assert!(settling.is_settled());
    let fading =
        |at: usize| timed(100 + scatter(at) + (200.0 * (-(at as f64) / 10.0).exp()) as u64);
    let count = settled(fading).expect("it fades");
    assert!((30..=90).contains(&count), "{count}");
}

#[test]
fn a_hit_ratio_that_still_rises_is_not_steady() {
    let rising = |at: usize| WarmupSlice {
        answered: 1_000,
        response_ns: 100_000,
        keys: 1_000,
        hits: 8 * at as u64 + scatter(at),
    };
    assert_eq!(settled(rising), None);
}

#[test]
fn many_slices_are_merged_and_slices_without_an_answer_join_the_next() {
    let mut settling = Settling::default();
    (0..10_000).for_each(|_| settling.take(timed(100)));
    assert!(settling.slices.len() < SLICES_MAX);
    let answered: u64 = settling.slices.iter().map(|slice| slice.answered).sum();
    assert_eq!(answered, 10_000);
    let rare = |at: usize| if at % 4 == 3 { timed(100) } else { WarmupSlice::default() };
    assert_eq!(settled(rare), Some(4 * SLICES_MIN));
}
