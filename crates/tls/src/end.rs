//! One end of one connection: a filter around rustls' state, which buffers nothing of its own but
//! the first bytes that came.

use crate::fault::fault;
use memtide_base::choice::TlsVersion;
use memtide_codec::Excerpt;
use memtide_engine::{Closed, ConnectError, Filter, Handshake, PeerError, SendBuffer, TlsFault};
use rustls::version::{TLS12, TLS13};
use rustls::{Connection, HandshakeKind, SupportedProtocolVersion};
use std::io::{BufRead, IoSlice, Write};

/// The slices that are encrypted together, so that small ones share a record.
const SLICES: usize = 16;

/// The versions from `least` on.
pub(crate) fn versions(least: TlsVersion) -> &'static [&'static SupportedProtocolVersion] {
    static VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];
    match least {
        TlsVersion::V1_2 => &VERSIONS,
        TlsVersion::V1_3 => &VERSIONS[1..],
    }
}

/// One end of TLS.
#[derive(Debug)]
pub(crate) struct End {
    connection: Connection,
    /// The beginning of the first bytes that came, which shows another protocol.
    first: Option<Excerpt>,
    /// True once the other end has said that it sends no more.
    has_ended: bool,
}

impl End {
    pub(crate) fn new(mut connection: Connection) -> Self {
        // Bytes wait here only for the end of the handshake.
        connection.set_buffer_limit(None);
        Self { connection, first: None, has_ended: false }
    }

    /// Appends all decrypted bytes to `plain`.
    fn drain(&mut self, plain: &mut Vec<u8>) {
        let mut reader = self.connection.reader();
        while let Ok(chunk) = reader.fill_buf()
            && !chunk.is_empty()
        {
            plain.extend_from_slice(chunk);
            let taken = chunk.len();
            reader.consume(taken);
        }
    }

    /// Appends all bytes for the wire.
    fn write(&mut self, out: &mut SendBuffer) {
        while self.connection.wants_write() {
            self.connection.write_tls(out.bytes_mut()).expect("a vector takes all bytes");
        }
    }
}

impl Filter for End {
    fn handle_bytes(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), PeerError> {
        self.first.get_or_insert_with(|| Excerpt::of(wire));
        let mut rest = wire;
        while !rest.is_empty() {
            let broken = |error: std::io::Error| {
                PeerError::Tls(TlsFault::Broken(Excerpt::of(error.to_string().as_bytes())))
            };
            if self.connection.read_tls(&mut rest).map_err(broken)? == 0 {
                break; // Nothing is read after close_notify.
            }
            let processed = self.connection.process_new_packets();
            let first = self.first.filter(|_| self.connection.is_handshaking());
            let state = processed.map_err(|error| PeerError::Tls(fault(&error, first)))?;
            self.has_ended |= state.peer_has_closed();
            self.drain(plain);
        }
        Ok(())
    }

    fn poll_transmit(&mut self, out: &mut SendBuffer) {
        let message = out.message();
        if !message.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let mut count = 0;
            let mut writer = self.connection.writer();
            let mut write = |slices: &[IoSlice<'_>]| {
                let len: usize = slices.iter().map(|slice| slice.len()).sum();
                let written = writer.write_vectored(slices);
                assert_eq!(written.ok(), Some(len), "TLS takes all bytes without a limit");
            };
            for slice in message.slices(0) {
                if count == SLICES {
                    write(&slices);
                    count = 0;
                }
                slices[count] = IoSlice::new(slice);
                count += 1;
            }
            write(&slices[..count]);
            out.clear();
        }
        self.write(out);
    }

    fn is_open(&self) -> bool {
        !self.connection.is_handshaking()
    }

    fn poll_close(&mut self, out: &mut SendBuffer) {
        self.connection.send_close_notify();
        self.write(out);
    }

    fn handle_closed(&mut self, why: Closed) -> Closed {
        match why {
            Closed::ByPeer | Closed::Reset if !self.is_open() => {
                Closed::Broken(PeerError::Tls(TlsFault::ClosedInHandshake))
            }
            Closed::ByPeer if !self.has_ended => Closed::Truncated,
            _ => why,
        }
    }

    fn handle_timeout(&mut self) -> ConnectError {
        ConnectError::HandshakeTimedOut
    }

    fn handshake(&self) -> Option<Handshake> {
        self.connection.handshake_kind().map(|kind| match kind {
            HandshakeKind::Full | HandshakeKind::FullWithHelloRetryRequest => Handshake::Full,
            HandshakeKind::Resumed => Handshake::Resumed,
        })
    }
}

#[cfg(test)]
mod tests;
