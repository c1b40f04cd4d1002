//! TLS 1.3 with certificates that are recognised by their digests, and the reasons of failed
//! handshakes.
//!
//! There is no authority, name, date, resumption or early data: only a digest decides.

use crate::identity::{Identity, fingerprint};
use crate::join::digest_text;
use memtide_base::printable::printable;
use std::io;
use std::sync::Arc;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::NoServerSessionStorage;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    self, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};

const HTTP2: &[u8] = b"h2";
/// The longest quoted text of the other end, in characters.
const WORDS_MAX: usize = 200;
pub(super) const REFUSED: &str = "it refused this master's key, because its join file belongs to \
                                  another master; copy this master's join file to it";

/// The waiting side. With `pin` it serves only the peer that proves to have that certificate's key.
pub(super) fn server(
    identity: &Identity,
    pin: Option<[u8; 32]>,
) -> Result<Arc<ServerConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| impossible(&error))?;
    let builder = match pin {
        Some(_) => builder.with_client_cert_verifier(Arc::new(Pinned { pin, provider })),
        None => builder.with_no_client_auth(),
    };
    let (certificate, key) = identity.parts();
    let mut config =
        builder.with_single_cert(vec![certificate], key).map_err(|error| impossible(&error))?;
    // A resumed session would not prove the certificate again.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(Arc::new(config))
}

/// The dialing side. It continues only if the other end proves to have the key of the certificate
/// `pin`, or without a pin that of its own certificate. It proves its own identity if it has one.
pub(super) fn client(
    identity: Option<&Identity>,
    pin: Option<[u8; 32]>,
) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| impossible(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned { pin, provider }));
    let mut config = match identity.map(Identity::parts) {
        Some((certificate, key)) => builder
            .with_client_auth_cert(vec![certificate], key)
            .map_err(|error| impossible(&error))?,
        None => builder.with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(Arc::new(config))
}

/// The name that the dialing side requests, which is not checked.
pub(super) fn name() -> ServerName<'static> {
    ServerName::try_from("memtide").expect("a word is a DNS name")
}

/// True if the peer agreed on HTTP/2.
pub(super) fn is_http2(protocol: Option<&[u8]>) -> bool {
    protocol == Some(HTTP2)
}

fn impossible(error: &Error) -> String {
    format!("cannot set up TLS: {error}")
}

/// The reason why a handshake or a connection failed, as a sentence about the peer ("it …").
pub(super) fn why(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(error) => why_tls(error),
        None if matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
        ) =>
        {
            "it closed the connection before it authenticated, as port scanners and health checks \
             do"
            .to_owned()
        }
        None => format!("the connection broke: {error}"),
    }
}

/// The reason why a connection broke after its handshake, from the error's text.
pub(super) fn why_broken(words: &str) -> String {
    // A TLS 1.3 client learns only after its handshake that its key was refused.
    if words.contains("fatal alert") {
        return REFUSED.to_owned();
    }
    if words.contains("close_notify") {
        return "it closed the connection without a message".to_owned();
    }
    format!("the connection broke: {}", printable(words, WORDS_MAX))
}

fn why_tls(error: &Error) -> String {
    let plain = match error {
        Error::General(sentence) => sentence,
        Error::InvalidMessage(_) => "it did not send TLS; this port is for memtide only",
        Error::PeerIncompatible(_) => {
            "its TLS 1.3 settings are not memtide's; this port is for memtide only"
        }
        Error::NoApplicationProtocol => "it did not ask for HTTP/2; this port is for memtide only",
        Error::NoCertificatesPresented => {
            "it sent no certificate; only the master that the join file names is accepted"
        }
        Error::AlertReceived(_) => REFUSED,
        Error::InvalidCertificate(_) => {
            "it did not sign the handshake with the key of its certificate; find out what answers \
             on that address"
        }
        _ => "its TLS handshake failed, so it is no memtide; this port is for memtide only",
    };
    plain.to_owned()
}

/// Verifies a certificate by its digest, or accepts any without a pin; always checks the signature.
#[derive(Debug)]
struct Pinned {
    pin: Option<[u8; 32]>,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    fn certificate(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let shown = fingerprint(certificate);
        match self.pin {
            Some(pin) if pin != shown => Err(Error::General(format!(
                "its key is {}, but the join file names {}; copy the join file of that master, or \
                 find out what answers on that address",
                digest_text(&shown),
                digest_text(&pin)
            ))),
            _ => Ok(()),
        }
    }
}

/// The methods about signatures, which both traits have.
macro_rules! signed_by_its_key {
    () => {
        // TLS 1.2 is not offered, so nothing is signed with it.
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::PeerIncompatible(rustls::PeerIncompatible::Tls12NotOfferedOrEnabled))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let algorithms = &self.provider.signature_verification_algorithms;
            verify_tls13_signature(message, cert, dss, algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.provider.signature_verification_algorithms.supported_schemes()
        }
    };
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.certificate(end_entity).map(|()| ServerCertVerified::assertion())
    }

    signed_by_its_key!();
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.certificate(end_entity).map(|()| ClientCertVerified::assertion())
    }

    signed_by_its_key!();
}
