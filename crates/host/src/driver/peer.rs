//! One connection's socket, and the bytes of it that the kernel has not taken: what both drivers
//! keep of a connection. It waits for nothing; a driver tells it when something can be done.

use crate::driver::socket::{self, Connecting};
use memtide_base::Span;
use memtide_engine::driver::{Closed, ConnectError, Event};
use memtide_engine::{Address, Message, SendBuffer, SocketOptions};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use socket2::Socket;
use std::io::IoSlice;
use std::net::IpAddr;

/// A connection's place, with or without a socket.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    pub(crate) socket: Option<Socket>,
    /// Tells its socket from those that had this place before; it stays below
    /// [`GENERATIONS`].
    pub(crate) generation: u32,
    pub(crate) opening: bool,
    /// Whether its socket sends and receives datagrams.
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
    /// Starts to connect.
    pub(crate) fn connect(
        &mut self,
        address: &Address,
        source: Option<IpAddr>,
        plan: SocketOptions,
    ) -> Result<Connecting, ConnectError> {
        self.generation = (self.generation + 1) % GENERATIONS;
        let (socket, connecting) = socket::connect(address, source, plan)?;
        self.datagrams = matches!(address, Address::Udp(_));
        self.socket = Some(socket);
        self.opening = matches!(connecting, Connecting::Pending);
        Ok(connecting)
    }

    /// What became of a connect that is decided. The socket of a failed one is gone.
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

    /// Whether some bytes are left over.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Keeps what the kernel has not taken of `message`, all but the first `taken` bytes, after
    /// what it did not take before. A datagram that finds another one waiting is lost.
    pub(crate) fn keep(&mut self, message: Message<'_>, taken: usize) {
        if self.datagrams && self.has_unsent() {
            return;
        }
        self.unsent.append(message, taken);
    }

    /// Sends what was left over; `None` when the kernel takes no more for now.
    pub(crate) fn send_rest(&mut self) -> Option<Happened> {
        let socket = self.socket.as_ref().expect("a writable connection has a socket");
        // One call takes a part also when there is room for all: the slices of a message are many.
        while self.unsent_from < self.unsent.len() {
            match retry_on_intr(|| send_after(socket, self.unsent.message(), self.unsent_from)) {
                Ok(sent) => self.unsent_from += sent,
                Err(Errno::AGAIN) => return None,
                Err(errno) => return Some(self.lost(errno)),
            }
        }
        // A large rest must not keep its memory for the life of the connection.
        self.unsent = SendBuffer::default();
        self.unsent_from = 0;
        Some(Happened::Writable)
    }

    /// The kernel says that the connection is no more.
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

    /// Forgets the socket, which closes it.
    pub(crate) fn forget(&mut self) {
        self.socket = None;
        self.opening = false;
        self.unsent = SendBuffer::default();
        self.unsent_from = 0;
    }
}

/// Sends what goes of `message` after its first `taken` bytes; returns how many bytes went.
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
    sendmsg(socket, &slices[..count], &mut SendAncillaryBuffer::default(), SEND_FLAGS)
}

/// Slices that one call sends; what is more goes with the next.
const SLICES_MAX: usize = 32;

/// How bytes are sent: never waiting, and a closed connection is an error, not a signal.
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
