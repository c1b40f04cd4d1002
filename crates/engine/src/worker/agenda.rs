//! What has to be looked at when: clients by when they have something due, and timers.
//!
//! A timer that fires makes its owner look at its own state; it never carries state itself. So
//! an entry need not be removed when its reason goes away.

use memtide_base::{ClientId, ConnectionId, Instant, Span};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The longest sleep, so that a worker that was stopped meanwhile does not count the stop as
/// idleness, and commands are noticed.
const HEARTBEAT: Span = Span::from_ms(10);
/// The longest sleep while operations wait for room, when it decides the cause of the wait.
const HEARTBEAT_BLOCKED: Span = Span::from_ms(1);

/// Whose attention a timer calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Deadlines of what is in flight on this connection, or of its connect.
    Deadline(ConnectionId),
    /// This connection may try to connect again.
    Reconnect(ConnectionId),
    /// The deadline of the operation that waits at the head of this client's schedule.
    Queue(ClientId),
    /// The next connection, where connections are the load.
    Opening,
    /// The deadline of the connection that waits for a place.
    OpeningDeadline,
    /// The window, where nothing is sent after it.
    WindowEnd,
    /// The pause of this connection after its last answer is over.
    Rest(ConnectionId),
    /// The instant at which it was told to stop.
    Stop,
}

/// The agenda of one worker.
#[derive(Debug)]
pub(super) struct Agenda {
    clients: BinaryHeap<Reverse<(Instant, ClientId)>>,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    /// How many clients have something due and no room for it.
    pub(super) blocked: u32,
}

impl Agenda {
    /// With memory for the timers of this number of clients and connections.
    pub(super) fn new(clients: usize, connections: usize) -> Self {
        Self {
            clients: BinaryHeap::with_capacity(clients * 2),
            timers: BinaryHeap::with_capacity(connections * 4 + clients * 2 + 1),
            blocked: 0,
        }
    }

    pub(super) fn arm(&mut self, at: Instant, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
    }

    /// Takes a timer that is due at `now`.
    pub(super) fn fire(&mut self, now: Instant) -> Option<Timer> {
        if self.next_timer() > now {
            return None;
        }
        self.timers.pop().map(|Reverse((_, timer))| timer)
    }

    /// `client` has something due at `at`. It must not stand here yet.
    pub(super) fn schedule(&mut self, at: Instant, client: ClientId) {
        self.clients.push(Reverse((at, client)));
    }

    /// Takes a client that has something due at `now`.
    #[inline]
    pub(super) fn take_due(&mut self, now: Instant) -> Option<ClientId> {
        self.clients.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.clients.pop().map(|Reverse((_, client))| client)
    }

    /// How many clients have something due, now or later.
    pub(super) fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Forgets what `client` has due.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.clients.retain(|entry| entry.0.1 != client);
    }

    /// Forgets what all clients have due.
    pub(super) fn forget_all(&mut self) {
        self.clients.clear();
    }

    /// Whether anything is due at `now`.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next_client() <= now || self.next_timer() <= now
    }

    /// Until when nothing has to be looked at, seen from `now`.
    pub(super) fn wake_at(&self, now: Instant) -> Instant {
        let heartbeat = if self.blocked > 0 { HEARTBEAT_BLOCKED } else { HEARTBEAT };
        self.next_client().min(self.next_timer()).min(now + heartbeat)
    }

    fn next_client(&self) -> Instant {
        self.clients.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    fn next_timer(&self) -> Instant {
        self.timers.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }
}
