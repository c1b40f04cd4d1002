//! What the words of an option mean as numbers: laws, servers, rates, searches, waveforms,
//! profiles.
//!
//! Plain functions of their arguments. Knows no option's name, and words no complaint but where
//! scripts know its words.

mod goal;
mod law;
mod profile;
mod rate;
mod server;
mod waveform;

pub use goal::{Scan, Search, Searched, Statistic};
pub use law::Law;
pub use rate::Connections;
pub use server::Server;
pub use waveform::{Dynamic, Sinusoid, Waveform};

pub(super) use law::LawFault;
pub(super) use profile::{PROFILES, Profile};
pub(super) use server::servers;

/// No rate above this can be asked for, in operations a second.
pub(super) const RATE_MAX: u32 = 1_000_000_000;

/// A dynamic run has at most this many intervals.
pub(super) const INTERVALS_MAX: u32 = 65_000;

#[cfg(test)]
mod tests;
