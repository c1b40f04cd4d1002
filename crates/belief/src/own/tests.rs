//! The lower end that memtide's own delay leaves.

use super::*;

fn of(times: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut histogram = Histogram::new();
    times.into_iter().for_each(|ns| histogram.record(ns));
    histogram
}

#[test]
fn the_bound_of_a_single_worker_is_the_percentile_without_its_lateness() {
    let punctual = of(1..=1_000);
    let own = Own { punctual: &punctual, unanswered: 0.0, others: [0.0; LATE_CLASSES] };
    assert_eq!(own.at(0.1), 100.0);
    let width = 1_000.0 / 128.0;
    assert!((own.at(0.99) - 990.0).abs() <= width, "{}", own.at(0.99));
    assert_eq!(own.mean(), 500.5);
}

#[test]
fn unanswered_operations_rank_above_all() {
    let punctual = of(1..=100);
    let own = Own { punctual: &punctual, unanswered: 0.5, others: [0.0; LATE_CLASSES] };
    assert_eq!(own.at(0.25), 50.0, "a quarter of all is half of those answered");
    assert_eq!(own.at(0.75), 0.0, "no bound is known among the unanswered");
}

#[test]
fn lateness_of_other_workers_costs_rank_or_time_whichever_is_less() {
    // Half of the operations took 100 µs, half of them 1 ms.
    let punctual = of((0..1_000).map(|at| if at < 500 { 100_000 } else { 1_000_000 }));
    let with = |class: usize, part: f64| {
        let mut others = [0.0; LATE_CLASSES];
        others[class] = part;
        Own { punctual: &punctual, unanswered: 0.0, others }
    };
    let near = |found: f64, ns: f64| assert!((found / ns - 1.0).abs() < 0.02, "{found}, not {ns}");
    near(with(0, 0.3).at(0.6), 998_000.0);
    near(with(4, 0.05).at(0.6), 1_000_000.0);
    near(with(LATE_CLASSES - 1, 0.3).at(0.6), 100_000.0);
    assert_eq!(with(LATE_CLASSES - 1, 0.7).at(0.6), 0.0, "the last class has no end");
    near(with(0, 0.5).mean(), 548_000.0);
    near(with(LATE_CLASSES - 1, 0.1).mean(), 450_000.0);
    // Half of all lose up to 1 ms, which is all of their time, and half of the others 100 µs.
    let left = with(10, 0.75).mean();
    assert!((left - 25_000.0).abs() < 0.004 * 550_000.0, "{left}, to the width of a bucket");
}

#[test]
fn a_workers_own_operations_are_not_delayed_by_itself() {
    // One of two workers was late for a tenth of the time, and sent half of the operations.
    let late = [100, 0];
    assert_eq!(others(&late, &[100 * 500, 0], 1_000, 1_000)[0], 0.05);
    assert_eq!(others(&late, &[100 * 1_000, 0], 1_000, 1_000)[0], 0.0, "it was the only one");
    assert_eq!(others(&[], &[], 0, 0), [0.0; LATE_CLASSES]);
}

/// Times of `count` operations of 100 µs and of `stalled` ones of 200 ms.
fn stalled(count: usize, stalled: usize) -> Histogram<u64> {
    let quick = std::iter::repeat_n(100_000, count);
    of(quick.chain(std::iter::repeat_n(200_000_000, stalled)))
}

#[test]
fn a_draw_without_the_replies_of_a_stall_blames_nobody() {
    let response = stalled(9_800, 200);
    for drawn in [stalled(10_000, 0), stalled(9_000, 1_600), stalled(4_000, 0)] {
        let of_all = punctual(&response, Some(&drawn), &drawn);
        assert_eq!(of_all, response, "memtide added nothing to what was drawn");
    }
    assert_eq!(punctual(&response, Some(&stalled(1_000, 0)), &stalled(1_000, 0)).count(), 0);
    let of_old = stalled(10_000, 0);
    assert_eq!(punctual(&response, None, &of_old), of_old);
}

#[test]
fn what_memtide_added_to_drawn_operations_is_taken_from_all() {
    let response = stalled(9_800, 200);
    // All of the stalled were drawn, and might have been fast; of the others, each eighth.
    let mut drawn = Histogram::new();
    (0..1_225).for_each(|_| (0..8).for_each(|_| drawn.record(100_000)));
    let mut without = drawn.clone();
    (0..200).for_each(|_| drawn.record(200_000_000));
    (0..200).for_each(|_| without.record(0));
    let of_all = punctual(&response, Some(&drawn), &without);
    let own = Own { punctual: &of_all, unanswered: 0.0, others: [0.0; LATE_CLASSES] };
    assert_eq!(of_all.count(), 10_000);
    assert_eq!((own.at(0.01), own.mean()), (0.0, 98_000.0));
    assert!((own.at(0.999) / 100_000.0 - 1.0).abs() < 0.01, "{}", own.at(0.999));
    // More were drawn than there are: too small rather than too large.
    (0..200).for_each(|_| drawn.record(200_000_000));
    (0..200).for_each(|_| without.record(0));
    let of_all = punctual(&response, Some(&drawn), &without);
    assert_eq!((of_all.count(), of_all.value_at_rank(400)), (10_000, Some(0)));
}
