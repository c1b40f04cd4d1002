//! The state that all threads of one embedded server share: the listener, the store, the time and
//! the profile.

use crate::clock::{self, Clock};
use memtide_server::{ProfileState, Store};
use memtide_world::FilterPlan;
use std::net::TcpListener;
use std::sync::{Mutex, MutexGuard};

/// The state that the threads of one server share.
#[derive(Debug)]
pub(super) struct Shared {
    pub listener: TcpListener,
    pub store: Store,
    /// The largest item, in bytes.
    pub item_bytes_max: usize,
    /// The filter of every stream.
    pub filter: Option<FilterPlan>,
    pub clock: Clock,
    /// The profile's state; `None` for a server that answers everything at once and correctly.
    pub profile: Option<Mutex<ProfileState>>,
}

impl Shared {
    pub fn profile(&self) -> Option<MutexGuard<'_, ProfileState>> {
        let profile = self.profile.as_ref()?;
        Some(profile.lock().expect("no thread panics while it holds the profile"))
    }

    /// The present time for the server.
    pub fn time(&self) -> memtide_server::Clock {
        let unix_s = clock::since_unix().ns() / 1_000_000_000;
        memtide_server::Clock { now: self.clock.now(), unix_s }
    }
}
