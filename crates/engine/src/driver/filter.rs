//! The door for what changes all bytes of a connection on their way, such as encryption: it stands
//! between a protocol and the wire, and knows neither protocols nor sockets.

use super::{PeerError, SendBuffer};
use std::fmt;
use std::sync::Arc;

/// One connection's filter. It is called once for each reception and each transmission, never for
/// each operation.
pub trait Filter: fmt::Debug + Send {
    /// Takes bytes off the wire, and appends to `plain` what the server said in them. After an
    /// error the connection is closed.
    fn handle_bytes(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), PeerError>;

    /// Makes of `out`, which holds what is to be said and is possibly empty, what goes over the
    /// wire, with what the filter has to say by itself. What cannot be said before the filter is
    /// open it keeps until then.
    fn poll_transmit(&mut self, out: &mut SendBuffer);

    /// Whether both ends have agreed on how to talk; a connection is not used before.
    fn is_open(&self) -> bool;
}

/// How filters are made: one for each connection that is made, by the name of its server.
#[derive(Clone)]
pub struct FilterPlan(Arc<Make>);

/// What makes a filter.
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
