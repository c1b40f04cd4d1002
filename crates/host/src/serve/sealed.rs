//! The filter of one client of the embedded server, such as encryption, with the bytes for the wire
//! that the kernel has not taken. It knows no protocol.

use crate::driver::socket::send_slices;
use memtide_server::Outgoing;
use memtide_world::{Filter, SendBuffer};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::net::TcpStream;

/// A client's bytes below its protocol.
pub(super) struct Sealed {
    filter: Box<dyn Filter>,
    /// The protocol's bytes of the last reception.
    pub plain: Vec<u8>,
    wire: SendBuffer,
    /// Bytes of `wire` that are sent.
    sent: usize,
}

impl Sealed {
    pub fn new(filter: Box<dyn Filter>) -> Self {
        Self { filter, plain: Vec::new(), wire: SendBuffer::with_capacity(0, 0), sent: 0 }
    }

    /// True if the kernel has taken everything.
    pub fn is_sent(&self) -> bool {
        self.sent == self.wire.len()
    }

    /// Decodes received bytes into `plain`. An error means that the connection is over.
    pub fn open(&mut self, wire: &[u8], stream: &TcpStream) -> Result<(), Errno> {
        self.plain.clear();
        if self.filter.handle_bytes(wire, &mut self.plain).is_err() {
            self.close(stream);
            return Err(Errno::PROTO);
        }
        Ok(())
    }

    /// Encodes `out` once all earlier bytes are sent, and sends what the kernel takes.
    pub fn send(&mut self, out: &mut Outgoing, stream: &TcpStream) -> Result<(), Errno> {
        if self.is_sent() {
            self.wire.clear();
            self.sent = 0;
            let plain: usize = out
                .slices()
                .map(|slice| {
                    self.wire.bytes_mut().extend_from_slice(slice);
                    slice.len()
                })
                .sum();
            out.advance(plain);
            self.filter.poll_transmit(&mut self.wire);
        }
        self.push(stream)
    }

    fn push(&mut self, stream: &TcpStream) -> Result<(), Errno> {
        if self.is_sent() {
            return Ok(());
        }
        let slices = self.wire.message().slices(self.sent);
        match send_slices(stream, slices, SendFlags::NOSIGNAL) {
            Ok(sent) => self.sent += sent,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        Ok(())
    }

    /// Sends the filter's last bytes, as far as the kernel takes them.
    pub fn close(&mut self, stream: &TcpStream) {
        if self.is_sent() {
            self.wire.clear();
            self.sent = 0;
            self.filter.poll_close(&mut self.wire);
            // The client may be gone.
            let _ = self.push(stream);
        }
    }
}
