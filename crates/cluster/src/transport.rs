//! The network between a master and its agents: gRPC over TLS 1.3, on a thread of its own.
//!
//! It decides who is served, carries messages, and answers pings. What messages mean is decided by
//! its callers, which only exchange values with it.

pub mod files;
mod master;
mod agent;
mod door;
mod dial;
mod stream;
mod link;
mod queue;
mod thread;
mod tls;
mod tally;
mod waiting;

pub use agent::{AgentNet, FromMaster};
pub use master::{FromNet, MasterNet};

use std::time::Duration;

/// A TLS handshake is finished within this time; so is the first message after it.
const PROOF_MAX: Duration = Duration::from_secs(5);
/// Peers at once that have not proved themselves.
const UNPROVEN_MAX: usize = 64;
/// Messages to the caller, or to a peer, that wait at once. Each 64 KiB count as one more.
const WAITING_MAX: u32 = 1024;
/// A peer that has read none of the messages that wait for it for so long is disconnected.
const UNREAD_MAX: Duration = Duration::from_secs(10);
/// How often agents hear that their master lives, whatever else it tells them.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// A master whose caller has taken no event for so long is not said to live: it stands still.
const BUSY_MAX: Duration = Duration::from_secs(30);
/// How long a connection that is being closed waits for its peer to read what was sent.
const CLOSE_MAX: Duration = Duration::from_millis(600);
/// The first and the longest pause between two attempts to reach a peer.
const REDIAL: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));
