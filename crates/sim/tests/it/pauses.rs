//! One pause under a fixed rate leaves exactly the open loop's tail: every operation that was due
//! in it is counted, for all numbers of connections, depths and schedules.

mod causes;

use crate::prelude::*;
use memtide_workload::Outcome;
use memtide_world::Sample;

const PAUSE_S: u64 = 1;

fn world(connections: u32, depth: u32, schedule: &str) -> World {
    World::of(&format!(
        "rate=1000 arrival=fixed duration=10s mix=get=1 load=never connections={connections} \
         depth={depth} schedule={schedule}"
    ))
}

/// The number of operations slower than `span`. Operations that were due within the pause wait
/// until its end: at one per millisecond, the k-th before the end waits k ms, and exactly
/// `1000 · (1 − t)` of them take longer than t seconds.
fn longer_than(rehearsal: &Rehearsal, span: Span) -> usize {
    rehearsal.samples.iter().filter(|sample| sample.received.since(sample.intended) > span).count()
}

#[test]
fn a_server_that_pauses_leaves_the_whole_tail_and_is_charged_for_it() {
    for schedule in ["shared", "connection"] {
        for (connections, depth) in [(1, 1), (1, 4096), (16, 1), (16, 4096), (1024, 1), (1024, 64)]
        {
            let world = world(connections, depth, schedule).behaviour("pause:5s,1s,once");
            let rehearsal = world.rehearse();
            let record = &rehearsal.record;
            let name = format!("{connections} × {depth}, {schedule}");
            assert_eq!(record.totals.intended, 10_000, "{name}");
            assert_eq!(record.totals.answered, 10_000, "{name}");
            for ms in [0, 100, 500, 900, 999] {
                let expected = (1000 - ms) as usize;
                let counted = longer_than(&rehearsal, Span::from_ms(ms));
                // The pause does not begin at the instant of an operation, so one may lie across
                // its start.
                assert!(counted.abs_diff(expected) <= 1, "{name}: {counted} longer than {ms} ms");
            }
            let p99 = record.response[&Kind::All].p99_ns.unwrap();
            assert!((895_000_000..=908_000_000).contains(&p99), "{name}: p99 is {p99} ns");
            assert_eq!(record.lag_split.client_busy.max_ns, Some(0), "{name}");
            assert_eq!(record.lag_split.generator.max_ns, Some(0), "{name}");
            assert_eq!(record.believable.verdict, Verdict::Yes, "{name}: {:?}", record.believable);
        }
    }
}

#[test]
fn a_client_that_pauses_is_charged_itself_and_not_believed() {
    for (connections, depth) in [(1, 1), (16, 64)] {
        let mut world = world(connections, depth, "shared");
        let (from, length) = (Span::from_s(4), Span::from_s(PAUSE_S));
        world.pauses = vec![WorkerPause { worker: 0, from, length, kind: PauseKind::Stopped }];
        let rehearsal = world.rehearse();
        let record = &rehearsal.record;
        assert_eq!(record.totals.answered, 10_000);
        let counted = longer_than(&rehearsal, Span::from_ms(100));
        assert!(counted.abs_diff(900) <= 1, "{counted}");
        let busy = record.lag_split.client_busy.max_ns.unwrap();
        let generator = record.lag_split.generator.max_ns.unwrap();
        let server = record.lag_split.server.max_ns.unwrap();
        assert!(busy.max(generator) > 980_000_000, "{:?}", record.lag_split);
        assert!(server < 20_000_000, "{:?}", record.lag_split.server);
        assert!(!record.believable.holds() && !record.stands());
    }
}

/// After a pause that is longer than the timeout, a request is made and overdue in one turn. It is
/// sent nevertheless, and both the record and its sample say so.
#[test]
fn what_leaves_after_its_time_is_up_counts_as_sent() {
    let mut world =
        World::of("rate=0 ops-max=500 connections=5 pause-after-reply=2ms timeout=12ms load=never")
            .behaviour("fixed:100us");
    let (from, length) = (Span::from_ms(53), Span::from_ms(79));
    world.pauses = vec![WorkerPause { worker: 0, from, length, kind: PauseKind::Stopped }];
    let rehearsal = world.rehearse();
    let sent = rehearsal.samples.iter().filter(|sample| sample.sent != Instant::NEVER).count();
    assert_eq!(rehearsal.record.totals.timed_out, 5, "one on each connection");
    assert_eq!((rehearsal.record.totals.sent, sent), (500, 500));
}

/// Operations were hits though their answers were looked at 806 ms after they were due, with a
/// limit of 500 ms: their worker had no CPU. The server answered in time, and nothing knows that.
#[test]
fn a_starved_worker_counts_what_it_sees_too_late_as_timed_out() {
    for wait in ["sleep", "hybrid", "spin"] {
        let mut world = World::of(
            "rate=1000 arrival=fixed duration=2s mix=get=1 load=never connections=4 depth=64 \
             timeout=500ms warmup=0s",
        )
        .with(&[("wait", wait)])
        .behaviour("fixed:5ms");
        let (from, length) = (Span::from_ms(700), Span::from_ms(800));
        world.pauses = vec![WorkerPause { worker: 0, from, length, kind: PauseKind::OtherThreads }];
        let rehearsal = world.rehearse();
        let totals = &rehearsal.record.totals;
        let timeout = Span::from_ms(500);
        let is_late = |sample: &&Sample| {
            sample.received != Instant::NEVER && sample.received.since(sample.intended) >= timeout
        };
        let late: Vec<_> = rehearsal.samples.iter().filter(is_late).collect();
        assert_eq!((totals.intended, totals.answered + totals.timed_out), (2_000, 2_000));
        // Due from 695 ms, and seen after 1 500 ms, to 1 005 ms, and seen 5 ms later.
        assert!((309..=312).contains(&totals.timed_out), "{wait}: {} timed out", totals.timed_out);
        let answered = |sample: &&&Sample| matches!(sample.outcome, Outcome::Hit | Outcome::Miss);
        assert_eq!(late.iter().filter(answered).count(), 0, "{wait}: {late:?}");
        // Those that were in flight when the pause began, and those that were sent when it ended.
        assert!((9..=12).contains(&totals.late_replies), "{wait}: {}", totals.late_replies);
    }
}
