//! The network between a master and its agents: gRPC over TLS 1.3, on a thread of its own.
//!
//! It admits peers, carries messages, and answers pings. Its callers, which exchange only values
//! with it, interpret the messages.
#![allow(clippy::disallowed_types, reason = "this part reaches the world")]

mod master_net;
mod agent_net;
mod net;
mod admission;
mod link;
mod stream;
mod queue;
mod thread;
mod tls;
mod tally;
mod waiting;

pub use agent_net::{AgentNet, FromMaster, Waker};
pub use master_net::{FromNet, MasterNet};

use crate::clock::RoundTrip;
use crate::message::Hello;
use std::time::Duration;

/// The time limit of a TLS handshake, and of the first message after it.
const PROOF_MAX: Duration = Duration::from_secs(5);
/// The most peers at once that have not proved themselves.
const UNPROVEN_MAX: usize = 64;
/// The most messages that wait for the caller or for a peer. Each 64 KiB count as one more.
const WAITING_MAX: u32 = 1024;
/// A peer that reads none of its waiting messages for this long is disconnected.
const UNREAD_MAX: Duration = Duration::from_secs(10);
/// The interval at which agents are told that their master is alive, beside all other messages; and
/// the number of such intervals for an agent that has had no share and heard nothing else.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
const ALIVE_WAITING: u32 = 10;
/// If the master's caller takes no event for this long, it counts as hung and not as alive.
const BUSY_MAX: Duration = Duration::from_secs(30);
/// The longest time that a closing connection waits for its peer to read the sent bytes.
const CLOSE_MAX: Duration = Duration::from_millis(600);
/// The first and the longest pause between two attempts to reach a peer.
const REDIAL: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// An event of the network; `M` are the messages of the other end.
#[derive(Clone, Debug, PartialEq)]
pub enum NetEvent<M> {
    /// A peer has proved itself. Exactly one `Closed` follows.
    Opened {
        /// The connection's number, which no other connection has had.
        peer: u64,
        /// The address that it dials from, or at which it was dialed.
        address: String,
        /// The first message of an agent, without the token; empty if the peer is a master.
        hello: Hello,
    },
    /// A message of a peer that the network does not handle by itself.
    Message {
        /// The connection's number.
        peer: u64,
        /// The message.
        message: M,
        /// The instants at which the ping that it answers left and its answer arrived.
        trip: Option<RoundTrip>,
    },
    /// A connection has ended.
    Closed {
        /// The connection's number.
        peer: u64,
        /// The reason, as a sentence about the peer ("it …").
        why: String,
    },
    /// The caller's own [`Waker`] called.
    Woken,
    /// A peer did not prove itself, or is not reached. A dialed peer is dialed again, and the same
    /// reason is reported once; of peers that dial, at most ten a second are reported.
    Turned {
        /// The address that it came from or was dialed at; `many` for a sum.
        address: String,
        /// The reason, as a sentence about the peer ("it …").
        why: String,
    },
}
