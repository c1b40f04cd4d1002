//! Connection churn: each connection opens at its own instant, makes its calls at their instants,
//! and ends in exactly one way, whatever fails.

use crate::prelude::*;
use memtide_metrics::{ChurnCounters, ChurnFate};
use memtide_workload::Draws;

fn pace(arrival: Arrival, rate: f64) -> Pace {
    let endless = RateCurve::new(&Wave::Constant, rate, WARMUP, Span::MAX, SEED);
    Pace { arrival, draws: Draws::Seed, curve: endless }
}

/// 200 connections at 100 per second with equal gaps, of 5 calls at 1 000 per second each.
fn churn() -> ChurnPlan {
    ChurnPlan {
        openings: Some(pace(Arrival::Fixed, 100.0)),
        openings_max: Some(200),
        calls: 5,
        call_pace: Some(pace(Arrival::Fixed, 1_000.0)),
        linger: None,
        on_full: OnFull::Queue,
    }
}

/// A plan that runs until all connections have ended, without warm-up. In a closed loop, one call
/// at a time.
fn plan_of(planned: ChurnPlan) -> Plan {
    let window = Window {
        warmup: Span::ZERO,
        opened_by_command: false,
        closed_by_command: false,
        duration: Span::MAX,
        ops_max: None,
        cooldown: Cooldown::Drain,
    };
    let depth = if planned.call_pace.is_some() { 64 } else { 1 };
    Plan { window, depth, pacing: Pacing::Churn(planned), timeout: Span::from_ms(500), ..plan() }
}

/// Checks the invariants of all connections together; returns the counts of the measured ones.
fn checked(plan: &Plan, ran: &Ran) -> ChurnCounters {
    let churn = ran.totals.churn.as_ref().expect("lives are counted");
    let calls = plan.churn().expect("connections are the load").calls;
    for counters in &churn.segments {
        assert_eq!(counters.ended(), counters.intended, "each ends once: {counters:?}");
        assert!(counters.opened <= counters.started && counters.started <= counters.intended);
        let never = counters.of(ChurnFate::is_failed) + counters.fates[ChurnFate::Dropped as usize];
        assert!(counters.opened + never <= counters.intended);
    }
    let of = |field: fn(&ChurnCounters) -> u64| churn.segments.iter().map(field).sum::<u64>();
    let made = ran.all().intended;
    assert_eq!(made + of(|c| c.calls_unmade), of(|c| c.intended) * calls, "calls are conserved");
    let measured = churn.segments[usize::from(segment::MEASURE)];
    assert_eq!(churn.connect_response.count(), measured.opened);
    assert_eq!(churn.lifetime.count(), measured.opened);
    measured
}

fn fate(counters: &ChurnCounters, fate: ChurnFate) -> u64 {
    counters.fates[fate as usize]
}

#[test]
fn however_many_connections_are_due_a_stop_counts_them_at_once() {
    for (arrival, off_max) in [(Arrival::Fixed, 0), (Arrival::Poisson, 200_000)] {
        let openings = Some(pace(arrival, 1e9));
        let planned = ChurnPlan { openings, openings_max: None, ..churn() };
        let plan = Plan { timeout: Span::from_s(5), workers: 2, ..plan_of(planned) };
        // The workers look at their schedules when they are told to stop.
        let script = Script { worker_stops: vec![Stretch::ms(49, 1_050)], ..Script::default() };
        let ran = run_until(&plan, (DELAY, script), (ms(1_050), Span::ZERO));
        let counted = checked(&plan, &ran);
        let off = counted.intended.abs_diff(1_000_000_000);
        assert!(off <= off_max + 100, "{arrival:?}: {counted:?}");
        assert!(counted.intended - fate(&counted, ChurnFate::Abandoned) <= 100, "{counted:?}");
    }
}

#[test]
fn connections_are_born_by_their_schedule_and_make_their_calls_by_theirs() {
    for workers in [1, 2] {
        let plan = Plan { workers, ..plan_of(churn()) };
        let ran = run(&plan, Script::default());
        let counted = checked(&plan, &ran);
        assert_eq!((counted.intended, fate(&counted, ChurnFate::Completed)), (200, 200));
        assert_eq!(ran.measured().answered, 1_000);
        let mut born: Vec<_> = ran.seen.borrow().connects.iter().map(|c| c.0).collect();
        born.sort_unstable();
        for (nth, at) in (0..).zip(&born) {
            assert_eq!(at.since(START), Span::from_ms(10 * nth));
        }
        // Opened after 100 µs; the last of five calls is due 4 ms later and takes another 100 µs.
        let churn = ran.totals.churn.as_ref().expect("they are counted");
        assert_eq!(churn.connect_response.moments().max, 100_000);
        assert_eq!(churn.connect_service.moments().min, 100_000);
        let lifetime = churn.lifetime.moments();
        assert_eq!((lifetime.min, lifetime.max), (4_200_000, 4_200_000));
        assert!(ran.reports.iter().all(|report| report.concurrent_max == 1));
        assert_eq!(ran.response().moments().max, 100_000);
    }
}

#[test]
fn without_a_rate_the_next_connection_takes_the_place_of_the_one_that_ended() {
    let planned = ChurnPlan { openings: None, call_pace: None, ..churn() };
    let plan = Plan { connections: 2, ..plan_of(planned) };
    let ran = run(&plan, Script::default());
    let counted = checked(&plan, &ran);
    assert_eq!(fate(&counted, ChurnFate::Completed), 200);
    let connects = ran.seen.borrow().connects.clone();
    for (nth, (at, _)) in connects.iter().enumerate() {
        // 100 µs to open, five calls of 100 µs one after the other, two at a time.
        assert_eq!(at.since(START), Span::from_us(600 * (nth as u64 / 2)));
    }
    assert_eq!(ran.reports[0].concurrent_max, 2);
}

#[test]
fn a_connect_that_is_refused_counts_and_its_calls_are_never_made() {
    let script = Script { refuses: vec![Stretch::ms(550, 1_050)], ..Script::default() };
    let plan = plan_of(churn());
    let ran = run(&plan, script);
    let counted = checked(&plan, &ran);
    assert_eq!((counted.intended, fate(&counted, ChurnFate::Refused)), (200, 50));
    assert_eq!((counted.opened, counted.calls_unmade), (150, 250));
}

#[test]
fn nobody_there_ends_a_run_without_rates_all_the_same() {
    let script = Script { refuses: vec![Stretch::ms(0, 1_000_000)], ..Script::default() };
    let plan = plan_of(ChurnPlan { openings: None, call_pace: None, ..churn() });
    let ran = run(&plan, script.clone());
    assert_eq!(fate(&checked(&plan, &ran), ChurnFate::Refused), 200);
    // The same holds when time ends the run.
    let mut plan = plan_of(ChurnPlan { openings: None, openings_max: None, ..churn() });
    plan.window.duration = Span::from_ms(20);
    plan.window.cooldown = Cooldown::Load;
    let ran = run(&plan, script);
    let counted = checked(&plan, &ran);
    assert!(counted.intended > 400, "four places, each tried every 100 µs: {counted:?}");
}

#[test]
fn a_connection_without_a_place_waits_or_is_dropped() {
    // A connection takes 600 µs, and the one slot has 250 µs for each.
    let planned =
        ChurnPlan { openings: Some(pace(Arrival::Fixed, 4_000.0)), call_pace: None, ..churn() };
    let waiting = Plan { connections: 1, ..plan_of(planned.clone()) };
    let ran = run(&waiting, Script::default());
    let counted = checked(&waiting, &ran);
    assert_eq!(fate(&counted, ChurnFate::Completed), 200);
    let churn = ran.totals.churn.as_ref().expect("they are counted");
    // The last one waited for 199 others, each of which takes 350 µs longer than the gap.
    assert_eq!(churn.connect_response.moments().max, 100_000 + 199 * 350_000);
    assert_eq!(churn.connect_service.moments().max, 100_000);
    assert_eq!(churn.lifetime.moments().max, 600_000, "the wait for a slot is no part of it");
    let dropping =
        Plan { connections: 1, ..plan_of(ChurnPlan { on_full: OnFull::Drop, ..planned.clone() }) };
    let counted = checked(&dropping, &run(&dropping, Script::default()));
    let dropped = fate(&counted, ChurnFate::Dropped);
    assert_eq!((dropped, counted.started), (133, 67), "one of three finds the place free");
    // A connection that waits longer than the timeout gets no slot in time.
    let slow = ChurnPlan { call_pace: Some(pace(Arrival::Fixed, 20.0)), ..planned };
    let late = Plan { connections: 1, ..plan_of(slow) };
    let counted = checked(&late, &run(&late, Script::default()));
    assert!(fate(&counted, ChurnFate::ConnectTimedOut) > 190, "{counted:?}");
}

/// A connection that waited for a slot was started as soon as one was free, however late it was.
#[test]
fn a_connection_that_waited_too_long_for_a_slot_is_dropped() {
    // A connection lasts 50 ms, and one is due every millisecond.
    let (behind, until) = (Span::from_ms(5), Span::from_ms(4));
    let planned = ChurnPlan {
        openings: Some(pace(Arrival::Fixed, 1_000.0)),
        calls: 2,
        call_pace: Some(pace(Arrival::Fixed, 20.0)),
        on_full: OnFull::Skip { behind, until },
        ..churn()
    };
    for connections in [1, 3] {
        let plan = Plan { connections, ..plan_of(planned.clone()) };
        let ran = run(&plan, Script::default());
        let counted = checked(&plan, &ran);
        let dropped = fate(&counted, ChurnFate::Dropped);
        assert_eq!(fate(&counted, ChurnFate::Completed) + dropped, 200, "{counted:?}");
        assert!(counted.started >= 4 * u64::from(connections), "{counted:?}");
        let churn = ran.totals.churn.as_ref().expect("they are counted");
        let latest = churn.connect_response.moments().max - 100_000;
        assert!(latest <= behind.ns() + 1, "one was started {latest} ns late");
        assert!(latest >= until.ns(), "those that may wait do: {latest} ns");
    }
}

#[test]
fn a_server_that_stops_loses_the_connections_whose_calls_time_out() {
    let script = Script { server_stops: vec![Stretch::ms(1_000, 60_000)], ..Script::default() };
    let plan = Plan { connections: 200, ..plan_of(churn()) };
    let ran = run(&plan, script);
    let counted = checked(&plan, &ran);
    let timed_out = fate(&counted, ChurnFate::CallTimedOut);
    assert_eq!(fate(&counted, ChurnFate::Completed) + timed_out, 200);
    assert!((105..=106).contains(&timed_out), "{timed_out} begin in the stop or shortly before");
    assert_eq!(counted.calls_unmade, 0, "an open loop makes its calls also to a deaf server");
    assert_eq!(ran.measured().timed_out, timed_out, "the first call of each, and no second");
    assert!(ran.ended < ms(3_000), "nobody waits for it");
}

#[test]
fn what_the_server_closes_or_breaks_ends_its_life_and_no_other() {
    let closes = closes([(61, 1), (71, 2)]);
    let plan = plan_of(churn());
    let ran = run(&plan, Script { closes, ..Script::default() });
    let counted = checked(&plan, &ran);
    assert_eq!((fate(&counted, ChurnFate::Closed), fate(&counted, ChurnFate::Completed)), (2, 198));
    let says = Some((ms(1_000), &b"HELLO\r\n"[..]));
    let ran = run(&plan, Script { says, ..Script::default() });
    let counted = checked(&plan, &ran);
    assert!(fate(&counted, ChurnFate::Protocol) > 100, "{counted:?}");
}

#[test]
fn a_window_measures_what_is_born_in_it_and_waits_for_no_long_life() {
    // Connections of 40 ms; those opened before or after the window are not measured.
    let planned = ChurnPlan { openings_max: None, calls: 41, ..churn() };
    let window = Window { duration: Span::from_ms(500), warmup: WARMUP, ..plan().window };
    let plan = Plan { window, connections: 16, ..plan_of(planned.clone()) };
    let ran = run(&plan, Script::default());
    let counted = checked(&plan, &ran);
    assert_eq!((counted.intended, fate(&counted, ChurnFate::Completed)), (50, 50));
    let churn = ran.totals.churn.as_ref().expect("they are counted");
    assert_eq!(churn.segments[usize::from(segment::WARMUP)].intended, 10);
    // Connections that would last an hour are abandoned a second after the window.
    let endless = ChurnPlan { calls: 3_600_000, ..planned };
    let plan = Plan { window, connections: 1_000, ..plan_of(endless) };
    let ran = run(&plan, Script::default());
    let counted = checked(&plan, &ran);
    assert_eq!(fate(&counted, ChurnFate::Abandoned), 50);
    assert!(ran.ended < START + WARMUP + Span::from_ms(2_000), "{:?}", ran.ended);
    assert_eq!(ran.measured().settled(), ran.measured().answered);
}

#[test]
fn calls_without_answers_are_all_sent_before_the_end() {
    let mut plan = plan_of(churn());
    plan.requests.noreply = true;
    plan.source.mix = "set=1".parse().expect("a mix");
    let stretch = Stretch::ms(500, 700);
    let ran = run(&plan, Script { unwritable: vec![stretch], ..Script::default() });
    let counted = checked(&plan, &ran);
    assert_eq!(fate(&counted, ChurnFate::Completed), 200);
    assert_eq!(ran.measured().unacknowledged, 1_000);
    assert_eq!(ran.server_says("cmd_set"), 1_000);
    assert!(Instant::ZERO < ran.ended);
}
