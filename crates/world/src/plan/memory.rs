//! The memory that a plan takes, beside the types that take it.

use memtide_metrics::series::Row;
use memtide_metrics::{Shape, Tally, TallySum};

/// Upper bound of a connection's memory in its process in bytes, besides its operations in flight.
const CONNECTION_BYTES: u64 = 1024;
/// Upper bound of an operation's memory in flight.
pub const OPERATION_BYTES: u64 = 48;
/// Upper bound of what is remembered of a key that is read and verified, until it is answered.
pub const WATCHED_BYTES: u64 = 16;
/// The most keys whose oldest allowed version is remembered on one connection. A read beyond that
/// is not checked for a stale version.
pub const WATCHED_MAX: usize = 4_096;
/// Memory of a window's slot: the generation of its object.
const SLOT_BYTES: u64 = size_of::<u32>() as u64;
/// Memory of a worker besides its connections and tallies: the buffers of its driver and outbox,
/// and the points of its idle clock.
const WORKER_BYTES: u64 = 1 << 20;
/// Upper bound of what is kept of a second besides its times, also in the record at the end: counts
/// of the load, and what servers, workers and the machine report.
const SECOND_BYTES: u64 = 6 * 1024;
/// The tallies of a worker: one is filled, another collected.
const TALLIES: u64 = 2;

/// The sizes that decide how much memory a plan takes in the processes that make its load. They are
/// known before anything is allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanMemory {
    /// The pool that values are cut from, in bytes.
    pub values_bytes: u64,
    /// Workers.
    pub workers: u64,
    /// Connections over all workers.
    pub connections: u64,
    /// Outstanding operations per connection.
    pub depth: u64,
    /// Keys of one operation whose values are verified; 0 without verification.
    pub watched_keys: u64,
    /// Slots of all windows.
    pub slots: u64,
    /// Memory of the state of keys for verification, in bytes.
    pub verification_bytes: u64,
    /// The tallies of one worker besides their cells, in bytes.
    pub tallies_bytes: u64,
    /// The cells of one worker in all its tallies, in bytes.
    pub cells_bytes: u64,
    /// The sums that tallies are added to, in bytes.
    pub sums_bytes: u64,
    /// Servers.
    pub servers: u64,
    /// The most rows that the run keeps.
    pub kept_rows: u64,
    /// The operations in each of them.
    pub row_operations: u64,
    /// The most seconds of the load that the run keeps.
    pub kept_seconds: u64,
    /// The operations in each of them.
    pub second_operations: u64,
    /// True if rows keep the times of gets.
    pub get_times: bool,
}

impl PlanMemory {
    /// These sizes with what measurements of this shape take.
    pub fn measuring(self, shape: &Shape) -> Self {
        Self {
            tallies_bytes: TALLIES * Tally::bytes(shape),
            cells_bytes: TALLIES * Tally::cells_bytes(shape),
            sums_bytes: TallySum::bytes(shape),
            ..self
        }
    }

    /// The sizes in a process that makes `units` of the `of` equal shares of this load, with this
    /// plan's number of workers for each.
    pub fn of_share(self, units: u32, of: u32) -> Self {
        let part = |amount: u64| {
            let scaled = u128::from(amount) * u128::from(units);
            u64::try_from(scaled.div_ceil(of.max(1).into())).unwrap_or(u64::MAX)
        };
        Self {
            workers: self.workers.saturating_mul(units.into()),
            connections: part(self.connections),
            slots: part(self.slots),
            row_operations: part(self.row_operations),
            second_operations: part(self.second_operations),
            ..self
        }
    }

    /// Memory of the connections, in bytes.
    pub const fn connections_bytes(&self) -> u64 {
        let watched = self.depth.saturating_mul(self.watched_keys);
        let watched = if watched < WATCHED_MAX as u64 { watched } else { WATCHED_MAX as u64 };
        let each = self.depth.saturating_mul(OPERATION_BYTES).saturating_add(CONNECTION_BYTES);
        self.connections.saturating_mul(each.saturating_add(watched * WATCHED_BYTES))
    }

    /// Memory of the windows, in bytes.
    pub const fn windows_bytes(&self) -> u64 {
        self.slots.saturating_mul(SLOT_BYTES)
    }

    /// Memory of the workers besides their connections, in bytes, and of what is collected.
    pub const fn workers_bytes(&self) -> u64 {
        let each = self.tallies_bytes.saturating_add(WORKER_BYTES);
        self.workers.saturating_mul(each).saturating_add(self.sums_bytes)
    }

    /// Memory of the cells and of the rows that are made of them, in bytes.
    pub fn all_rows_bytes(&self) -> u64 {
        let row = Row::bytes(self.row_operations, self.get_times);
        let kept = self.kept_rows.saturating_mul(row);
        self.cells_bytes.saturating_mul(self.workers).saturating_add(kept)
    }

    /// Memory of the seconds of the load, in bytes.
    pub fn seconds_bytes(&self) -> u64 {
        let each = Row::bytes(self.second_operations, false).saturating_add(SECOND_BYTES);
        self.kept_seconds.saturating_mul(each)
    }

    /// All of it, in bytes.
    pub fn bytes(&self) -> u64 {
        let parts = [
            self.connections_bytes(),
            self.windows_bytes(),
            self.verification_bytes,
            self.workers_bytes(),
            self.all_rows_bytes(),
            self.seconds_bytes(),
        ];
        parts.into_iter().fold(self.values_bytes, u64::saturating_add)
    }
}
