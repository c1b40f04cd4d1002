//! Windows after which nothing is sent, with more operations due than a server of known capacity
//! can answer: the counts, and the lower bounds of the times of unsent operations.

use crate::prelude::*;
use memtide_world::RateUnit;

/// The end of the window of every plan here.
const END: Instant = Instant::from_ns(START.ns() + 1_100_000_000);

/// An answer takes 10 ms.
const SLOW: Span = Span::from_ms(10);

/// One connection of depth 1: a server that takes 10 ms for each operation serves 100/s.
fn narrow() -> Plan {
    let mut plan = Plan { connections: 1, depth: 1, ..plan() };
    plan.window.cooldown = Cooldown::Stop;
    plan
}

fn run(plan: &Plan) -> Ran {
    run_far(plan, SLOW, Script::default())
}

fn dropping(mut plan: Plan, policy: OnFull) -> Plan {
    if let Pacing::Open { on_full, .. } = &mut plan.pacing {
        *on_full = policy;
    }
    plan
}

/// The lower bounds of the times of all operations that were cut off.
fn bounds(ran: &Ran) -> Histogram<u64> {
    let mut sum = Histogram::new();
    ran.totals.times.bounds.iter().flatten().for_each(|part| sum.absorb(part));
    sum
}

/// The lower bounds, computed again from the operations one by one.
fn recounted(ran: &Ran) -> Histogram<u64> {
    let mut sum = Histogram::new();
    for sample in &ran.seen.borrow().samples {
        match sample.outcome {
            Outcome::Dropped => sum.record(END.since(sample.intended).ns()),
            Outcome::Abandoned => {
                sum.record((END + Span::from_s(1)).since(sample.intended).ns());
            }
            _ => {}
        }
    }
    sum
}

#[test]
fn what_is_due_and_not_sent_is_counted_with_the_least_time_that_it_took() {
    let plan = narrow();
    let ran = run(&plan);
    // Operation i is due after i ms and sent after 10 i ms, up to the end after 1 100 ms.
    let (warmup, measured) = (ran.segment(segment::WARMUP), ran.measured());
    assert_eq!((warmup.intended, warmup.answered, warmup.dropped), (100, 100, 0));
    assert_eq!((measured.intended, measured.sent, measured.answered), (1_000, 10, 10));
    assert_eq!((measured.dropped, measured.dropped_at_end), (990, 990));
    assert_eq!(ran.segment(segment::COOLDOWN), &Counters::default());
    // Number 110 was the first that was not sent: from 990 ms down to 1 ms before the end.
    let bounds = bounds(&ran);
    let known = bounds.moments();
    assert_eq!((known.count, known.min, known.max), (990, 1_000_000, 990_000_000));
    assert_eq!(known.sum, 1_000_000 * 990 * 991 / 2);
    for rank in 1..=990 {
        let (seen, right) = (bounds.value_at_rank(rank).expect("it is known"), rank * 1_000_000);
        assert!(seen.abs_diff(right) <= right / 200, "{seen} at rank {rank}");
    }
    let sets = OpKind::Set.index();
    let of_sets = ran.totals.times.bounds[sets].as_ref().expect("the mix has them");
    assert_eq!(of_sets.count(), measured.kinds[sets].unanswered);
    assert!(of_sets.count() > 50, "{} sets of 990", of_sets.count());
    // The last operation was in flight when the window ended.
    assert_eq!(ran.ended, END);
    let last = ran.seen.borrow().sent.last().map(|sent| sent.at);
    assert_eq!(last, Some(ms(1_140)));
    assert_eq!(bounds, recounted(&ran));
}

#[test]
fn what_is_in_flight_is_awaited_for_a_second_and_then_abandoned() {
    for (until, answered) in [(1_900, 8), (2_300, 0)] {
        let plan = narrow();
        let plan = Plan { depth: 8, ..plan };
        // Eight operations are in flight when the server stops, 50 ms before the window ends.
        let script = Script { server_stops: vec![Stretch::ms(1_100, until)], ..Script::default() };
        let ran = run_far(&plan, DELAY, script);
        let measured = ran.measured();
        assert_eq!(measured.abandoned, 8 - answered, "the server stops until {until} ms");
        assert!(measured.dropped_at_end.abs_diff(42) <= 1, "{}", measured.dropped_at_end);
        assert_eq!(measured.answered, 1_000 - measured.dropped - measured.abandoned);
        let most = if answered > 0 { ms(1_901) } else { END + Span::from_s(1) };
        assert!(ran.ended <= most, "it ends at {:?}", ran.ended);
        assert_eq!(bounds(&ran), recounted(&ran));
        assert_eq!(bounds(&ran).count(), measured.dropped + measured.abandoned);
    }
}

#[test]
fn every_schedule_is_counted_to_its_end() {
    let shapes = [
        (1, 1, 1, Sharing::Shared),
        (3, 7, 1, Sharing::Shared),
        (1, 5, 2, Sharing::Connection),
        (3, 7, 1, Sharing::Connection),
    ];
    for arrival in [Arrival::Fixed, Arrival::Poisson, Arrival::Uniform] {
        for (workers, connections, depth, sharing) in shapes {
            for policy in [
                OnFull::Queue,
                OnFull::Drop,
                OnFull::Skip { behind: Span::from_ms(5), until: Span::from_ms(4) },
            ] {
                let plan = narrow();
                let plan = Plan { workers, connections, depth, ..plan };
                let plan = dropping(plan.open(4_000.0, arrival, sharing), policy);
                let ran = run(&plan);
                let drained = Window { cooldown: Cooldown::Drain, ..plan.window };
                let drained = run(&Plan { window: drained, ..plan.clone() });
                let case = format!("{arrival:?}, {workers} workers, {sharing:?}, {policy:?}");
                assert_eq!(ran.intended(), drained.intended(), "{case}");
                let measured = ran.measured();
                // A policy that queues nothing leaves nothing.
                assert_eq!(measured.dropped_at_end > 0, policy != OnFull::Drop, "{case}");
                let when_full = measured.dropped - measured.dropped_at_end;
                assert_eq!(when_full > 0, policy != OnFull::Queue, "{case}");
                assert_eq!(bounds(&ran).count(), measured.dropped_at_end, "{case}");
                let late = ran.seen.borrow().sent.iter().filter(|it| it.at >= END).count();
                assert_eq!(late, 0, "{case}");
                if policy == OnFull::Queue {
                    assert_eq!(bounds(&ran), recounted(&ran), "{case}");
                }
            }
        }
    }
}

#[test]
fn what_had_passed_its_deadline_has_timed_out() {
    let plan = narrow();
    let plan = Plan { timeout: Span::from_ms(200), ..plan };
    let ran = run(&plan);
    let measured = ran.measured();
    // No operation intended in the last 200 ms of the window is sent; all earlier ones are.
    assert!(measured.dropped_at_end.abs_diff(200) <= 21, "{}", measured.dropped_at_end);
    assert!(measured.timed_out_queued > 600, "{}", measured.timed_out_queued);
    assert!(bounds(&ran).moments().max <= 200_000_000);
    for sample in &ran.seen.borrow().samples {
        let is_over = sample.intended + plan.timeout <= END;
        match sample.outcome {
            Outcome::TimedOut => assert!(is_over, "{sample:?}"),
            Outcome::Dropped => assert!(!is_over, "{sample:?}"),
            _ => {}
        }
    }
}

#[test]
fn a_closed_loop_has_nothing_left_to_send() {
    let plan = narrow();
    let ran = run(&plan.closed());
    let measured = ran.measured();
    assert_eq!((measured.intended, measured.answered, measured.dropped), (100, 100, 0));
    assert_eq!(ran.segment(segment::COOLDOWN).intended, 0);
}

#[test]
fn an_interruption_before_the_end_cuts_nothing_off_and_one_after_it_changes_nothing() {
    let plan = narrow();
    let usual = (SLOW, Script::default());
    let early = run_until(&plan, usual, (ms(700), Span::from_ms(50)));
    assert_eq!((early.all().dropped, bounds(&early).count()), (0, 0));
    assert!(early.all().abandoned > 500);
    let script = Script { server_stops: vec![Stretch::ms(1_100, 9_000)], ..Script::default() };
    let late = run_until(&plan, (SLOW, script), (ms(1_160), Span::from_ms(100)));
    assert_eq!(late.measured().abandoned, 1);
    assert!(late.measured().dropped_at_end > 900);
    assert!(late.ended < ms(1_300), "it is not awaited for longer");
}

/// A backlog of billions, which is counted by strides: with the counts of the schedule, in less
/// time than the window is long.
#[test]
fn however_much_is_unsent_it_is_counted_in_no_time() {
    let rate = 1e9;
    let shapes = [
        (1, 1, Sharing::Shared, RateUnit::Operations),
        (3, 7, Sharing::Connection, RateUnit::Operations),
        (2, 2, Sharing::Shared, RateUnit::Keys),
    ];
    for (workers, connections, sharing, unit) in shapes {
        for (arrival, off_max) in [(Arrival::Fixed, 0), (Arrival::Poisson, 200_000)] {
            let mut plan = Plan { workers, connections, unit, samples: false, ..narrow() };
            plan.timeout = Span::from_ms(700);
            plan.source.multiget = 5;
            plan.source.multiget_share = 0.5;
            plan.rows.width = Some(Span::from_ms(100));
            // The workers look at their schedules at the end alone.
            let script = Script { worker_stops: vec![Stretch::ms(49, 1_150)], ..Script::default() };
            let ran = run_far(&plan.open(rate, arrival, sharing), SLOW, script);
            let case = format!("{arrival:?}, {workers} workers, {sharing:?}, {unit:?}");
            let measured = ran.measured();
            let of_row = |row: &memtide_metrics::Row| row.intended;
            let rows: Vec<u64> = ran.totals.series.rows().iter().map(of_row).collect();
            if unit == RateUnit::Operations {
                let all = 1_000_000_000_u64;
                assert!(measured.intended.abs_diff(all) <= off_max, "{case}: {measured:?}");
                assert_eq!(rows.len(), 10, "{case}");
                for row in rows {
                    assert!(row.abs_diff(all / 10) <= off_max, "{case}: {row}");
                }
                let timed_out = measured.timed_out_queued.abs_diff(300_000_001);
                assert!(timed_out <= off_max, "{case}: {measured:?}");
            }
            let unsent = measured.dropped_at_end + measured.timed_out_queued;
            assert!(measured.intended - unsent <= 10, "{case}: {measured:?}");
            assert_eq!(bounds(&ran).count(), measured.dropped_at_end, "{case}");
            let sets = measured.kinds[OpKind::Set.index()].unanswered as f64;
            let share = sets / measured.intended as f64;
            assert!((share - 0.1).abs() < 0.01, "{case}: {share}");
        }
    }
}

/// A worker that is far behind its schedule, with a deadline that most of it has passed, catches up
/// in less time than the window is long, whatever follows the window.
#[test]
fn however_much_is_too_old_it_is_counted_in_no_time() {
    for cooldown in [Cooldown::Load, Cooldown::Drain] {
        let mut plan = Plan { samples: false, timeout: Span::from_ms(20), ..narrow() };
        plan.window.cooldown = cooldown;
        plan.rows.width = Some(Span::from_ms(100));
        let script = Script { worker_stops: vec![Stretch::ms(49, 1_150)], ..Script::default() };
        let ran = run_far(&plan.open(1e9, Arrival::Fixed, Sharing::Shared), SLOW, script);
        let measured = ran.measured();
        assert_eq!(measured.intended, 1_000_000_000, "{cooldown:?}");
        let unsent = measured.timed_out_queued;
        assert!(measured.intended - unsent <= 10, "{cooldown:?}: {measured:?}");
        let rows = ran.totals.series.rows().iter().map(|row| row.intended);
        assert!(rows.clone().count() == 10 && rows.into_iter().all(|row| row == 100_000_000));
    }
}

#[test]
fn a_million_is_counted_in_no_time() {
    let plan = narrow();
    // Without answers and samples, the test's own driver takes no time.
    let script = Script { server_stops: vec![Stretch::ms(50, 9_000)], ..Script::default() };
    let plan = Plan { samples: false, ..plan }.open(1e6, Arrival::Poisson, Sharing::Shared);
    let ran = run_far(&plan, DELAY, script);
    assert!(ran.measured().dropped_at_end > 900_000);
    assert_eq!(bounds(&ran).count(), ran.measured().dropped_at_end);
}
