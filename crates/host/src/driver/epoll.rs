//! The driver over epoll, which turns readiness into completions.
//!
//! A completion is made when the worker asks for it, with one receive call, so that the room that a
//! reply frees is used before the next connection is read. If nothing is due by a schedule, a few
//! are received ahead. Streams are registered edge-triggered, see [`events_of`].

use crate::clock::Clock;
use crate::driver::guard::ConnectGuard;
use crate::driver::peer::{Peer, Peers, send_after};
use memtide_base::{ConnectionId, Full, Instant, Span};
use memtide_world::driver::{
    Closed, Completion, ConnectError, Driver, DriverError, Event, Sample, Submitted,
};
use memtide_world::{Address, BufferPosition, Message, SendBuffer, SocketOptions, Wait};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{Timespec, epoll as readiness};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::collections::VecDeque;
use std::mem;
use std::net::IpAddr;
use std::ops::Range;

/// Ready connections taken from the kernel in one call.
const READY_MAX: usize = 256;
/// Bytes taken from one connection in one call.
const RECEIVE_BYTES_MAX: usize = 64 * 1024;
/// The most receive calls in a row before the first result is handled. A system call evicts much of
/// the CPU's caches, so the work between two of them costs less if several are made in a row.
pub(crate) const AHEAD_MAX: usize = 8;
/// Messages longer than this are sent at once, because gathering copies them.
const GATHERED_BYTES_EACH: usize = 4 * 1024;
const GATHERED_MAX: usize = 32;
/// Events after which a stream may report no other.
const ENDS: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// A driver for the connections of one worker.
pub(crate) struct EpollDriver {
    peers: Peers,
    epoll: OwnedFd,
    ready: Vec<epoll::Event>,
    /// The next entry of `ready` to handle.
    next: usize,
    /// Receptions (their bytes are in `buffer`) and other events that were not handled yet.
    ahead: VecDeque<Readiness>,
    /// The most entries of `ahead` before the first is handled.
    ahead_max: usize,
    buffer: Box<[u8]>,
    /// Messages that are sent once all of `ahead` is handled.
    gathered: SendBuffer,
    pieces: Vec<(ConnectionId, Range<BufferPosition>)>,
}

/// An event of a connection, with the instant at which it was found.
#[derive(Debug)]
struct Readiness {
    connection: ConnectionId,
    at: Instant,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Bytes, in this range of the buffer.
    Received(Range<usize>),
    Happened(Event<'static>),
}

impl EpollDriver {
    /// A driver for `peers`, which makes up to `ahead_max` receive calls, at least one, before the
    /// first result is handled.
    pub(crate) fn new(peers: Peers, ahead_max: usize) -> Result<Self, DriverError> {
        assert!((1..=AHEAD_MAX).contains(&ahead_max), "{ahead_max} receptions ahead of the first");
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed("epoll_create"))?;
        Ok(Self {
            peers,
            epoll,
            ready: Vec::with_capacity(READY_MAX),
            next: 0,
            ahead: VecDeque::with_capacity(ahead_max),
            ahead_max,
            buffer: vec![0; 2 * RECEIVE_BYTES_MAX].into(),
            gathered: SendBuffer::with_capacity(GATHERED_MAX * GATHERED_BYTES_EACH, 0),
            pieces: Vec::with_capacity(GATHERED_MAX),
        })
    }

    /// A driver for a single connection, which sleeps while it waits.
    pub(crate) fn of_one(clock: Clock, guard: &ConnectGuard) -> Result<Self, DriverError> {
        Self::new(Peers::new(clock, Wait::Sleep, 1, None, guard.clone()), 1)
    }

    /// Sends the gathered messages. Bytes that the kernel does not take are kept with their
    /// connection, which is then watched for room.
    fn send_gathered(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        let gathered = mem::take(&mut self.gathered);
        for number in 0..self.pieces.len() {
            let (id, part) = self.pieces[number].clone();
            self.send_now(id, gathered.between(&part));
        }
        self.pieces.clear();
        self.gathered = gathered;
        self.gathered.clear();
    }

    fn send_now(&mut self, id: ConnectionId, message: Message<'_>) -> Submitted {
        if let Some(submitted) = self.peers.hold(id, message) {
            return submitted;
        }
        let peer = &mut self.peers[id];
        let socket = peer.socket.as_ref().expect("a connection without a socket sends nothing");
        let sent = match send_after(socket, message, 0) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(errno) => {
                let lost = peer.lost(errno);
                self.peers.note(id, lost);
                self.ahead.retain(|received| received.connection != id);
                return Submitted::Done;
            }
        };
        if sent == message.len() {
            return Submitted::Done;
        }
        peer.keep(message, sent);
        self.watch_again(id);
        Submitted::Pending
    }

    /// Watches for what the connection waits for now. Events that have occurred already are
    /// reported again.
    fn watch_again(&mut self, id: ConnectionId) {
        let peer = &self.peers[id];
        let socket = peer.socket.as_ref().expect("only open connections are watched");
        epoll::modify(&self.epoll, socket, data(id, peer), events_of(peer))
            .expect("an open socket that was added can be modified");
    }

    /// Waits for events for at most `timeout`, precisely because the timer slack is minimal.
    fn poll(&mut self, timeout: Span) -> Result<(), DriverError> {
        debug_assert!(self.next >= self.ready.len(), "an edge-triggered event would be lost");
        debug_assert!(self.ready.capacity() >= READY_MAX, "events have no room");
        self.ready.clear();
        self.next = 0;
        let timeout = Timespec {
            tv_sec: (timeout.ns() / 1_000_000_000) as i64,
            tv_nsec: (timeout.ns() % 1_000_000_000) as i64,
        };
        let spare = rustix::buffer::spare_capacity(&mut self.ready);
        match readiness::wait(&self.epoll, spare, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(failed("epoll_pwait2")(errno)),
        }
    }

    /// Handles `event` once more after the others, or at once if there is no room behind them,
    /// because more may follow it.
    fn look_again(&mut self, event: epoll::Event) {
        if self.ready.len() < self.ready.capacity() {
            self.ready.push(event);
        } else {
            self.next -= 1;
        }
    }

    /// Sends pending bytes; `None` while some remain.
    fn send_rest(&mut self, id: ConnectionId) -> Option<Event<'static>> {
        let happened = self.peers[id].send_rest()?;
        if matches!(happened, Event::Writable) {
            self.watch_again(id);
        }
        Some(happened)
    }

    /// Receives from ready connections until enough events are collected.
    fn receive_ahead(&mut self) {
        let mut filled = 0;
        while self.ahead.len() < self.ahead_max && filled <= RECEIVE_BYTES_MAX {
            let Some(event) = self.ready.get(self.next).copied() else { return };
            self.next += 1;
            if let Some(what) = self.look(event, filled) {
                let at = self.peers.clock.now();
                if let What::Received(place) = &what {
                    filled = place.end;
                }
                let (connection, _) = split(event.data);
                let last = self.ahead.back().map_or(at, |last| last.at);
                debug_assert!(last <= at, "a later reception has an earlier instant");
                self.ahead.push_back(Readiness { connection, at, what });
            }
        }
    }

    /// Handles `event`: receives into the buffer from `at` on, sends pending bytes, or takes the
    /// result of a connect.
    fn look(&mut self, event: epoll::Event, at: usize) -> Option<What> {
        let (flags, data) = (event.flags, event.data);
        let (id, generation) = split(data);
        let peer = &self.peers[id];
        if peer.socket.is_none() || peer.generation != generation {
            return None;
        }
        if peer.opening {
            let happened = self.peers[id].opened(flags.intersects(ENDS));
            let has_more = flags.intersects(EventFlags::IN.union(ENDS));
            if has_more && matches!(happened, Event::Connected) {
                self.look_again(event);
            }
            return Some(What::Happened(happened));
        }
        if flags.contains(EventFlags::OUT) && peer.has_unsent() {
            // Once all is sent, readable bytes are reported again.
            if let Some(happened) = self.send_rest(id) {
                return Some(What::Happened(happened));
            }
        }
        let peer = &self.peers[id];
        let socket = peer.socket.as_ref().expect("it was there, and nothing happened to it");
        debug_assert!(at + RECEIVE_BYTES_MAX <= self.buffer.len(), "a reception has no room");
        let room = &mut self.buffer[at..at + RECEIVE_BYTES_MAX];
        match recv(socket, room, RecvFlags::empty()) {
            // An empty datagram is ignored.
            Ok((0, _)) if peer.datagrams => None,
            Ok((0, _)) => {
                self.peers[id].forget();
                Some(What::Happened(Event::Closed(Closed::ByPeer)))
            }
            Ok((len, _)) => {
                if len == RECEIVE_BYTES_MAX || flags.intersects(ENDS) {
                    self.look_again(event);
                }
                Some(What::Received(at..at + len))
            }
            Err(Errno::INTR) => {
                self.look_again(event);
                None
            }
            Err(Errno::AGAIN) => None,
            Err(errno) => Some(What::Happened(self.peers[id].lost(errno))),
        }
    }
}

impl Driver for EpollDriver {
    fn now(&self) -> Instant {
        self.peers.clock.now()
    }

    fn connect(
        &mut self,
        id: ConnectionId,
        address: &Address,
        source: Option<IpAddr>,
        sockets: SocketOptions,
    ) {
        if self.peers.connect(id, address, source, sockets).is_none() {
            return;
        }
        let peer = &mut self.peers[id];
        let socket = peer.socket.as_ref().expect("it is connecting");
        if let Err(errno) = epoll::add(&self.epoll, socket, data(id, peer), events_of(peer)) {
            peer.forget();
            let error = ConnectError::Other(errno.raw_os_error());
            self.peers.note(id, Event::ConnectFailed(error));
        } else if !peer.opening {
            self.peers.note(id, Event::Connected);
        }
    }

    /// Sends at once, or together with the messages of receptions that are about to be handled.
    fn send(&mut self, id: ConnectionId, message: Message<'_>) -> Submitted {
        let is_small = message.len() <= GATHERED_BYTES_EACH;
        if !self.ahead.is_empty() && is_small && self.pieces.len() < GATHERED_MAX {
            let from = self.gathered.end();
            self.gathered.append(message, 0);
            self.pieces.push((id, from..self.gathered.end()));
            debug_assert!(self.pieces.len() <= GATHERED_MAX, "too many messages are gathered");
            return Submitted::Done;
        }
        self.send_gathered();
        self.send_now(id, message)
    }

    fn close(&mut self, id: ConnectionId, linger: Option<Span>) {
        self.send_gathered();
        self.peers[id].end(linger);
        self.peers.drop_early(id);
        self.ahead.retain(|received| received.connection != id);
    }

    fn has_unsent(&self) -> bool {
        !self.pieces.is_empty() || self.peers.has_unsent()
    }

    fn wait(&mut self, until: Instant) -> Result<(), DriverError> {
        self.send_gathered();
        if self.next < self.ready.len() || !self.ahead.is_empty() {
            return Ok(()); // Streams would not tell again of what was not looked at.
        }
        let now = self.peers.clock.now();
        if self.peers.has_early() || until <= now {
            return self.poll(Span::ZERO);
        }
        // Needed even without time to sleep, because the earlier ready events are used up.
        self.poll(self.peers.sleep_until(until).since(now))?;
        let spins = self.peers.wait != Wait::Sleep;
        while spins && self.ready.is_empty() && self.peers.clock.now() < until {
            self.poll(Span::ZERO)?;
        }
        Ok(())
    }

    fn completion(&mut self) -> Option<Completion<'_>> {
        debug_assert!(self.ahead.len() <= self.ahead_max, "too much is received ahead");
        if let Some(early) = self.peers.early() {
            return Some(early);
        }
        if self.ahead.is_empty() {
            self.send_gathered();
            self.receive_ahead();
        }
        let Readiness { connection, at, what } = self.ahead.pop_front()?;
        let event = match what {
            What::Received(place) => Event::Received(&self.buffer[place]),
            What::Happened(event) => event,
        };
        Some(Completion { connection, at, event })
    }

    fn kept(&self) -> Option<Span> {
        self.peers.kept.read()
    }

    fn export(&mut self, sample: Sample) -> Result<(), Full> {
        self.peers.export(sample)
    }
}

/// The events that a connection is watched for, from its connect on. Streams are edge-triggered
/// (`EPOLLET`), so a wait does not look again at every connection that the last one reported. This
/// is safe because, by epoll(7), a receive that does not fill its buffer has emptied the stream,
/// and later bytes are a new event. Two kinds of stream are received from again without an event:
/// one that filled the buffer, and one that is about to end. Datagrams are level-triggered: a
/// receive takes only one.
///
/// Room is watched for while a connect or bytes wait for it. It stays watched after a connect,
/// which saves a call: room in a TCP socket is an event only if a send found none. In a Unix socket
/// all room is, but its connect never waits.
fn events_of(peer: &Peer) -> EventFlags {
    let room = match peer.opening || peer.has_unsent() {
        true => EventFlags::OUT,
        false => EventFlags::empty(),
    };
    match peer.datagrams {
        false => room | EventFlags::IN | EventFlags::RDHUP | EventFlags::ET,
        true => room | EventFlags::IN,
    }
}

fn data(id: ConnectionId, peer: &Peer) -> EventData {
    EventData::new_u64(u64::from(peer.generation) << 32 | u64::from(id.0))
}

fn split(data: EventData) -> (ConnectionId, u32) {
    let data = data.u64();
    (ConnectionId(data as u32), (data >> 32) as u32)
}

fn failed(action: &'static str) -> impl Fn(Errno) -> DriverError {
    move |errno| DriverError { action, code: errno.raw_os_error() }
}
