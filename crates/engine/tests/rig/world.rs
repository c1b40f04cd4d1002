//! The simulated world of the rig: the servers of a plan, a network of constant delay, and drivers
//! that record the calls they receive.

use memtide_base::{ConnectionId, Full, Instant, Law, Span};
use memtide_server::{ServerProfile, StoreOptions};
use memtide_sim::{Network, Script, Setting, SimDriver, SimFleet, SimServer, Trace, WorldFilter};
use memtide_world::driver::DriverError;
use memtide_world::{Address, Completion, Driver, Message, Plan, Sample, SocketOptions, Submitted};
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

/// Time from the sending of a request to the arrival of its reply, unless a test sets another.
pub const DELAY: Span = Span::from_us(100);

/// The instant `at` milliseconds after the world's beginning.
pub fn ms(at: u64) -> Instant {
    Instant::ZERO + Span::from_ms(at)
}

/// A request as the driver received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Instant,
    pub connection: u32,
    pub bytes: Vec<u8>,
}

/// The calls that drivers received.
#[derive(Default)]
pub struct Seen {
    pub sent: Vec<Sent>,
    pub connects: Vec<(Instant, u32)>,
    /// The options of the last socket.
    pub sockets: SocketOptions,
    pub samples: Vec<Sample>,
}

/// A world, and the record of its drivers.
pub struct World {
    fleet: SimFleet,
    servers: usize,
    pub seen: Rc<RefCell<Seen>>,
}

impl World {
    pub fn new(plan: &Plan, script: Script) -> Self {
        Self::far(plan, DELAY, script)
    }

    /// A world whose servers answer after `delay`.
    pub fn far(plan: &Plan, delay: Span, script: Script) -> Self {
        Self::filtered(plan, delay, script, None)
    }

    /// A world with this filter at the servers' ends.
    pub fn filtered(plan: &Plan, delay: Span, script: Script, filter: Option<WorldFilter>) -> Self {
        let mut addresses: Vec<&Address> =
            plan.servers.iter().flat_map(|server| &server.addresses).collect();
        addresses.dedup();
        let servers = addresses.len();
        let server = |address: &Address| SimServer {
            addresses: vec![address.clone()],
            store: StoreOptions { memory_bytes_max: 64 << 20, item_bytes_max: 1 << 20, shards: 1 },
            profile: ServerProfile::default(),
            dead: Vec::new(),
        };
        let setting = Setting {
            seed: 5,
            network: Network { delay: Law::Fixed(delay.as_s_f64() / 2.0), ..Network::default() },
            servers: addresses.into_iter().map(server).collect(),
            filter,
            script,
            pauses: Vec::new(),
            work: Span::ZERO,
            interrupt_at: Instant::NEVER,
        };
        let fleet = SimFleet::new(setting, Trace::new(), |_| {});
        Self { fleet, servers, seen: Rc::default() }
    }

    /// This world with drivers that record into `seen`.
    pub fn seen_by(self, seen: &Rc<RefCell<Seen>>) -> Self {
        Self { seen: Rc::clone(seen), ..self }
    }

    pub fn driver(&self) -> Watched {
        Watched { inner: self.fleet.driver(), seen: Rc::clone(&self.seen) }
    }

    /// A counter summed over all servers.
    pub fn counter(&self, name: &str) -> u64 {
        let counters = (0..self.servers).map(|server| self.fleet.counter(server, name));
        counters.map(|counter| counter.expect("servers know this counter")).sum()
    }
}

/// A driver of the world that records its calls.
pub struct Watched {
    inner: SimDriver,
    seen: Rc<RefCell<Seen>>,
}

impl Driver for Watched {
    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn connect(
        &mut self,
        connection: ConnectionId,
        address: &Address,
        source: Option<IpAddr>,
        sockets: SocketOptions,
    ) {
        let (at, mut seen) = (self.now(), self.seen.borrow_mut());
        seen.connects.push((at, connection.0));
        seen.sockets = sockets;
        self.inner.connect(connection, address, source, sockets);
    }

    fn send(&mut self, connection: ConnectionId, message: Message<'_>) -> Submitted {
        let (at, bytes) = (self.now(), message.flat(&mut Vec::new()).to_vec());
        self.seen.borrow_mut().sent.push(Sent { at, connection: connection.0, bytes });
        self.inner.send(connection, message)
    }

    fn close(&mut self, connection: ConnectionId, linger: Option<Span>) {
        self.inner.close(connection, linger);
    }

    fn has_unsent(&self) -> bool {
        self.inner.has_unsent()
    }

    fn wait(&mut self, until: Instant) -> Result<(), DriverError> {
        assert_ne!(until, Instant::NEVER, "a worker never waits for ever");
        self.inner.wait(until)
    }

    fn completion(&mut self) -> Option<Completion<'_>> {
        self.inner.completion()
    }

    fn kept(&self) -> Option<Span> {
        self.inner.kept()
    }

    fn export(&mut self, sample: Sample) -> Result<(), Full> {
        self.seen.borrow_mut().samples.push(sample);
        self.inner.export(sample)
    }
}
