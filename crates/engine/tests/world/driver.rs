//! The driver of the test world: what is submitted becomes events in a heap, and waiting moves
//! the clock to the next of them.

use super::{Script, World};
use memtide_base::{ConnectionId, Full, Instant, Span};
use memtide_engine::driver::DriverError;
use memtide_engine::{
    Address, Closed, Completion, ConnectError, Driver, Event, Sample, Submission, Submitted,
};
use memtide_server::{Clock, Datagrams, Flow, Session};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A request as it was handed to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Instant,
    pub connection: u32,
    pub bytes: Vec<u8>,
}

/// One worker's door to the world.
pub struct WorldDriver {
    world: World,
    now: Instant,
    links: BTreeMap<u32, Link>,
    /// By when it happens, and then in the order of its making.
    agenda: BinaryHeap<Reverse<(Instant, u64)>>,
    happenings: BTreeMap<u64, (u32, Happening)>,
    made: u64,
    /// The bytes of the completion that was given out last.
    current: Vec<u8>,
}

/// One open connection, seen from the server.
struct Link {
    session: Session,
    /// What is sent and received are datagrams.
    datagrams: bool,
    /// Happenings of former connections of the same number are not delivered.
    born: u64,
    /// Nothing arrives before what was sent before it.
    last_reply: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Happening {
    Connected,
    Refused,
    Bytes(Vec<u8>),
    Writable,
    Closed,
}

impl WorldDriver {
    pub(super) fn new(world: World, now: Instant) -> Self {
        let mut driver = Self {
            now,
            links: BTreeMap::new(),
            agenda: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            made: 0,
            current: Vec::new(),
            world,
        };
        for (at, connection) in driver.world.script.closes.clone() {
            if at >= now {
                driver.plan(at, connection, Happening::Closed);
            }
        }
        driver
    }

    fn plan(&mut self, at: Instant, connection: u32, happening: Happening) {
        self.agenda.push(Reverse((at, self.made)));
        self.happenings.insert(self.made, (connection, happening));
        self.made += 1;
    }

    fn connect(&mut self, connection: u32, datagrams: bool) {
        self.world.seen.borrow_mut().connects.push((self.now, connection));
        let half = half(self.world.script.delay);
        if self.world.script.refuses.is_some_and(|stretch| stretch.holds(self.now)) {
            return self.plan(self.now + half, connection, Happening::Refused);
        }
        let session = Session::new(1 << 20);
        let link = Link { session, datagrams, born: self.made, last_reply: self.now };
        self.links.insert(connection, link);
        self.world.store.connection_opened();
        self.plan(self.now + half, connection, Happening::Connected);
    }

    fn send(&mut self, connection: u32, bytes: &[u8]) -> Submitted {
        let sent = Sent { at: self.now, connection, bytes: bytes.to_vec() };
        self.world.seen.borrow_mut().sent.push(sent);
        let blocked = self.world.script.unwritable.filter(|stretch| stretch.holds(self.now));
        let leaves = blocked.map_or(self.now, |stretch| stretch.to);
        if blocked.is_some() {
            self.plan(leaves, connection, Happening::Writable);
        }
        self.serve(connection, bytes, leaves);
        if blocked.is_some() { Submitted::Pending } else { Submitted::Done }
    }

    /// The server answers bytes that left at `leaves`.
    fn serve(&mut self, connection: u32, bytes: &[u8], leaves: Instant) {
        let script = &self.world.script;
        let Some(link) = self.links.get_mut(&connection) else { return };
        let half = half(script.delay);
        let served = after_stops(script, leaves + half);
        let clock = Clock { now: served, unix_s: 1_700_000_000 + served.ns() / 1_000_000_000 };
        if link.datagrams {
            let mut answers = Datagrams::new(1 << 20);
            answers.handle_datagram(clock, ((), bytes), &self.world.store, None);
            while let Some(((), datagram)) = answers.poll_transmit(served) {
                self.plan(served + half, connection, Happening::Bytes(datagram));
            }
            return;
        }
        let mut out = Vec::new();
        let flow = link.session.handle_bytes(clock, bytes, &self.world.store, &mut out);
        if let Some((_, says)) = script.says.filter(|(from, _)| served >= *from) {
            out = says.to_vec();
        }
        let arrives = (served + half).max(link.last_reply);
        link.last_reply = arrives;
        if !out.is_empty() {
            self.plan(arrives, connection, Happening::Bytes(out));
        }
        if flow == Flow::Close {
            self.plan(arrives, connection, Happening::Closed);
        }
    }

    fn close(&mut self, connection: u32) {
        if self.links.remove(&connection).is_some() {
            self.world.store.connection_closed();
        }
    }

    /// Whether a happening still finds the connection that it belongs to.
    fn is_current(&self, connection: u32, number: u64, happening: &Happening) -> bool {
        let scripted = *happening == Happening::Closed;
        match self.links.get(&connection) {
            Some(link) => scripted || number >= link.born,
            None => *happening == Happening::Refused,
        }
    }
}

fn half(span: Span) -> Span {
    Span::from_ns(span.ns() / 2)
}

/// When a server that has these stops gets to what reached it at `at`.
fn after_stops(script: &Script, at: Instant) -> Instant {
    script.server_stops.iter().find(|stop| stop.holds(at)).map_or(at, |stop| stop.to)
}

impl Driver for WorldDriver {
    fn now(&self) -> Instant {
        self.now
    }

    fn submit(&mut self, submission: Submission<'_>) -> Result<Submitted, Full> {
        Ok(match submission {
            Submission::Connect { connection, address, sockets, .. } => {
                self.world.seen.borrow_mut().sockets = sockets;
                self.connect(connection.0, matches!(address, Address::Udp(_)));
                Submitted::Done
            }
            Submission::Send { connection, message } => {
                self.send(connection.0, message.flat(&mut Vec::new()))
            }
            Submission::Close { connection, .. } => {
                self.close(connection.0);
                Submitted::Done
            }
        })
    }

    fn has_unsent(&self) -> bool {
        self.happenings.values().any(|(_, happening)| *happening == Happening::Writable)
    }

    fn wait(&mut self, until: Instant) -> Result<(), DriverError> {
        assert_ne!(until, Instant::NEVER, "a worker never waits for ever");
        let next = self.agenda.peek().map_or(until, |Reverse((at, _))| *at);
        self.now = self.now.max(until.min(next));
        let stops = &self.world.script.worker_stops;
        if let Some(stop) = stops.iter().find(|stop| stop.holds(self.now)) {
            self.now = stop.to;
        }
        Ok(())
    }

    fn completion(&mut self) -> Option<Completion<'_>> {
        while let Some(&Reverse((at, number))) = self.agenda.peek() {
            if at > self.now {
                return None;
            }
            self.agenda.pop();
            let (connection, happening) =
                self.happenings.remove(&number).expect("what is on the agenda happens");
            if !self.is_current(connection, number, &happening) {
                continue;
            }
            let event = match happening {
                Happening::Connected => Event::Connected,
                Happening::Refused => Event::ConnectFailed(ConnectError::Refused),
                Happening::Writable => Event::Writable,
                Happening::Closed => {
                    self.close(connection);
                    Event::Closed(Closed::ByPeer)
                }
                Happening::Bytes(bytes) => {
                    self.current = bytes;
                    Event::Received(&self.current)
                }
            };
            return Some(Completion { connection: ConnectionId(connection), at: self.now, event });
        }
        None
    }

    fn export(&mut self, sample: Sample) -> Result<(), Full> {
        self.world.seen.borrow_mut().samples.push(sample);
        Ok(())
    }
}
