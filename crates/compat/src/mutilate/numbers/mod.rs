//! The numbers in the words of options: laws, servers, rates, searches, waveforms, profiles.
//!
//! Plain functions of their arguments. Knows no option's name, and makes no error texts except
//! those that scripts rely on.

mod goal;
mod law;
mod profile;
mod server;
mod waveform;

pub use crate::server::Server;
pub use goal::{Scan, Search, Searched, Statistic};
pub use law::Law;
pub use waveform::{Dynamic, Sinusoid, Waveform};

pub(super) use law::{LawFault, misread};
pub(super) use profile::{PROFILES, Profile};
pub(super) use server::{names_port, servers, servers_at};

/// The largest rate that can be requested, in operations per second.
pub(super) const RATE_MAX: u32 = 1_000_000_000;

/// The most intervals of a dynamic run.
pub(super) const INTERVALS_MAX: u32 = 65_000;

#[cfg(test)]
mod tests;
