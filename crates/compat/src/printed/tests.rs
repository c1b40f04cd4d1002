//! The line that every face can add.

use super::*;
use memtide_base::Span;
use memtide_metrics::Histogram;

#[test]
fn what_is_known_of_unsent_operations_is_a_bound() {
    let (mut times, mut bounds) = (Histogram::<u64>::new(), Histogram::<u64>::new());
    (0..900).for_each(|_| times.record(1_000));
    (0..100).for_each(|_| bounds.record(90_000));
    let all = Distribution::cut_off(&times, 100, Span::from_s(60), &bounds);
    let record = Record { response: [(Kind::All, all)].into(), ..Record::default() };
    let said = beside(&record);
    assert!(said.contains("response 1.0 / > 89.9, service – / –"), "{said}");
}
