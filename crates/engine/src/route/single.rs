//! The connections of a client that has at most one operation outstanding: they take turns, or are
//! drawn.

use super::pool::Pool;
use memtide_base::ConnectionId;
use memtide_base::rng::{Stream, below, hash};
use memtide_world::plan::{ConnectionTurn, Refill};

/// Connections of which at most one carries an operation.
#[derive(Debug)]
pub(crate) struct Single {
    pool: Pool,
    turn: ConnectionTurn,
    /// The root and the stream of its draws.
    draws: (u64, Stream),
    /// The number of operations that took a connection.
    taken: u64,
    /// True if an operation is outstanding.
    is_busy: bool,
}

impl Single {
    /// The connections `first..first + count` of client number `client` of a run with this seed.
    pub(crate) fn new(
        first: ConnectionId,
        count: u32,
        turn: ConnectionTurn,
        seed: u64,
        client: u32,
    ) -> Self {
        let draws = (seed, Stream::CONNECTION.of_lane(u64::from(client)));
        let pool = Pool::new(first, count, 1, Refill::Each);
        Self { pool, turn, draws, taken: 0, is_busy: false }
    }

    /// The first of its connections.
    pub(super) fn first(&self) -> ConnectionId {
        self.pool.first()
    }

    /// The connection for the next operation, if nothing is outstanding and one is available.
    pub(super) fn pick(&self) -> Option<ConnectionId> {
        let waiting = self.pool.pick()?;
        if self.is_busy {
            return None;
        }
        if self.turn == ConnectionTurn::RoundRobin {
            return Some(waiting);
        }
        let (seed, stream) = self.draws;
        let drawn = below(hash(seed, stream, self.taken), self.pool.len() as u64) as u32;
        // Connections that are not open are skipped.
        self.pool.from(drawn).find(|&connection| self.pool.has_room(connection))
    }

    /// True if `connection` could take an operation.
    #[cold]
    pub(super) fn has_room(&self, connection: ConnectionId) -> bool {
        !self.is_busy && self.pool.has_room(connection)
    }

    pub(super) fn take(&mut self, connection: ConnectionId) {
        debug_assert!(!self.is_busy, "a client has one operation outstanding");
        self.taken += 1;
        self.is_busy = true;
        self.pool.take(connection);
    }

    /// Counts `freed` fewer operations, which is one or none.
    pub(super) fn free(&mut self, connection: ConnectionId, freed: u32) {
        debug_assert!(freed <= 1, "more than the one operation of a client ends");
        self.is_busy &= freed == 0;
        self.pool.free(connection, freed);
    }

    pub(super) fn set_available(&mut self, connection: ConnectionId, available: bool) {
        self.pool.set_available(connection, available);
    }
}

#[cfg(test)]
mod tests;
