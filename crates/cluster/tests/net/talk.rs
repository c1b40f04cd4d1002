//! Masters and agents that have proved themselves to each other.

use crate::peers::{
    Keys, LIMIT, at_agent, at_master, clock, closed, closed_at, connected_at, hello, named, note,
    opened, opened_at, ping, said, said_at,
};
use memtide_base::Span;
use memtide_cluster::message::{
    Acknowledged, FromAgent, Hello, RecordPart, Share, Stop, ToAgent, from_agent, to_agent,
};
use memtide_cluster::transport::{AgentNet, FromMaster, FromNet, MasterNet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn stop(why: &str) -> ToAgent {
    let stop = Stop { why: why.to_owned(), ..Stop::default() };
    ToAgent { what: Some(to_agent::What::Stop(stop)) }
}

/// A master, an agent that dialled it, and the master's number of that agent.
fn met() -> (MasterNet, AgentNet, u64) {
    let keys = Keys::new();
    let master = keys.waiting();
    let agent = keys.agent(&master, "a1");
    let (peer, _) = opened(&master);
    opened_at(&agent);
    (master, agent, peer)
}

/// Sends messages both ways and checks their order.
fn talk(master: &MasterNet, peer: u64, agent: &AgentNet) {
    for number in 0..50 {
        agent.send(note(format!("note {number}")));
        master.send(peer, stop(&format!("stop {number}")));
    }
    for number in 0..50 {
        let from_agent::What::Note(note) = said(master) else { panic!("another message") };
        assert_eq!(note.text, format!("note {number}"));
        let to_agent::What::Stop(stop) = said_at(agent) else { panic!("another message") };
        assert_eq!(stop.why, format!("stop {number}"));
    }
}

#[test]
fn an_agent_dials_its_master_and_they_talk() {
    let keys = Keys::new();
    let master = keys.waiting();
    let agent = keys.agent(&master, "a1");
    let (peer, hello) = opened(&master);
    assert_eq!((hello.name.as_str(), hello.token.len()), ("a1", 0));
    let (address, key) = opened_at(&agent);
    assert_eq!(address, master.local_address().unwrap().to_string());
    assert_eq!(key, keys.identity.fingerprint());
    talk(&master, peer, &agent);
    drop(master);
    assert_eq!(closed_at(&agent), "it closed the connection");
}

#[test]
fn a_master_dials_its_agents_and_they_talk() {
    let keys = Keys::new();
    let agents = [keys.listening("a1"), keys.listening("a2")];
    let master = keys.dialing(&[&agents[0], &agents[1]]);
    for (peer, hello) in [opened(&master), opened(&master)] {
        let agent = &agents[usize::from(hello.name == "a2")];
        assert_eq!(opened_at(agent).1, keys.identity.fingerprint());
        talk(&master, peer, agent);
    }
    drop(master);
    for agent in &agents {
        assert_eq!(closed_at(agent), "it closed the connection");
    }
}

/// The clock of an agent's machine, in nanoseconds.
static CLOCK: AtomicU64 = AtomicU64::new(1);

/// A process that was suspended finds waiting pings when it resumes. They count for an agent that
/// only waits.
#[test]
fn what_waited_through_a_long_silence_does_not_end_it() {
    let keys = Keys::new();
    let master = keys.waiting();
    let agent = AgentNet::dial(&keys.join_of(&master), || CLOCK.load(Ordering::Relaxed)).unwrap();
    let agent = named(agent, "a1");
    let (peer, _) = opened(&master);
    opened_at(&agent);
    let heard = agent.heard();
    let busy = |is_busy: bool| {
        let busy_since_unix_s = is_busy.then_some(1);
        agent.set_hello(Hello { busy_since_unix_s, ..hello("a1") });
    };
    for (at, expected) in [(2, 2), (6, 6), (11, 6), (12, 6), (13, 13), (20, 20)] {
        busy(at < 13);
        CLOCK.store(Span::from_s(at).ns(), Ordering::Relaxed);
        master.send(peer, ping(at));
        let from_agent::What::Pong(pong) = said(&master) else { panic!("another message") };
        assert_eq!((pong.number, pong.clock_ns), (at, Span::from_s(at).ns()));
        assert_eq!(heard.load(Ordering::Relaxed), Span::from_s(expected).ns());
    }
}

#[test]
fn a_large_record_arrives_in_parts() {
    let (master, agent, peer) = met();
    let part = |number: usize| {
        let data = vec![u8::try_from(number % 251).unwrap(); 1 << 20];
        let part = RecordPart { data, ..RecordPart::default() };
        FromAgent { what: Some(from_agent::What::Record(part)) }
    };
    // More messages than both queues hold: the agent's send must wait for the master's reader.
    thread::scope(|scope| {
        scope.spawn(|| (0..300).for_each(|number| agent.send(part(number))));
        thread::sleep(Duration::from_millis(300));
        // The answers of the agent's network have places of their own.
        (0..10).for_each(|number| master.send(peer, ping(number)));
        thread::sleep(Duration::from_millis(300));
        let (mut parts, mut pongs) = (0, 0);
        while (parts, pongs) != (300, 10) {
            match said(&master) {
                from_agent::What::Pong(pong) => {
                    assert_eq!(pong.number, pongs);
                    pongs += 1;
                }
                other => {
                    assert_eq!(Some(other), part(parts).what, "part {parts}");
                    parts += 1;
                }
            }
        }
    });
    let acknowledged = Acknowledged { run: b"run".to_vec(), share: 0 };
    master.send(peer, ToAgent { what: Some(to_agent::What::Acknowledged(acknowledged)) });
    assert!(matches!(said_at(&agent), to_agent::What::Acknowledged(_)));
}

#[test]
fn a_ping_is_answered_while_the_caller_sleeps() {
    let (master, agent, peer) = met();
    let mut before = 0;
    for number in 0..256 {
        master.send(peer, ping(number));
        let from_agent::What::Pong(pong) = said(&master) else { panic!("another message") };
        assert_eq!(pong.number, number);
        assert!(before < pong.clock_ns && pong.clock_ns < clock());
        before = pong.clock_ns;
    }
    assert!(agent.heard().load(Ordering::Relaxed) >= before);
    assert_eq!(agent.next(Duration::from_millis(50)), None);
}

#[test]
fn the_way_of_a_ping_does_not_depend_on_the_callers_time() {
    let (master, _agent, peer) = met();
    // On a busy machine the answer takes longer.
    for (number, asleep_ms) in (1..).zip([200, 1_000, 5_000, 25_000]) {
        let before = clock();
        master.send(peer, ping(number));
        thread::sleep(Duration::from_millis(asleep_ms));
        let slept = clock();
        let (pong, trip) = at_master(&master, |event| match event {
            FromNet::Message { message, trip, .. } => Some((message.clone(), *trip)),
            _ => None,
        });
        let Some(from_agent::What::Pong(pong)) = pong.what else { panic!("another message") };
        let trip = trip.unwrap();
        assert!(before <= trip.sent.ns() && trip.sent.ns() <= pong.clock_ns);
        assert!(pong.clock_ns <= trip.received.ns() && trip.received.ns() <= clock());
        // The answer came while this thread slept.
        if trip.received.ns() > slept {
            continue;
        }
        return;
    }
    panic!("no answer came within 25 s");
}

#[test]
fn an_agent_hears_of_a_master_whose_caller_is_busy() {
    let (master, agent, peer) = met();
    // An agent that has had no share hears less often.
    master.send(peer, ToAgent { what: Some(to_agent::What::Share(Share::default())) });
    assert!(matches!(said_at(&agent), to_agent::What::Share(_)));
    let (heard, first) = (agent.heard(), agent.heard().load(Ordering::Relaxed));
    let start = Instant::now();
    while heard.load(Ordering::Relaxed) == first {
        assert!(start.elapsed() < LIMIT, "the master was silent for {LIMIT:?}");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(agent.next(Duration::ZERO), None);
}

#[test]
fn both_ends_hear_of_the_end_within_a_second_and_what_was_sent_arrives() {
    let (master, agent, peer) = met();
    (0..100).for_each(|number| agent.send(note(format!("{number}"))));
    let start = Instant::now();
    drop(agent);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    for number in 0..100 {
        let from_agent::What::Note(note) = said(&master) else { panic!("another message") };
        assert_eq!(note.text, format!("{number}"));
    }
    assert_eq!(closed(&master, peer), "it closed the connection");
}

#[test]
fn an_agent_dials_again_when_its_master_comes_back() {
    let keys = Keys::new();
    let master = keys.waiting();
    let address = master.local_address().unwrap();
    let agent = keys.agent(&master, "a1");
    opened_at(&agent);
    drop(master);
    closed_at(&agent);
    agent.set_hello(hello("again"));
    let master = keys.waiting_on(&address.to_string());
    let (peer, hello) = opened(&master);
    assert_eq!(hello.name, "again");
    let present = connected_at(&agent);
    // A close that was meant for the master before, and comes late, does not reach this one.
    agent.close(present - 1);
    talk(&master, peer, &agent);
    // After the agent's own close it continues, too.
    agent.close(present);
    assert_eq!(closed_at(&agent), "this side closed the connection");
    assert_eq!(closed(&master, peer), "it closed the connection");
    assert_ne!(opened(&master).0, peer);
}

#[test]
fn a_master_dials_again_until_it_closes_the_connection() {
    let keys = Keys::new();
    let agent = keys.listening("a1");
    let master = keys.dialing(&[&agent]);
    let (first, _) = opened(&master);
    agent.close(connected_at(&agent));
    assert_eq!(closed(&master, first), "it closed the connection");
    let (second, _) = opened(&master);
    opened_at(&agent);
    master.close(second);
    assert_eq!(closed(&master, second), "this side closed the connection");
    assert_eq!(closed_at(&agent), "it closed the connection");
    assert_eq!(master.next(Duration::from_secs(1)), None);
}

#[test]
fn an_agent_that_is_not_there_is_unreachable_once() {
    let keys = Keys::new();
    let agent = keys.listening("a1");
    let address = agent.local_address().unwrap();
    drop(agent);
    let token = keys.join.token.clone();
    let master =
        MasterNet::start(&keys.identity, token, None, vec![address.to_string()], clock).unwrap();
    let why = at_master(&master, |event| match event {
        FromNet::Turned { address: at, why } if *at == address.to_string() => Some(why.clone()),
        _ => None,
    });
    let parts = ["it cannot be reached: Connection refused", "start the agent there"];
    assert!(parts.iter().all(|part| why.contains(part)), "{why}");
    assert_eq!(master.next(Duration::from_secs(1)), None);
    let _agent = named(AgentNet::listen(&address.to_string(), &keys.join, clock).unwrap(), "late");
    assert_eq!(opened(&master).1.name, "late");
}

/// An agent that waited for its master was told to start an agent.
#[test]
fn an_agent_whose_master_is_not_there_hears_of_the_master() {
    // Nothing listens at the address of this join file.
    let agent = named(AgentNet::dial(&Keys::new().join, clock).unwrap(), "early");
    let why = at_agent(&agent, |event| match event {
        FromMaster::Turned { why, .. } => Some(why.clone()),
        _ => None,
    });
    assert!(why.contains("no master waits there yet") && !why.contains("start the agent"), "{why}");
}

#[test]
fn a_second_master_finds_a_listening_agent_busy() {
    let keys = Keys::new();
    let agent = keys.listening("a1");
    let first = keys.dialing(&[&agent]);
    let (peer, hello) = opened(&first);
    assert_eq!(hello.busy_since_unix_s, None);
    opened_at(&agent);
    let second = keys.dialing(&[&agent]);
    let (other, hello) = opened(&second);
    assert!(hello.busy_since_unix_s.is_some_and(|since| since > 1_000_000_000));
    assert_eq!(closed(&second, other), "it closed the connection");
    talk(&first, peer, &agent);
    drop(first);
    let end = Instant::now() + LIMIT;
    while opened(&second).1.busy_since_unix_s.is_some() {
        assert!(Instant::now() < end, "the agent stays busy");
    }
}

/// Messages to an agent that reads nothing are kept only until its queue is full.
#[test]
fn a_caller_that_does_not_read_is_given_no_more_than_the_queues_hold() {
    let (master, agent, peer) = met();
    let long = "x".repeat(1 << 20);
    for _ in 0..300 {
        master.send(peer, stop(&long));
    }
    let why = closed(&master, peer);
    assert!(why.contains("it reads too slowly"), "{why}");
    drop(agent);
}
