//! The interface for code that transforms all bytes of a connection, such as encryption. A filter
//! lies between a protocol and the wire, and knows neither protocols nor sockets.

use super::{PeerError, SendBuffer};
use std::fmt;
use std::sync::Arc;

/// One connection's filter. It is called once for each reception and each transmission, never for
/// each operation.
pub trait Filter: fmt::Debug + Send {
    /// Decodes bytes from the wire and appends the protocol's bytes to `plain`. After an error the
    /// connection is closed.
    fn handle_bytes(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), PeerError>;

    /// Encodes the protocol's bytes in `out`, possibly none, for the wire, and adds bytes of its
    /// own. Bytes that cannot be sent before the filter is open are kept until then.
    fn poll_transmit(&mut self, out: &mut SendBuffer);

    /// True once the handshake is complete; the connection sends no operation before.
    fn is_open(&self) -> bool;
}

/// Makes a filter for each connect, from the server's name.
#[derive(Clone)]
pub struct FilterPlan(Arc<Make>);

/// The function that makes a filter.
type Make = dyn Fn(&str) -> Box<dyn Filter> + Send + Sync;

impl FilterPlan {
    /// Filters that `make` makes.
    pub fn new(make: impl Fn(&str) -> Box<dyn Filter> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// A filter for a new connection to the server of this name.
    pub(crate) fn make(&self, server: &str) -> Box<dyn Filter> {
        (self.0)(server)
    }
}

impl fmt::Debug for FilterPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FilterPlan")
    }
}
