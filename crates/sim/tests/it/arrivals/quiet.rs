//! Runs with few or no operations in their measured window: the window keeps the scenario's length,
//! and every figure per second refers to all of it.

use crate::prelude::*;

fn rehearse(words: &[(&'static str, &str)]) -> Rehearsal {
    let each = [&[("keys", "10"), ("connections", "4"), ("threads", "2")], words].concat();
    World::new(&each).rehearse()
}

/// Asserts that the window is `seconds` long, and that rows and slices cover it from end to end.
fn lasts(rehearsal: &Rehearsal, seconds: f64) {
    let record = &rehearsal.record;
    assert_eq!((record.ended_by, record.partial), (EndedBy::Duration, false));
    assert_eq!(record.measured_s, seconds);
    let rows = record.intervals.iter().map(|row| (row.start_s, row.length_s));
    covers(rows.collect(), seconds);
    covers(record.slices.iter().map(|row| (row.start_s, row.length_s)).collect(), seconds);
}

fn covers(rows: Vec<(f64, f64)>, seconds: f64) {
    let end = rows.iter().fold(0.0, |end, (start, length)| {
        assert!((start - end).abs() < 1e-9 && *length > 0.0, "{rows:?}");
        start + length
    });
    assert!((end - seconds).abs() < 1e-9, "{rows:?}");
}

#[test]
fn a_window_with_a_quiet_end_is_measured_to_its_end() {
    let words = [("rate", "1"), ("arrival", "fixed"), ("duration", "10s")];
    let rehearsal = rehearse(&words);
    lasts(&rehearsal, 10.0);
    assert_eq!(rehearsal.record.rate.achieved_per_s, 1.0);
    assert!(rehearsal.record.intervals.iter().all(|row| row.rate_per_s == 1.0));
    assert_eq!(rehearsal.record.believable.verdict, Verdict::Yes);

    let words = [("wave", "step:2000,0@2s"), ("duration", "4s"), ("arrival", "fixed")];
    let rehearsal = rehearse(&words);
    lasts(&rehearsal, 4.0);
    let rate = &rehearsal.record.rate;
    assert!((rate.achieved_per_s - 1_000.0).abs() < 1.0, "{rate:?}");
    assert!((rate.target_per_s.unwrap() - 1_000.0).abs() < 1.0, "{rate:?}");
    assert_eq!(rehearsal.record.intervals[3].ops, 0);
}

#[test]
fn a_window_in_which_nothing_is_due_is_measured_to_its_end() {
    for cooldown in ["load", "drain"] {
        let silent = [("rate", "0.001"), ("arrival", "fixed"), ("cooldown", cooldown)];
        let times = [("warmup", "1s"), ("duration", "1s")];
        let rehearsal = rehearse(&[silent, [times[0], times[1], ("keys", "1")]].concat());
        lasts(&rehearsal, 1.0);
        let phases = &rehearsal.record.phases;
        assert_eq!((phases.warmup.totals.intended, phases.measure.totals.intended), (1, 0));
    }
    let rehearsal = rehearse(&[("rate", "0.001"), ("arrival", "poisson"), ("duration", "3s")]);
    lasts(&rehearsal, 3.0);
}

#[test]
fn a_count_that_is_not_reached_leaves_the_window_as_it_is() {
    let words = [("rate", "10"), ("ops-max", "1M"), ("duration", "2500ms"), ("arrival", "fixed")];
    let rehearsal = rehearse(&words);
    lasts(&rehearsal, 2.5);
    assert_eq!(rehearsal.record.totals.intended, 25);
    let closed = [("rate", "0"), ("ops-max", "100M"), ("duration", "1s")];
    let closed = World::new(&closed).behaviour("fixed:1ms").rehearse();
    lasts(&closed, 1.0);
}

#[test]
fn a_count_that_is_reached_ends_the_window_and_says_so() {
    let words = [("rate", "10"), ("ops-max", "15"), ("duration", "9s"), ("arrival", "fixed")];
    let rehearsal = rehearse(&words);
    let record = &rehearsal.record;
    assert_eq!((record.ended_by, record.totals.intended), (EndedBy::Operations, 15));
    assert!((1.4..1.5).contains(&record.measured_s), "{} s", record.measured_s);
}

#[test]
fn connections_that_come_seldom_are_measured_to_the_end_of_the_window() {
    let words = [("connection-rate", "2"), ("connection-arrival", "fixed"), ("duration", "5500ms")];
    let rehearsal = rehearse(&words);
    lasts(&rehearsal, 5.5);
    let churn = rehearsal.record.churn.as_ref().expect("connections are the load");
    assert_eq!(churn.measure.completed, 11);
    assert_eq!(churn.started_per_s, 2.0);
    let more = [("connections-total", "1000")];
    lasts(&rehearse(&[&words[..], &more].concat()), 5.5);
    let rehearsal = rehearse(&[&words[..], &[("connections-total", "3")]].concat());
    assert_eq!(rehearsal.record.ended_by, EndedBy::Operations);
    assert!(rehearsal.record.measured_s < 1.1);
}

#[test]
fn an_interrupted_count_is_measured_to_the_interruption() {
    let words = [("rate", "1"), ("ops-max", "1000"), ("arrival", "fixed"), ("keys", "10")];
    let mut world = World::new(&words);
    world.interrupt_at = Instant::from_ns(4_700_000_000);
    let record = world.rehearse().record;
    assert_eq!(record.ended_by, EndedBy::Interrupted);
    assert!((3.5..4.8).contains(&record.measured_s), "{} s", record.measured_s);
    assert_eq!(record.totals.intended, record.measured_s.ceil() as u64);
}
