//! Lost connections and their return, and the times in which a worker had no connection to a
//! server: sums for each server, and the absences one by one in bounded memory.

pub mod silence;

use memtide_base::{Instant, ServerId};

/// A time in which a worker had no connection to a server to which it had been connected before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The server, in the plan's order.
    pub server: ServerId,
    /// The instant at which the last connection was lost.
    pub from: Instant,
    /// The instant at which a connection was open again; never if there was none until the end.
    pub until: Instant,
}

/// The lost connections to one server, and how many of them came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Returns {
    /// Connections that were lost.
    pub lost: u64,
    /// Lost connections that came back: opened again and, over UDP, also answered.
    pub returned: u64,
    /// Time from loss to return, summed over the returned connections, in ns.
    pub away_ns: u64,
    /// Longest time from loss to return, in ns.
    pub away_ns_max: u64,
}

impl Returns {
    fn absorb(&mut self, other: &Self) {
        self.lost += other.lost;
        self.returned += other.returned;
        self.away_ns = self.away_ns.saturating_add(other.away_ns);
        self.away_ns_max = self.away_ns_max.max(other.away_ns_max);
    }
}

/// All absences and returns, of one worker or of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absences {
    /// Lost and returned connections, by server.
    servers: Vec<Returns>,
    kept: Vec<Absence>,
    kept_max: usize,
}

/// The number of absences kept of a whole run; the others count only in the sums.
const RUN_KEPT_MAX: usize = 10_000;

impl Absences {
    /// Empty absences of a run over `servers` servers; allocates when the first absence is kept.
    pub(crate) fn of_run(servers: usize) -> Self {
        let servers = vec![Returns::default(); servers];
        Self { servers, kept: Vec::new(), kept_max: RUN_KEPT_MAX }
    }

    /// Empty absences of a worker; allocates room for `kept_max` absences now.
    pub(crate) fn reserved(servers: usize, kept_max: usize) -> Self {
        let servers = vec![Returns::default(); servers];
        Self { servers, kept: Vec::with_capacity(kept_max), kept_max }
    }

    /// Counts the loss of a connection to `server`.
    pub fn lost(&mut self, server: ServerId) {
        self.servers[server.index()].lost += 1;
    }

    /// Counts the return of a connection to `server` that was lost `away_ns` ago.
    pub fn returned(&mut self, server: ServerId, away_ns: u64) {
        let (lost, returned, away_ns_max) = (0, 1, away_ns);
        self.servers[server.index()].absorb(&Returns { lost, returned, away_ns, away_ns_max });
    }

    /// Keeps an absence that is over, or that lasts at the end of the run.
    pub fn push(&mut self, absence: Absence) {
        if self.kept.len() < self.kept_max {
            self.kept.push(absence);
        }
        debug_assert!(self.kept.len() <= self.kept_max, "more is kept than there is room for");
    }

    /// Adds all that `other` holds.
    pub(crate) fn absorb(&mut self, other: &Self) {
        assert!(other.servers.len() <= self.servers.len(), "merging loses nothing");
        for (sum, part) in self.servers.iter_mut().zip(&other.servers) {
            sum.absorb(part);
            assert!(sum.returned <= sum.lost, "more connections returned than were lost");
        }
        other.kept.iter().for_each(|&absence| self.push(absence));
    }

    /// Clears all counts but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.servers.fill(Returns::default());
        self.kept.clear();
    }

    /// Lost and returned connections, by server.
    pub fn servers(&self) -> &[Returns] {
        &self.servers
    }

    /// The absences of all workers that fitted into memory.
    pub fn kept(&self) -> &[Absence] {
        &self.kept
    }
}

#[cfg(test)]
mod tests;
