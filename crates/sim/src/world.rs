//! The world itself: bytes in transit, their arrival, and the servers that answer.
//!
//! Events of one instant happen in the order in which they were caused.

use crate::network::Network;
use crate::script::Script;
use crate::sealed::{Sealed, WorldFilter};
use crate::trace::{Trace, What};
use memtide_base::{ConnectionId, Instant, Span};
use memtide_server::{
    After, Clock, Datagrams, Endpoint, FaultKind, ProfileState, ServerProfile, Session, Store,
    StoreOptions,
};
use memtide_world::driver::{Address, Closed, ConnectError, Sample};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The parameters of a world.
#[derive(Debug)]
pub struct Setting {
    /// The seed of the world's randomness.
    pub seed: u64,
    /// The network.
    pub network: Network,
    /// The servers.
    pub servers: Vec<SimServer>,
    /// The filter of the servers' ends of all streams, such as encryption.
    pub filter: Option<WorldFilter>,
    /// The scripted events.
    pub script: Script,
    /// The pauses of workers.
    pub pauses: Vec<WorkerPause>,
    /// The CPU time that a worker takes for each event; zero for workers that take no time.
    pub work: Span,
    /// The instant at which the user interrupts; never if the user does not.
    pub interrupt_at: Instant,
}

/// A virtual server.
#[derive(Debug)]
pub struct SimServer {
    /// The addresses at which it listens; several addresses lead to the same server.
    pub addresses: Vec<Address>,
    /// The limits of its store.
    pub store: StoreOptions,
    /// Its behaviour and its faults.
    pub profile: ServerProfile,
    /// The times in which it is dead: it does not listen, and its connections are reset.
    pub dead: Vec<(Instant, Instant)>,
}

/// A time in which a worker does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerPause {
    /// The worker's number.
    pub worker: u16,
    /// The start of the pause, counted from the start of the schedules of the plan in which it
    /// falls.
    pub from: Span,
    /// The length of the pause.
    pub length: Span,
    /// Cause of the pause.
    pub kind: PauseKind,
}

/// Cause of a pause of a worker. The kernel's figures of the worker follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseKind {
    /// Its process is stopped, frozen or traced: it neither runs nor waits for a CPU.
    Stopped,
    /// Other threads have its CPU: a worker that is ready to run waits for it.
    OtherThreads,
    /// The hypervisor runs something else, which the kernel tells apart from CPU time.
    Steal,
    /// Its control group has used up its CPU quota, which the kernel counts as a wait for a CPU.
    Throttled,
}

impl PauseKind {
    /// True if the kernel counts the pause of a worker that is ready to run as a wait for a CPU.
    pub(crate) const fn is_wait(self) -> bool {
        matches!(self, Self::OtherThreads | Self::Throttled)
    }
}

/// An event for a worker.
#[derive(Debug)]
pub(crate) enum Delivered {
    Connected,
    ConnectFailed(ConnectError),
    Bytes(Vec<u8>),
    Writable,
    Closed(Closed),
}

/// A future event.
#[derive(Debug)]
enum Coming {
    /// A connect reaches its server.
    Knock(usize),
    /// The server's answer to a connect reaches the worker.
    Answer(usize, Result<(), ConnectError>),
    /// Bytes reach the server.
    Arrive(usize, Vec<u8>),
    /// Some of the server's answers leave.
    Leave(usize),
    /// Some of the server's datagrams leave.
    Send(usize),
    /// Bytes reach the worker.
    Receive(usize, Vec<u8>),
    /// Bytes that had to wait leave the worker.
    Writable(usize),
    /// The end of a connection reaches the worker.
    End(usize, Closed),
    /// A worker's orderly close reaches the server.
    HangUp(usize),
    /// The script closes this connection of every worker.
    Close(ConnectionId),
    /// A server dies: everything connected to it is reset.
    Die(usize),
}

/// A scheduled event; ordered by instant, then by the order in which events were caused.
#[derive(Debug)]
struct Scheduled {
    at: Instant,
    order: u64,
    coming: Coming,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// One connection between a worker and a server.
#[derive(Debug)]
struct Link {
    worker: u16,
    connection: ConnectionId,
    server: usize,
    /// True if it is a socket that sends datagrams to the server, without a connection.
    datagrams: bool,
    /// The server's end; `None` before it is accepted and after it is gone.
    endpoint: Option<Endpoint>,
    /// The filter of the server's end, as long as it has an endpoint.
    sealed: Option<Box<Sealed>>,
    /// True while both ends keep it.
    open: bool,
    /// True if the worker knows that it is open.
    connected: bool,
    /// The number of writes whose bytes wait to leave the worker.
    unsent: u32,
    /// The instant at which all earlier bytes towards the server have arrived.
    up_busy: Instant,
    /// The instant at which all earlier bytes towards the worker have arrived.
    down_busy: Instant,
    /// The instant of the `Leave` that is in the queue; never if none is.
    leave_at: Instant,
}

/// A running server.
#[derive(Debug)]
struct Running {
    addresses: Vec<Address>,
    item_bytes_max: usize,
    store: Store,
    state: ProfileState,
    /// Its datagrams, for links by their number.
    datagrams: Datagrams<usize>,
    /// The instant of the `Send` that is in the queue; never if none is.
    send_at: Instant,
    dead: Vec<(Instant, Instant)>,
}

/// The world.
pub(crate) struct World {
    now: Instant,
    order: u64,
    writes: u64,
    queue: BinaryHeap<Reverse<Scheduled>>,
    seed: u64,
    network: Network,
    filter: Option<WorldFilter>,
    script: Script,
    servers: Vec<Running>,
    links: Vec<Link>,
    /// The link in use, by worker and connection.
    links_by_worker: Vec<Vec<Option<usize>>>,
    mail: Vec<VecDeque<(ConnectionId, Delivered)>>,
    spare: Vec<Vec<u8>>,
    trace: Trace,
    samples: Box<dyn FnMut(&Sample)>,
}

/// The time since 1970 at the world's beginning; the value does not matter.
const SINCE_UNIX_AT_START: Span = Span::from_s(1_800_000_000);
/// Buffers kept for reuse.
const SPARE_MAX: usize = 1024;

impl World {
    pub(crate) fn new(setting: Setting, trace: Trace, samples: Box<dyn FnMut(&Sample)>) -> Self {
        let Setting { seed, network, servers, filter, script, .. } = setting;
        let mut world = Self {
            now: Instant::ZERO,
            order: 0,
            writes: 0,
            queue: BinaryHeap::new(),
            seed,
            network,
            filter,
            script,
            servers: Vec::new(),
            links: Vec::new(),
            links_by_worker: Vec::new(),
            mail: Vec::new(),
            spare: Vec::new(),
            trace,
            samples,
        };
        for (at, connection) in world.script.closes.clone() {
            world.schedule(at, Coming::Close(connection));
        }
        for SimServer { addresses, store, profile, dead } in servers {
            let number = world.servers.len();
            dead.iter().for_each(|&(from, _)| world.schedule(from, Coming::Die(number)));
            let item_bytes_max = store.item_bytes_max;
            let (store, state) = (Store::new(store), ProfileState::new(profile));
            let datagrams = Datagrams::new(item_bytes_max);
            let send_at = Instant::NEVER;
            let server =
                Running { addresses, item_bytes_max, store, state, datagrams, send_at, dead };
            world.servers.push(server);
        }
        world.set_clock();
        world
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }

    pub(crate) fn fault_count(&self, server: usize, kind: FaultKind) -> u64 {
        self.servers[server].state.fault_count(kind)
    }

    /// The server's counter `name`; `None` for an unknown name.
    pub(crate) fn counter(&self, server: usize, name: &str) -> Option<u64> {
        let figures = self.figures(server);
        figures.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.parse().ok())
    }

    /// The server's answer to `stats`, without a connection and without an event.
    pub(crate) fn figures(&self, server: usize) -> Vec<(String, String)> {
        let server = &self.servers[server];
        let mut out = Vec::new();
        let mut session = Session::new(server.item_bytes_max);
        session.handle_bytes(self.clock(), b"stats\r\n", &server.store, &mut out);
        let text = String::from_utf8_lossy(&out);
        let rows = text.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '));
        rows.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// The instant of the next event; never if there is none.
    pub(crate) fn next_event(&self) -> Instant {
        self.queue.peek().map_or(Instant::NEVER, |Reverse(event)| event.at)
    }

    /// Advances time to `at` and carries out all events until then.
    pub(crate) fn pass_to(&mut self, at: Instant) {
        while self.next_event() <= at {
            let Reverse(event) = self.queue.pop().expect("it was peeked at");
            debug_assert!(event.at >= self.now, "the world's time goes back");
            self.now = event.at;
            self.set_clock();
            self.happen(event.coming);
        }
        self.now = self.now.max(at);
        self.set_clock();
    }

    fn set_clock(&self) {
        if let Some(filter) = &self.filter {
            filter.clock.set(self.since_unix());
        }
    }

    fn schedule(&mut self, at: Instant, coming: Coming) {
        debug_assert!(at >= self.now, "{coming:?} is caused in the past");
        self.order += 1;
        self.queue.push(Reverse(Scheduled { at, order: self.order, coming }));
    }

    // Workers -----------------------------------------------------------------------------------

    /// Begins a new plan with `workers` workers; the state of the old ones is dropped.
    pub(crate) fn forget_workers(&mut self, workers: u16) {
        for number in 0..self.links.len() {
            let link = &mut self.links[number];
            link.open = false;
            link.sealed = None;
            if link.endpoint.take().is_some() {
                self.servers[link.server].store.connection_closed();
            }
        }
        self.links_by_worker = (0..workers).map(|_| Vec::new()).collect();
        self.mail = (0..workers).map(|_| VecDeque::new()).collect();
    }

    /// A number that belongs to no worker of the plan, for a probe to a server.
    pub(crate) fn stranger(&mut self) -> u16 {
        self.links_by_worker.push(Vec::new());
        self.mail.push(VecDeque::new());
        (self.mail.len() - 1) as u16
    }

    pub(crate) fn has_mail(&self, worker: u16) -> bool {
        !self.mail[usize::from(worker)].is_empty()
    }

    /// The number of events that wait for a worker.
    pub(crate) fn mail_count(&self, worker: u16) -> u64 {
        self.mail[usize::from(worker)].len() as u64
    }

    pub(crate) fn take_mail(&mut self, worker: u16) -> Option<(ConnectionId, Delivered)> {
        self.mail[usize::from(worker)].pop_front()
    }

    /// The instant at which a worker runs that is due at `at`, by the script.
    pub(crate) fn awake_at(&self, at: Instant) -> Instant {
        self.script.awake_at(at)
    }

    /// True if bytes of `worker` wait to leave it.
    pub(crate) fn has_unsent(&self, worker: u16) -> bool {
        let of_worker = &self.links_by_worker[usize::from(worker)];
        !self.script.unwritable.is_empty()
            && of_worker.iter().flatten().any(|&link| self.links[link].unsent > 0)
    }

    /// Takes back a buffer that was delivered.
    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE_MAX && buffer.capacity() > 0 {
            buffer.clear();
            self.spare.push(buffer);
            debug_assert!(self.spare.len() <= SPARE_MAX, "too many buffers are kept");
        }
    }

    pub(crate) fn export(&mut self, sample: &Sample) {
        (self.samples)(sample);
    }

    pub(crate) fn connect(&mut self, worker: u16, connection: ConnectionId, address: &Address) {
        let (place, datagrams) = match address {
            Address::Udp(place) => (&Address::Tcp(*place), true),
            place => (place, false),
        };
        let server = self.servers.iter().position(|server| server.addresses.contains(place));
        let number = self.links.len();
        let of_worker = &mut self.links_by_worker[usize::from(worker)];
        if of_worker.len() <= connection.index() {
            of_worker.resize(connection.index() + 1, None);
        }
        of_worker[connection.index()] = Some(number);
        self.links.push(Link {
            worker,
            connection,
            server: server.unwrap_or(usize::MAX),
            datagrams,
            endpoint: None,
            sealed: None,
            open: true,
            connected: false,
            unsent: 0,
            up_busy: Instant::ZERO,
            down_busy: Instant::ZERO,
            leave_at: Instant::NEVER,
        });
        if datagrams {
            // Opening a UDP socket does not involve a server.
            return self.schedule(self.now, Coming::Answer(number, Ok(())));
        }
        let at = self.arrival(0, self.now, Instant::ZERO);
        self.schedule(at, Coming::Knock(number));
    }

    /// Sends a worker's bytes; false if the network does not take them yet.
    pub(crate) fn send(&mut self, worker: u16, connection: ConnectionId, bytes: &[u8]) -> bool {
        let place = self.links_by_worker[usize::from(worker)][connection.index()];
        // The worker may not have handled the end of the connection yet; its bytes are lost.
        let Some(number) = place else { return true };
        self.trace.event(self.now, What::Sent, number, bytes);
        let leaves = self.script.leaves_at(self.now);
        if leaves > self.now {
            self.links[number].unsent += 1;
            self.schedule(leaves, Coming::Writable(number));
        }
        if self.links[number].datagrams {
            self.travel(leaves, bytes, |copy| Coming::Arrive(number, copy));
            return leaves == self.now;
        }
        let at = self.arrival(bytes.len(), leaves, self.links[number].up_busy);
        let at = self.script.served_at(at);
        self.links[number].up_busy = at;
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(bytes);
        self.schedule(at, Coming::Arrive(number, buffer));
        leaves == self.now
    }

    /// Closes a worker's connection; unless that resets it, bytes written before still arrive.
    pub(crate) fn close(&mut self, worker: u16, connection: ConnectionId, is_reset: bool) {
        let of_worker = &mut self.links_by_worker[usize::from(worker)];
        if let Some(number) = of_worker.get_mut(connection.index()).and_then(Option::take) {
            let link = &mut self.links[number];
            let arrived = link.up_busy;
            if is_reset || arrived <= self.now {
                self.hang_up(number);
            } else {
                link.open = false;
                self.schedule(arrived, Coming::HangUp(number));
            }
        }
        self.mail[usize::from(worker)].retain(|(of, _)| *of != connection);
    }

    // Servers -----------------------------------------------------------------------------------

    fn happen(&mut self, coming: Coming) {
        match coming {
            Coming::Knock(link) => self.knock(link),
            Coming::Answer(link, decided) => self.answer(link, decided),
            Coming::Arrive(link, bytes) => self.arrive(link, bytes),
            Coming::Leave(link) => self.leave(link),
            Coming::Send(server) => self.send_datagrams(server),
            Coming::Receive(link, bytes) => {
                if self.links[link].open {
                    self.trace.event(self.now, What::Received, link, &bytes);
                    self.deliver(link, Delivered::Bytes(bytes));
                } else {
                    self.recycle(bytes);
                }
            }
            Coming::Writable(link) => {
                if self.links[link].open {
                    debug_assert!(self.links[link].unsent > 0, "what has left leaves again");
                    self.links[link].unsent -= 1;
                    self.deliver(link, Delivered::Writable);
                }
            }
            Coming::End(link, closed) => self.end(link, closed),
            Coming::HangUp(link) => {
                if self.links[link].endpoint.is_some() {
                    self.hang_up(link);
                }
            }
            Coming::Close(connection) => {
                for worker in 0..self.links_by_worker.len() {
                    let place =
                        self.links_by_worker[worker].get(connection.index()).copied().flatten();
                    if let Some(link) = place.filter(|&link| self.links[link].connected) {
                        self.end(link, Closed::ByPeer);
                    }
                }
            }
            Coming::Die(server) => {
                self.servers[server].forget_datagrams();
                for link in 0..self.links.len() {
                    let connected = self.links[link].open && !self.links[link].datagrams;
                    if connected && self.links[link].server == server {
                        self.schedule(self.now, Coming::End(link, Closed::Reset));
                    }
                }
            }
        }
    }

    fn knock(&mut self, number: usize) {
        let now = self.now;
        let (server, refused) = (self.links[number].server, self.script.is_refused(now));
        let decided = match self.servers.get_mut(server) {
            None => Err(ConnectError::Refused),
            Some(server) if refused || server.is_dead(now) => Err(ConnectError::Refused),
            Some(server) => {
                let endpoint = Endpoint::accept(&mut server.state, server.item_bytes_max);
                if endpoint.is_some() {
                    server.store.connection_opened();
                }
                let filter = self.filter.as_ref().filter(|_| endpoint.is_some());
                let sealed = filter.map(|it| Box::new(Sealed::new(&it.filters)));
                // A server that refuses a connection lets it open first and then resets it.
                let link = &mut self.links[number];
                (link.endpoint, link.sealed) = (endpoint, sealed);
                Ok(())
            }
        };
        let at = self.arrival(0, now, now);
        self.links[number].down_busy = at;
        self.schedule(at, Coming::Answer(number, decided));
        if decided.is_ok() && self.links[number].endpoint.is_none() {
            self.schedule(at, Coming::End(number, Closed::Reset));
        }
    }

    fn answer(&mut self, link: usize, decided: Result<(), ConnectError>) {
        if !self.links[link].open {
            return;
        }
        match decided {
            Ok(()) => {
                self.trace.event(self.now, What::Opened, link, &[]);
                debug_assert!(!self.links[link].connected, "a connection opens twice");
                self.links[link].connected = true;
                self.deliver(link, Delivered::Connected);
            }
            Err(error) => {
                self.trace.event(self.now, What::Refused, link, &[]);
                self.deliver(link, Delivered::ConnectFailed(error));
                self.hang_up(link);
            }
        }
    }

    fn arrive(&mut self, number: usize, bytes: Vec<u8>) {
        let clock = self.clock();
        let link = &mut self.links[number];
        if link.datagrams {
            self.hear(number, clock, &bytes);
            return self.recycle(bytes);
        }
        if let Some(endpoint) = &mut link.endpoint {
            let server = &mut self.servers[link.server];
            self.trace.event(self.now, What::Arrived, number, &bytes);
            let opened = link.sealed.as_mut().map_or(Ok(&bytes[..]), |sealed| sealed.open(&bytes));
            let is_readable = opened.is_ok();
            if let Ok(plain) = opened {
                endpoint.handle_bytes(clock, plain, &server.store, &mut server.state);
            }
            match self.script.said_at(self.now) {
                Some(words) => self.answer_with(number, words.to_vec()),
                None => self.answer_sealed(number, |sealed| sealed.seal(&[])),
            }
            if !is_readable {
                self.close_for(number, Closed::ByPeer);
            }
        }
        self.recycle(bytes);
        self.expect_leave(number);
    }

    /// Sends bytes that the filter of a server's end makes, if it has one and makes any.
    fn answer_sealed(&mut self, number: usize, make: impl FnOnce(&mut Sealed) -> Vec<u8>) {
        let Some(sealed) = &mut self.links[number].sealed else { return };
        let wire = make(sealed);
        if !wire.is_empty() {
            self.answer_with(number, wire);
        }
    }

    /// Closes a server's end after all that it sent, and its filter's last bytes.
    fn close_for(&mut self, number: usize, closed: Closed) {
        if closed == Closed::ByPeer {
            self.answer_sealed(number, Sealed::close);
        }
        let at = self.links[number].down_busy.max(self.now);
        self.schedule(at, Coming::End(number, closed));
    }

    /// Sends bytes of a server to the worker.
    fn answer_with(&mut self, number: usize, bytes: Vec<u8>) {
        self.trace.event(self.now, What::Answered, number, &bytes);
        let at = self.arrival(bytes.len(), self.now, self.links[number].down_busy);
        self.links[number].down_busy = at;
        self.schedule(at, Coming::Receive(number, bytes));
    }

    /// Handles a datagram that arrives at a server, which may not be running.
    fn hear(&mut self, number: usize, clock: Clock, datagram: &[u8]) {
        let at = self.links[number].server;
        let dead = self.servers.get(at).is_none_or(|server| server.is_dead(self.now));
        if dead {
            // The machine reports that no server listens, if that report arrives.
            return self.travel(self.now, &[], |_| Coming::End(number, Closed::Unheard));
        }
        self.trace.event(self.now, What::Arrived, number, datagram);
        let Running { store, state, datagrams, .. } = &mut self.servers[at];
        datagrams.handle_datagram(clock, number, datagram, store, Some(state));
        self.expect_send(at);
    }

    /// Makes sure that a `Send` is in the queue for the next datagram of `server`.
    fn expect_send(&mut self, server: usize) {
        let at_server = &mut self.servers[server];
        let next = at_server.datagrams.poll_timeout().unwrap_or(Instant::NEVER);
        let next = self.script.served_at(next);
        if next < at_server.send_at {
            at_server.send_at = next;
            self.schedule(next, Coming::Send(server));
        }
    }

    fn send_datagrams(&mut self, server: usize) {
        if self.servers[server].send_at != self.now {
            return; // An earlier one took its place.
        }
        self.servers[server].send_at = Instant::NEVER;
        while let Some((link, datagram)) = self.servers[server].datagrams.poll_transmit(self.now) {
            self.trace.event(self.now, What::Answered, link, &datagram);
            self.travel(self.now, &datagram, |copy| Coming::Receive(link, copy));
        }
        self.expect_send(server);
    }

    /// Sends a datagram that leaves at `leaves`; `coming` is the event of its arrival.
    fn travel(&mut self, leaves: Instant, datagram: &[u8], coming: impl Fn(Vec<u8>) -> Coming) {
        self.writes += 1;
        for copy in 0..2 {
            let (seed, nth) = (self.seed, self.writes);
            let arrival = self.network.datagram(seed, nth, copy, leaves, datagram.len());
            if let Some(at) = arrival {
                let mut buffer = self.spare.pop().unwrap_or_default();
                buffer.extend_from_slice(datagram);
                let coming = coming(buffer);
                let is_served = matches!(coming, Coming::Arrive(..));
                self.schedule(if is_served { self.script.served_at(at) } else { at }, coming);
            }
        }
    }

    /// Makes sure that a `Leave` is in the queue for the next answer of `number`.
    fn expect_leave(&mut self, number: usize) {
        let link = &mut self.links[number];
        let next = link.endpoint.as_ref().and_then(Endpoint::poll_timeout);
        let next = self.script.served_at(next.unwrap_or(Instant::NEVER).max(self.now));
        if next == self.now && link.leave_at != self.now {
            // At once, without an event in the queue.
            self.leave(number);
        } else if next < link.leave_at {
            link.leave_at = next;
            self.schedule(next, Coming::Leave(number));
        }
    }

    fn leave(&mut self, number: usize) {
        let after = loop {
            let after = self.leave_once(number);
            if after != After::Open || !self.go_on(number) {
                break after;
            }
        };
        let closed = match after {
            After::Open => return self.expect_leave(number),
            After::Close => Closed::ByPeer,
            After::Reset => Closed::Reset,
        };
        self.close_for(number, closed);
    }

    /// Sends all answers that are due.
    fn leave_once(&mut self, number: usize) -> After {
        let now = self.now;
        let link = &mut self.links[number];
        link.leave_at = Instant::NEVER;
        let Some(endpoint) = &mut link.endpoint else { return After::Open };
        let mut buffer = self.spare.pop().unwrap_or_default();
        let after = endpoint.poll_transmit(now, &mut buffer);
        // The script's bytes have already left in place of these.
        if buffer.is_empty() || self.script.said_at(now).is_some() {
            self.recycle(buffer);
        } else if link.sealed.is_some() {
            self.answer_sealed(number, |sealed| sealed.seal(&buffer));
            self.recycle(buffer);
        } else {
            self.answer_with(number, buffer);
        }
        after
    }

    /// Lets a server continue with kept requests; false if there are none or no room.
    fn go_on(&mut self, number: usize) -> bool {
        let clock = self.clock();
        let link = &mut self.links[number];
        let Some(endpoint) = link.endpoint.as_mut().filter(|end| end.can_go_on(clock.now)) else {
            return false;
        };
        let server = &mut self.servers[link.server];
        endpoint.handle_bytes(clock, &[], &server.store, &mut server.state);
        true
    }

    /// The time in the form that servers use.
    fn clock(&self) -> Clock {
        Clock { now: self.now, unix_s: self.since_unix().ns() / 1_000_000_000 }
    }

    /// The world's time since 1970.
    pub(crate) fn since_unix(&self) -> Span {
        SINCE_UNIX_AT_START + self.now.since(Instant::ZERO)
    }

    // Links -------------------------------------------------------------------------------------

    /// The instant at which `bytes` bytes that leave at `leaves` have arrived.
    fn arrival(&mut self, bytes: usize, leaves: Instant, busy_until: Instant) -> Instant {
        self.writes += 1;
        self.network.arrival(self.seed, self.writes, leaves, bytes, busy_until)
    }

    fn deliver(&mut self, link: usize, delivered: Delivered) {
        let Link { worker, connection, open, .. } = self.links[link];
        debug_assert!(open, "something is delivered on a connection that is closed");
        self.mail[usize::from(worker)].push_back((connection, delivered));
    }

    /// Delivers the end of a connection to its worker.
    fn end(&mut self, number: usize, closed: Closed) {
        if self.links[number].open {
            self.trace.event(self.now, What::Closed, number, &[]);
            self.deliver(number, Delivered::Closed(closed));
            self.hang_up(number);
        }
    }

    /// Drops the connection at both ends.
    fn hang_up(&mut self, number: usize) {
        let link = &mut self.links[number];
        link.sealed = None;
        if link.endpoint.take().is_some() {
            self.servers[link.server].store.connection_closed();
        }
        link.open = false;
        let place = &mut self.links_by_worker[usize::from(link.worker)][link.connection.index()];
        if *place == Some(number) {
            *place = None;
        }
    }
}

impl Running {
    /// Drops datagrams that waited to leave.
    fn forget_datagrams(&mut self) {
        self.datagrams = Datagrams::new(self.item_bytes_max);
        self.send_at = Instant::NEVER;
    }

    fn is_dead(&self, now: Instant) -> bool {
        self.dead.iter().any(|(from, to)| (*from..*to).contains(&now))
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "World at {} ns, {:?}", self.now.ns(), self.trace)
    }
}
