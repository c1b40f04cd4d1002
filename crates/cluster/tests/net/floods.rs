//! Strangers that finish the TLS handshake and then flood the master with HTTP/2: each is closed by
//! the deadline for a proof, and an agent gets in beside them.

use crate::peers::{Keys, LIMIT, named, opened, opened_at};
use memtide_cluster::transport::AgentNet;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
};

type Tls = StreamOwned<ClientConnection, TcpStream>;

/// Accepts every certificate, as a scanner does.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// A connection of a stranger that speaks HTTP/2.
fn stranger(address: SocketAddr) -> Tls {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().dangerous();
    let anyone = builder.with_custom_certificate_verifier(Arc::new(Anyone));
    let mut config = anyone.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let tcp = TcpStream::connect(address).unwrap();
    tcp.set_write_timeout(Some(LIMIT)).unwrap();
    let name = ServerName::try_from("memtide").unwrap();
    let tls = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(tls, tcp);
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    stream
}

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// A header without compression (RFC 7541, section 6.2.2).
fn header(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

/// The header block of an agent's call.
fn call() -> Vec<u8> {
    let path = "/memtide.cluster.v1.Master/Join";
    let indexed = [0x83, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    let more = [header("content-type", "application/grpc"), header("te", "trailers")].concat();
    [&indexed, path.as_bytes(), &[0x41, 1, b'a'], &more].concat()
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// A flood: its beginning, and what is sent again and again in the given round.
struct Flood {
    name: &'static str,
    first: Vec<u8>,
    again: fn(u32) -> Vec<u8>,
}

fn floods() -> Vec<Flood> {
    let flood = |name, first: Vec<u8>, again| Flood {
        name,
        first: [frame(SETTINGS, 0, 0, &[]), first].concat(),
        again,
    };
    let begun = frame(HEADERS, END_HEADERS, 1, &call());
    // A message of 4 GiB, by its own word.
    let endless = frame(DATA, 0, 1, &[0, 0xff, 0xff, 0xff, 0xff]);
    vec![
        flood("settings", Vec::new(), |_| frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]).repeat(500)),
        flood("pings", Vec::new(), |_| frame(PING, 0, 0, &[7; 8]).repeat(500)),
        flood("headers without an end", frame(HEADERS, 0, 1, &call()), |_| {
            frame(CONTINUATION, 0, 1, &header(&"x".repeat(100), &"y".repeat(100)).repeat(70))
        }),
        flood("calls that are taken back", Vec::new(), |round| {
            let one = |number| {
                let stream = (round * 100 + number) * 2 + 1;
                let opened = frame(HEADERS, END_HEADERS, stream, &call());
                [opened, frame(RESET, 0, stream, &[0, 0, 0, 8])].concat()
            };
            (0..100).flat_map(one).collect()
        }),
        flood("calls without an end", Vec::new(), |round| {
            let one = |number| frame(HEADERS, END_HEADERS, (round * 100 + number) * 2 + 1, &call());
            (0..100).flat_map(one).collect()
        }),
        flood("a message without an end", [begun.clone(), endless].concat(), |_| {
            frame(DATA, 0, 1, &[b'z'; 16_000])
        }),
        flood("a message that drips", begun, |_| {
            thread::sleep(Duration::from_millis(100));
            frame(DATA, 0, 1, &[0])
        }),
    ]
}

/// Floods until the master closes the connection; returns how long that took.
fn drown(address: SocketAddr, flood: &Flood) -> Duration {
    let (began, mut stream) = (Instant::now(), stranger(address));
    let mut flow = || -> io::Result<()> {
        stream.write_all(&flood.first)?;
        for round in 0..100_000 {
            stream.write_all(&(flood.again)(round))?;
        }
        Ok(())
    };
    let ended = flow();
    assert!(ended.is_err(), "{}: it takes all", flood.name);
    began.elapsed()
}

#[test]
fn floods_of_http_2_by_strangers_end_by_their_deadline_and_keep_no_agent_out() {
    let keys = Keys::new();
    let master = keys.waiting();
    let address = master.local_address().unwrap();
    thread::scope(|scope| {
        for flood in floods() {
            scope.spawn(move || {
                let took = drown(address, &flood);
                assert!(took < LIMIT, "{}: {took:?}", flood.name);
            });
        }
        thread::sleep(Duration::from_millis(500));
        let agent =
            named(AgentNet::dial(&keys.join_of(&master), crate::peers::clock).unwrap(), "a");
        assert_eq!(opened(&master).1.name, "a");
        opened_at(&agent);
    });
}
