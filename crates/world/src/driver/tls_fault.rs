//! What can go wrong between two ends of TLS, in a user's words. It holds facts only; who finds
//! them, and by which library, is not known here.

use super::Stranger;
use memtide_base::calendar::utc;
use memtide_base::{Remedy, Sentence};
use memtide_codec::Excerpt;

/// How a server broke TLS, or refused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFault {
    /// The server's certificate is not accepted.
    Certificate(CertificateFault),
    /// Both ends have no version of TLS in common.
    NoCommonVersion,
    /// The server wants a certificate of its client.
    CertificateWanted,
    /// The server refused the client's certificate, with this alert.
    CertificateRefused(&'static str),
    /// The server ended the handshake with an alert: it has no version or cipher in common with
    /// memtide, or wants a client certificate.
    HandshakeRefused,
    /// The server failed in the handshake. A memcached that asks for certificates does so when a
    /// session is resumed, unless it keeps sessions.
    ServerFailed,
    /// The server sent another alert.
    Alert(&'static str),
    /// The server answered the handshake in plain text.
    Plain(Stranger),
    /// The server answered the handshake with bytes that are not TLS.
    Unknown(Excerpt),
    /// The server closed the connection within the handshake.
    ClosedInHandshake,
    /// The server broke TLS: a sentence about it.
    Broken(&'static str),
}

impl TlsFault {
    /// The sentence without its subject and its full stop, with the remedy if there is one.
    pub(super) fn sentence(&self) -> Sentence {
        match self {
            Self::Certificate(fault) => fault.sentence(),
            Self::NoCommonVersion => {
                Sentence::new("has no version of TLS in common with memtide, which has 1.2 and 1.3")
                    .remedy(Remedy::LowerTls)
            }
            Self::CertificateWanted => {
                Sentence::new("wants a certificate of its client").remedy(Remedy::GiveCertificate)
            }
            Self::CertificateRefused(alert) => {
                Sentence::new(format!("refused the client's certificate with {alert}"))
                    .remedy(Remedy::CheckCertificate)
            }
            Self::HandshakeRefused => Sentence::new(
                "refused the handshake of TLS: it wants a client certificate, or has no version, \
                 cipher or kind of key in common with memtide (openssl's -newkey rsa:2048, or \
                 -newkey ec -pkeyopt ec_paramgen_curve:P-256)",
            )
            .remedy(Remedy::GiveCertificate),
            Self::ServerFailed => Sentence::new(
                "failed in the handshake of TLS (internal_error); if it asks for client \
                 certificates, start it with -o ssl_session_cache",
            )
            .remedy(Remedy::NoResumption),
            Self::Alert(alert) => {
                Sentence::new(format!("ended TLS with the alert {alert}")).remedy(Remedy::ReadLog)
            }
            Self::Plain(stranger @ (Stranger::MemcachedText | Stranger::MemcachedBinary)) => {
                Sentence::new(format!(
                    "does not speak TLS: it answered in memcached's {} protocol; start it with -Z",
                    if *stranger == Stranger::MemcachedText { "text" } else { "binary" }
                ))
                .remedy(Remedy::LeaveTls)
            }
            Self::Plain(stranger) => {
                Sentence::new("does not speak TLS: it answered with ").and(&stranger.sentence())
            }
            Self::Unknown(bytes) => Sentence::new(format!(
                "does not speak TLS: it answered the handshake with {bytes}; check the port"
            ))
            .remedy(Remedy::LeaveTls),
            Self::ClosedInHandshake => Sentence::new(
                "closed the connection within the handshake of TLS; does it speak TLS (memcached \
                 -Z), and what does its log say?",
            )
            .remedy(Remedy::LeaveTls),
            Self::Broken(why) => {
                Sentence::new(format!("broke TLS: {why}")).remedy(Remedy::CheckPort)
            }
        }
    }
}

/// Why a server's certificate is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateFault {
    /// It was valid until this second since 1970.
    Expired(u64),
    /// The certificate of a CA above it was valid until this second since 1970.
    CaExpired(u64),
    /// It is valid from this second since 1970 on.
    NotYetValid(u64),
    /// It has other names than the server's.
    WrongName {
        /// The names that it has.
        names: Excerpt,
        /// True if the name that it lacks is an IP address.
        address: bool,
    },
    /// It has no names. openssl adds the server's by these words, such as `DNS:localhost`.
    NoName(Excerpt),
    /// It is signed by this CA, which is not trusted.
    UnknownCa(Excerpt),
    /// It is signed by its own key, and is not trusted.
    SelfSigned,
    /// An RSA key of it, or of a CA above it, has this number of bits, which is not accepted.
    KeyLength(u32),
    /// The server signed the handshake with another key.
    WrongKey,
    /// It cannot be used: the end of "has a certificate ...", with what it lacks and the option of
    /// openssl that adds it.
    Unusable(&'static str),
}

impl CertificateFault {
    /// The sentence without its subject and its full stop: what is lacking, the option of openssl
    /// that adds it, and the remedy.
    fn sentence(&self) -> Sentence {
        match self {
            Self::Expired(since) => Sentence::new(format!(
                "has a certificate that expired on {}; renew it (openssl's -days), and check this \
                 machine's clock",
                utc(*since)
            ))
            .remedy(Remedy::OrUnchecked),
            Self::CaExpired(since) => Sentence::new(format!(
                "has a certificate of a CA whose own expired on {}; renew that (openssl's -days), \
                 and check this machine's clock",
                utc(*since)
            ))
            .remedy(Remedy::OrUnchecked),
            Self::NotYetValid(from) => Sentence::new(format!(
                "has a certificate that is not valid before {}; check both machines' clocks, or \
                 make one that begins now (openssl's -days)",
                utc(*from)
            ))
            .remedy(Remedy::OrUnchecked),
            Self::WrongName { names, address } => Sentence::new(format!(
                "has a certificate without this name (openssl adds it with -addext \
                 subjectAltName={}), for other names: {names}",
                if *address { "IP:ADDRESS" } else { "DNS:NAME" }
            ))
            .remedy(Remedy::NameServer),
            Self::NoName(wanted) => Sentence::new(format!(
                "has a certificate without subjectAltName, the only place where names count; make \
                 one with openssl's -addext subjectAltName={}",
                String::from_utf8_lossy(wanted.bytes())
            ))
            .remedy(Remedy::OrUnchecked),
            Self::UnknownCa(issuer) => Sentence::new(format!(
                "has a certificate of a CA that is not trusted here: {issuer}"
            ))
            .remedy(Remedy::TrustCa),
            Self::SelfSigned => {
                Sentence::new("has a certificate signed by its own key, which is not trusted here")
                    .remedy(Remedy::TrustCertificate)
            }
            Self::KeyLength(bits) => Sentence::new(format!(
                "has an RSA key of {bits} bits in its certificate or in that of its CA, and \
                 memtide accepts 2048 to 8192; make one with openssl's -newkey rsa:2048"
            ))
            .remedy(Remedy::OrUnchecked),
            Self::WrongKey => Sentence::new(
                "has a certificate and not its key: another key signed the handshake; start it \
                 with the key of its certificate (memcached -o ssl_key, openssl s_server's -key)",
            ),
            Self::Unusable(why) => {
                Sentence::new(format!("has a certificate {why}")).remedy(Remedy::OrUnchecked)
            }
        }
    }
}
