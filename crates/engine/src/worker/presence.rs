//! Lost connections and servers, and since when they are lost. Called only when a connection is
//! lost or returns, so it costs nothing otherwise.

use memtide_base::{ConnectionId, Instant, Link, ServerId, Table};
use memtide_metrics::{Absence, Absences};
use memtide_world::fleet::Trouble;
use memtide_world::plan::{Place, Plan};
use std::ops::Range;

/// The connections and servers of one worker.
#[derive(Debug)]
pub(super) struct Presence {
    connections: Table<ConnectionId, Seen>,
    servers: Table<ServerId, Served>,
    /// The number of connections whose first connect has begun.
    begun: usize,
    /// The number of open connections.
    pub(super) open: u32,
    /// The instant since which no connection has been open, or since which no connection over
    /// datagrams was answered.
    pub(super) disconnected_since: Option<Instant>,
    /// The last fault of a server.
    pub(super) trouble: Option<Trouble>,
}

/// One connection.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The instant since which it has been lost; never while it is open.
    lost_since: Instant,
    /// True if it is a socket for datagrams beside streams, whose opening does not show that the
    /// server is reachable.
    aside: bool,
}

/// One server, seen by one worker.
#[derive(Clone, Copy, Debug)]
struct Served {
    /// The number of open connections to it.
    connections: u32,
    /// The instant since which no connection to it is open, after one was; never otherwise.
    gone_since: Instant,
}

impl Presence {
    /// The presence for a worker of `plan` with these connections.
    pub(super) fn new(plan: &Plan, places: &Table<ConnectionId, Place>) -> Self {
        let seen =
            places.iter().map(|place| Seen { lost_since: Instant::NEVER, aside: place.is_aside });
        let unserved = Served { connections: 0, gone_since: Instant::NEVER };
        Self {
            connections: seen.collect(),
            servers: plan.servers.iter().map(|_| unserved).collect(),
            begun: 0,
            open: 0,
            disconnected_since: None,
            trouble: None,
        }
    }

    /// Takes up to `count` more connections to open for the first time; returns their positions.
    pub(super) fn begin(&mut self, count: usize) -> Range<usize> {
        let first = self.begun;
        self.begun = first.saturating_add(count).min(self.connections.len());
        first..self.begun
    }

    /// Records that `connection` opened. If it was lost before, it has returned, unless it is a
    /// socket for datagrams, which opens whether or not a server listens. Without `absences`
    /// (connection churn) losses are not recorded.
    pub(super) fn opened(
        &mut self,
        Link { connection, server }: Link,
        at: Instant,
        over_datagrams: bool,
        absences: Option<&mut Absences>,
    ) {
        self.open += 1;
        debug_assert!(self.open as usize <= self.connections.len(), "a connection opened twice");
        if !over_datagrams {
            self.disconnected_since = None;
        }
        let Some(absences) = absences else { return };
        let seen = self.connections[connection];
        match seen.lost_since {
            Instant::NEVER if seen.aside => {}
            Instant::NEVER => self.servers[server].connections += 1,
            _ if over_datagrams => {}
            _ => self.returned(Link { connection, server }, at, absences),
        }
    }

    /// Records that `connection`, which was lost, has certainly returned.
    #[cold]
    pub(super) fn returned(
        &mut self,
        Link { connection, server }: Link,
        at: Instant,
        absences: &mut Absences,
    ) {
        let seen = &mut self.connections[connection];
        let since = std::mem::replace(&mut seen.lost_since, Instant::NEVER);
        if since == Instant::NEVER {
            return;
        }
        debug_assert!(at >= since, "a connection returns before it was lost");
        absences.returned(server, at.since(since).ns());
        if seen.aside {
            return;
        }
        let served = &mut self.servers[server];
        served.connections += 1;
        let from = std::mem::replace(&mut served.gone_since, Instant::NEVER);
        if from != Instant::NEVER {
            absences.push(Absence { server, from, until: at });
        }
    }

    /// Records that `connection` was lost, possibly again before it was known to have returned.
    pub(super) fn lost(
        &mut self,
        Link { connection, server }: Link,
        at: Instant,
        over_datagrams: bool,
        absences: &mut Absences,
    ) {
        self.miss(Link { connection, server }, at, absences);
        debug_assert!(self.open > 0, "a connection is lost that was not open");
        self.open -= 1;
        if self.open == 0 || over_datagrams || self.is_nobody_here() {
            self.disconnected_since.get_or_insert(at);
        }
    }

    fn miss(&mut self, Link { connection, server }: Link, at: Instant, absences: &mut Absences) {
        let seen = &mut self.connections[connection];
        if seen.lost_since != Instant::NEVER {
            return;
        }
        seen.lost_since = at;
        absences.lost(server);
        if seen.aside {
            return;
        }
        let served = &mut self.servers[server];
        served.connections -= 1;
        if served.connections == 0 {
            served.gone_since = at;
        }
    }

    /// True if no server is connected.
    fn is_nobody_here(&self) -> bool {
        self.servers.iter().all(|served| served.connections == 0)
    }

    /// Ends the run: servers and connections that are lost do not return in it.
    pub(super) fn finish(&mut self, absences: &mut Absences) {
        for server in self.servers.ids() {
            let served = &mut self.servers[server];
            let from = std::mem::replace(&mut served.gone_since, Instant::NEVER);
            if from != Instant::NEVER {
                absences.push(Absence { server, from, until: Instant::NEVER });
            }
        }
    }
}
