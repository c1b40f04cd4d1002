//! Properties of TLS's ends: whatever bytes come, in whatever pieces, nothing panics, an error has
//! a sentence, nothing is believed before the handshake is over, and only what was said arrives.

use crate::generate::pieces;
use memtide_base::Span;
use memtide_base::choice::TlsVersion;
use memtide_tls::{SimulatedOptions, simulated};
use memtide_world::{Closed, Filter, FilterPlan, PeerError, SendBuffer};
use std::sync::LazyLock;

/// Both ends of a world whose keys follow from a seed.
static ENDS: LazyLock<(FilterPlan, FilterPlan)> = LazyLock::new(|| {
    let options = SimulatedOptions { seed: 1, least: TlsVersion::V1_2, resumes: false };
    let now = || Span::from_s(1_800_000_000);
    simulated(&options, now, &["one".to_owned()]).expect("the certificate in the tree is right")
});

/// What a load's end hears.
pub fn tls_client(data: &[u8]) {
    stranger(&mut *ENDS.0.make("one"), data);
}

/// What a server's end hears.
pub fn tls_server(data: &[u8]) {
    stranger(&mut *ENDS.1.make(""), data);
}

/// Gives an end bytes that no other end made.
fn stranger(end: &mut dyn Filter, data: &[u8]) {
    said(end, b"");
    let mut plain = Vec::new();
    for piece in pieces(data) {
        let heard = heard(end, piece, &mut plain);
        assert!(plain.is_empty() && !end.is_open(), "bytes from nowhere are believed");
        if heard.is_err() {
            break;
        }
    }
    end.poll_close(&mut SendBuffer::with_capacity(0, 0));
    assert_ne!(end.handle_closed(Closed::ByPeer), Closed::ByPeer, "a handshake was not over");
}

/// Damages what one end sends the other: each three bytes of the input are a place and a change.
pub fn tls_damaged(data: &[u8]) {
    let (mut client, mut server) = (ENDS.0.make("one"), ENDS.1.make(""));
    let words: &[u8] = b"VALUE one 0 3\r\nabc\r\nEND\r\n";
    let (mut up, mut at_server, mut at_client) =
        (said(&mut *client, b"get one\r\n"), vec![], vec![]);
    // Two flights of a handshake, and an answer; tickets come with one of them.
    for round in 0..4 {
        let mut down = Vec::new();
        if heard(&mut *server, &up, &mut at_server).is_err() {
            return;
        }
        let answer: &[u8] = if round == 2 && server.is_open() { words } else { b"" };
        down.extend(said(&mut *server, answer));
        for change in data.chunks_exact(3).filter(|it| usize::from(it[0]) % 4 == round) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
            if let Some(byte) = down.get_mut(at / 4) {
                *byte ^= change[2];
            }
        }
        for piece in pieces(&down) {
            if heard(&mut *client, piece, &mut at_client).is_err() {
                return assert!(words.starts_with(&at_client));
            }
        }
        up = said(&mut *client, b"");
    }
    assert!(b"get one\r\n".starts_with(&at_server[..]) && words.starts_with(&at_client));
}

/// Gives an end bytes; an error of the other end has a sentence.
fn heard(end: &mut dyn Filter, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), PeerError> {
    let heard = end.handle_bytes(wire, plain);
    if let Err(error) = &heard {
        assert!(!error.sentence().to_string().is_empty(), "an error says nothing");
    }
    heard
}

/// What an end sends for these bytes of the protocol.
fn said(end: &mut dyn Filter, plain: &[u8]) -> Vec<u8> {
    let mut out = SendBuffer::with_capacity(0, 0);
    out.bytes_mut().extend_from_slice(plain);
    end.poll_transmit(&mut out);
    std::mem::take(out.bytes_mut())
}
