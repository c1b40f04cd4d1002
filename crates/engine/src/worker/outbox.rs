//! What leaves next: requests of one connection, gathered until another one has some, or nothing
//! more is due. A worker has one, because only one of its connections gathers at a time.

use crate::connection::{FollowUp, Outgoing};
use crate::driver::SPLICE_BYTES_MIN;
use crate::plan::Plan;
use memtide_base::{ConnectionId, Instant};

/// Bytes gathered for one connection before they are sent.
const OUT_BYTES_MAX: usize = 64 * 1024;
/// References to values that those bytes can have.
const REFERENCES_MAX: usize = OUT_BYTES_MAX / SPLICE_BYTES_MIN + 1;

/// The outbox of one worker.
#[derive(Debug)]
pub(super) struct Outbox {
    /// Whose requests these are.
    pub(super) connection: ConnectionId,
    /// Requests that are not submitted yet.
    pub(super) out: Outgoing,
    /// Second requests that a reception asks for.
    pub(super) follow_ups: Vec<FollowUp>,
    /// A reading of the clock that no send has used yet.
    pub(super) fresh: Option<Instant>,
    /// The most that is gathered: nothing where each request is a datagram of its own.
    bytes_max: usize,
}

impl Outbox {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            connection: ConnectionId(0),
            out: Outgoing::with_capacity(2 * OUT_BYTES_MAX, REFERENCES_MAX, super::BATCH_MAX),
            follow_ups: Vec::with_capacity(plan.depth as usize),
            fresh: None,
            bytes_max: plan.least_transport().gathered_bytes_max(OUT_BYTES_MAX),
        }
    }

    /// Whether one more request of `connection` may be gathered.
    #[inline]
    pub(super) fn has_room_for(&self, connection: ConnectionId) -> bool {
        self.connection == connection && self.out.bytes.len() <= self.bytes_max
    }
}
