//! Servers that misbehave: everything is counted, and nothing is lost from the books.

use crate::harness::World;
use memtide_base::Instant;
use memtide_schema::record::ServerTotals;
use memtide_server::{Conduct, FaultKind};

const fn s(seconds: u64) -> Instant {
    Instant::from_ns(seconds * 1_000_000_000)
}

fn world() -> World {
    World::new(&[
        ("rate", "2k"),
        ("duration", "10s"),
        ("keys", "1000"),
        ("connections", "8"),
        ("timeout", "2s"),
        ("load", "never"),
    ])
}

#[test]
fn every_error_of_a_server_is_counted_once() {
    let mut world = world().behaviour("fixed:50us");
    world.servers[0].faults = "server-error:2%".parse().expect("a list of faults");
    let rehearsal = world.rehearse();
    let made = rehearsal.faults.iter().find(|(kind, _)| *kind == FaultKind::ServerError);
    let seen: u64 = rehearsal.record.phases.each().iter().map(|(_, of)| of.totals.failed).sum();
    assert!(seen > 100, "{seen}");
    assert_eq!(Some(seen), made.map(|&(_, count)| count));
    assert!(rehearsal.failure.is_none());
}

#[test]
fn a_server_that_dies_and_returns_costs_only_what_it_carried() {
    // At 2 000/s some ten operations are on their way at any time.
    let mut world = world().behaviour("fixed:5ms");
    world.deaths = vec![(0, s(3), s(4))];
    let rehearsal = world.rehearse();
    let totals = &rehearsal.record.totals;
    assert_eq!(totals.connections.lost, 8);
    assert!(totals.lost > 0 && totals.lost < 50, "{totals:?}");
    // What was due meanwhile waited until the connections were back: less than the timeout.
    assert_eq!(totals.answered + totals.lost, totals.intended);
    let disconnected = rehearsal.record.lag_split.disconnected.max_ns;
    assert!(disconnected.is_some_and(|ns| ns > 900_000_000), "{disconnected:?}");
    let server = &rehearsal.record.servers[0];
    assert_eq!((server.returns.lost, server.returns.returned), (8, 8));
    let longest = server.returns.away_ns_max;
    assert!((1_000_000_000..2_100_000_000).contains(&longest), "{longest}");
    let [away] = server.away[..] else { panic!("{:?}", server.away) };
    let length_ms = away.until_unix_ms.expect("it came back") - away.from_unix_ms;
    assert!((1_000..2_100).contains(&length_ms), "{away:?}");
    assert_eq!(away.from_unix_ms, 3_000, "{away:?}");
    assert!(rehearsal.failure.is_none());
}

#[test]
fn all_servers_gone_for_good_end_the_run_with_what_there_is() {
    let mut world = world().behaviour("fixed:500us");
    world.servers = vec![Conduct::default(), Conduct::default()];
    world.deaths = vec![(0, s(3), Instant::NEVER), (1, s(4), Instant::NEVER)];
    let rehearsal = world.rehearse();
    let failure = rehearsal.failure.expect("the servers are gone");
    assert_eq!(failure.exit, 3);
    assert!(rehearsal.record.partial);
    assert!(rehearsal.record.totals.answered > 5_000);
    for (server, from) in rehearsal.record.servers.iter().zip([3_000, 4_000]) {
        let [away] = server.away[..] else { panic!("{:?}", server.away) };
        assert_eq!((away.from_unix_ms, away.until_unix_ms), (from, None));
        assert_eq!(server.returns.returned, 0);
    }
}

#[test]
fn what_servers_are_said_to_have_done_adds_up() {
    let words = [
        ("rate", "5k"),
        ("duration", "2s"),
        ("keys", "100"),
        ("multiget", "3"),
        ("mix", "get=4,set=2,cas=1"),
        ("connections", "12"),
        ("timeout", "50ms"),
        ("load", "never"),
    ];
    let mut world = World::new(&words);
    world.servers = vec![world.servers[0].clone(); 3];
    world.servers[1].faults = "reset:1%,stall:1%,server-error:1%".parse().expect("faults");
    let ms = |ms: u64| Instant::from_ns(ms * 1_000_000);
    world.deaths = vec![(2, ms(500), ms(900))];
    let record = world.rehearse().record;
    // Sealing has added everything up; these say that there was something to add.
    let of = |number: usize| &record.servers[number].totals;
    for number in 0..3 {
        assert!(of(number).keys_asked > 0 && of(number).bytes_received > 0);
        assert!(of(number).connections.opened >= 4, "{:?}", of(number).connections);
    }
    let connections = [0, 1, 2].map(|number| &of(number).connections);
    assert_eq!((connections[0].lost, connections[0].failed), (0, 0));
    assert!(connections[1].lost > 4 && connections[2].failed > 0, "{connections:?}");
    let errors = |number: usize, class: &str| of(number).errors[class];
    assert_eq!((errors(0, "closed"), errors(0, "connect")), (0, 0));
    assert!(errors(1, "closed") > 0 && errors(2, "connect") > 0);
    let sum = |count: fn(&ServerTotals) -> u64| {
        record.servers.iter().map(|server| count(&server.totals)).sum::<u64>()
    };
    assert_eq!(sum(|of| of.keys_asked), record.totals.keys_asked);
    assert_eq!(sum(|of| of.connections.lost), record.totals.connections.lost);
}

#[test]
fn what_was_sent_to_no_server_is_said_of_none() {
    let words = [
        ("rate", "20k"),
        ("duration", "500ms"),
        ("connections", "2"),
        ("keys", "10"),
        ("on-full", "drop"),
    ];
    let mut world = World::new(&words).behaviour("fixed:1ms");
    world.servers = vec![world.servers[0].clone(); 2];
    let record = world.rehearse().record;
    assert!(record.totals.dropped > 0);
    for server in &record.servers {
        assert_eq!((server.totals.dropped, server.totals.intended), (None, None));
        assert_eq!((server.totals.timed_out, server.totals.abandoned), (Some(0), Some(0)));
    }
    let mut alone = World::new(&words).behaviour("fixed:1ms");
    alone.keeps_samples = false;
    let record = alone.rehearse().record;
    let server = &record.servers[0].totals;
    assert_eq!(server.dropped, Some(record.totals.dropped));
    assert_eq!(server.intended, Some(record.totals.intended));
}
