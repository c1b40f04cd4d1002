//! What both ends have of rustls: ciphers, randomness and the date.

use rustls::crypto::{CryptoProvider, ring};
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use std::sync::Arc;

/// Ciphers, randomness and the date, as both ends use them.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) time: Arc<dyn TimeProvider>,
}

impl Library {
    /// That of the real world: ring, and the system.
    pub(crate) fn real() -> Self {
        let provider = Arc::new(ring::default_provider());
        Self { provider, time: Arc::new(DefaultTimeProvider) }
    }
}
