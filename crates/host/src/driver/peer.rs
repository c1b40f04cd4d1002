//! One connection's socket, and the bytes of it that the kernel has not taken: what both drivers
//! keep of a connection. It waits for nothing; a driver tells it when something can be done.

use crate::driver::socket::{self, Connecting};
use memtide_engine::Address;
use memtide_engine::driver::{Closed, ConnectError, Event};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use socket2::Socket;
use std::net::IpAddr;

/// A connection's place, with or without a socket.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    pub(crate) socket: Option<Socket>,
    /// Tells its socket from those that had this place before; it stays below [`GENERATIONS`].
    pub(crate) generation: u32,
    pub(crate) opening: bool,
    /// Bytes that the kernel has not taken, from `unsent_from` on.
    unsent: Vec<u8>,
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
    ) -> Result<Connecting, ConnectError> {
        self.generation = (self.generation + 1) % GENERATIONS;
        let (socket, connecting) = socket::connect(address, source)?;
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

    /// Keeps bytes that the kernel has not taken, after those it did not take before.
    pub(crate) fn keep(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Sends what was left over; `None` while some still is.
    pub(crate) fn send_rest(&mut self) -> Option<Happened> {
        let socket = self.socket.as_ref().expect("a writable connection has a socket");
        match send(socket, &self.unsent[self.unsent_from..], SEND_FLAGS) {
            Ok(sent) => self.unsent_from += sent,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Some(self.lost(errno)),
        }
        if self.unsent_from < self.unsent.len() {
            return None;
        }
        // A large rest must not keep its memory for the life of the connection.
        self.unsent = Vec::new();
        self.unsent_from = 0;
        Some(Happened::Writable)
    }

    /// The kernel says that the connection is no more.
    pub(crate) fn lost(&mut self, errno: Errno) -> Happened {
        self.forget();
        Happened::Closed(socket::close_reason(errno))
    }

    /// Closes the socket.
    pub(crate) fn forget(&mut self) {
        self.socket = None;
        self.opening = false;
        self.unsent = Vec::new();
        self.unsent_from = 0;
    }
}

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
