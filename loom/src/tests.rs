//! Every order in which two threads can hand over and take, tried by loom.

use crate::handoff::{Parcel, handoff};
use memtide_base::{Instant, Span};
use memtide_metrics::{Shape, Tally};
use memtide_world::{Stage, WorkerReport};

const GIVEN: u64 = 3;

const REPORT: WorkerReport = WorkerReport {
    at: Instant::ZERO,
    stage: Stage::Running,
    measured_done: false,
    is_used_up: false,
    connections_open: 1,
    in_flight: 0,
    oldest_due: None,
    disconnected_since: None,
    trouble: None,
    refusal: None,
    last_settled: Instant::ZERO,
    last_intended: Instant::ZERO,
    concurrent_max: 0,
    last_started: Instant::ZERO,
    idle: Span::ZERO,
    stopped: Span::ZERO,
    stopped_longest: Span::ZERO,
    run_delay: None,
    cpu: None,
};

fn tally() -> Box<Tally> {
    let shape = Shape {
        slots: vec![false],
        response: vec![false],
        service: vec![false],
        ..Shape::default()
    };
    Box::new(Tally::new(&shape))
}

#[test]
fn in_no_order_is_anything_lost_or_taken_twice() {
    loom::model(|| {
        let (mut giver, mut taker) = handoff();
        giver.stock(Parcel { tally: tally(), report: REPORT });
        let worker = loom::thread::spawn(move || {
            let mut mine = tally();
            for _ in 0..GIVEN {
                mine.segments[0].intended += 1;
                let _ = giver.give(&mut mine, REPORT);
            }
            mine.segments[0].intended
        });
        let mut taken = 0;
        let mut take = || {
            taker.take(|parcel| {
                taken += std::mem::take(&mut parcel.tally.segments[0].intended);
            });
        };
        for _ in 0..GIVEN {
            take();
        }
        let kept = worker.join().expect("the worker does not panic");
        take();
        assert_eq!(taken + kept, GIVEN);
    });
}
