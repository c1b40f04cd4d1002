//! Medians, and the bound of what is kept.

use super::*;

#[test]
fn a_median_is_at_most_one_and_a_half_times_too_large() {
    assert_eq!(ReplyTimes::default().median(), Span::ZERO);
    for ns in [1, 2, 3, 5, 1_000, 100_000, 123_456_789, u64::MAX] {
        let mut times = ReplyTimes::default();
        (0..3).for_each(|_| times.record(Span::from_ns(ns)));
        // A few stalls change nothing.
        (0..2).for_each(|_| times.record(Span::from_s(6)));
        let median = times.median().ns();
        assert!(median >= ns && median as f64 <= ns.max(2) as f64 * 1.5, "{median} of {ns}");
    }
}

#[test]
fn a_run_keeps_the_longest_silences() {
    let mut run = Silences::of_run(1);
    for ms in 1..=3 * RUN_KEPT_MAX as u64 {
        let until = Instant::ZERO + Span::from_ms(ms);
        run.push(SilentStretch { server: ServerId(0), from: Instant::ZERO, until });
    }
    assert!(run.kept().len() <= RUN_KEPT_MAX);
    let shortest = run.kept().iter().map(SilentStretch::length).min().unwrap();
    assert!(shortest > Span::from_s(10), "{shortest}");
}
