//! Faults of servers: silence, refused and lost connections, bytes that violate the protocol.

mod meta;

use crate::prelude::*;
use memtide_metrics::{ErrorClass, TallySum};

/// A stall of the server that outlasts every deadline.
fn silent_from(from: u64) -> Script {
    Script { server_stops: vec![Stretch::ms(from, 100_000)], ..Script::default() }
}

#[test]
fn what_cannot_be_sent_by_its_deadline_times_out_in_the_queue() {
    let timeout = Span::from_ms(200);
    let mut plan = Plan { connections: 2, depth: 8, timeout, ..plan() };
    plan.servers.push(plan.servers[0].clone());
    let ran = run(&plan, silent_from(650));
    let measured = ran.measured();
    // The window ends at 1 150 ms; operations due in its last 500 ms are never answered.
    assert_eq!(measured.timed_out, 500);
    assert_eq!(measured.timed_out - measured.timed_out_queued, 16, "two connections of eight");
    assert_eq!(measured.answered, 500);
    assert!(ran.ended >= ms(1_350), "the last deadline is awaited");
    assert!(ran.ended < ms(1_600), "and not much more");
}

#[test]
fn no_deadline_is_noticed_late_be_it_in_flight_or_in_the_queue() {
    let timeout = Span::from_ms(200);
    let plan = Plan { connections: 2, depth: 8, timeout, ..plan() };
    let source = PlannedSource::new(&plan.source);
    let driver = World::new(&plan, silent_from(650)).driver();
    let mut worker = Worker::new(driver, &plan, 0, &source);
    worker.open();
    while worker.report().stage == Stage::Opening {
        worker.turn().expect("the world does not fail");
    }
    worker.begin(&plan, START);
    let mut totals = TallySum::new(&plan.shape());
    let mut turned = START;
    while turned < START + Span::from_ms(1_100) {
        let now = worker.turn().expect("the world does not fail");
        totals.absorb(worker.tally_mut());
        // One operation is intended each millisecond; a turn times out all that were overdue at its
        // start.
        let over = turned.since(START).saturating_sub(timeout).ns() / 1_000_000;
        let ended: u64 = totals.segments.iter().map(|segment| segment.settled()).sum();
        assert!(ended >= over, "at {turned:?} {over} deadlines were over, {ended} ended");
        turned = now;
    }
}

#[test]
fn answers_after_the_deadline_are_counted_as_late_and_nothing_else() {
    let timeout = Span::from_ms(100);
    let plan = Plan { connections: 1, depth: 8, timeout, ..plan() };
    let script = Script { server_stops: vec![Stretch::ms(400, 800)], ..Script::default() };
    let ran = run(&plan, script);
    let measured = ran.measured();
    assert_eq!(measured.late_replies, 8);
    // Operations due in the last 100 ms of the stall are answered after it.
    assert!(measured.timed_out.abs_diff(300) <= 8, "{} timed out", measured.timed_out);
    assert_eq!(measured.answered + measured.timed_out, 1_000);
    assert_eq!(ran.totals.all_connections().lost, 0, "the order of the answers was kept");
}

#[test]
fn dropping_keeps_the_schedule_and_counts_what_found_no_room() {
    let mut plan = Plan { connections: 1, depth: 4, ..plan() };
    if let Pacing::Open { on_full, .. } = &mut plan.pacing {
        *on_full = OnFull::Drop;
    }
    let script = Script { server_stops: vec![Stretch::ms(400, 800)], ..Script::default() };
    let ran = run(&plan, script);
    let measured = ran.measured();
    assert!(measured.dropped.abs_diff(396) <= 1, "{} dropped", measured.dropped);
    assert_eq!(measured.answered + measured.dropped, 1_000);
    assert_eq!(ran.totals.times.lag_server.count(), 0, "nothing waits");
    assert_eq!(ran.intended().len(), 1_000);
}

#[test]
fn a_lost_connection_fails_what_it_carried_and_comes_back() {
    let plan = Plan { connections: 2, depth: 64, ..plan() };
    let script = Script {
        server_stops: vec![Stretch::ms(380, 400)],
        closes: closes([(399, 1)]),
        ..Script::default()
    };
    let ran = run(&plan, script);
    let measured = ran.measured();
    assert_eq!(measured.lost, 9, "half of what was sent in 19 ms");
    assert_eq!(measured.answered, 991);
    assert_eq!(ran.totals.all_connections().lost, 1);
    assert_eq!(ran.totals.all_connections().opened, 3);
    assert_eq!(measured.errors[ErrorClass::Closed as usize], 1);
    let again = ran.seen.borrow().connects.last().copied().expect("it connects");
    assert!(again.1 == 1 && again.0 >= ms(404) && again.0 <= ms(410), "{again:?}");
}

#[test]
fn refused_connects_are_tried_again_at_doubling_distances() {
    let reconnect =
        Reconnect::After(Backoff { first: Span::from_ms(10), longest: Span::from_ms(100) });
    let plan = Plan { connections: 1, reconnect, timeout: Span::from_s(2), ..plan() };
    let script = Script {
        closes: closes([(200, 0)]),
        refuses: vec![Stretch::ms(100, 900)],
        ..Script::default()
    };
    let ran = run(&plan, script);
    let seen = ran.seen.borrow();
    let tries: Vec<Instant> = seen.connects.iter().skip(1).map(|(at, _)| *at).collect();
    let mut before = ms(200);
    for (number, at) in tries.iter().enumerate() {
        let longest = (10u64 << number).min(100);
        let distance = at.since(before);
        assert!(distance >= Span::from_ms(longest / 2), "try {number} after {distance}");
        assert!(distance <= Span::from_ms(longest + 1), "try {number} after {distance}");
        before = *at;
    }
    assert!(tries.len() >= 9, "{} tries", tries.len());
    assert_eq!(ran.totals.all_connections().failed, tries.len() as u64 - 1);
    let measured = ran.measured();
    assert_eq!(measured.answered + measured.lost, 1_000, "the rest waited for it");
    assert!(measured.lost <= 1);
}

#[test]
fn without_waits_a_lost_connection_stays_lost() {
    let plan = Plan { connections: 2, reconnect: Reconnect::Never, ..plan() };
    let ran = run(&plan, Script { closes: closes([(399, 1)]), ..Script::default() });
    let measured = ran.measured();
    assert_eq!((ran.totals.all_connections().lost, ran.totals.all_connections().opened), (1, 2));
    assert_eq!(ran.seen.borrow().connects.len(), 2, "nobody tries again");
    assert_eq!(measured.answered + measured.lost, 1_000, "the other connection goes on");
    assert!(measured.lost <= 1);
}

#[test]
fn nonsense_closes_the_connection_and_the_load_goes_on() {
    for says in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"TOUCHED\r\n"] {
        let plan = Plan { connections: 2, ..plan() };
        let script = Script { says: Some((ms(900), says)), ..Script::default() };
        let ran = run(&plan, script);
        let measured = ran.measured();
        assert!(measured.errors[ErrorClass::Protocol as usize] > 2);
        assert!(measured.lost > 0);
        assert_eq!(measured.answered + measured.lost, 1_000);
    }
}

#[test]
fn being_turned_away_is_named() {
    let says: &[u8] = b"ERROR Too many open connections\r\n";
    let plan = Plan { connections: 1, ..plan() };
    let script = Script { says: Some((ms(1_000), says)), ..Script::default() };
    let ran = run(&plan, script);
    assert!(ran.measured().errors[ErrorClass::TooManyConnections as usize] > 0);
}

#[test]
fn refused_operations_fail_and_their_connection_stays() {
    let script = Script {
        says: Some((ms(900), b"SERVER_ERROR out of memory storing object\r\n")),
        ..Script::default()
    };
    let plan = Plan { connections: 1, ..plan() }.mixing("set=1");
    let ran = run(&plan, script);
    let measured = ran.measured();
    assert_eq!(measured.failed, 250);
    assert_eq!(measured.errors[ErrorClass::ServerError as usize], 250);
    assert_eq!(ran.totals.all_connections().lost, 0);
    let refusal = ran.reports[0].refusal.expect("it is reported");
    assert_eq!(refusal.to_string(), "SERVER_ERROR out of memory storing object");
}

#[test]
fn a_server_of_several_that_goes_away_leaves_the_others_working() {
    let mut plan = Plan { connections: 4, ..plan() };
    let mut second = plan.servers[0].clone();
    second.name = "two".to_owned();
    plan.servers.push(second);
    let script = Script {
        closes: closes([(500, 1), (500, 3)]),
        refuses: vec![Stretch::ms(400, 5_000)],
        ..Script::default()
    };
    let ran = run(&plan, script);
    assert!(ran.measured().lost <= 2);
    assert_eq!(ran.measured().answered + ran.measured().lost, 1_000);
    let [first, second] = &ran.totals.servers[..] else { panic!("two servers") };
    assert_eq!(first.intended + second.intended, 1_000);
    assert_eq!(first.sent + second.sent, 1_000);
    assert!(first.answered > 700 && second.answered > 150);
    let keys: u64 = ran.totals.servers.iter().map(|server| server.keys).sum();
    assert_eq!(keys, ran.measured().keys);
    let replies = |of: &Counters| of.replies.iter().sum::<u64>();
    assert_eq!(replies(first) + replies(second), replies(ran.measured()));
}
