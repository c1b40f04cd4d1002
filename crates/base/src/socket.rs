//! What a user can ask of the sockets of connections. Opens none.

use crate::time::Span;

/// How the kernel shall treat the sockets of connections. Each is a field of a scenario by its own
/// name; what is absent stays as the system has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// SO_SNDBUF, below 2^31.
    pub send_buffer_bytes: Option<u64>,
    /// SO_RCVBUF, below 2^31.
    pub receive_buffer_bytes: Option<u64>,
    /// SO_BUSY_POLL: how long the kernel polls the network card for each receive; whole
    /// microseconds up to a second.
    pub busy_poll: Option<Span>,
    /// Whether Nagle's algorithm stays on, which holds small requests back.
    pub nagle: bool,
}
