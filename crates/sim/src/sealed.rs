//! The filter of a server's end of a connection, such as encryption, and the clock that its dates
//! come from. It knows no protocol.

use memtide_base::Span;
use memtide_world::{Filter, FilterPlan, SendBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The filter of all servers' ends in a world.
#[derive(Clone, Debug)]
pub struct WorldFilter {
    /// Makes the filter of a connection.
    pub filters: FilterPlan,
    /// The clock that filters read. The world sets it.
    pub clock: WorldClock,
}

/// A world's time since 1970, for filters, which are shared between threads in the real world.
#[derive(Clone, Debug, Default)]
pub struct WorldClock(Arc<AtomicU64>);

impl WorldClock {
    /// The time since 1970.
    pub fn since_unix(&self) -> Span {
        Span::from_ns(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, since_unix: Span) {
        self.0.store(since_unix.ns(), Ordering::Relaxed);
    }
}

/// A server's end of one connection below its protocol.
#[derive(Debug)]
pub(crate) struct Sealed {
    filter: Box<dyn Filter>,
    /// The protocol's bytes of the last reception.
    plain: Vec<u8>,
    wire: SendBuffer,
}

/// The client broke the filter's rules: the connection is over.
#[derive(Debug)]
pub(crate) struct Unreadable;

impl Sealed {
    pub(crate) fn new(filters: &FilterPlan) -> Self {
        let wire = SendBuffer::with_capacity(0, 0);
        Self { filter: filters.make(""), plain: Vec::new(), wire }
    }

    /// Decodes received bytes; returns the protocol's.
    pub(crate) fn open(&mut self, wire: &[u8]) -> Result<&[u8], Unreadable> {
        self.plain.clear();
        self.filter.handle_bytes(wire, &mut self.plain).map_err(|_| Unreadable)?;
        Ok(&self.plain)
    }

    /// The bytes for the wire of these bytes of the protocol, with the filter's own.
    pub(crate) fn seal(&mut self, plain: &[u8]) -> Vec<u8> {
        self.wire.bytes_mut().extend_from_slice(plain);
        self.filter.poll_transmit(&mut self.wire);
        std::mem::take(self.wire.bytes_mut())
    }

    /// The filter's last bytes.
    pub(crate) fn close(&mut self) -> Vec<u8> {
        self.filter.poll_close(&mut self.wire);
        std::mem::take(self.wire.bytes_mut())
    }
}
