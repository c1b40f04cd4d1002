//! Nothing is lost or duplicated between two threads that never wait for each other.

use super::*;
use memtide_base::{Instant, Span};
use memtide_metrics::{Answer, Fate, Shape, TallySum};
use memtide_world::Stage;
use std::thread;

fn shape() -> Shape {
    Shape { slice_width: Span::from_ms(10), cells: 4, ..Shape::default() }
}

fn report(last_settled_ns: u64) -> WorkerReport {
    WorkerReport {
        at: Instant::ZERO,
        stage: Stage::Running,
        last_settled: Instant::from_ns(last_settled_ns),
        ..WorkerReport::default()
    }
}

fn tally() -> Box<Tally> {
    Box::new(Tally::new(&shape()))
}

fn pair() -> (Giver, Taker) {
    let (mut giver, taker) = handoff();
    giver.stock(Parcel { tally: tally(), report: report(0) });
    (giver, taker)
}

fn record(tally: &mut Tally, count: u64) {
    for _ in 0..count {
        tally.segments[0].intended += 1;
        tally.segments[0].settle(0, Fate::Answered);
        tally.intended(Span::ZERO, 1);

        let (response, service) = (Span::from_us(1), Span::from_us(1));
        let (slot, kind, server) = (0, 0, 0);
        let answer = Answer { count: 1, slot, kind, server, response, service, hits: 1, misses: 0 };
        tally.answered(Span::ZERO, answer);
    }
}

#[test]
fn what_is_given_is_taken_once() {
    let (mut giver, mut taker) = pair();
    let mut mine = tally();
    taker.take(|_| panic!("nothing was given yet"));
    record(&mut mine, 5);
    giver.give(&mut mine, report(1));
    assert_eq!(mine.segments[0].intended, 0, "an empty one came back");
    let mut totals = TallySum::new(&shape());
    taker.take(|parcel| {
        assert_eq!(parcel.report, report(1));
        totals.absorb(&mut parcel.tally);
    });
    taker.take(|_| panic!("it was taken already"));
    assert_eq!(totals.segments[0].intended, 5);
}

#[test]
fn a_giver_that_is_ahead_keeps_what_it_has() {
    let (mut giver, mut taker) = pair();
    let mut mine = tally();
    record(&mut mine, 2);
    giver.give(&mut mine, report(1));
    record(&mut mine, 3);
    giver.give(&mut mine, report(2));
    assert_eq!(mine.segments[0].intended, 3, "the parcel has not come back yet");
    let mut totals = TallySum::new(&shape());
    taker.take(|parcel| totals.absorb(&mut parcel.tally));
    giver.give(&mut mine, report(3));
    taker.take(|parcel| {
        assert_eq!(parcel.report, report(3));
        totals.absorb(&mut parcel.tally);
    });
    assert_eq!(totals.segments[0].answered, 5);
}

#[test]
fn two_threads_lose_nothing() {
    const ROUNDS: u64 = 20_000;
    let (mut giver, mut taker) = pair();
    let worker = thread::spawn(move || {
        let mut mine = tally();
        for round in 1..=ROUNDS {
            record(&mut mine, 1 + round % 3);
            giver.give(&mut mine, report(round));
        }
        mine
    });
    let mut totals = TallySum::new(&shape());
    let mut latest = Instant::ZERO;
    let mut parcels = 0u64;
    let mut take = |taker: &mut Taker| {
        taker.take(|parcel| {
            assert!(parcel.report.last_settled > latest, "parcels come in order");
            latest = parcel.report.last_settled;
            parcels += 1;
            totals.absorb(&mut parcel.tally);
        });
    };
    while !worker.is_finished() {
        take(&mut taker);
    }
    let mut rest = worker.join().expect("the worker does not panic");
    take(&mut taker);
    totals.absorb(&mut rest);
    let expected: u64 = (1..=ROUNDS).map(|round| 1 + round % 3).sum();
    assert_eq!(totals.segments[0].intended, expected);
    assert_eq!(totals.segments[0].settled(), expected);
    assert_eq!(totals.series.rows()[0].answered, expected);
    assert!(parcels > 0);
}

#[test]
fn a_parcel_on_its_way_is_freed_with_its_last_side() {
    let (mut giver, taker) = pair();
    let mut mine = tally();
    giver.give(&mut mine, report(1));
    drop(giver);
    drop(taker);
}

#[test]
fn no_cache_line_is_written_by_two_workers() {
    // Two lines: the processor fetches them in pairs.
    const LINES: usize = 128;
    assert_eq!(align_of::<Slots>(), LINES, "the hand-over of a worker");
    assert_eq!(size_of::<Slots>() % LINES, 0, "nothing else begins on its lines");
    // What a worker counts in lies in memory that its own thread allocated; the parcel between the
    // sides is such memory, too, once it was stocked.
    let (mut giver, mut taker) = handoff();
    taker.take(|_| panic!("nothing lies between the sides before the worker has put it there"));
    let mut mine = tally();
    assert!(!giver.give(&mut mine, report(0)), "there is no parcel yet");
    thread::scope(|scope| {
        scope.spawn(|| giver.stock(Parcel { tally: tally(), report: report(0) }));
    });
    assert!(giver.give(&mut mine, report(0)));
}
