//! Trials of a CPU of this machine, and of one that it may not use.

use super::*;

#[test]
fn a_trial_wakes_spins_and_reads_the_clock() {
    let cpus = pin::inherited();
    let seen = trials(&cpus[..1], Span::from_ms(40));
    let [of] = &seen[..] else { panic!("one CPU was tried: {seen:?}") };
    assert_eq!(of.cpu, cpus[0]);
    assert!(of.late.count() > 0 && !of.reading.is_zero(), "{of:?}");
    assert!((0.0..=1.0).contains(&of.paused) && of.longest <= Span::from_s(40), "{of:?}");
    assert_eq!(of.pauses == 0, of.longest.is_zero(), "{of:?}");
}

#[test]
fn a_cpu_that_may_not_be_used_has_no_trial() {
    assert!(trials(&[1_000_000], Span::from_ms(1)).is_empty());
}
