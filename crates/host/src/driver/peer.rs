//! What both drivers share: the connections with their sockets, and the bytes that the kernel has
//! not taken. It never waits; a driver calls it when a socket is ready.

use crate::clock::{Clock, SPIN_WINDOW};
use crate::driver::guard::ConnectGuard;
use crate::driver::socket::{self, Connecting};
use crate::machine::Kept;
use memtide_base::{ConnectionId, Full, Instant, Span};
use memtide_world::driver::{Completion, ConnectError, Event, Sample, Submitted};
use memtide_world::{Address, Message, SendBuffer, SocketOptions, Wait};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendFlags, send};
use socket2::Socket;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::ops::{Index, IndexMut};
use std::sync::mpsc::SyncSender;

/// The connections of one worker, and what their driver needs beside a way to the kernel.
pub(crate) struct Peers {
    pub(crate) clock: Clock,
    pub(crate) wait: Wait,
    all: Vec<Peer>,
    /// Events found outside of a wait.
    early: VecDeque<(ConnectionId, Event<'static>)>,
    samples: Option<SyncSender<Sample>>,
    guard: ConnectGuard,
    /// The run-queue time of the worker's thread.
    pub(crate) kept: Kept,
}

impl Peers {
    /// This number of closed connections, which may connect to the addresses that `guard` allows.
    pub(crate) fn new(
        clock: Clock,
        wait: Wait,
        connections: u32,
        samples: Option<SyncSender<Sample>>,
        guard: ConnectGuard,
    ) -> Self {
        let all: Vec<Peer> = (0..connections).map(|_| Peer::default()).collect();
        let early = VecDeque::with_capacity(all.len() + 1);
        Self { clock, wait, all, early, samples, guard, kept: Kept::default() }
    }

    /// The number of connections.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Begins a connect. If that fails at once, the event is the next early one.
    pub(crate) fn connect(
        &mut self,
        id: ConnectionId,
        address: &Address,
        source: Option<IpAddr>,
        sockets: SocketOptions,
    ) -> Option<Connecting> {
        let allowed = self.guard.check(address);
        match allowed.and_then(|()| self[id].connect(address, source, sockets)) {
            Ok(connecting) => Some(connecting),
            Err(error) => {
                self.note(id, Event::ConnectFailed(error));
                None
            }
        }
    }

    /// The result of a send on a connection to which nothing can be sent now; `None` if the driver
    /// has to send `message`. Behind bytes that are pending, it is kept.
    pub(crate) fn hold(&mut self, id: ConnectionId, message: Message<'_>) -> Option<Submitted> {
        let peer = &mut self[id];
        if peer.socket.is_none() {
            // Its end is already queued as a completion.
            return Some(Submitted::Done);
        }
        if peer.has_unsent() {
            peer.keep(message, 0);
            return Some(Submitted::Pending);
        }
        None
    }

    /// Notes an event that was found outside of a wait.
    pub(crate) fn note(&mut self, id: ConnectionId, event: Event<'static>) {
        self.early.push_back((id, event));
    }

    /// Drops the early events of a connection that is being closed.
    pub(crate) fn drop_early(&mut self, id: ConnectionId) {
        self.early.retain(|(other, _)| *other != id);
    }

    /// True if an early event waits.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// The next early event.
    pub(crate) fn early(&mut self) -> Option<Completion<'static>> {
        let (connection, event) = self.early.pop_front()?;
        Some(Completion { connection, at: self.clock.now(), event })
    }

    /// The instant until which a wait until `until` sleeps. Then it spins.
    pub(crate) fn sleep_until(&self, until: Instant) -> Instant {
        match self.wait {
            Wait::Sleep => until,
            Wait::Hybrid => until - SPIN_WINDOW,
            Wait::Spin => Instant::ZERO,
        }
    }

    /// True if bytes of any connection are pending.
    pub(crate) fn has_unsent(&self) -> bool {
        self.all.iter().any(Peer::has_unsent)
    }

    /// Passes a measured operation to the exporter, if there is one.
    pub(crate) fn export(&self, sample: Sample) -> Result<(), Full> {
        match &self.samples {
            Some(samples) => samples.try_send(sample).map_err(|_| Full),
            None => Ok(()),
        }
    }
}

impl Index<ConnectionId> for Peers {
    type Output = Peer;

    fn index(&self, id: ConnectionId) -> &Peer {
        &self.all[id.index()]
    }
}

impl IndexMut<ConnectionId> for Peers {
    fn index_mut(&mut self, id: ConnectionId) -> &mut Peer {
        &mut self.all[id.index()]
    }
}

/// A connection, with or without a socket.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    pub(crate) socket: Option<Socket>,
    /// Distinguishes its socket from earlier ones of the same connection; below [`GENERATIONS`].
    pub(crate) generation: u32,
    pub(crate) opening: bool,
    /// True if its socket sends and receives datagrams.
    pub(crate) datagrams: bool,
    /// Bytes that the kernel has not taken, from `unsent_from` on.
    unsent: SendBuffer,
    unsent_from: usize,
}

/// Generations count up to this and begin again.
pub(crate) const GENERATIONS: u32 = 1 << 24;

impl Peer {
    /// Begins a connect.
    pub(crate) fn connect(
        &mut self,
        address: &Address,
        source: Option<IpAddr>,
        plan: SocketOptions,
    ) -> Result<Connecting, ConnectError> {
        debug_assert!(self.socket.is_none(), "a connect begins on a closed connection");
        debug_assert!(self.unsent.is_empty(), "bytes of a closed connection are left over");
        self.generation = (self.generation + 1) % GENERATIONS;
        let (socket, connecting) = socket::connect(address, source, plan)?;
        self.datagrams = matches!(address, Address::Udp(_));
        self.socket = Some(socket);
        self.opening = matches!(connecting, Connecting::Pending);
        Ok(connecting)
    }

    /// The result of a connect whose socket can be written to. It can have failed only if
    /// `may_fail`: the kernel reported more than room. The socket of a failed one is closed.
    pub(crate) fn opened(&mut self, may_fail: bool) -> Event<'static> {
        self.opening = false;
        let socket = self.socket.as_ref().expect("an opening connection has a socket");
        let failure = match may_fail.then(|| socket.take_error()) {
            None | Some(Ok(None)) => return Event::Connected,
            Some(Ok(Some(error)) | Err(error)) => socket::connect_error(&error),
        };
        self.forget();
        Event::ConnectFailed(failure)
    }

    /// True if bytes are pending.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Keeps the bytes of `message` after the first `taken`, behind those already pending. A
    /// datagram is lost if another one is pending.
    pub(crate) fn keep(&mut self, message: Message<'_>, taken: usize) {
        if self.datagrams && self.has_unsent() {
            return;
        }
        debug_assert!(taken <= message.len(), "the kernel took more than there was");
        self.unsent.append(message, taken);
    }

    /// Sends pending bytes; `None` if the kernel takes no more for now.
    pub(crate) fn send_rest(&mut self) -> Option<Event<'static>> {
        let socket = self.socket.as_ref().expect("a writable connection has a socket");
        // One call may take only a part even if there is room for all, because a message has many
        // slices.
        while self.unsent_from < self.unsent.len() {
            match retry_on_intr(|| send_after(socket, self.unsent.message(), self.unsent_from)) {
                Ok(sent) => self.unsent_from += sent,
                Err(Errno::AGAIN) => return None,
                Err(errno) => return Some(self.lost(errno)),
            }
        }
        debug_assert_eq!(self.unsent_from, self.unsent.len(), "more was sent than was left over");
        // A large pending message must not keep its memory for the life of the connection.
        self.unsent = SendBuffer::default();
        self.unsent_from = 0;
        Some(Event::Writable)
    }

    /// Handles the kernel's report that the connection is lost.
    pub(crate) fn lost(&mut self, errno: Errno) -> Event<'static> {
        self.forget();
        Event::Closed(socket::close_reason(errno))
    }

    /// Closes the socket: in good order, or as `linger` says.
    pub(crate) fn end(&mut self, linger: Option<Span>) {
        if let (Some(socket), Some(linger)) = (&self.socket, linger) {
            socket::prepare_close(socket, linger);
        }
        self.forget();
    }

    /// Drops the socket, which closes it.
    pub(crate) fn forget(&mut self) {
        self.socket = None;
        self.opening = false;
        self.unsent = SendBuffer::default();
        self.unsent_from = 0;
    }
}

/// Sends `message` after its first `taken` bytes as far as the kernel takes it; returns the number
/// of bytes taken.
pub(crate) fn send_after(
    socket: &Socket,
    message: Message<'_>,
    taken: usize,
) -> Result<usize, Errno> {
    if let Some(bytes) = message.as_plain() {
        return send(socket, &bytes[taken..], SEND_FLAGS);
    }
    socket::send_slices(socket, message.slices(taken), SEND_FLAGS)
}

/// Flags of a send: it never waits, and a closed connection is an error and not a signal.
pub(crate) const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);
