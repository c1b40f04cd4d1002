//! Tallies hand over all that they hold, and come back empty.

use super::*;
use crate::counter::Fate;

fn shape() -> Shape {
    Shape {
        slots: vec![true, false, true],
        response: vec![true, false, true],
        service: vec![true, false, false],
        segments: 3,
        row_gets: vec![0],
        slice_width: Span::from_ms(400),
        cells: 3,
        depth: 4,
        message_sizes: true,
        bounds: true,
        ..Shape::default()
    }
}

/// The loss of `count` operations that were not sent.
fn loss(count: u64) -> UnansweredCount {
    UnansweredCount { kind: 0, server: None, is_sent: false, hits: 0, misses: 0, count }
}

#[test]
fn rows_of_a_worker_that_stood_still_keep_their_own_counts() {
    let mut tally = Tally::new(&shape());
    let width = shape().row_width;
    let mut totals = TallySum::new(&shape());
    // Three cells are reserved; the fourth row finds none.
    for number in [0, 3, 1, 0, 6, 3, 0] {
        tally.intended(width * number, 1);
        tally.lost(width * number, loss(1));
    }
    totals.absorb(&mut tally);
    let intended: Vec<u64> = totals.series.rows().iter().map(|row| row.intended).collect();
    assert_eq!(intended, [3, 1, 0, 2, 0, 0, 1]);
    let unanswered = totals.series.rows().iter().map(|row| row.unanswered);
    assert_eq!(unanswered.collect::<Vec<_>>(), intended);
    totals.absorb(&mut tally);
    assert_eq!(totals.series.rows()[3].intended, 2, "nothing is kept twice");
}

#[test]
fn totals_hold_what_tallies_held_and_tallies_come_back_empty() {
    let (mut tally, mut totals) = (Tally::new(&shape()), TallySum::new(&shape()));
    for second in 0..10u64 {
        let at = Span::from_ms(second * 1000 + 500);
        for _ in 0..100 {
            tally.segments[1].intended += 1;
            tally.intended(at, 1);
            tally.segments[1].settle(0, Fate::Answered);
            let (response, service) = (Span::from_us(1), Span::from_ns(900));
            let (slot, kind, server) = (0, 0, 0);
            tally.answered(
                at,
                Answer { count: 1, slot, kind, server, response, service, hits: 1, misses: 0 },
            );
            tally.sent_with(1 + second as usize % 4);
        }
        tally.intended(at, 1);
        tally.lost(at, loss(1));
        totals.absorb(&mut tally);
    }
    assert_eq!(totals.segments[1].answered, 1000);
    assert_eq!(totals.segments[1].settled(), totals.segments[1].intended);
    assert_eq!(totals.times.response[0].as_ref().unwrap().count(), 1000);
    let outstanding = totals.outstanding();
    assert_eq!((outstanding.moments().sum, outstanding.count()), (2_300, 1_000));
    assert_eq!((outstanding.moments().min, outstanding.moments().max), (1, 4));
    assert_eq!(totals.series.rows().len(), 10);
    assert!(totals.series.rows().iter().all(|row| {
        (row.intended, row.answered, row.unanswered, row.hits) == (101, 100, 1, 100)
    }));
    let gets = totals.series.rows().iter().map(|row| row.gets.as_ref().unwrap());
    assert!(gets.clone().all(|gets| gets.response.histogram().moments().sum == 100_000));
    assert!(gets.clone().all(|gets| gets.service.histogram().moments().sum == 90_000));
    assert_eq!(tally.segments[1], Counters::default());
}
