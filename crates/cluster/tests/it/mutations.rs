//! Peers that violate the protocol: each is refused with a message that names the violation, or is
//! harmless.

use crate::conductor::Conductor;
use crate::fleets::check;
use crate::network::World;
use memtide_cluster::message::from_agent::What as FromWhat;
use memtide_cluster::message::to_agent::What as ToWhat;
use memtide_cluster::message::{FromAgent, Hello, Note, Pong, Prepared, Second, ToAgent};

/// A run of two rounds by three agents, one of which may be lost.
fn world() -> World {
    let mut world = World::new(11, 3, Conductor::new(3, 1, (2, false), 11));
    // The others continue after the first has ended, so that messages it sends then are received.
    world.nodes[0].length = 2_500_000_000;
    world.nodes[1].length = 8_000_000_000;
    world
}

fn from(what: FromWhat) -> FromAgent {
    FromAgent { what: Some(what) }
}

/// The first agent sends other messages: `tamper` returns the replacements of a message, if any.
fn agent_says(tamper: impl FnMut(&FromWhat) -> Option<Vec<FromAgent>> + 'static) -> World {
    let mut tamper = tamper;
    let mut world = world();
    world.tamper_to_master =
        Some(Box::new(move |message| message.what.as_ref().and_then(&mut tamper)));
    world.run();
    check(&world);
    world
}

/// The first agent receives other messages than the master sent.
fn agent_hears(tamper: impl FnMut(&ToWhat) -> Option<Vec<ToAgent>> + 'static) -> World {
    let mut tamper = tamper;
    let mut world = world();
    world.tamper_to_agent =
        Some(Box::new(move |message| message.what.as_ref().and_then(&mut tamper)));
    world.run();
    check(&world);
    world
}

/// The reason why the first agent was lost; asserts that no other was.
fn lost(world: &World) -> String {
    let ends = world.conductor.rounds.iter().filter_map(|found| found.end.as_ref());
    let lost: Vec<_> = ends.flat_map(|end| &end.lost).collect();
    assert!(!lost.is_empty(), "{:?}", world.conductor.notes);
    assert!(lost.iter().all(|(_, label, _)| label.starts_with("node0")), "{lost:?}");
    assert_eq!(world.conductor.rounds.len(), 2, "the others go on");
    lost[0].2.why.clone()
}

fn is_harmless(world: &World) {
    for found in &world.conductor.rounds {
        assert_eq!(found.records.len(), 3, "{:?}", world.conductor.notes);
    }
    assert_eq!(world.conductor.rounds.len(), 2);
}

#[test]
fn an_acknowledgement_that_does_not_arrive_leaves_the_record_kept() {
    let world = agent_hears(|what| matches!(what, ToWhat::Acknowledged(_)).then(Vec::new));
    is_harmless(&world);
    assert_eq!((world.nodes[0].kept.len(), world.nodes[1].kept.len()), (2, 0));
}

#[test]
fn a_record_that_is_not_the_shares_is_refused() {
    let twice = agent_says(|what| {
        let FromWhat::Record(part) = what else { return None };
        Some(vec![from(FromWhat::Record(part.clone())), from(FromWhat::Record(part.clone()))])
    });
    assert!(lost(&twice).contains("record twice"));
    let damaged = agent_says(|what| {
        let FromWhat::Record(part) = what else { return None };
        let mut part = part.clone();
        part.data[5] ^= 1;
        Some(vec![from(FromWhat::Record(part))])
    });
    assert!(lost(&damaged).contains("digest"));
    let old = agent_says(|what| {
        let FromWhat::Record(part) = what else { return None };
        let mut part = part.clone();
        part.run[3] ^= 1;
        Some(vec![from(FromWhat::Record(part))])
    });
    assert!(lost(&old).contains("another run"));
    let mut lies = world();
    lies.nodes[0].lies = true;
    lies.run();
    check(&lies);
    assert!(lost(&lies).contains("another share"));
}

#[test]
fn a_record_that_never_ends_holds_nobody_up() {
    let half = agent_says(|what| {
        let FromWhat::Record(part) = what else { return None };
        let mut part = part.clone();
        part.data.truncate(4);
        Some(vec![from(FromWhat::Record(part))])
    });
    assert!(lost(&half).contains("hand over"));
}

/// Its network answers, but its load never ends.
#[test]
fn a_share_that_stands_still_is_awaited_only_until_it_must_be_over() {
    let mut world = world();
    world.nodes[0].length = 10_000_000_000_000;
    world.run();
    check(&world);
    assert!(lost(&world).contains("its load did not end"));
}

#[test]
fn a_beginning_in_the_past_gives_a_record_without_load() {
    let world = agent_hears(|what| {
        let ToWhat::Armed(armed) = what else { return None };
        let mut armed = *armed;
        armed.clock_ns = 1;
        Some(vec![ToAgent { what: Some(ToWhat::Armed(armed)) }])
    });
    is_harmless(&world);
    assert!(world.nodes[0].begun.is_empty());
}

#[test]
fn what_comes_at_the_wrong_time_is_refused() {
    let seconds = agent_says(|what| {
        let FromWhat::Record(part) = what else { return None };
        let second = FromWhat::Second(Second { interval: vec![0; 8] });
        Some(vec![from(FromWhat::Record(part.clone())), from(second)])
    });
    assert!(lost(&seconds).contains("was not running"));
    let garbage = agent_says(|what| {
        let FromWhat::Second(_) = what else { return None };
        Some(vec![from(FromWhat::Second(Second { interval: vec![0; 3] }))])
    });
    assert!(lost(&garbage).contains("no second"));
    let hello = agent_says(|what| {
        let FromWhat::Prepared(_) = what else { return None };
        Some(vec![from(FromWhat::Hello(Hello::default()))])
    });
    assert!(lost(&hello).contains("unknown message"));
    let prepared = agent_says(|what| {
        let FromWhat::Prepared(_) = what else { return None };
        Some(vec![from(FromWhat::Prepared(Prepared {})), from(FromWhat::Prepared(Prepared {}))])
    });
    assert!(lost(&prepared).contains("without a share"));
    let empty = agent_says(|what| {
        let FromWhat::Prepared(_) = what else { return None };
        Some(vec![FromAgent { what: None }])
    });
    assert!(lost(&empty).contains("unknown message"));
}

#[test]
fn an_agent_that_leaves_at_a_breach_is_named() {
    let shares = agent_hears(|what| {
        let ToWhat::Share(share) = what else { return None };
        let share = ToAgent { what: Some(ToWhat::Share(share.clone())) };
        Some(vec![share.clone(), share])
    });
    assert!(lost(&shares).contains("closed"));
}

/// An agent may send any number of messages: only answers to pings count for its clock.
#[test]
fn pings_without_answers_hold_nobody_up() {
    let silent = agent_says(|what| {
        let FromWhat::Pong(_) = what else { return None };
        let note = Note { text: "here".to_owned(), is_trouble: false };
        Some(vec![from(FromWhat::Note(note))])
    });
    assert!(!lost(&silent).is_empty());
    let wrong = agent_says(|what| {
        let FromWhat::Pong(Pong { number, clock_ns }) = what else { return None };
        let pong = Pong { number: number + 1, clock_ns: *clock_ns };
        Some(vec![from(FromWhat::Pong(pong))])
    });
    assert!(!lost(&wrong).is_empty());
    let jumps = agent_says({
        let mut count = 0;
        move |what| {
            let FromWhat::Pong(Pong { number, clock_ns }) = what else { return None };
            count += 1;
            let clock_ns = if count % 7 == 0 { clock_ns / 2 } else { *clock_ns };
            Some(vec![from(FromWhat::Pong(Pong { number: *number, clock_ns }))])
        }
    });
    assert!(lost(&jumps).contains("clock has jumped"));
}
