//! One end of one connection: a filter around rustls' state, which buffers nothing of its own but
//! the first bytes that came.

use crate::fault::fault;
use memtide_base::choice::TlsVersion;
use memtide_codec::Excerpt;
use memtide_world::{
    Closed, ConnectError, Filter, Handshake, Message, PeerError, SendBuffer, TlsFault,
};
use rustls::version::{TLS12, TLS13};
use rustls::{ConnectionCommon, HandshakeKind, SupportedProtocolVersion};
use std::fmt::Debug;
use std::io::{BufRead, IoSlice, Write};
use std::ops::DerefMut;

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

/// One end of TLS. It is generic over rustls' two kinds of connection so that the code between two
/// records is compiled for speed with this crate, and not for size with rustls.
#[derive(Debug)]
pub(crate) struct End<C> {
    connection: C,
    /// The beginning of the first bytes that came, which shows another protocol.
    first: Option<Excerpt>,
    /// True once the other end has said that it sends no more.
    has_ended: bool,
}

impl<C: DerefMut<Target = ConnectionCommon<D>>, D> End<C> {
    pub(crate) fn new(mut connection: C) -> Self {
        // Bytes wait here only for the end of the handshake.
        connection.set_buffer_limit(None);
        Self { connection, first: None, has_ended: false }
    }

    /// Appends `left` decrypted bytes, which is all that there are, to `plain`.
    fn drain(&mut self, mut left: usize, plain: &mut Vec<u8>) {
        let mut reader = self.connection.reader();
        while left > 0 {
            let chunk = reader.fill_buf().expect("these bytes are decrypted");
            plain.extend_from_slice(chunk);
            let taken = chunk.len();
            reader.consume(taken);
            left -= taken;
        }
    }

    /// Encrypts a message of at least one byte.
    fn encrypt(&mut self, message: Message<'_>) {
        let mut writer = self.connection.writer();
        if let Some(bytes) = message.as_plain() {
            assert_eq!(writer.write(bytes).ok(), Some(bytes.len()), "{ALL}");
            return;
        }
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut count = 0;
        for slice in message.slices(0) {
            if count == SLICES {
                write(&mut writer, &slices);
                count = 0;
            }
            slices[count] = IoSlice::new(slice);
            count += 1;
        }
        write(&mut writer, &slices[..count]);
    }

    /// Appends all bytes for the wire.
    fn write(&mut self, out: &mut SendBuffer) {
        while self.connection.wants_write() {
            self.connection.write_tls(out.bytes_mut()).expect("a vector takes all bytes");
        }
    }
}

/// The assertion about a buffer without a limit.
const ALL: &str = "TLS takes all bytes without a limit";

impl<C, D> Filter for End<C>
where
    C: DerefMut<Target = ConnectionCommon<D>> + Debug + Send,
{
    fn handle_bytes(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), PeerError> {
        self.first.get_or_insert_with(|| Excerpt::of(wire));
        let mut rest = wire;
        while !rest.is_empty() {
            match self.connection.read_tls(&mut rest) {
                Ok(0) => break, // Nothing is read after close_notify.
                Ok(_) => {}
                Err(_) => {
                    let fault = TlsFault::Broken("it sent more than can be kept");
                    return Err(PeerError::Tls(fault));
                }
            }
            let state = self.connection.process_new_packets().map_err(|error| {
                let first = self.first.filter(|_| self.connection.is_handshaking());
                PeerError::Tls(fault(&error, first))
            })?;
            self.has_ended |= state.peer_has_closed();
            self.drain(state.plaintext_bytes_to_read(), plain);
        }
        Ok(())
    }

    fn poll_transmit(&mut self, out: &mut SendBuffer) {
        if !out.is_empty() {
            self.encrypt(out.message());
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

/// Encrypts all of `slices`.
fn write(writer: &mut impl Write, slices: &[IoSlice<'_>]) {
    let len: usize = slices.iter().map(|slice| slice.len()).sum();
    assert_eq!(writer.write_vectored(slices).ok(), Some(len), "{ALL}");
}

#[cfg(test)]
mod tests;
