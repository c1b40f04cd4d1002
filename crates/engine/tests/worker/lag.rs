//! The cause of a wait: it is the server's only while the worker was idle and connected.

use crate::prelude::*;

fn longest_ms(part: &Histogram<u64>) -> u64 {
    part.moments().max / 1_000_000
}

fn sum_ms(part: &Histogram<u64>) -> u64 {
    (part.moments().sum / 1_000_000) as u64
}

/// The parts of the lag add up to the lag.
fn check_sum(ran: &Ran) {
    let times = &ran.totals.times;
    let lag: u128 = times.lag.iter().flatten().map(|part| part.moments().sum).sum();
    let parts =
        [&times.lag_generator, &times.lag_client_busy, &times.lag_server, &times.lag_disconnected];
    let split: u128 = parts.iter().map(|part| part.moments().sum).sum();
    assert_eq!(split, lag);
}

/// One connection of depth 1, so that any stall fills it.
fn narrow() -> Plan {
    Plan { connections: 1, depth: 1, ..plan() }
}

#[test]
fn a_server_that_stops_is_charged_to_the_server() {
    let script = Script { server_stops: vec![Stretch::ms(400, 600)], ..Script::default() };
    let ran = run(&narrow(), script);
    let times = &ran.totals.times;
    assert!((198..=200).contains(&longest_ms(&times.lag_server)));
    assert!(longest_ms(&times.lag_client_busy) <= 1, "{:?}", times.lag_client_busy.moments());
    assert!(sum_ms(&times.lag_server) > 100 * sum_ms(&times.lag_client_busy));
    assert_eq!(longest_ms(&times.lag_disconnected), 0);
    check_sum(&ran);
}

#[test]
fn a_worker_that_stops_with_room_is_the_generators() {
    let script = Script { worker_stops: vec![Stretch::ms(400, 600)], ..Script::default() };
    let ran = run(&plan(), script);
    let times = &ran.totals.times;
    assert!((198..=200).contains(&longest_ms(&times.lag_generator)));
    assert!(longest_ms(&times.lag_server) <= 1);
    check_sum(&ran);
}

#[test]
fn a_worker_that_stops_cannot_blame_full_connections() {
    let script = Script { worker_stops: vec![Stretch::ms(400, 600)], ..Script::default() };
    let ran = run(&narrow(), script);
    let times = &ran.totals.times;
    // The backlog also waits for answers, 100 µs each.
    let own = sum_ms(&times.lag_client_busy) + sum_ms(&times.lag_generator);
    let waited: u128 = times.lag.iter().flatten().map(|part| part.moments().sum).sum();
    let server = sum_ms(&times.lag_server);
    assert!(own >= 19_000, "{own} ms of about 20 000 are the client's, {waited} ns in all");
    assert!(server < 3_500, "{server} ms are the server's: 200 answers of 100 µs each");
    check_sum(&ran);
}

/// Response times less the most that memtide may have added.
fn punctual(ran: &Ran) -> Histogram<u64> {
    let mut sum = Histogram::new();
    ran.totals.times.punctual.iter().flatten().for_each(|part| sum.absorb(part));
    sum
}

#[test]
fn what_the_client_may_add_is_not_in_the_punctual_response() {
    let script = Script { worker_stops: vec![Stretch::ms(400, 600)], ..Script::default() };
    let ran = run(&plan(), script);
    assert!(longest_ms(&ran.response()) >= 198);
    let punctual = punctual(&ran);
    // Of 2 000 wake-ups per second, nearly all are drawn. Nothing is known of the 200 operations
    // that were due in the stop; all are sent at its end.
    assert!((980..=1_020).contains(&punctual.count()), "{punctual:?}");
    assert!(longest_ms(&punctual) == 0 && punctual.moments().max <= 101_000, "{punctual:?}");
    let zeros = punctual.recorded().next().expect("there are some");
    assert!(zeros.0 == 0 && (195..=205).contains(&zeros.1), "{zeros:?}");
    let late = &ran.totals.late[0];
    assert_eq!(late.operations, 1_000);
    let class = (200_000_000u64 / 2_000).ilog2() as usize;
    assert!((199..=221).contains(&(late.late_ns[class.min(15)] / 1_000_000)), "{late:?}");
    let weighted: u128 = late.late_ns.iter().map(|ns| u128::from(*ns) * 1_000).sum();
    assert_eq!(late.weighted_ns.iter().sum::<u128>(), weighted, "of one worker");
    let script = Script { server_stops: vec![Stretch::ms(400, 600)], ..Script::default() };
    let ran = run(&narrow(), script);
    assert!(longest_ms(&self::punctual(&ran)) >= 198, "the server's stop is");
}

#[test]
fn a_network_that_takes_no_bytes_is_the_servers() {
    for sharing in [Sharing::Shared, Sharing::Connection] {
        let plan = Plan { connections: 1, ..plan() }.open(1_000.0, Arrival::Fixed, sharing);
        let script = Script { unwritable: vec![Stretch::ms(400, 600)], ..Script::default() };
        let ran = run(&plan, script);
        assert_eq!(ran.measured().answered, 1_000);
        let times = &ran.totals.times;
        assert!((197..=200).contains(&longest_ms(&times.lag_server)));
        assert!(longest_ms(&times.lag_client_busy) <= 1);
        assert_eq!(longest_ms(&times.lag_generator), 0);
        check_sum(&ran);
    }
}

#[test]
fn time_without_a_connection_is_kept_apart() {
    let reconnect =
        Reconnect::After(Backoff { first: Span::from_ms(1), longest: Span::from_ms(2) });
    let script = Script {
        closes: closes([(400, 0)]),
        refuses: vec![Stretch::ms(390, 600)],
        ..Script::default()
    };
    let ran = run(&Plan { reconnect, ..narrow() }, script);
    let times = &ran.totals.times;
    assert!((198..=203).contains(&longest_ms(&times.lag_disconnected)));
    assert!(longest_ms(&times.lag_server) <= 25, "only the backlog's turns");
    assert!(longest_ms(&times.lag_client_busy) <= 1);
    check_sum(&ran);
}

#[test]
fn busy_workers_are_seen_by_their_idle_time() {
    let stops = (0..10).map(|nth| Stretch::ms(200 + nth * 100, 270 + nth * 100)).collect();
    let ran = run(&plan(), Script { worker_stops: stops, ..Script::default() });
    let idle_ms = ran.reports[0].idle.ns() / 1_000_000;
    assert!(idle_ms.abs_diff(300) <= 60, "idle for {idle_ms} ms of 1 000");
    let rested = run(&plan(), Script::default());
    let idle_ms = rested.reports[0].idle.ns() / 1_000_000;
    assert!(idle_ms >= 999, "idle for {idle_ms} ms of 1 000");
}

#[test]
fn how_late_replies_are_read_is_published() {
    let script = Script { worker_stops: vec![Stretch::ms(400, 600)], ..Script::default() };
    let ran = run(&plan(), script);
    assert_eq!(ran.totals.times.client_delay.count(), ran.measured().answered);
}
