//! The memory that a plan takes, beside the types that take it.

use super::Plan;
use std::sync::Arc;

/// Upper bound of a connection's memory in its process in bytes, besides its operations in flight.
pub const CONNECTION_BYTES: u64 = 4096;
/// Upper bound of an operation's memory in flight.
pub(crate) const OPERATION_BYTES: u64 = 48;
/// Memory of a window's slot: the generation of its object.
const SLOT_BYTES: u64 = size_of::<u32>() as u64;

/// The sizes that decide how much memory a plan takes in the processes that make its load. They are
/// known before anything is allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanMemory {
    /// The pool that values are cut from, in bytes.
    pub values_bytes: u64,
    /// Connections over all workers.
    pub connections: u64,
    /// Outstanding operations per connection.
    pub depth: u64,
    /// Slots of all windows.
    pub slots: u64,
    /// What verification knows about keys, in bytes.
    pub verification_bytes: u64,
    /// The cells of one worker, in bytes.
    pub cells_bytes: u64,
}

impl PlanMemory {
    /// Memory of the connections, in bytes.
    pub const fn connections_bytes(&self) -> u64 {
        let each = self.depth.saturating_mul(OPERATION_BYTES).saturating_add(CONNECTION_BYTES);
        self.connections.saturating_mul(each)
    }

    /// Memory of the windows, in bytes.
    pub const fn windows_bytes(&self) -> u64 {
        self.slots.saturating_mul(SLOT_BYTES)
    }

    /// All of it in bytes, in a process with this number of workers.
    pub fn bytes(&self, workers: u64) -> u64 {
        let cells = self.cells_bytes.saturating_mul(workers);
        let parts =
            [self.connections_bytes(), self.windows_bytes(), self.verification_bytes, cells];
        parts.into_iter().fold(self.values_bytes, u64::saturating_add)
    }
}

impl Plan {
    /// The memory that this plan takes.
    pub fn memory(&self) -> PlanMemory {
        let window = self.source.window.as_ref();
        let verify = self.verify.as_ref();
        // Servers that share what is known about a key share one oracle.
        let oracles = verify.map_or(&[][..], |verify| &verify.oracles);
        let is_first = |(at, oracle): &(usize, &Arc<_>)| {
            oracles[..*at].iter().all(|other| !Arc::ptr_eq(other, oracle))
        };
        let oracles = oracles.iter().enumerate().filter(is_first);
        let known: u64 = oracles.map(|(_, oracle)| oracle.bytes()).sum();
        let lifetimes = verify.and_then(|verify| verify.lifetimes.as_ref());
        PlanMemory {
            values_bytes: self.values.pool().len() as u64,
            connections: self.connections.into(),
            depth: self.depth.into(),
            slots: window.map_or(0, |window| window.slots().get()),
            verification_bytes: known + lifetimes.map_or(0, |lifetimes| lifetimes.bytes()),
            cells_bytes: self.rows.cells_bytes(
                self.timeout,
                self.window.length(),
                &self.source.mix,
            ),
        }
    }
}
