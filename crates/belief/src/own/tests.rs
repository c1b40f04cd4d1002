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
    assert_eq!(with(LATE_CLASSES - 1, 0.1).mean(), 0.0);
}

#[test]
fn a_workers_own_operations_are_not_delayed_by_itself() {
    // One of two workers was late for a tenth of the time, and sent half of the operations.
    let late = [100, 0];
    assert_eq!(others(&late, &[100 * 500, 0], 1_000, 1_000)[0], 0.05);
    assert_eq!(others(&late, &[100 * 1_000, 0], 1_000, 1_000)[0], 0.0, "it was the only one");
    assert_eq!(others(&[], &[], 0, 0), [0.0; LATE_CLASSES]);
}
