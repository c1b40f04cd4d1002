//! A master and agents on loopback, with time limits.

use memtide_cluster::identity::Identity;
use memtide_cluster::join::{Join, Token};
use memtide_cluster::law::LawWords;
use memtide_cluster::message::{FromAgent, Hello, Note, Ping, ToAgent, from_agent, to_agent};
use memtide_cluster::transport::{AgentNet, FromMaster, FromNet, MasterNet};
use ring::rand::SystemRandom;
use std::time::{Duration, Instant};

/// The longest time of any step of a test, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// The monotonic clock that the tests hand in.
pub(crate) fn clock() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let since = START.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_nanos()).unwrap() + 1
}

/// Loopback with a free port.
pub(crate) const LOOPBACK: &str = "127.0.0.1:0";

pub(crate) fn hello(name: &str) -> Hello {
    Hello { protocol: 1, name: name.to_owned(), cpus: 2, ..Hello::default() }
}

/// The agent, with its hello set.
pub(crate) fn named(agent: AgentNet, name: &str) -> AgentNet {
    agent.set_hello(hello(name));
    agent
}

/// A master's key and its join file.
pub(crate) struct Keys {
    pub(crate) identity: Identity,
    pub(crate) join: Join,
}

impl Keys {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let identity = Identity::make("memtide master", &random).unwrap();
        let token = Token::make(&random).unwrap();
        let limits = LawWords::default();
        let address = "127.0.0.1:1".to_owned();
        let join = Join { master: identity.fingerprint(), token, address, limits };
        Self { identity, join }
    }

    /// A master that waits for agents.
    pub(crate) fn waiting(&self) -> MasterNet {
        self.waiting_on(LOOPBACK)
    }

    pub(crate) fn waiting_on(&self, address: &str) -> MasterNet {
        let token = self.join.token.clone();
        MasterNet::start(&self.identity, token, Some(address), Vec::new(), clock).unwrap()
    }

    /// A master that dials agents.
    pub(crate) fn dialing(&self, agents: &[&AgentNet]) -> MasterNet {
        let agents = agents.iter().map(|agent| agent.local_address().unwrap().to_string());
        let token = self.join.token.clone();
        MasterNet::start(&self.identity, token, None, agents.collect(), clock).unwrap()
    }

    /// The join file for a master that waits.
    pub(crate) fn join_of(&self, master: &MasterNet) -> Join {
        let address = master.local_address().unwrap().to_string();
        Join { address, ..self.join.clone() }
    }

    /// An agent that dials a master.
    pub(crate) fn agent(&self, master: &MasterNet, name: &str) -> AgentNet {
        named(AgentNet::dial(&self.join_of(master), clock).unwrap(), name)
    }

    /// An agent that waits for masters.
    pub(crate) fn listening(&self, name: &str) -> AgentNet {
        named(AgentNet::listen(LOOPBACK, &self.join, clock).unwrap(), name)
    }
}

/// The result of `wanted` for the first of these events for which it returns one.
fn first<E: std::fmt::Debug, T>(
    next: impl Fn(Duration) -> Option<E>,
    wanted: impl Fn(&E) -> Option<T>,
) -> T {
    let end = Instant::now() + LIMIT;
    let mut seen = Vec::new();
    while Instant::now() < end {
        let Some(event) = next(Duration::from_millis(100)) else { continue };
        if let Some(found) = wanted(&event) {
            return found;
        }
        seen.push(event);
    }
    panic!("there was only {seen:?}");
}

pub(crate) fn at_master<T>(net: &MasterNet, wanted: impl Fn(&FromNet) -> Option<T>) -> T {
    first(|wait| net.next(wait), wanted)
}

pub(crate) fn at_agent<T>(net: &AgentNet, wanted: impl Fn(&FromMaster) -> Option<T>) -> T {
    first(|wait| net.next(wait), wanted)
}

pub(crate) fn opened(net: &MasterNet) -> (u64, Hello) {
    at_master(net, |event| match event {
        FromNet::Opened { peer, hello, .. } => Some((*peer, hello.clone())),
        _ => None,
    })
}

pub(crate) fn opened_at(net: &AgentNet) -> (String, [u8; 32]) {
    at_agent(net, |event| match event {
        FromMaster::Opened { address, .. } => Some((address.clone(), net.master())),
        _ => None,
    })
}

/// The number of an agent's connection to its master, once it has opened.
pub(crate) fn connected_at(net: &AgentNet) -> u64 {
    at_agent(net, |event| match event {
        FromMaster::Opened { peer, .. } => Some(*peer),
        _ => None,
    })
}

/// The reason why the master's connection to an agent ended.
pub(crate) fn closed(net: &MasterNet, of: u64) -> String {
    at_master(net, |event| match event {
        FromNet::Closed { peer, why } if *peer == of => Some(why.clone()),
        _ => None,
    })
}

pub(crate) fn closed_at(net: &AgentNet) -> String {
    at_agent(net, |event| match event {
        FromMaster::Closed { why, .. } => Some(why.clone()),
        _ => None,
    })
}

/// The next sentence about a peer that the master refused.
pub(crate) fn turned(net: &MasterNet) -> String {
    at_master(net, |event| match event {
        FromNet::Turned { why, .. } => Some(why.clone()),
        _ => None,
    })
}

pub(crate) fn turned_at(net: &AgentNet) -> String {
    at_agent(net, |event| match event {
        FromMaster::Turned { why, .. } => Some(why.clone()),
        _ => None,
    })
}

pub(crate) fn said(net: &MasterNet) -> from_agent::What {
    at_master(net, |event| match event {
        FromNet::Message { message, .. } => message.what.clone(),
        _ => None,
    })
}

pub(crate) fn said_at(net: &AgentNet) -> to_agent::What {
    at_agent(net, |event| match event {
        FromMaster::Message { message, .. } => message.what.clone(),
        _ => None,
    })
}

pub(crate) fn note(text: impl Into<String>) -> FromAgent {
    FromAgent { what: Some(from_agent::What::Note(Note { text: text.into(), is_trouble: false })) }
}

pub(crate) fn ping(number: u64) -> ToAgent {
    ToAgent { what: Some(to_agent::What::Ping(Ping { number })) }
}
