//! The embedded server's socket for datagrams: receives datagrams, and sends those that are due. A
//! datagram that the kernel does not take is lost, as it could be anywhere on the network.

use crate::clock::Clock;
use crate::serve::shared::Shared;
use memtide_base::Instant;
use memtide_server::Datagrams;
use socket2::SockRef;
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// The longest datagram.
const DATAGRAM_BYTES_MAX: usize = 64 * 1024;
/// Datagrams received in a row before connections are served again.
const BATCH_MAX: usize = 64;
const BATCH_BYTES_MAX: usize = 1 << 20;
/// The kernel's buffer for received datagrams, if the kernel allows this much.
const KEPT_BYTES: usize = 4 << 20;

/// The socket, and the datagrams that wait to leave.
pub(super) struct UdpSide {
    socket: UdpSocket,
    datagrams: Datagrams<SocketAddr>,
    buffer: Box<[u8]>,
}

impl UdpSide {
    /// Makes `socket` non-blocking, for a store with this limit for items.
    pub fn new(socket: UdpSocket, item_bytes_max: usize) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // A smaller buffer loses more when many clients ask at once.
        let _ = SockRef::from(&socket).set_recv_buffer_size(KEPT_BYTES);
        let buffer = vec![0; DATAGRAM_BYTES_MAX].into();
        Ok(Self { socket, datagrams: Datagrams::new(item_bytes_max), buffer })
    }

    /// The socket, for epoll.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Receives and handles datagrams.
    pub fn attend(&mut self, shared: &Shared) {
        let mut sent = 0;
        for _ in 0..BATCH_MAX {
            if sent >= BATCH_BYTES_MAX {
                return;
            }
            // A client that is gone may cause an error here, which concerns no other client.
            let Ok((len, client)) = self.socket.recv_from(&mut self.buffer) else { return };
            debug_assert!(len <= DATAGRAM_BYTES_MAX, "a datagram is longer than its buffer");
            let datagram = &self.buffer[..len];
            let mut state = shared.profile();
            // Read under the lock, so that it never goes back from one request to the next.
            let time = shared.time();
            let store = &shared.store;
            self.datagrams.handle_datagram(time, client, datagram, store, state.as_deref_mut());
            drop(state);
            sent += self.release(&shared.clock);
        }
    }

    /// The instant of the next datagram.
    pub fn leaves(&self) -> Option<Instant> {
        self.datagrams.poll_timeout()
    }

    /// Sends the datagrams that are due; returns their bytes.
    pub fn release(&mut self, clock: &Clock) -> usize {
        if self.leaves().is_none() {
            return 0;
        }
        let mut sent = 0;
        while let Some((client, datagram)) = self.datagrams.poll_transmit(clock.now()) {
            sent += datagram.len();
            let _ = self.socket.send_to(&datagram, client);
        }
        sent
    }
}
