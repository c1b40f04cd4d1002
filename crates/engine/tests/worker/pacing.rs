//! Only the schedule makes intended instants, independent of the answers.

use crate::prelude::*;
use memtide_workload::Schedule;
use memtide_workload::schedule::Lane;
use memtide_world::Refill;

/// The window's instants as computed by the schedules alone, ascending.
fn scheduled(plan: &Plan, lanes: impl Iterator<Item = Lane>) -> Vec<Span> {
    let Pacing::Open { arrival, curve, .. } = &plan.pacing else { panic!("an open loop") };
    let mut instants = Vec::new();
    for lane in lanes {
        let mut schedule = Schedule::new(*arrival, curve.clone(), plan.seed, lane);
        while schedule.due().at < plan.window.warmup + plan.window.duration {
            instants.extend(Some(schedule.due().at).filter(|at| *at >= plan.window.warmup));
            schedule.advance();
        }
    }
    instants.sort_unstable();
    instants
}

fn lanes(count: u32, own_stream: bool) -> impl Iterator<Item = Lane> {
    (0..count).map(move |index| Lane { index, count, own_stream })
}

const ARRIVALS: [Arrival; 3] = [Arrival::Fixed, Arrival::Poisson, Arrival::Pareto(0.0, 16.0, 0.15)];

#[test]
fn intended_instants_are_the_schedules_also_while_the_server_stops() {
    for arrival in ARRIVALS {
        for workers in [1, 3] {
            let plan = Plan { workers, ..plan() }.open(1_000.0, arrival, Sharing::Shared);
            let stops = vec![Stretch::ms(400, 900)];
            let ran = run(&plan, Script { server_stops: stops, ..Script::default() });
            let expected = scheduled(&plan, lanes(u32::from(workers), false));
            assert_eq!(ran.intended(), expected, "{arrival:?}, {workers} workers");
            assert_eq!(ran.measured().intended, expected.len() as u64);
        }
    }
}

#[test]
fn a_schedule_of_its_own_keeps_a_connection_at_its_instants() {
    for arrival in ARRIVALS {
        let plan = plan().open(1_000.0, arrival, Sharing::Connection);
        let ran = run(&plan, Script::default());
        for lane in lanes(4, true) {
            let seen = ran.seen.borrow();
            let of_lane = seen.samples.iter().filter(|s| s.connection == lane.index);
            let mut instants: Vec<_> = of_lane.map(|s| s.intended.since(START)).collect();
            instants.sort_unstable();
            assert_eq!(instants, scheduled(&plan, [lane].into_iter()), "{arrival:?} {lane:?}");
        }
    }
}

#[test]
fn a_wave_keeps_its_instants() {
    let wave = Wave::Step { rates: vec![200.0, 2_000.0], every: Span::from_ms(250) };
    let curve = RateCurve::new(&wave, 0.0, WARMUP, Span::from_s(1), SEED);
    let pacing = Pacing::Open {
        arrival: Arrival::Fixed,
        curve,
        sharing: Sharing::Shared,
        on_full: OnFull::Queue,
    };
    let plan = Plan { pacing, ..plan() };
    let ran = run(&plan, Script::default());
    assert_eq!(ran.intended(), scheduled(&plan, lanes(1, false)));
}

#[test]
fn on_time_means_no_lag_and_the_networks_delay_as_response() {
    let ran = run(&plan(), Script::default());
    assert_eq!(ran.totals.times.lag_generator.moments().max, 0);
    assert_eq!(ran.totals.times.lag_server.count(), 0, "nothing waited");
    let response = ran.response();
    assert_eq!(response.moments().min, 100_000);
    assert_eq!(response.moments().max, 100_000);
    assert_eq!(ran.totals.sent_in_window.iter().sum::<u64>(), 1_000);
}

/// The closed form: a server that stalls for one second under equal gaps of 1 ms answers the
/// operation that was due x ms into the stall after 1 s − x ms.
#[test]
fn a_stop_of_a_second_leaves_exactly_the_open_loops_tail() {
    for (connections, depth) in [(1, 1), (1, 4096), (16, 1), (16, 4096)] {
        for sharing in [Sharing::Shared, Sharing::Connection] {
            let plan = Plan { connections, depth, ..plan() }.lasting(Span::from_s(10)).open(
                1_000.0,
                Arrival::Fixed,
                sharing,
            );
            let stops = vec![Stretch::ms(4_000, 5_000)];
            let script = Script { server_stops: stops, ..Script::default() };
            let ran = run_far(&plan, Span::from_us(4), script);
            let case = format!("{connections} connections, depth {depth}, {sharing:?}");
            assert_eq!(ran.measured().answered, 10_000, "{case}");
            let slow = ran.slower_than(Span::from_ms(100));
            assert!(slow.abs_diff(900) <= 5, "{case}: {slow} above 100 ms");
            let slow = ran.slower_than(Span::from_ms(500));
            assert!(slow.abs_diff(500) <= 5, "{case}: {slow} above 500 ms");
            let response = ran.response();
            let p99_ms = response.value_at_rank(9_900).expect("a value") / 1_000_000;
            assert!(p99_ms.abs_diff(900) <= 10, "{case}: p99 is {p99_ms} ms");
            let longest_ms = response.moments().max / 1_000_000;
            assert!((999..=1_000).contains(&longest_ms), "{case}: {longest_ms} ms");
        }
    }
}

#[test]
fn a_closed_loop_intends_an_operation_when_its_slot_becomes_free() {
    let plan = Plan { connections: 3, depth: 2, ..plan() }.closed();
    let ran = run(&plan, Script::default());
    // Six slots, each reused every 100 µs.
    let answered = ran.measured().answered;
    assert!(answered.abs_diff(6 * 10_000) <= 6, "{answered} operations");
    assert_eq!(ran.response().moments().max, 100_000);
    assert_eq!(ran.totals.times.lag_generator.moments().max, 0);
    assert_eq!(ran.totals.times.in_flight_at_send.moments().max, 6);
}

#[test]
fn a_closed_loop_on_a_stopped_server_waits_for_it() {
    let plan = Plan { connections: 2, depth: 1, ..plan() }.closed();
    let stops = vec![Stretch::ms(400, 900)];
    let ran = run(&plan, Script { server_stops: stops, ..Script::default() });
    assert_eq!(ran.slower_than(Span::from_ms(400)), 2);
    assert!(ran.measured().answered.abs_diff(2 * 5_000) <= 4);
}

#[test]
fn load_goes_on_after_the_window_until_its_last_operation_has_ended_or_nothing_does() {
    // The server stalls shortly before the window ends, until after its end.
    let script = Script { server_stops: vec![Stretch::ms(1_100, 1_400)], ..Script::default() };
    let mut plan = plan();
    let loaded = run(&plan, script.clone());
    let after = loaded.segment(segment::COOLDOWN).intended;
    assert!((240..=270).contains(&after), "{after} operations in 250 ms and a little");
    plan.window.cooldown = Cooldown::Drain;
    let narrow = Plan { connections: 1, depth: 1, ..plan.clone() };
    let sent = run(&narrow, script.clone()).totals.sent_in_window.iter().sum::<u64>();
    assert!(sent.abs_diff(951) <= 1, "{sent} in the window, the others after the stall");
    let drained = run(&plan, script);
    assert_eq!(drained.segment(segment::COOLDOWN).intended, 0);
    assert_eq!(drained.measured().answered, loaded.measured().answered);
    assert_eq!(drained.segment(segment::WARMUP).intended, 100);
}

#[test]
fn stopping_early_abandons_what_is_due_and_what_is_not_answered_in_time() {
    let plan = Plan { connections: 1, depth: 8, ..plan() };
    let script = Script { server_stops: vec![Stretch::ms(400, 9_000)], ..Script::default() };
    let ran = run_until(&plan, (DELAY, script), (ms(600), Span::from_ms(50)));
    // Operations due from 400 ms to about 600 ms are never answered; eight of them were sent.
    let abandoned = ran.measured().abandoned;
    assert!(abandoned.abs_diff(200) <= 12, "{abandoned} abandoned");
    assert_eq!(ran.all().sent - ran.all().answered, 8);
    assert!(ran.ended < ms(680), "the grace is kept");
}

#[test]
fn stopping_lets_what_is_in_flight_end() {
    let plan = Plan { connections: 1, depth: 8, ..plan() };
    let script = Script { server_stops: vec![Stretch::ms(400, 630)], ..Script::default() };
    let ran = run_until(&plan, (DELAY, script), (ms(600), Span::from_s(1)));
    assert_eq!(ran.all().sent, ran.all().answered);
    assert!(ran.ended < ms(640), "it ends as soon as the answers are there");
}

/// The number of operations sent on a connection while another was outstanding there, at the
/// instant at which a third one ended.
fn sent_before_all_was_answered(refill: Refill) -> usize {
    let plan = Plan { connections: 2, depth: 4, refill, ..plan() };
    let ran = run(&plan.open(40_000.0, Arrival::Poisson, Sharing::Shared), Script::default());
    let measured = ran.measured();
    assert_eq!((measured.answered, measured.intended > 30_000), (measured.intended, true));
    let seen = ran.seen.borrow();
    let mut samples = seen.samples.clone();
    samples.sort_by_key(|sample| sample.sent);
    let early = |(at, sample): (usize, &Sample)| {
        // No more than the last 64 can still be outstanding or have ended just before.
        let before = &samples[at.saturating_sub(64)..at];
        let of_it = || before.iter().filter(|other| other.connection == sample.connection);
        let outstanding = || of_it().filter(|other| other.received > sample.sent);
        of_it().any(|ended| {
            let has_ended = ended.received <= sample.sent;
            has_ended && outstanding().any(|other| other.sent < ended.received)
        })
    };
    samples.iter().enumerate().filter(|&it| early(it)).count()
}

#[test]
fn a_connection_that_is_refilled_whole_sends_nothing_before_all_is_answered() {
    assert_eq!(sent_before_all_was_answered(Refill::Whole), 0);
    let sliding = sent_before_all_was_answered(Refill::Each);
    assert!(sliding > 1_000, "{sliding} operations, where the window slides");
}

#[test]
fn a_closed_loop_refills_whole_windows_at_the_instant_of_the_last_answer() {
    let plan = Plan { connections: 2, depth: 4, refill: Refill::Whole, ..plan() }.closed();
    let ran = run(&plan, Script::default());
    let measured = ran.measured();
    assert_eq!(measured.answered, measured.intended);
    let outstanding = ran.totals.outstanding();
    let counts: Vec<(u64, u64)> = outstanding.recorded().collect();
    let of = |count| counts.iter().find(|(so_many, _)| *so_many == count).map_or(0, |it| it.1);
    assert_eq!([1, 2, 3, 4].map(|count| of(count).abs_diff(of(1)) <= 8), [true; 4], "{counts:?}");
    assert_eq!(ran.response().moments().max, 100_000, "nothing waits for room");
}
