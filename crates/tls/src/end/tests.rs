//! Both ends against each other, whatever the pieces in which their bytes arrive.

mod certificates;
mod keys;

use super::*;
use crate::{ClientOptions, Material, ServerOptions, client, made, server};
use memtide_base::Random;
use memtide_base::rng::Stream;

struct Ends {
    client: Box<dyn Filter>,
    server: Box<dyn Filter>,
}

fn options(own: &Material) -> ClientOptions {
    ClientOptions {
        trusted: own.chain.clone(),
        own: None,
        least: TlsVersion::V1_2,
        resumes: true,
        unchecked: false,
    }
}

fn plans(own: &Material) -> (memtide_world::FilterPlan, memtide_world::FilterPlan) {
    let servers = [("one".to_owned(), "localhost".to_owned())];
    let options = options(own);
    let serving = ServerOptions { own: own.clone(), clients: None, least: TlsVersion::V1_2 };
    (client(&options, &servers).unwrap(), server(&serving).unwrap())
}

fn said(end: &mut dyn Filter, plain: &[u8]) -> Vec<u8> {
    let mut out = SendBuffer::with_capacity(0, 0);
    out.bytes_mut().extend_from_slice(plain);
    end.poll_transmit(&mut out);
    std::mem::take(out.bytes_mut())
}

impl Ends {
    /// Carries bytes to and fro until both are silent; returns the plain bytes that arrived at the
    /// server and at the client.
    fn talk(&mut self, mut up: Vec<u8>, piece: &mut dyn FnMut() -> usize) -> (Vec<u8>, Vec<u8>) {
        let (mut at_server, mut at_client) = (Vec::new(), Vec::new());
        loop {
            let mut plain = Vec::new();
            let mut down = Vec::new();
            pass(&mut *self.server, &up, &mut plain, &mut down, piece);
            at_server.extend(plain);
            let mut plain = Vec::new();
            up = Vec::new();
            pass(&mut *self.client, &down, &mut plain, &mut up, piece);
            at_client.extend(plain);
            if up.is_empty() {
                return (at_server, at_client);
            }
        }
    }
}

fn pass(
    end: &mut dyn Filter,
    wire: &[u8],
    plain: &mut Vec<u8>,
    out: &mut Vec<u8>,
    piece: &mut dyn FnMut() -> usize,
) {
    let mut rest = wire;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(piece().clamp(1, rest.len()));
        end.handle_bytes(now, plain).unwrap();
        out.extend(said(end, &[]));
        rest = later;
    }
}

fn ends((client, server): &(memtide_world::FilterPlan, memtide_world::FilterPlan)) -> Ends {
    Ends { client: client.make("one"), server: server.make("") }
}

#[test]
fn all_bytes_arrive_whatever_the_pieces() {
    let own = made(&["localhost"]).unwrap();
    let plans = plans(&own);
    for seed in 0..40 {
        let mut random = Random::at(seed, Stream::RECONNECT, 0);
        let mut piece = move || match seed {
            0 => 1,
            1 => usize::MAX,
            _ => 1 + (random.unit() * 3000.0) as usize,
        };
        let mut ends = ends(&plans);
        // What is sent before the handshake waits for its end.
        let hello = said(&mut *ends.client, b"get a\r\n");
        assert!(!ends.client.is_open() && !hello.windows(5).any(|part| part == b"get a"));
        let (at_server, _) = ends.talk(hello, &mut piece);
        assert_eq!(at_server, b"get a\r\n");
        assert!(ends.client.is_open() && ends.server.is_open());
        let expected = if seed == 0 { Handshake::Full } else { Handshake::Resumed };
        assert_eq!(ends.client.handshake(), Some(expected));
        let value: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
        let wire = said(&mut *ends.client, &value);
        let (at_server, _) = ends.talk(wire, &mut piece);
        assert!(at_server == value);
    }
}

/// Connections that open at the same time do not take each other's sessions.
#[test]
fn connections_that_open_together_all_resume() {
    let own = made(&["localhost"]).unwrap();
    let plans = plans(&own);
    for expected in [Handshake::Full, Handshake::Resumed, Handshake::Resumed] {
        let mut all: Vec<Ends> = (0..40).map(|_| ends(&plans)).collect();
        for ends in &mut all {
            let hello = said(&mut *ends.client, &[]);
            ends.talk(hello, &mut || usize::MAX);
            assert_eq!(ends.client.handshake(), Some(expected));
        }
    }
}

#[test]
fn an_end_without_close_notify_is_told_from_one_with_it() {
    let own = made(&["localhost"]).unwrap();
    let plans = plans(&own);
    let mut piece = || usize::MAX;
    let mut ends = ends(&plans);
    let in_handshake = Closed::Broken(PeerError::Tls(TlsFault::ClosedInHandshake));
    assert_eq!(ends.client.handle_closed(Closed::ByPeer), in_handshake);
    let hello = said(&mut *ends.client, &[]);
    ends.talk(hello, &mut piece);
    assert_eq!(ends.client.handle_closed(Closed::ByPeer), Closed::Truncated);
    assert_eq!(ends.client.handle_closed(Closed::Reset), Closed::Reset);
    let mut out = SendBuffer::with_capacity(0, 0);
    ends.server.poll_close(&mut out);
    let mut plain = Vec::new();
    ends.client.handle_bytes(out.bytes_mut(), &mut plain).unwrap();
    assert_eq!(ends.client.handle_closed(Closed::ByPeer), Closed::ByPeer);
}

#[test]
fn a_changed_byte_is_an_error_and_never_a_panic() {
    let own = made(&["localhost"]).unwrap();
    let plans = plans(&own);
    for at in 0..600 {
        let mut ends = ends(&plans);
        let hello = said(&mut *ends.client, &[]);
        let mut down = Vec::new();
        pass(&mut *ends.server, &hello, &mut Vec::new(), &mut down, &mut || usize::MAX);
        let at = at % down.len();
        down[at] ^= 0x55;
        let mut plain = Vec::new();
        if let Err(error) = ends.client.handle_bytes(&down, &mut plain) {
            assert!(!error.sentence().to_string().is_empty());
            let mut out = SendBuffer::with_capacity(0, 0);
            ends.client.poll_close(&mut out);
        }
        assert!(plain.is_empty(), "nothing is believed before the handshake is over");
    }
}
