//! Each fate has its own counter, and hand-overs are counted once.

use super::*;

#[test]
fn every_fate_has_its_own_counter_and_name() {
    for (place, fate) in ChurnFate::ALL.into_iter().enumerate() {
        assert_eq!(fate as usize, place);
        assert!(ChurnFate::ALL[..place].iter().all(|other| other.name() != fate.name()));
        assert!(!(fate.is_failed() && fate.is_lost()));
    }
}

#[test]
fn what_one_worker_counted_is_added_and_gone() {
    let (mut part, mut sum) = (Churn::<u32>::new(3), Churn::<u64>::new(3));
    for _ in 0..2 {
        part.segments[1].intended += 2;
        part.segments[1].started += 1;
        part.segments[1].fates[ChurnFate::Refused as usize] += 1;
        part.segments[1].fates[ChurnFate::Dropped as usize] += 1;
        part.lifetime.record(5);
        sum.absorb(&part);
        part.clear();
    }
    let counted = sum.segments[1];
    assert_eq!((counted.intended, counted.started, counted.ended()), (4, 2, 4));
    assert_eq!(counted.of(ChurnFate::is_failed), 2);
    assert_eq!((sum.lifetime.count(), part.lifetime.count()), (2, 0));
}
