//! The socket options that a user can set. Opens no socket.

use crate::time::Span;

/// Options for the sockets of connections. Each is a field of the scenario with a name of its own;
/// an absent option keeps the system's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// SO_SNDBUF, below 2^31.
    pub send_buffer_bytes: Option<u64>,
    /// SO_RCVBUF, below 2^31.
    pub receive_buffer_bytes: Option<u64>,
    /// SO_BUSY_POLL: how long the kernel polls the network card for each receive. Whole
    /// microseconds, at most a second.
    pub busy_poll: Option<Span>,
    /// True to leave Nagle's algorithm on, which delays small requests.
    pub nagle: bool,
}
