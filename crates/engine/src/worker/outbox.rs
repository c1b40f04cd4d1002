//! The requests to send next: of one connection, gathered until another connection has some or
//! nothing more is due. A worker has one outbox, because only one of its connections gathers at a
//! time.

use crate::connection::{FollowUp, Outgoing};
use memtide_base::{ConnectionId, Instant};
use memtide_world::driver::SPLICE_BYTES_MIN;
use memtide_world::plan::Plan;

/// Bytes gathered for one connection before they are sent.
const OUT_BYTES_MAX: usize = 64 * 1024;
/// The most references to values among those bytes.
const REFERENCES_MAX: usize = OUT_BYTES_MAX / SPLICE_BYTES_MIN + 1;

/// The outbox of one worker.
#[derive(Debug)]
pub(super) struct Outbox {
    /// The connection of the gathered requests.
    pub(super) connection: ConnectionId,
    /// The gathered requests.
    pub(super) out: Outgoing,
    /// Second requests of cas operations whose gets a reception completed.
    pub(super) follow_ups: Vec<FollowUp>,
    /// The last reading of the clock, if no send has used it yet.
    pub(super) fresh: Option<Instant>,
    /// The most bytes that are gathered: 0 if each request is a datagram.
    bytes_max: usize,
}

impl Outbox {
    pub(super) fn new(plan: &Plan) -> Self {
        let bytes_max = plan.least_transport().gathered_bytes_max(OUT_BYTES_MAX);
        assert!(bytes_max <= OUT_BYTES_MAX, "what is gathered has room");
        Self {
            connection: ConnectionId(0),
            out: Outgoing::with_capacity(2 * OUT_BYTES_MAX, REFERENCES_MAX, super::BATCH_MAX),
            follow_ups: Vec::with_capacity(plan.depth as usize),
            fresh: None,
            bytes_max,
        }
    }

    /// True if one more request of `connection` may be gathered.
    #[inline]
    pub(super) fn has_room_for(&self, connection: ConnectionId) -> bool {
        debug_assert!(self.out.bytes.references() <= REFERENCES_MAX, "references are large");
        self.connection == connection && self.out.bytes.len() <= self.bytes_max
    }
}
