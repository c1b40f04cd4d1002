//! Peers that violate the protocol: each is refused with a message that names the violation, or is
//! harmless.

use crate::conductor::{Conductor, VERSION};
use crate::fleets::check;
use crate::network::World;
use memtide_base::Instant;
use memtide_cluster::master::{Action, Gathered, Master, Round, RoundLoad};
use memtide_cluster::message::from_agent::What as FromWhat;
use memtide_cluster::message::to_agent::What as ToWhat;
use memtide_cluster::message::{
    Failed, FromAgent, Hello, Note, Pong, Prepared, RecordPart, Second, ToAgent,
};
use memtide_cluster::{PROTOCOL, UNITS_MAX};

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

/// Asserts that the first agent is lost for a reason with `word` if `tamper` replaces what it says.
fn loses(word: &str, tamper: impl FnMut(&FromWhat) -> Option<Vec<FromAgent>> + 'static) {
    let why = lost(&agent_says(tamper));
    assert!(why.contains(word), "{word}: {why}");
}

/// Replaces each part of a record by one that is changed.
fn parts(change: fn(&mut RecordPart)) -> impl FnMut(&FromWhat) -> Option<Vec<FromAgent>> {
    move |what| {
        let FromWhat::Record(part) = what else { return None };
        let mut part = part.clone();
        change(&mut part);
        Some(vec![from(FromWhat::Record(part))])
    }
}

/// Replaces the messages that `is_it` accepts by `those`.
fn replaced(
    is_it: fn(&FromWhat) -> bool,
    those: Vec<FromAgent>,
) -> impl FnMut(&FromWhat) -> Option<Vec<FromAgent>> {
    move |what| is_it(what).then(|| those.clone())
}

/// Sends `second` behind each part of a record.
fn followed(
    second: impl Fn(&FromWhat) -> FromWhat,
) -> impl FnMut(&FromWhat) -> Option<Vec<FromAgent>> {
    move |what| {
        let is_record = matches!(what, FromWhat::Record(_));
        is_record.then(|| vec![from(what.clone()), from(second(what))])
    }
}

/// The reason why the first agent was lost; asserts that no other was.
fn lost(world: &World) -> String {
    let ends = world.conductor.rounds.iter().filter_map(|found| found.end.as_ref());
    let lost: Vec<_> = ends.flat_map(|end| &end.lost).collect();
    assert!(!lost.is_empty(), "{:?}", world.conductor.notes);
    assert!(lost.iter().all(|agent| agent.label.starts_with("node0")), "{lost:?}");
    assert_eq!(world.conductor.rounds.len(), 2, "the others go on");
    lost[0].lost.why.clone()
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
    loses("record twice", followed(FromWhat::clone));
    loses("digest", parts(|part| part.data[5] ^= 1));
    loses("another run", parts(|part| part.run[3] ^= 1));
    let mut lies = world();
    lies.nodes[0].lies = true;
    lies.run();
    check(&lies);
    assert!(lost(&lies).contains("another share"));
}

#[test]
fn a_record_that_never_ends_holds_nobody_up() {
    loses("hand over", parts(|part| part.data.truncate(4)));
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
    let second = |count| FromWhat::Second(Second { interval: vec![0; count] });
    loses("was not running", followed(move |_| second(8)));
    loses("no second", replaced(|it| matches!(it, FromWhat::Second(_)), vec![from(second(3))]));
    let prepared = from(FromWhat::Prepared(Prepared {}));
    for (word, those) in [
        ("unknown message", vec![from(FromWhat::Hello(Hello::default()))]),
        ("without a share", vec![prepared.clone(), prepared]),
        ("unknown message", vec![FromAgent { what: None }]),
    ] {
        loses(word, replaced(|it| matches!(it, FromWhat::Prepared(_)), those));
    }
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
    let note = from(FromWhat::Note(Note { text: "here".to_owned(), is_trouble: false }));
    loses("", replaced(|it| matches!(it, FromWhat::Pong(_)), vec![note]));
    let pongs = |mut change: Box<dyn FnMut(&mut Pong)>| {
        move |what: &FromWhat| {
            let FromWhat::Pong(mut pong) = *what else { return None };
            change(&mut pong);
            Some(vec![from(FromWhat::Pong(pong))])
        }
    };
    loses("", pongs(Box::new(|pong| pong.number += 1)));
    let mut count = 0;
    let jumps = move |pong: &mut Pong| {
        count += 1;
        pong.clock_ns /= if count % 7 == 0 { 2 } else { 1 };
    };
    loses("clock has jumped", pongs(Box::new(jumps)));
}

/// The number of shares of an agent had no bound, so that the sum of all agents' could overflow.
#[test]
fn an_agent_with_too_many_shares_is_refused() {
    let (mut master, hello) = (alone(), hello());
    let many = Hello { units: UNITS_MAX + 1, ..hello.clone() };
    master.opened(1, "somewhere", &many, Instant::ZERO);
    let refused = sent(&mut master);
    let ToWhat::Refused(refused) = &refused[0] else { panic!("{refused:?}") };
    assert!(refused.why.contains("takes 1025 shares of a run, and at most 1024"), "{refused:?}");
    master.opened(2, "somewhere", &Hello { units: UNITS_MAX, ..hello }, Instant::ZERO);
    assert_eq!(master.gathered(Instant::ZERO), Gathered::All);
    assert_eq!(master.agents()[0].units, UNITS_MAX);
}

/// An agent could end its master with any number, such as that of a killed process.
#[test]
fn only_exit_codes_of_memtide_come_from_an_agent() {
    for (exit, code) in [(0, 1), (2, 2), (3, 3), (77, 1), (130, 130), (137, 1), (259, 1)] {
        let mut master = armed();
        let failed = Failed { exit, why: "no server answers".to_owned() };
        master.handle(1, from(FromWhat::Failed(failed)), Instant::ZERO);
        let end = master.round_end().expect("its only agent is lost");
        assert_eq!(end.lost[0].lost.exit, code, "{exit}");
    }
}

/// Seconds that came after the dismissal were kept for ever.
#[test]
fn what_agents_report_after_their_dismissal_is_dropped() {
    let mut master = armed();
    let second = || from(FromWhat::Second(Second { interval: vec![0; 8] }));
    master.handle(1, second(), Instant::ZERO);
    assert_eq!(master.poll(), Some(Action::Second(0, vec![0; 8])));
    master.dismiss();
    sent(&mut master);
    let before = format!("{master:?}").len();
    (0..1_000).for_each(|_| master.handle(1, second(), Instant::ZERO));
    assert_eq!((master.poll(), format!("{master:?}").len()), (None, before));
}

fn hello() -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        name: "node0".to_owned(),
        ..Hello::default()
    }
}

/// A master that waits for one agent.
fn alone() -> Master {
    Conductor::new(1, 0, (1, false), 1).master
}

/// A master whose only agent, peer 1, has begun its load.
fn armed() -> Master {
    let (mut master, now) = (alone(), Instant::ZERO);
    master.opened(1, "somewhere", &hello(), now);
    assert_eq!(master.gathered(now), Gathered::All);
    let load = RoundLoad {
        scenario: String::new(),
        step: None,
        digest: String::new(),
        members: vec![(0, 1)],
    };
    let (load_only, samples, points) = (false, false, false);
    let parts = vec![load];
    let (load_max, servers) = (None, Vec::new());
    let (looks_unfilled, looks_filled) = (false, true);
    let round = Round {
        parts,
        load_only,
        samples,
        points,
        looks_unfilled,
        looks_filled,
        servers,
        load_max,
    };
    master.begin(&round, now);
    master.handle(1, from(FromWhat::Prepared(Prepared {})), now);
    while master.loading().is_empty() {
        for what in sent(&mut master) {
            let ToWhat::Ping(ping) = what else { continue };
            let pong = Pong { number: ping.number, clock_ns: 1 };
            master.handle(1, from(FromWhat::Pong(pong)), now);
        }
    }
    sent(&mut master);
    master
}

/// The messages that a master sends.
fn sent(master: &mut Master) -> Vec<ToWhat> {
    let actions = std::iter::from_fn(|| master.poll());
    actions
        .filter_map(|action| match action {
            Action::Send(_, message) => message.what,
            _ => None,
        })
        .collect()
}
