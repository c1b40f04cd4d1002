//! The interface for code that transforms all bytes of a connection, such as encryption. A filter
//! lies between a protocol and the wire, and knows neither protocols nor sockets.

use super::{Closed, ConnectError, PeerError, SendBuffer};
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

    /// Adds the filter's last bytes, before this end closes the connection. Nothing follows them.
    fn poll_close(&mut self, _out: &mut SendBuffer) {}

    /// Handles the end of the connection, which the driver calls `why`; returns what it is.
    fn handle_closed(&mut self, why: Closed) -> Closed {
        why
    }

    /// Handles the deadline at which the filter should have been open; returns why it is not.
    fn handle_timeout(&mut self) -> ConnectError {
        ConnectError::TimedOut
    }

    /// How an open filter's handshake went; `None` if it has none.
    fn handshake(&self) -> Option<Handshake> {
        None
    }
}

/// How two ends agreed on their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Anew, with certificates.
    Full,
    /// By what they kept of an earlier connection.
    Resumed,
}

/// Makes a filter for each connection that is established, from the server's name.
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
    pub fn make(&self, server: &str) -> Box<dyn Filter> {
        (self.0)(server)
    }
}

impl fmt::Debug for FilterPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FilterPlan")
    }
}
