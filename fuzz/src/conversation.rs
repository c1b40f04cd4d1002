//! Properties of the messages between a master and its agents: any bytes are decoded or refused
//! without a panic, decoded messages are decoded again from their own bytes, and whatever a peer
//! sends in any order, the other end continues or closes the connection.

use memtide_base::{Instant, Span};
use memtide_cluster::PROTOCOL;
use memtide_cluster::agent::{self, Agent, Report};
use memtide_cluster::master::{self, Master, Round, RoundLoad, Rules, Wanted};
use memtide_cluster::message::{FromAgent, Hello, ToAgent};
use memtide_record::Interval;
use prost::Message;

/// The bound on the actions after one message.
const ACTIONS_MAX: usize = 1000;
const VERSION: &str = "1";
const PEERS: [u64; 2] = [7, 8];

/// Takes messages of agents, each behind its length; a master with two agents handles them in turn.
pub fn from_agent(data: &[u8]) {
    let rules = Rules {
        wanted: Wanted::Count(2),
        expect: Span::from_s(1),
        prepare_max: Span::from_s(60),
        allow_lost: u32::from(data.len().is_multiple_of(2)),
        expect_flag: None,
        prepare_flag: None,
        goes_on: data.len().is_multiple_of(3),
        own: None,
        version: VERSION.to_owned(),
        seed: 1,
    };
    let mut now = Instant::ZERO;
    let mut master = Master::new(rules, now);
    for peer in PEERS {
        master.opened(peer, "10.0.0.1:1", &hello(), now);
    }
    assert_eq!(master.gathered(now), master::Gathered::All);
    let scenario = "server = '10.0.0.5'".to_owned();
    let members = vec![(0, 1), (1, 2)];
    let parts = vec![RoundLoad { scenario, digest: String::new(), step: None, members }];
    let load_max = Some(Span::from_s(1));
    let round = Round {
        parts,
        load_only: false,
        samples: false,
        points: false,
        looks_unfilled: true,
        looks_filled: true,
        servers: Vec::new(),
        load_max,
    };
    master.begin(&round, now);
    for (message, peer) in messages::<FromAgent>(data).zip(PEERS.into_iter().cycle()) {
        now += Span::from_ms(10);
        master.handle(peer, message, now);
        obey_master(&mut master, now);
        master.tick(now);
        obey_master(&mut master, now);
    }
    // After any messages, a master whose agents are silent comes to an end.
    for _ in 0..60 {
        now += Span::from_s(1);
        master.tick(now);
        obey_master(&mut master, now);
    }
    assert!(master.round_end().is_some(), "the round does not end");
}

/// Carries out the master's actions.
fn obey_master(master: &mut Master, now: Instant) {
    for _ in 0..ACTIONS_MAX {
        match master.poll() {
            None => return,
            Some(master::Action::Send(_, message)) => repeats(&message),
            Some(master::Action::Close(peer)) => master.closed(peer, "it was told to", now),
            Some(master::Action::Second(number, bytes)) => {
                if let Err(why) = Interval::from_bytes(&bytes) {
                    assert!(!why.is_empty(), "an error says nothing");
                    master.unfit(number, why, now);
                }
            }
            Some(master::Action::Record(number, record)) => match record.len() % 2 {
                0 => master.fit(number),
                _ => master.unfit(number, "it is no record".to_owned(), now),
            },
            Some(
                master::Action::Note(_)
                | master::Action::Trouble(_)
                | master::Action::Prepared(_)
                | master::Action::Begins(_)
                | master::Action::Waiting(_)
                | master::Action::Warming(..)
                | master::Action::SoFar(..),
            ) => {}
        }
    }
    panic!("a master has ever more to do");
}

/// Takes messages of a master, each behind its length; an agent handles them, and its shares
/// proceed.
pub fn to_agent(data: &[u8]) {
    let mut agent = Agent::default();
    agent.opened();
    for (turn, message) in messages::<ToAgent>(data).enumerate() {
        agent.handle(message);
        obey_agent(&mut agent);
        match turn % 3 {
            0 => agent.report(Report::Prepared),
            1 => agent.report(Report::Second(Vec::new())),
            _ => agent.report(Report::Ended(b"record".to_vec())),
        }
        obey_agent(&mut agent);
        if !agent.has_master() {
            agent.opened();
        }
    }
    let silent = Instant::ZERO + Span::from_s(3600);
    agent.tick(silent, Instant::ZERO);
    obey_agent(&mut agent);
    assert!(!agent.has_master(), "an agent keeps a master that is silent");
    agent.report(Report::Ended(Vec::new()));
    obey_agent(&mut agent);
    assert!(!agent.is_working() && !agent.is_handing(), "an agent without a master has a share");
}

/// Carries out the agent's actions.
fn obey_agent(agent: &mut Agent) {
    for _ in 0..ACTIONS_MAX {
        match agent.poll() {
            None => return,
            Some(agent::Action::Send(message)) => repeats(&message),
            Some(agent::Action::Find { run, .. }) => {
                let record = run.len().is_multiple_of(2).then_some(&b"record"[..]);
                agent.found(&run, record);
            }
            Some(_) => {}
        }
    }
    panic!("an agent has ever more to do");
}

/// The messages of a stream, up to the first that cannot be decoded.
fn messages<M: Message + Default>(mut data: &[u8]) -> impl Iterator<Item = M> {
    std::iter::from_fn(move || {
        let message = M::decode_length_delimited(&mut data).ok()?;
        repeats(&message);
        Some(message)
    })
}

/// Asserts that an encoded message decodes to an equal one. Compares bytes, because a rate may be
/// NaN.
fn repeats<M: Message + Default>(message: &M) {
    let bytes = message.encode_to_vec();
    let again = M::decode(&bytes[..]).expect("its own bytes are decoded");
    assert_eq!(again.encode_to_vec(), bytes, "a message changes when it is sent");
}

/// The first message of an agent.
pub(crate) fn hello() -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        token: vec![9; 16],
        name: "web".to_owned(),
        cpus: 2,
        busy_since_unix_s: None,
        kept: Vec::new(),
        units: 0,
    }
}
