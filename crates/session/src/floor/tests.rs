//! What answers while a floor is measured, what a floor depends on, and the load that measures it.

use super::*;
use memtide_record::PlannedServer;
use memtide_scenario::field;

/// The floors of a scenario with these fields.
fn floors(fields: &[(&str, &str)]) -> Floors {
    let mut settings = Settings::default();
    for (name, word) in fields {
        field::find(name).unwrap().set(&mut settings, word).unwrap();
    }
    settings.outputs.quiet = true;
    Floors::new(Some("kept"), FloorMode::Off, &settings).unwrap()
}

/// A plan whose one server has these addresses.
fn plan(embedded: bool, addresses: &[&str]) -> PlanRecord {
    let addresses = addresses.iter().map(|&address| address.to_owned()).collect();
    let servers = vec![PlannedServer { addresses, ..PlannedServer::default() }];
    let (workers, connections, depth) = (1, 4, 8);
    let rate_per_s = Some(1_000.0);
    PlanRecord {
        embedded,
        servers,
        rate_per_s,
        workers,
        connections,
        depth,
        ..PlanRecord::default()
    }
}

/// Over UDP, the measured server itself was the responder on this machine.
#[test]
fn the_embedded_server_answers_for_servers_on_this_machine() {
    for (embedded, addresses, expected) in [
        (true, &["udp:127.0.0.1:40123"][..], Responder::Embedded),
        (false, &["udp:127.0.0.1:11211"][..], Responder::Embedded),
        (false, &["127.0.0.1:11211", "[::1]:11211"][..], Responder::Embedded),
        (false, &["127.0.0.1:11211", "10.1.0.5:11211"][..], Responder::Server),
        (false, &["udp:10.1.0.5:11211"][..], Responder::Server),
    ] {
        assert_eq!(responder(&plan(embedded, addresses)), expected, "{addresses:?}");
    }
}

/// The floor of a unix socket was that of TCP, and was kept as one.
#[test]
fn a_unix_socket_has_no_floor() {
    let floors = floors(&[]);
    assert_eq!(floors.floor(&plan(false, &["unix:/run/mc.sock"]), &[], &StopFlag::default()), None);
    let known: Vec<String> = floors.known.borrow().keys().cloned().collect();
    assert_eq!(known, [UNIX]);
}

/// Loads with other socket options, rates in keys or other CPUs had the floor of the first one.
#[test]
fn a_floor_is_of_what_changes_its_load() {
    assert!(FIELDS.iter().all(|name| field::find(name).is_some()));
    let plan = plan(false, &["10.1.0.5:11211"]);
    let key = |fields: &[(&str, &str)], cpus: &[usize]| {
        floors(fields).key(&plan, Responder::Server, 1_000.0, cpus)
    };
    let usual = key(&[], &[0, 1]);
    assert_eq!(usual, key(&[("duration", "9s"), ("seed", "7")], &[0, 1]));
    assert_ne!(usual, key(&[], &[2, 3]));
    for field in [
        ("rate-unit", "keys"),
        ("nagle", "true"),
        ("send-buffer", "4KiB"),
        ("receive-buffer", "4KiB"),
        ("busy-poll", "50us"),
        ("pin", "true"),
    ] {
        assert_ne!(usual, key(&[field], &[0, 1]), "{field:?}");
    }
}

/// Over a network the load asks for keys, which is never without a reply; with `noreply` it failed.
#[test]
fn the_load_over_a_network_is_possible_with_noreply() {
    let floors = floors(&[("server", "10.1.0.5"), ("noreply", "true"), ("mix", "get=1,set=1")]);
    let load = floors.load(&plan(false, &["10.1.0.5:11211"]), Responder::Server, 1_000.0);
    let problems: Vec<String> = load.check().iter().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new());
}
