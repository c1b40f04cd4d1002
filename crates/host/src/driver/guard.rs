//! The addresses that a fleet may connect to, where an operator restricts the targets of a load.
//!
//! It is consulted before a socket is made, at every connect and reconnect, and never for an
//! operation.

use memtide_world::Address;
use memtide_world::driver::ConnectError;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A decision on every connect of a fleet. The default allows all; clones decide together.
#[derive(Clone, Default)]
pub struct ConnectGuard {
    decision: Option<Arc<Decision>>,
}

/// Shared by all workers.
struct Decision {
    allows: Box<dyn Fn(&Address) -> bool + Send + Sync>,
    /// The first address that was refused.
    refused: OnceLock<Address>,
}

impl ConnectGuard {
    /// Restricts connects to the addresses for which `allows` returns true. A connect to another
    /// address ends the run.
    pub fn new(allows: impl Fn(&Address) -> bool + Send + Sync + 'static) -> Self {
        let decision = Decision { allows: Box::new(allows), refused: OnceLock::new() };
        Self { decision: Some(Arc::new(decision)) }
    }

    /// Decides on a connect to `address`, and notes a refusal.
    pub(crate) fn check(&self, address: &Address) -> Result<(), ConnectError> {
        let Some(decision) = &self.decision else { return Ok(()) };
        if (decision.allows)(address) {
            return Ok(());
        }
        // If several are refused at once, any of them may be kept.
        let _ = decision.refused.set(address.clone());
        Err(refusal(address))
    }

    /// The first address that was refused.
    pub(crate) fn refused(&self) -> Option<&Address> {
        self.decision.as_ref()?.refused.get()
    }
}

/// The reason of a refused connect to `address`.
pub(crate) fn refusal(address: &Address) -> ConnectError {
    match address {
        Address::Tcp(address) | Address::Udp(address) => ConnectError::NotAllowed(Some(*address)),
        Address::Unix(_) => ConnectError::NotAllowed(None),
    }
}

impl fmt::Debug for ConnectGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.decision.is_some() { "decides" } else { "allows all" };
        write!(f, "ConnectGuard({word})")
    }
}
