//! The network between master and agents: delays, lost connections, cut directions, machines that
//! are suspended, crash and return. Within a stream nothing is reordered; streams do not wait for
//! each other.

use crate::conductor::{self, Conductor, VERSION};
use crate::node::{MS, MachineClock, Node, S, Step, Wish};
use memtide_base::Instant;
use memtide_base::rng::Random;
use memtide_cluster::PROTOCOL;
use memtide_cluster::agent::Agent;
use memtide_cluster::message::from_agent::What as FromWhat;
use memtide_cluster::message::to_agent::What as ToWhat;
use memtide_cluster::message::{FromAgent, Hello, Pong, ToAgent};
use std::collections::BTreeMap;

/// The longest time that any test may take, in true time.
const END: u64 = 400 * S;
const TICK: u64 = 100 * MS;

/// A fault of the network or of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The connection is lost; both ends notice it.
    Reset,
    /// Nothing arrives at the master, or at the agent, for this time.
    Cut { to_master: u64, to_agent: u64 },
    /// The agent's machine is suspended.
    Stop(u64),
    /// The agent's process ends, with or without a message to the other end; it may return.
    Crash { silent: bool, again: Option<u64> },
    /// The master's process ends.
    MasterCrash { silent: bool },
    /// The master's machine is suspended.
    MasterStop(u64),
    /// The master's user ends the run.
    Interrupt,
    /// The agent's clock jumps.
    Jump(i64),
}

/// The moment of a fault.
#[derive(Clone, Copy, Debug)]
pub enum When {
    At(u64),
    /// After this many messages.
    Message(u64),
}

/// Changes a message in transit; returns any number of replacements, or `None` for no change.
pub type Tamper<M> = Box<dyn FnMut(&M) -> Option<Vec<M>>>;

enum Event {
    ToMaster(usize, u64, FromAgent),
    ToAgent(usize, u64, ToAgent),
    Opened(usize, u64),
    ClosedAtMaster(usize, u64),
    ClosedAtAgent(usize, u64),
    Dial(usize),
    MasterTick,
    AgentTick(usize),
    Share(usize, u64, Step),
    Again(usize),
    Fault(usize),
}

/// A connection.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    peer: u64,
    at_master: bool,
    at_agent: bool,
    /// The arrival of the last message of each direction.
    to_master: u64,
    to_agent: u64,
}

pub struct World {
    now: u64,
    number: u64,
    random: Random,
    events: BTreeMap<(u64, u64), Event>,
    pub nodes: Vec<Node>,
    links: Vec<Link>,
    delays: Vec<[u64; 2]>,
    /// The end of the cut of each direction.
    cut: Vec<[u64; 2]>,
    pub conductor: Conductor,
    /// The master's machine is suspended until this time.
    master_resumes: u64,
    pub faults: Vec<(When, usize, Fault)>,
    delivered: u64,
    pub tamper_to_master: Option<Tamper<FromAgent>>,
    pub tamper_to_agent: Option<Tamper<ToAgent>>,
}

impl World {
    pub fn new(seed: u64, agents: usize, conductor: Conductor) -> Self {
        let mut random = Random::new(seed);
        let nodes = (0..agents).map(|_| node(&mut random)).collect();
        let scales = [50_000, 500_000, 20 * MS, 100 * MS];
        let mut way = || scales[random.below(4) as usize];
        let delays = (0..agents).map(|_| [way(), way()]).collect();
        let mut world = Self {
            now: 0,
            number: 0,
            random,
            events: BTreeMap::new(),
            nodes,
            links: vec![Link::default(); agents],
            delays,
            cut: vec![[0, 0]; agents],
            conductor,
            master_resumes: 0,
            faults: Vec::new(),
            delivered: 0,
            tamper_to_master: None,
            tamper_to_agent: None,
        };
        world.push(0, Event::MasterTick);
        for node in 0..agents {
            let at = world.random.below(3 * S);
            world.push(at, Event::Dial(node));
            world.push(at, Event::AgentTick(node));
        }
        world
    }

    fn push(&mut self, at: u64, event: Event) {
        self.number += 1;
        self.events.insert((at.max(self.now), self.number), event);
    }

    /// Runs until no event is left.
    pub fn run(&mut self) {
        for at in 0..self.faults.len() {
            if let When::At(time) = self.faults[at].0 {
                self.push(time, Event::Fault(at));
            }
        }
        while !self.is_quiet() {
            let Some(((now, _), event)) = self.events.pop_first() else { break };
            assert!(now < END, "it does not end: {:?}", self.conductor.notes);
            self.now = now;
            self.happens(event);
            if now >= self.master_resumes {
                let master = self.conductor.act(Instant::from_ns(now));
                master.into_iter().for_each(|wish| self.of_master(wish));
            }
        }
    }

    fn is_quiet(&self) -> bool {
        let node = |node: &Node| !node.is_up || node.running.is_none();
        let rests = self.nodes.iter().all(node) && self.links.iter().all(|link| !link.at_agent);
        (self.conductor.is_over || !self.conductor.is_up) && rests
    }

    fn happens(&mut self, event: Event) {
        let of = match &event {
            Event::ToAgent(of, ..) | Event::ClosedAtAgent(of, _) | Event::Dial(of) => Some(*of),
            Event::AgentTick(of) | Event::Share(of, ..) => Some(*of),
            _ => None,
        };
        if let Some(of) = of {
            let resumes = self.nodes[of].resumes;
            if resumes > self.now {
                return self.push(resumes, event);
            }
        }
        let is_masters = matches!(
            event,
            Event::MasterTick | Event::ToMaster(..) | Event::Opened(..) | Event::ClosedAtMaster(..)
        );
        if is_masters && self.master_resumes > self.now {
            return self.push(self.master_resumes, event);
        }
        let now = Instant::from_ns(self.now);
        match event {
            Event::MasterTick if self.conductor.is_up => {
                self.conductor.master.tick(now);
                self.push(self.now + TICK, Event::MasterTick);
            }
            Event::MasterTick => {}
            Event::AgentTick(of) => {
                let node = &mut self.nodes[of];
                if node.is_up {
                    let clock = node.clock_now(self.now);
                    node.agent.tick(Instant::from_ns(clock), Instant::from_ns(node.heard));
                }
                self.agent_acts(of);
                self.push(self.now + TICK, Event::AgentTick(of));
            }
            Event::Share(of, epoch, step) => {
                if self.nodes[of].is_up && self.nodes[of].epoch == epoch {
                    let wish = self.nodes[of].step(step, self.now);
                    wish.into_iter().for_each(|wish| self.of_agent(of, wish));
                    self.agent_acts(of);
                }
            }
            Event::Dial(of) => self.dial(of),
            Event::Again(of) => {
                self.nodes[of].is_up = true;
                self.dial(of);
            }
            Event::Fault(at) => {
                let (_, of, fault) = self.faults[at];
                self.fault(of, fault);
            }
            event => self.arrives(event, now),
        }
    }

    fn arrives(&mut self, event: Event, now: Instant) {
        self.delivered += 1;
        for at in 0..self.faults.len() {
            let (When::Message(number), of, fault) = self.faults[at] else { continue };
            if number == self.delivered {
                self.fault(of, fault);
            }
        }
        match event {
            Event::Opened(of, peer) if self.is_open(of, peer).0 => {
                let hello = self.hello(of);
                self.conductor.master.opened(peer, &format!("10.0.0.{of}:1"), &hello, now);
            }
            Event::ToMaster(of, peer, message) if self.is_open(of, peer).0 => {
                self.conductor.master.handle(peer, message, now);
            }
            Event::ClosedAtMaster(of, peer) if self.is_open(of, peer).0 => {
                self.links[of].at_master = false;
                self.conductor.master.closed(peer, "it was reset", now);
            }
            Event::ToAgent(of, peer, message) if self.is_open(of, peer).1 => {
                self.nodes[of].heard = self.nodes[of].clock_now(self.now);
                match message.what {
                    Some(ToWhat::Ping(ping)) => {
                        let clock_ns = self.nodes[of].clock_now(self.now);
                        let pong = FromWhat::Pong(Pong { number: ping.number, clock_ns });
                        self.send_to_master(of, FromAgent { what: Some(pong) });
                    }
                    _ => self.nodes[of].agent.handle(message),
                }
                self.agent_acts(of);
            }
            Event::ClosedAtAgent(of, peer) if self.is_open(of, peer).1 => {
                self.links[of].at_agent = false;
                self.nodes[of].agent.closed();
                self.agent_acts(of);
                self.redial(of);
            }
            _ => {}
        }
    }

    /// True for each end, master and agent, that still has this connection.
    fn is_open(&self, of: usize, peer: u64) -> (bool, bool) {
        let link = self.links[of];
        let is_it = link.peer == peer;
        let (master, agent) = (self.conductor.is_up, self.nodes[of].is_up);
        (is_it && link.at_master && master, is_it && link.at_agent && agent)
    }

    fn hello(&self, of: usize) -> Hello {
        let busy = self.nodes[of].running.as_ref().map(|_| 1);
        Hello {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            name: format!("node{of}"),
            busy_since_unix_s: busy,
            ..Hello::default()
        }
    }

    fn dial(&mut self, of: usize) {
        let is_gone = self.conductor.is_over || !self.conductor.is_up;
        if !self.nodes[of].is_up || self.links[of].at_agent || is_gone {
            return;
        }
        if self.cut[of].iter().any(|until| *until > self.now) || self.links[of].at_master {
            return self.redial(of);
        }
        let peer = self.links[of].peer + 1_000;
        let peer = if peer < 1_000 + of as u64 { 1_000 + of as u64 } else { peer };
        let (to_master, to_agent) = (self.now, self.now);
        self.links[of] = Link { peer, at_master: true, at_agent: true, to_master, to_agent };
        self.nodes[of].heard = self.nodes[of].clock_now(self.now);
        self.nodes[of].agent.opened();
        let at = self.arrival(of, 0);
        self.push(at, Event::Opened(of, peer));
    }

    fn redial(&mut self, of: usize) {
        let pause = 200 * MS + self.random.below(1_800 * MS);
        self.push(self.now + pause, Event::Dial(of));
    }

    /// The arrival of a message that is sent now to the master (0) or the agent (1).
    fn arrival(&mut self, of: usize, way: usize) -> u64 {
        let mean = self.delays[of][way];
        let jitter = (-self.random.unit().ln() * mean as f64 * 0.2) as u64;
        let at = (self.now + mean + jitter).max(self.cut[of][way]);
        let link = &mut self.links[of];
        let last = if way == 0 { &mut link.to_master } else { &mut link.to_agent };
        *last = at.max(*last + 1);
        *last
    }

    fn send_to_master(&mut self, of: usize, message: FromAgent) {
        let changed = self.tamper_to_master.as_mut().filter(|_| of == 0);
        let messages = changed.and_then(|tamper| tamper(&message)).unwrap_or(vec![message]);
        for message in messages {
            let (at, peer) = (self.arrival(of, 0), self.links[of].peer);
            self.push(at, Event::ToMaster(of, peer, message));
        }
    }

    fn agent_acts(&mut self, of: usize) {
        for wish in self.nodes[of].act(self.now) {
            self.of_agent(of, wish);
        }
    }

    fn of_agent(&mut self, of: usize, wish: Wish) {
        match wish {
            Wish::Send(message) if self.links[of].at_agent => self.send_to_master(of, message),
            Wish::Close if self.links[of].at_agent => {
                self.links[of].at_agent = false;
                let (at, peer) = (self.arrival(of, 0), self.links[of].peer);
                self.push(at, Event::ClosedAtMaster(of, peer));
                self.redial(of);
            }
            Wish::Later(at, step) => {
                let epoch = self.nodes[of].epoch;
                self.push(at, Event::Share(of, epoch, step));
            }
            Wish::Send(_) | Wish::Close => {}
        }
    }

    fn of_master(&mut self, wish: conductor::Wish) {
        let (conductor::Wish::Send(peer, _) | conductor::Wish::Close(peer)) = &wish;
        let found = self.links.iter().position(|link| link.peer == *peer && link.at_master);
        let (Some(of), peer) = (found, *peer) else { return };
        match wish {
            conductor::Wish::Send(_, message) => {
                let changed = self.tamper_to_agent.as_mut().filter(|_| of == 0);
                let messages = changed.and_then(|it| it(&message)).unwrap_or(vec![message]);
                for message in messages {
                    let at = self.arrival(of, 1);
                    self.push(at, Event::ToAgent(of, peer, message));
                }
            }
            conductor::Wish::Close(_) => {
                self.links[of].at_master = false;
                let at = self.arrival(of, 1);
                self.push(at, Event::ClosedAtAgent(of, peer));
            }
        }
    }

    fn fault(&mut self, of: usize, fault: Fault) {
        let (now, peer) = (self.now, self.links[of].peer);
        match fault {
            Fault::Reset => {
                self.push(now + MS, Event::ClosedAtMaster(of, peer));
                self.push(now + MS, Event::ClosedAtAgent(of, peer));
            }
            Fault::Cut { to_master, to_agent } => {
                self.cut[of] = [now + to_master, now + to_agent];
                // Messages in transit are held, too, as if they were retransmitted repeatedly.
                self.hold(of);
            }
            Fault::Stop(length) => self.nodes[of].resumes = now + length,
            Fault::Crash { silent, again } => {
                let node = &mut self.nodes[of];
                (node.is_up, node.agent, node.running) = (false, Agent::default(), None);
                node.resumes = 0;
                self.links[of].at_agent = false;
                if !silent {
                    let at = self.arrival(of, 0);
                    self.push(at, Event::ClosedAtMaster(of, peer));
                }
                again.into_iter().for_each(|after| self.push(now + after, Event::Again(of)));
            }
            Fault::MasterCrash { silent } => {
                self.conductor.is_up = false;
                for of in 0..self.nodes.len() {
                    self.links[of].at_master = false;
                    if !silent {
                        let (at, peer) = (self.arrival(of, 1), self.links[of].peer);
                        self.push(at, Event::ClosedAtAgent(of, peer));
                    }
                }
            }
            Fault::MasterStop(length) => self.master_resumes = now + length,
            Fault::Interrupt => {
                let now = Instant::from_ns(now);
                self.conductor.interrupt(now);
            }
            Fault::Jump(by) => self.nodes[of].clock.offset += by,
        }
    }

    /// Holds messages in transit to either end as long as their direction is cut.
    fn hold(&mut self, of: usize) {
        let held: Vec<_> = self
            .events
            .iter()
            .filter(|(_, event)| match event {
                Event::ToMaster(it, ..) | Event::Opened(it, _) | Event::ClosedAtMaster(it, _) => {
                    *it == of
                }
                Event::ToAgent(it, ..) | Event::ClosedAtAgent(it, _) => *it == of,
                _ => false,
            })
            .map(|(at, _)| *at)
            .collect();
        for at in held {
            let event = self.events.remove(&at).expect("it is there");
            let is_for_agent = matches!(event, Event::ToAgent(..) | Event::ClosedAtAgent(..));
            let way = usize::from(is_for_agent);
            let until = at.0.max(self.cut[of][way]);
            let link = &mut self.links[of];
            let last = if way == 0 { &mut link.to_master } else { &mut link.to_agent };
            *last = until.max(*last);
            self.push(until, event);
        }
    }
}

fn node(random: &mut Random) -> Node {
    let ppm = random.below(1_001) as i64 - 500;
    Node {
        agent: Agent::default(),
        clock: MachineClock { offset: random.below(1 << 50) as i64, ppm },
        is_up: true,
        resumes: 0,
        heard: 0,
        epoch: 0,
        running: None,
        kept: BTreeMap::new(),
        forgotten: Vec::new(),
        made: BTreeMap::new(),
        begun: Vec::new(),
        told: None,
        alone_ns: 0,
        fails: None,
        lies: false,
        fills: false,
        warms: false,
        windows: Vec::new(),
        late: Vec::new(),
        prepares: MS + random.below(2 * S),
        length: 2 * S + random.below(6 * S),
        padding: if random.below(50) == 0 { 3 << 20 } else { random.below(200) as usize },
    }
}
