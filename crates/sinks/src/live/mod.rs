//! Views of a run that is under way: a terminal's screen and a page for browsers. Both read one
//! model, which a sink feeds; neither can slow that sink down.

#[cfg(feature = "ui")]
mod terminal;
#[cfg(feature = "web")]
mod web;

#[cfg(feature = "ui")]
pub use terminal::{Screen, ScreenControl, ScreenKeys};
#[cfg(feature = "web")]
pub use web::{WebPages, WebStart, WebView, serve_pages};

use memtide_report::Live;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The model of a run that is under way. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SharedLive(Arc<Mutex<Live>>);

impl SharedLive {
    /// Shares `live`.
    pub fn new(live: Live) -> Self {
        Self(Arc::new(Mutex::new(live)))
    }

    /// The model. It must not be held while anything is written.
    pub fn lock(&self) -> MutexGuard<'_, Live> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
