//! What connections write with. A worker has one for all of them, because only one gathers requests
//! at a time, and ten thousand buffers would be much memory.

use super::InFlight;
use crate::driver::SendBuffer;

/// Requests of one connection that have not left.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) bytes: SendBuffer,
    /// Those of their operations that get no reply.
    pub(super) quiet: Vec<InFlight>,
}

/// A request is longer than any that can be sent; nothing of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Outgoing {
    /// With memory for these numbers of bytes, references to values, and noreply operations.
    pub(crate) fn with_capacity(bytes: usize, references: usize, quiet: usize) -> Self {
        let bytes = SendBuffer::with_capacity(bytes, references);
        Self { bytes, quiet: Vec::with_capacity(quiet) }
    }

    /// Whether nothing is gathered.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether one more operation without a reply would need more memory.
    pub(crate) fn is_full(&self) -> bool {
        self.quiet.len() == self.quiet.capacity()
    }
}
