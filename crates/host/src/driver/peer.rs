//! One connection's socket, and the bytes that the kernel has not taken: the part of a connection
//! that both drivers share. It never waits; a driver calls it when the socket is ready.

use crate::driver::socket::{self, Connecting};
use memtide_base::Span;
use memtide_engine::driver::{Closed, ConnectError, Event};
use memtide_engine::{Address, Message, SendBuffer, SocketOptions};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use socket2::Socket;
use std::io::IoSlice;
use std::net::IpAddr;

/// A connection, with or without a socket.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    pub(crate) socket: Option<Socket>,
    /// Distinguishes its socket from earlier ones of the same connection; below [`GENERATIONS`].
    pub(crate) generation: u32,
    pub(crate) opening: bool,
    /// True if its socket sends and receives datagrams.
    pub(crate) datagrams: bool,
    /// Bytes that the kernel has not taken, from `unsent_from` on.
    unsent: SendBuffer,
    unsent_from: usize,
}

/// Generations count up to this and begin again.
pub(crate) const GENERATIONS: u32 = 1 << 24;

/// An event without borrowed bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happened {
    Connected,
    ConnectFailed(ConnectError),
    Writable,
    Closed(Closed),
}

impl Peer {
    /// Begins a connect.
    pub(crate) fn connect(
        &mut self,
        address: &Address,
        source: Option<IpAddr>,
        plan: SocketOptions,
    ) -> Result<Connecting, ConnectError> {
        debug_assert!(self.socket.is_none(), "a connect begins on a closed connection");
        debug_assert!(self.unsent.is_empty(), "bytes of a closed connection are left over");
        self.generation = (self.generation + 1) % GENERATIONS;
        let (socket, connecting) = socket::connect(address, source, plan)?;
        self.datagrams = matches!(address, Address::Udp(_));
        self.socket = Some(socket);
        self.opening = matches!(connecting, Connecting::Pending);
        Ok(connecting)
    }

    /// The result of a connect. The socket of a failed one is closed.
    pub(crate) fn opened(&mut self) -> Happened {
        self.opening = false;
        let socket = self.socket.as_ref().expect("an opening connection has a socket");
        match socket.take_error() {
            Ok(None) => Happened::Connected,
            Ok(Some(error)) | Err(error) => {
                let error = socket::connect_error(&error);
                self.forget();
                Happened::ConnectFailed(error)
            }
        }
    }

    /// True if bytes are pending.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Keeps the bytes of `message` after the first `taken`, behind those already pending. A
    /// datagram is lost if another one is pending.
    pub(crate) fn keep(&mut self, message: Message<'_>, taken: usize) {
        if self.datagrams && self.has_unsent() {
            return;
        }
        debug_assert!(taken <= message.len(), "the kernel took more than there was");
        self.unsent.append(message, taken);
    }

    /// Sends pending bytes; `None` if the kernel takes no more for now.
    pub(crate) fn send_rest(&mut self) -> Option<Happened> {
        let socket = self.socket.as_ref().expect("a writable connection has a socket");
        // One call may take only a part even if there is room for all, because a message has many
        // slices.
        while self.unsent_from < self.unsent.len() {
            match retry_on_intr(|| send_after(socket, self.unsent.message(), self.unsent_from)) {
                Ok(sent) => self.unsent_from += sent,
                Err(Errno::AGAIN) => return None,
                Err(errno) => return Some(self.lost(errno)),
            }
        }
        debug_assert_eq!(self.unsent_from, self.unsent.len(), "more was sent than was left over");
        // A large pending message must not keep its memory for the life of the connection.
        self.unsent = SendBuffer::default();
        self.unsent_from = 0;
        Some(Happened::Writable)
    }

    /// Handles the kernel's report that the connection is lost.
    pub(crate) fn lost(&mut self, errno: Errno) -> Happened {
        self.forget();
        Happened::Closed(socket::close_reason(errno))
    }

    /// Closes the socket: in good order, or as `linger` says.
    pub(crate) fn end(&mut self, linger: Option<Span>) {
        if let (Some(socket), Some(linger)) = (&self.socket, linger) {
            socket::prepare_close(socket, linger);
        }
        self.forget();
    }

    /// Drops the socket, which closes it.
    pub(crate) fn forget(&mut self) {
        self.socket = None;
        self.opening = false;
        self.unsent = SendBuffer::default();
        self.unsent_from = 0;
    }
}

/// Sends `message` after its first `taken` bytes as far as the kernel takes it; returns the number
/// of bytes taken.
pub(crate) fn send_after(
    socket: &Socket,
    message: Message<'_>,
    taken: usize,
) -> Result<usize, Errno> {
    if let Some(bytes) = message.as_plain() {
        return send(socket, &bytes[taken..], SEND_FLAGS);
    }
    let mut slices = [IoSlice::new(&[]); SLICES_MAX];
    let mut count = 0;
    for (place, slice) in slices.iter_mut().zip(message.slices(taken)) {
        *place = IoSlice::new(slice);
        count += 1;
    }
    debug_assert!((1..=SLICES_MAX).contains(&count), "a message has a slice to send");
    sendmsg(socket, &slices[..count], &mut SendAncillaryBuffer::default(), SEND_FLAGS)
}

/// The most slices of one call; further ones go with the next.
const SLICES_MAX: usize = 32;

/// Flags of a send: it never waits, and a closed connection is an error and not a signal.
pub(crate) const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

impl From<Happened> for Event<'_> {
    fn from(happened: Happened) -> Self {
        match happened {
            Happened::Connected => Event::Connected,
            Happened::ConnectFailed(error) => Event::ConnectFailed(error),
            Happened::Writable => Event::Writable,
            Happened::Closed(closed) => Event::Closed(closed),
        }
    }
}
