//! Which connections and servers are there and which are away, and since when. Only what is lost
//! and found again comes here; while nothing is, it costs nothing.

use memtide_base::{Instant, ServerId};
use memtide_metrics::{Absence, Absences};

/// The connections and servers of one worker.
#[derive(Debug)]
pub(super) struct Presence {
    /// By connection, since when it has been lost; never while it is not.
    lost_since: Vec<Instant>,
    servers: Vec<Served>,
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
    pub(super) fn new(connections: usize, servers: usize) -> Self {
        Self {
            lost_since: vec![Instant::NEVER; connections],
            servers: vec![Served { connections: 0, gone_since: Instant::NEVER }; servers],
        }
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
        match self.lost_since[connection as usize] {
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
        let since = &mut self.lost_since[connection as usize];
        let since = std::mem::replace(since, Instant::NEVER);
        if since == Instant::NEVER {
            return;
        }
        absences.returned(server, at.since(since).ns());
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
        let since = &mut self.lost_since[connection as usize];
        if *since != Instant::NEVER {
            return;
        }
        *since = at;
        absences.lost(server);
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
