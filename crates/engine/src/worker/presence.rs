//! Which connections and servers are there and which are away, and since when. Only what is lost
//! and found again comes here; while nothing is, it costs nothing.

use crate::fleet::Trouble;
use crate::plan::{Place, Plan};
use memtide_base::{ConnectionId, Instant, ServerId, Table};
use memtide_metrics::{Absence, Absences};
use std::ops::Range;

/// The connections and servers of one worker.
#[derive(Debug)]
pub(super) struct Presence {
    connections: Table<ConnectionId, Seen>,
    servers: Table<ServerId, Served>,
    /// How many connections were begun to be opened for the first time.
    begun: usize,
    /// How many are open.
    pub(super) open: u32,
    /// Since when none has been open, or of those over datagrams none was answered.
    pub(super) disconnected_since: Option<Instant>,
    /// The last thing that went wrong with a server.
    pub(super) trouble: Option<Trouble>,
}

/// One connection.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Since when it has been lost; never while it is not.
    lost_since: Instant,
    /// It is a socket for datagrams beside streams, and says little of whether a server is there.
    aside: bool,
}

/// One server, seen by one worker.
#[derive(Clone, Copy, Debug)]
struct Served {
    /// Connections to it that are there.
    connections: u32,
    /// Since when there has been none, after there were some.
    gone_since: Instant,
}

impl Presence {
    /// Of a worker of `plan` that has these connections.
    pub(super) fn new(plan: &Plan, places: &Table<ConnectionId, Place>) -> Self {
        let seen = |place: &Place| Seen { lost_since: Instant::NEVER, aside: place.is_aside };
        let unserved = Served { connections: 0, gone_since: Instant::NEVER };
        Self {
            connections: places.iter().map(seen).collect(),
            servers: plan.servers.iter().map(|_| unserved).collect(),
            begun: 0,
            open: 0,
            disconnected_since: None,
            trouble: None,
        }
    }

    /// Up to `count` connections more, by their positions, are begun to be opened.
    pub(super) fn begin(&mut self, count: usize) -> Range<usize> {
        let first = self.begun;
        self.begun = first.saturating_add(count).min(self.connections.len());
        first..self.begun
    }

    /// `connection` opened. If it was lost before, it is there again: unless it is a socket for
    /// datagrams, which opens whether or not a server listens. Without `absences` connections are
    /// the load, and go away without being missed.
    pub(super) fn opened(
        &mut self,
        (connection, server): (ConnectionId, ServerId),
        at: Instant,
        over_datagrams: bool,
        absences: Option<&mut Absences>,
    ) {
        self.open += 1;
        if !over_datagrams {
            self.disconnected_since = None;
        }
        let Some(absences) = absences else { return };
        let seen = self.connections[connection];
        match seen.lost_since {
            Instant::NEVER if seen.aside => {}
            Instant::NEVER => self.servers[server].connections += 1,
            _ if over_datagrams => {}
            _ => self.returned((connection, server), at, absences),
        }
    }

    /// `connection` was lost before, unless a connect failed, and is certainly there.
    #[cold]
    pub(super) fn returned(
        &mut self,
        (connection, server): (ConnectionId, ServerId),
        at: Instant,
        absences: &mut Absences,
    ) {
        let seen = &mut self.connections[connection];
        let since = std::mem::replace(&mut seen.lost_since, Instant::NEVER);
        if since == Instant::NEVER {
            return;
        }
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

    /// `connection` was lost, possibly again before it was known to be there.
    pub(super) fn lost(
        &mut self,
        (connection, server): (ConnectionId, ServerId),
        at: Instant,
        over_datagrams: bool,
        absences: &mut Absences,
    ) {
        self.miss((connection, server), at, absences);
        self.open -= 1;
        if self.open == 0 || over_datagrams || self.is_nobody_here() {
            self.disconnected_since.get_or_insert(at);
        }
    }

    fn miss(
        &mut self,
        (connection, server): (ConnectionId, ServerId),
        at: Instant,
        absences: &mut Absences,
    ) {
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

    /// Whether no server is there.
    fn is_nobody_here(&self) -> bool {
        self.servers.iter().all(|served| served.connections == 0)
    }

    /// The run is over: who is away does not come back in it.
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
