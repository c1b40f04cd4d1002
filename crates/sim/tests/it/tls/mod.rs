//! TLS in virtual time: it is replayed bit by bit, changes no operation, and takes no service time.

mod rogues;

use crate::prelude::*;
use memtide_record::ChurnRecord;

const MIX: &str = "rate=5k duration=1s warmup=200ms mix=get=5,gets=1,set=2,cas=1,delete=1,incr=1 \
                   keys=500 threads=3 connections=9";

/// A world of these words that speaks TLS, or does not.
fn world(words: &str, tls: bool) -> World {
    let world = World::of(words);
    if tls { world.with(&[("tls", "on")]) } else { world }
}

fn churn(record: &Record) -> &ChurnRecord {
    record.churn.as_ref().expect("connections are the load")
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for protocol in ["text", "binary", "meta"] {
        let run = |seed| {
            let world = world(MIX, true).with(&[("protocol", protocol)]);
            world.behaviour("queue:2,exponential:200us").seed(seed).rehearse()
        };
        let (first, again, other) = (run(7), run(7), run(8));
        assert_eq!((first.hash, first.events), (again.hash, again.events), "{protocol}");
        assert_eq!(first.samples, again.samples);
        assert_eq!(first.record, again.record);
        assert_ne!(first.hash, other.hash);
        assert_eq!(first.record.totals.answered, first.record.totals.intended);
    }
}

#[test]
fn operations_and_their_instants_are_those_of_a_run_without_tls() {
    let run = |tls| world(MIX, tls).behaviour("fixed:200us").seed(7).rehearse();
    let (sealed, plain) = (run(true), run(false));
    assert_ne!(sealed.hash, plain.hash, "other bytes are sent");
    assert_eq!(sealed.samples, plain.samples);
    assert_eq!(sealed.record.totals.bytes_sent, plain.record.totals.bytes_sent);
}

/// Connections of two calls, 20 per second.
const CHURN: &str = "connections-total=200 connection-rate=20 connection-arrival=fixed calls=2 \
                     mix=get=1 load=never threads=1 connections=64 timeout=2s";

#[test]
fn handshakes_are_resumed_unless_that_is_refused() {
    for (resume, expected) in [("on", (0, 200)), ("off", (200, 0))] {
        let rehearsal = world(CHURN, true).with(&[("tls-resume", resume)]).seed(3).rehearse();
        let counts = &rehearsal.record.totals.connections;
        // The questions before the load made the session that the first connection resumes.
        assert_eq!((counts.handshakes_full, counts.handshakes_resumed), expected, "{resume}");
        let churn = churn(&rehearsal.record);
        assert_eq!((churn.handshake.count, churn.first_reply.count), (200, 200));
    }
}

/// Planted service time is in the service times, and in no other.
#[test]
fn a_slow_servers_time_is_service_time_alone() {
    const SLOW_NS: u64 = 200_000;
    let rehearsal = world(CHURN, true).behaviour("fixed:200us").seed(3).rehearse();
    let record = &rehearsal.record;
    let service = &record.service[&Kind::All];
    assert_eq!((service.min_ns, service.max_ns), (Some(SLOW_NS), Some(SLOW_NS)));
    assert_eq!(record.lag[&Kind::All].max_ns, Some(0));
    let churn = churn(record);
    assert_eq!((churn.handshake.max_ns, churn.connect_tcp.max_ns), (Some(0), Some(0)));
    assert_eq!(churn.first_reply.min_ns, Some(SLOW_NS));
}

/// A planted pause in a handshake is in the handshake's time, and in no other.
#[test]
fn a_pause_in_the_handshake_is_in_the_handshake_alone() {
    let ms = |ms: u64| ms * 1_000_000;
    let run = |stops: Vec<memtide_sim::Stretch>| {
        let mut world = world(CHURN, true).seed(3);
        world.network.delay = Law::Fixed(1e-3);
        world.script.server_stops = stops;
        world.rehearse().record
    };
    // The load begins after questions, at an instant that the first run shows.
    let quiet = run(Vec::new());
    assert_eq!(churn(&quiet).handshake.max_ns, Some(ms(2)));
    let begins_ms = quiet.started_unix_ms - 1_800_000_000_000;
    // Of the connections, one every 50 ms, one begins its handshake meanwhile.
    let stop = memtide_sim::Stretch::ms(begins_ms + 1_002, begins_ms + 1_042);
    let paused = run(vec![stop]);
    let (quiet, paused) = (churn(&quiet), churn(&paused));
    let longest = paused.handshake.max_ns.expect("there were handshakes");
    assert!((ms(10)..ms(45)).contains(&longest), "{longest} ns");
    assert!(paused.handshake.p90_ns.is_some_and(|p90| p90 < ms(2) * 101 / 100));
    assert_eq!(paused.connect_tcp, quiet.connect_tcp);
    assert_eq!(paused.first_reply, quiet.first_reply);
}
