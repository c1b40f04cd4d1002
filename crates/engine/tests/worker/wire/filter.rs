//! A filter that scrambles all bytes, at both ends. It uses the engine's filter interface; load,
//! authentication and questions are not affected.

use crate::prelude::*;
use crate::rig::{Watched, run_through};
use memtide_base::{ConnectionId, Full};
use memtide_engine::probe::ask;
use memtide_world::driver::DriverError;
use memtide_world::fleet::TroubleKind;
use memtide_world::question::{Answer, Question};
use memtide_world::{
    Address, Closed, Completion, Credentials, Event, Filter, FilterPlan, Message, PeerError,
    SendBuffer, SocketOptions, Submitted,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The first bytes that both ends send.
const HELLO: &[u8] = b"scrambled";
/// The bytes that a server sends before some of its answers; the client must send them in return.
const RENEW: &[u8] = b"renew";

/// One end of a scrambled connection.
#[derive(Debug, Default)]
struct Scramble {
    has_said_hello: bool,
    /// Bytes of the other end's hello that have arrived.
    heard: usize,
    /// Bytes that cannot be sent before the hello has arrived.
    waits: Vec<u8>,
    /// True if the other end asked to renew and this end has not confirmed it yet.
    renews: bool,
    /// Bytes sent and received so far; they select how the next byte is scrambled.
    said: usize,
    told: usize,
}

fn scrambled(byte: u8, nth: &mut usize) -> u8 {
    *nth += 1;
    byte ^ (*nth as u8).wrapping_mul(31) ^ 0xa5
}

impl Filter for Scramble {
    fn handle_bytes(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), PeerError> {
        // A driver of these tests delivers bytes in the pieces in which they were written.
        let rest = wire.strip_prefix(RENEW);
        self.renews |= rest.is_some();
        for &byte in rest.unwrap_or(wire) {
            match HELLO.get(self.heard) {
                None => plain.push(scrambled(byte, &mut self.told)),
                Some(&expected) if expected == byte => self.heard += 1,
                Some(_) => return Err(PeerError::Unreadable { why: "are not scrambled" }),
            }
        }
        Ok(())
    }

    fn poll_transmit(&mut self, out: &mut SendBuffer) {
        self.waits.extend_from_slice(out.message().flat(&mut Vec::new()));
        out.clear();
        if !std::mem::replace(&mut self.has_said_hello, true) {
            out.bytes_mut().extend_from_slice(HELLO);
        }
        if std::mem::take(&mut self.renews) {
            out.bytes_mut().extend_from_slice(RENEW);
        }
        if self.is_open() {
            let said = &mut self.said;
            out.bytes_mut().extend(self.waits.drain(..).map(|byte| scrambled(byte, said)));
        }
    }

    fn is_open(&self) -> bool {
        self.heard == HELLO.len()
    }
}

/// The instants and connections of key renewals.
type Renewals = Vec<(Instant, ConnectionId)>;

/// The world's driver with the servers' end of the filter in front.
struct Ends {
    world: Watched,
    ends: BTreeMap<ConnectionId, Scramble>,
    /// True if servers request a renewal with every answer.
    renewing: bool,
    /// The renewals that servers requested, and those that clients confirmed.
    renewed: Rc<RefCell<[Renewals; 2]>>,
    /// The time that filters took of the client, which its clock shows.
    spent: Arc<AtomicU64>,
    /// Bytes that servers send by themselves.
    said: VecDeque<(ConnectionId, Vec<u8>)>,
    current: Vec<u8>,
}

impl Ends {
    fn new(world: Watched) -> Self {
        Self {
            world,
            ends: BTreeMap::new(),
            renewing: false,
            renewed: Rc::default(),
            spent: Arc::default(),
            said: VecDeque::new(),
            current: Vec::new(),
        }
    }

    fn spent(&self) -> Span {
        Span::from_ns(self.spent.load(Ordering::Relaxed))
    }
}

/// The bytes on the wire for bytes that `end` sends.
fn say(end: &mut Scramble, bytes: &[u8]) -> Vec<u8> {
    let mut out = SendBuffer::with_capacity(0, 0);
    out.bytes_mut().extend_from_slice(bytes);
    end.poll_transmit(&mut out);
    std::mem::take(out.bytes_mut())
}

impl Driver for Ends {
    fn now(&self) -> Instant {
        self.world.now() + self.spent()
    }

    fn connect(
        &mut self,
        connection: ConnectionId,
        address: &Address,
        source: Option<IpAddr>,
        sockets: SocketOptions,
    ) {
        self.ends.insert(connection, Scramble::default());
        self.world.connect(connection, address, source, sockets);
    }

    fn close(&mut self, connection: ConnectionId, linger: Option<Span>) {
        self.world.close(connection, linger);
    }

    fn send(&mut self, connection: ConnectionId, message: Message<'_>) -> Submitted {
        let end = self.ends.get_mut(&connection).expect("it is open");
        let (mut plain, mut room) = (Vec::new(), Vec::new());
        let wire = message.flat(&mut room);
        let words: [&[u8]; 3] = [b"get ", b"set ", b"tim"];
        for word in words {
            assert!(!wire.windows(word.len()).any(|part| part == word), "all is scrambled");
        }
        end.handle_bytes(wire, &mut plain).expect("the client scrambles");
        if std::mem::take(&mut end.renews) {
            self.renewed.borrow_mut()[1].push((self.world.now(), connection));
        }
        let said = say(end, &[]);
        if !said.is_empty() {
            self.said.push_back((connection, said));
        }
        match plain.is_empty() {
            true => Submitted::Done,
            false => self.world.send(connection, Message::plain(&plain)),
        }
    }

    fn has_unsent(&self) -> bool {
        self.world.has_unsent()
    }

    fn wait(&mut self, until: Instant) -> Result<(), DriverError> {
        match self.said.is_empty() {
            true => self.world.wait(until - self.spent()),
            false => Ok(()),
        }
    }

    fn completion(&mut self) -> Option<Completion<'_>> {
        let at = self.now();
        if let Some((connection, bytes)) = self.said.pop_front() {
            self.current = bytes;
            return Some(Completion { connection, at, event: Event::Received(&self.current) });
        }
        let spent = self.spent();
        let Completion { connection, at, event } = self.world.completion()?;
        let at = at + spent;
        let Event::Received(bytes) = event else {
            return Some(Completion { connection, at, event });
        };
        let end = self.ends.get_mut(&connection).expect("it is open");
        self.current = say(end, bytes);
        if self.renewing {
            self.current.splice(..0, RENEW.iter().copied());
            self.renewed.borrow_mut()[0].push((at, connection));
        }
        Some(Completion { connection, at, event: Event::Received(&self.current) })
    }

    fn kept(&self) -> Option<Span> {
        self.world.kept()
    }

    fn export(&mut self, sample: Sample) -> Result<(), Full> {
        self.world.export(sample)
    }
}

fn scrambling(plan: Plan) -> Plan {
    let filter = Some(FilterPlan::new(|server| {
        assert_eq!(server, "one", "a filter learns whom it talks to");
        Box::<Scramble>::default()
    }));
    Plan { filter, ..plan }
}

#[test]
fn a_server_hears_the_same_through_a_filter() {
    let mix = "get=5,gets=1,set=3,cas=1,delete=1,incr=1,touch=1";
    for protocol in [Protocol::Text, Protocol::Binary, Protocol::Meta] {
        for case in 0..3 {
            let mut plan = Plan { connections: 3, ..plan() }.mixing(mix);
            plan.requests.protocol = protocol;
            let plan = match case {
                0 => Plan { depth: 4, ..plan }.closed().lasting(Span::from_ms(50)),
                1 => plan.open(2_000.0, Arrival::Poisson, Sharing::Shared),
                _ => {
                    plan.requests.noreply = true;
                    plan.open(2_000.0, Arrival::Fixed, Sharing::Connection)
                }
            };
            let bare = run(&plan, Script::default());
            let ran = run_through(&scrambling(plan), Ends::new);
            assert!(ran.measured().answered > 100);
            assert_eq!(*ran.measured(), *bare.measured(), "{protocol}, case {case}");
            let (ours, theirs) = (ran.seen.borrow(), bare.seen.borrow());
            assert!(ours.sent == theirs.sent, "{protocol}, case {case}");
            assert!(ours.samples == theirs.samples, "{protocol}, case {case}");
        }
    }
}

/// The filter's own bytes do not wait for the next request.
#[test]
fn what_a_filter_says_by_itself_leaves_at_once() {
    for protocol in [Protocol::Text, Protocol::Binary, Protocol::Meta] {
        let mut plan = Plan { connections: 2, ..plan() }.mixing("get=1,cas=1").lasting(LASTING);
        plan.requests.protocol = protocol;
        for plan in [plan.clone().open(10.0, Arrival::Fixed, Sharing::Shared), plan.closed()] {
            let renewed = Rc::new(RefCell::default());
            let ran = run_through(&scrambling(plan), |world| Ends {
                renewing: true,
                renewed: Rc::clone(&renewed),
                ..Ends::new(world)
            });
            assert_eq!(ran.all().answered, ran.all().intended);
            let [told, heard] = renewed.take();
            assert!(told.len() > 2, "{} renewals", told.len());
            assert_eq!(told, heard);
        }
    }
}

/// A filter that takes time.
#[derive(Debug)]
struct Costly {
    inner: Scramble,
    spent: Arc<AtomicU64>,
}

/// The time that encoding requests takes, and decoding replies.
const ENCODING: Span = Span::from_us(40);
const DECODING: Span = Span::from_us(7);

impl Filter for Costly {
    fn handle_bytes(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), PeerError> {
        self.spent.fetch_add(DECODING.ns(), Ordering::Relaxed);
        self.inner.handle_bytes(wire, plain)
    }

    fn poll_transmit(&mut self, out: &mut SendBuffer) {
        let cost = if out.is_empty() { Span::ZERO } else { ENCODING };
        self.spent.fetch_add(cost.ns(), Ordering::Relaxed);
        self.inner.poll_transmit(out);
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }
}

/// Encoding comes before *sent*, and decoding after *received*: both are memtide's own delay, and
/// the service time has none of it.
#[test]
fn time_that_a_filter_takes_is_never_service_time() {
    let one = Plan { connections: 1, depth: 1, ..plan() };
    let plan = one.mixing("get=3,set=1").lasting(LASTING);
    let far = |plan: Plan| (run(&plan, Script::default()), plan);
    for (bare, plan) in
        [far(plan.clone().open(100.0, Arrival::Fixed, Sharing::Shared)), far(plan.closed())]
    {
        let is_closed = matches!(plan.pacing, Pacing::Closed);
        let spent = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&spent);
        let filter = Some(FilterPlan::new(move |_| {
            Box::new(Costly { inner: Scramble::default(), spent: Arc::clone(&clock) })
        }));
        let through = |world| Ends { spent: Arc::clone(&spent), ..Ends::new(world) };
        let ran = run_through(&Plan { filter, ..plan }, through);
        let (ran, bare) = (ran.seen.borrow(), bare.seen.borrow());
        assert!(ran.samples.len() > 20);
        let service = bare.samples[0].received.since(bare.samples[0].sent);
        // In a closed loop an operation is due when the reply before it has come.
        let lag = if is_closed { ENCODING + DECODING } else { ENCODING };
        for sample in &ran.samples[1..] {
            assert_eq!(sample.received.since(sample.sent), service);
            assert_eq!(sample.sent.since(sample.intended), lag, "closed: {is_closed}");
        }
    }
}

const LASTING: Span = Span::from_ms(500);

#[test]
fn questions_and_greetings_go_through_a_filter() {
    for protocol in [Protocol::Text, Protocol::Binary, Protocol::Meta] {
        let mut plan = scrambling(plan());
        plan.requests.protocol = protocol;
        let world = World::new(&plan, Script::default());
        let mut driver = Ends::new(world.driver());
        let answer = ask(&mut driver, &plan, &plan.servers[0], Question::Version);
        assert!(matches!(answer, Ok(Answer::Version(_))), "{answer:?}");
        // The embedded server refuses credentials: its refusal shows that they arrived.
        let credentials = Credentials { user: "tim".to_owned(), password: "tan".to_owned() };
        plan.credentials = Some(Arc::new(credentials));
        let mut driver = Ends::new(world.driver());
        let error = ask(&mut driver, &plan, &plan.servers[0], Question::Version).unwrap_err();
        assert!(error.sentence().to_string().contains("does not take credentials"), "{error}");
    }
}

#[test]
fn a_server_without_the_filter_is_named() {
    let mut plan = scrambling(plan()).lasting(Span::from_ms(20));
    plan.timeout = Span::from_ms(100);
    let says = Some((Instant::ZERO, &b"ERROR\r\n"[..]));
    let world = World::new(&plan, Script { says, ..Script::default() });
    let mut driver = world.driver();
    let error = ask(&mut driver, &plan, &plan.servers[0], Question::Version).unwrap_err();
    assert!(error.sentence().to_string().contains("its bytes are not scrambled"), "{error}");
    let mut worker = Worker::new(world.driver(), &plan, 0, &source(&plan));
    worker.open();
    while worker.turn().expect("the world does not fail") < ms(20) {}
    let trouble = worker.report().trouble.expect("it was noticed");
    let why = PeerError::Unreadable { why: "are not scrambled" };
    assert_eq!(trouble.what, TroubleKind::Closed(Closed::Broken(why)));
}

fn source(plan: &Plan) -> PlannedSource {
    PlannedSource::new(&plan.source)
}
