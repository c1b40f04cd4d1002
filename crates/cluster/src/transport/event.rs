//! What the network tells its caller.

use crate::clock::RoundTrip;
use crate::message::Hello;

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
    /// The caller's own [`Waker`](super::Waker) called.
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
