//! Which connections and servers are there and which are away, and since when. Only what is lost
//! and found again comes here; while nothing is, it costs nothing.

use crate::plan::Plan;
use memtide_base::{Instant, ServerId};
use memtide_metrics::{Absence, Absences};

/// The connections and servers of one worker.
#[derive(Debug)]
pub(super) struct Presence {
    connections: Vec<Seen>,
    servers: Vec<Served>,
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
    /// Of a worker of `plan` with so many connections.
    pub(super) fn new(plan: &Plan, connections: u32) -> Self {
        let seen = |nth| Seen { lost_since: Instant::NEVER, aside: plan.is_aside(nth) };
        let nobody = Served { connections: 0, gone_since: Instant::NEVER };
        Self {
            connections: (0..connections).map(seen).collect(),
            servers: vec![nobody; plan.servers.len()],
        }
    }

    /// Whether no server is there.
    pub(super) fn is_nobody_here(&self) -> bool {
        self.servers.iter().all(|served| served.connections == 0)
    }

    /// `connection` opened. If it was lost before, it is there again: unless it is a socket for
    /// datagrams, which opens whether somebody listens or not.
    pub(super) fn opened(
        &mut self,
        (connection, server): (u32, ServerId),
        at: Instant,
        over_datagrams: bool,
        absences: &mut Absences,
    ) {
        let seen = self.connections[connection as usize];
        match seen.lost_since {
            Instant::NEVER if seen.aside => {}
            Instant::NEVER => self.servers[server.index()].connections += 1,
            _ if over_datagrams => {}
            _ => self.returned((connection, server), at, absences),
        }
    }

    /// `connection` was lost before, unless a connect failed, and is certainly there.
    #[cold]
    pub(super) fn returned(
        &mut self,
        (connection, server): (u32, ServerId),
        at: Instant,
        absences: &mut Absences,
    ) {
        let seen = &mut self.connections[connection as usize];
        let since = std::mem::replace(&mut seen.lost_since, Instant::NEVER);
        if since == Instant::NEVER {
            return;
        }
        absences.returned(server, at.since(since).ns());
        if seen.aside {
            return;
        }
        let served = &mut self.servers[server.index()];
        served.connections += 1;
        let from = std::mem::replace(&mut served.gone_since, Instant::NEVER);
        if from != Instant::NEVER {
            absences.push(Absence { server, from, until: at });
        }
    }

    /// `connection` was lost, possibly again before it was known to be there.
    pub(super) fn lost(
        &mut self,
        (connection, server): (u32, ServerId),
        at: Instant,
        absences: &mut Absences,
    ) {
        let seen = &mut self.connections[connection as usize];
        if seen.lost_since != Instant::NEVER {
            return;
        }
        seen.lost_since = at;
        absences.lost(server);
        if seen.aside {
            return;
        }
        let served = &mut self.servers[server.index()];
        served.connections -= 1;
        if served.connections == 0 {
            served.gone_since = at;
        }
    }

    /// The run is over: who is away does not come back in it.
    pub(super) fn finish(&mut self, absences: &mut Absences) {
        for (number, served) in self.servers.iter_mut().enumerate() {
            let from = std::mem::replace(&mut served.gone_since, Instant::NEVER);
            if from != Instant::NEVER {
                let server = ServerId(number as u16);
                absences.push(Absence { server, from, until: Instant::NEVER });
            }
        }
    }
}
