//! A worker's agenda: the instants at which clients have something due, and timers.
//!
//! A timer carries no state: when it fires, its owner checks its own state. An entry therefore need
//! not be removed when its reason is gone.

use memtide_base::{ClientId, ConnectionId, Instant, Span};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The longest sleep. It is short so that commands are noticed, and so that a worker whose process
/// was suspended does not count the whole suspension as idle time.
const HEARTBEAT: Span = Span::from_ms(10);
/// The longest sleep while operations wait for room; it is the error in the cause of their wait.
const HEARTBEAT_BLOCKED: Span = Span::from_ms(1);

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The deadline of operations in flight on this connection, or of its connect.
    Deadline(ConnectionId),
    /// This connection may try to connect again.
    Reconnect(ConnectionId),
    /// The deadline of the operation that waits at the head of this client's schedule.
    Queue(ClientId),
    /// The next connection under connection churn.
    Opening,
    /// The deadline of the connection that waits for a slot.
    OpeningDeadline,
    /// The end of the window, if nothing is sent after it.
    WindowEnd,
    /// The end of this connection's pause after its last answer.
    Rest(ConnectionId),
    /// The second request of an operation that this connection holds.
    Held(ConnectionId),
    /// The instant of the stop command.
    Stop,
}

/// The agenda of one worker.
#[derive(Debug)]
pub(super) struct Agenda {
    clients: BinaryHeap<Reverse<(Instant, ClientId)>>,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    /// The number of clients that have an operation due and no room for it.
    pub(super) blocked: u32,
}

impl Agenda {
    /// An empty agenda with room for this number of clients and connections, and for this number of
    /// operations that are held.
    pub(super) fn new(clients: usize, connections: usize, held: usize) -> Self {
        Self {
            clients: BinaryHeap::with_capacity(clients * 2),
            timers: BinaryHeap::with_capacity(connections * 4 + clients * 2 + 1 + held),
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

    /// Adds `client`, which has something due at `at`. It must not be on the agenda yet.
    pub(super) fn schedule(&mut self, at: Instant, client: ClientId) {
        debug_assert!(self.clients.len() < self.clients.capacity(), "a client is listed twice");
        self.clients.push(Reverse((at, client)));
    }

    /// Takes a client that has something due at `now`.
    #[inline]
    pub(super) fn take_due(&mut self, now: Instant) -> Option<ClientId> {
        self.clients.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.clients.pop().map(|Reverse((_, client))| client)
    }

    /// The number of clients that have something due, now or later.
    pub(super) fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Removes `client`.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.clients.retain(|entry| entry.0.1 != client);
    }

    /// Removes all clients.
    pub(super) fn forget_all(&mut self) {
        self.clients.clear();
    }

    /// True if anything is due at `now`.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next_client() <= now || self.next_timer() <= now
    }

    /// The instant of the next due client or timer, and at most a heartbeat after `now`.
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
