//! Servers that change their keys, or ask for a new handshake, in the middle of a connection.

use super::{options, said};
use crate::client::client_of;
use crate::end::End;
use crate::library::Library;
use crate::simulated::{certificate, library};
use crate::{ServerOptions, server};
use memtide_base::Span;
use memtide_base::choice::TlsVersion;
use memtide_world::{Filter, PeerError, SendBuffer, TlsFault};
use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::{
    AeadKey, KeyBlockShape, MessageDecrypter, MessageEncrypter, OutboundChunks,
    OutboundOpaqueMessage, OutboundPlainMessage, Tls12AeadAlgorithm, UnsupportedOperationError,
};
use rustls::crypto::ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
use rustls::version::TLS12;
use rustls::{
    CipherSuiteCommon, ConnectionTrafficSecrets, ContentType, ServerConfig, ServerConnection,
    SupportedCipherSuite, Tls12CipherSuite,
};
use std::sync::Arc;

/// The library of a world in which it is always the same instant.
fn still() -> Library {
    library(1, || Span::from_s(1_800_000_000))
}

/// A client and a server of this library that have done their handshake.
fn met(library: &Library, config: ServerConfig) -> (Box<dyn Filter>, End<ServerConnection>) {
    let own = certificate();
    let names = [("one".to_owned(), "simulated".to_owned())];
    let mut client = client_of(library, &options(&own), &names).unwrap().make("one");
    let mut server = End::new(ServerConnection::new(Arc::new(config)).unwrap());
    let mut up = said(&mut *client, b"");
    while !up.is_empty() {
        assert!(server.handle_bytes(&up, &mut Vec::new()).is_ok());
        assert!(client.handle_bytes(&said(&mut server, b""), &mut Vec::new()).is_ok());
        up = said(&mut *client, b"");
    }
    assert!(client.is_open() && server.is_open());
    (client, server)
}

/// What of `words` arrives at the other end, which then answers what it wants to.
fn told(from: &mut dyn Filter, to: &mut dyn Filter, words: &[u8]) -> Result<Vec<u8>, PeerError> {
    let mut plain = Vec::new();
    to.handle_bytes(&said(from, words), &mut plain)?;
    Ok(plain)
}

#[test]
fn keys_may_change_between_any_two_records() {
    let library = still();
    let own = ServerOptions { own: certificate(), clients: None, least: TlsVersion::V1_3 };
    let (mut client, mut server) = met(&library, server::config(&library, &own).unwrap());
    for round in 0..100u8 {
        if round % 3 != 0 {
            server.connection.refresh_traffic_keys().unwrap();
        }
        assert_eq!(told(&mut server, &mut *client, &[round]).unwrap(), [round]);
        assert_eq!(told(&mut *client, &mut server, b"get a\r\n").unwrap(), b"get a\r\n");
    }
}

/// Server suites whose message `ASKS` is a request for a new handshake.
struct Asking(&'static dyn Tls12AeadAlgorithm);

const ASKS: &[u8] = b"once more, please";
/// HelloRequest (RFC 5246, 7.4.1.1).
const HELLO_REQUEST: &[u8] = &[0, 0, 0, 0];

impl Tls12AeadAlgorithm for Asking {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(AskingEncrypter(self.0.encrypter(key, iv, extra)))
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        self.0.decrypter(key, iv)
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        self.0.key_block_shape()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv, explicit)
    }
}

struct AskingEncrypter(Box<dyn MessageEncrypter>);

impl MessageEncrypter for AskingEncrypter {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        seq: u64,
    ) -> Result<OutboundOpaqueMessage, rustls::Error> {
        let asks = message.payload.to_vec() == ASKS;
        self.0.encrypt(
            match asks {
                false => message,
                true => OutboundPlainMessage {
                    typ: ContentType::Handshake,
                    payload: OutboundChunks::Single(HELLO_REQUEST),
                    ..message
                },
            },
            seq,
        )
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        self.0.encrypted_payload_len(payload_len)
    }
}

/// A server of TLS 1.2 that can ask.
fn asking(library: &Library) -> ServerConfig {
    let SupportedCipherSuite::Tls12(real) = TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 else {
        panic!("it is a suite of TLS 1.2");
    };
    let CipherSuiteCommon { suite, hash_provider, confidentiality_limit } = real.common;
    let suite: &'static Tls12CipherSuite = Box::leak(Box::new(Tls12CipherSuite {
        common: CipherSuiteCommon { suite, hash_provider, confidentiality_limit },
        prf_provider: real.prf_provider,
        kx: real.kx,
        sign: real.sign,
        aead_alg: Box::leak(Box::new(Asking(real.aead_alg))),
    }));
    let provider = CryptoProvider {
        cipher_suites: vec![SupportedCipherSuite::Tls12(suite)],
        ..(*library.provider).clone()
    };
    let (chain, key) = certificate().read().unwrap();
    ServerConfig::builder_with_details(Arc::new(provider), Arc::clone(&library.time))
        .with_protocol_versions(&[&TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap()
}

#[test]
fn a_new_handshake_is_refused_and_the_connection_goes_on() {
    let library = still();
    let (mut client, mut server) = met(&library, asking(&library));
    assert_eq!(told(&mut server, &mut *client, b"VALUE").unwrap(), b"VALUE");
    assert_eq!(told(&mut server, &mut *client, ASKS).unwrap(), b"");
    // It answers with the warning no_renegotiation, at once.
    let answer = said(&mut *client, b"");
    assert_eq!(answer.first(), Some(&0x15));
    server.handle_bytes(&answer, &mut Vec::new()).unwrap();
    assert_eq!(told(&mut server, &mut *client, b"END").unwrap(), b"END");
    assert_eq!(told(&mut *client, &mut server, b"get a\r\n").unwrap(), b"get a\r\n");
    // A server that keeps asking is given up.
    let last = (0..100).find_map(|_| told(&mut server, &mut *client, ASKS).err());
    let Some(PeerError::Tls(TlsFault::Broken(why))) = last else { panic!("{last:?}") };
    assert_eq!(why, "it sent too many requests and warnings without data");
}

#[test]
fn an_alert_within_a_connection_is_named() {
    let library = still();
    let own = ServerOptions { own: certificate(), clients: None, least: TlsVersion::V1_2 };
    let (mut client, mut server) = met(&library, server::config(&library, &own).unwrap());
    // The server gets what it cannot decrypt, and says so.
    let garbage = [&[0x17, 3, 3, 0, 20][..], &[7; 20]].concat();
    assert!(server.handle_bytes(&garbage, &mut Vec::new()).is_err());
    let mut out = SendBuffer::with_capacity(0, 0);
    server.poll_close(&mut out);
    let heard = client.handle_bytes(out.bytes_mut(), &mut Vec::new());
    let Err(PeerError::Tls(TlsFault::Alert(alert))) = heard else { panic!("{heard:?}") };
    assert_eq!(alert, "bad_record_mac");
}
