//! The buffer of requests to send. A worker has one for all its connections: only one of them
//! gathers requests at a time, and ten thousand buffers would take much memory.

use super::InFlight;
use memtide_world::driver::SendBuffer;

/// Requests of one connection that have not been submitted.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) bytes: SendBuffer,
    /// Their operations that get no reply.
    pub(super) quiet: Vec<InFlight>,
}

/// The request is longer than any that can be sent. It was removed from the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Outgoing {
    /// An empty buffer with room for `bytes` bytes, `references` references to values and `quiet`
    /// operations without a reply.
    pub(crate) fn with_capacity(bytes: usize, references: usize, quiet: usize) -> Self {
        let bytes = SendBuffer::with_capacity(bytes, references);
        Self { bytes, quiet: Vec::with_capacity(quiet) }
    }

    /// True if nothing is gathered.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// True if one more operation without a reply would need more memory.
    pub(crate) fn is_full(&self) -> bool {
        self.quiet.len() == self.quiet.capacity()
    }
}
