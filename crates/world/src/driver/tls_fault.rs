//! What can go wrong between two ends of TLS, in a user's words. It holds facts only; who finds
//! them, and by which library, is not known here.

use super::Stranger;
use memtide_base::calendar::utc;
use memtide_base::{Remedy, Sentence};
use memtide_codec::Excerpt;

/// How a server broke TLS, or refused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFault {
    /// The server's certificate was valid until this second since 1970.
    Expired(u64),
    /// The server's certificate is valid from this second since 1970 on.
    NotYetValid(u64),
    /// The server's certificate has these names, and not the server's.
    WrongName(Excerpt),
    /// The server's certificate is signed by a CA that is not trusted.
    UnknownCa,
    /// The server's certificate cannot be used, for this reason.
    ///
    /// To do: Give the server a certificate for servers (X.509 version 3), signed with RSA, ECDSA
    /// or Ed25519.
    BadCertificate(Excerpt),
    /// Both ends have no version of TLS in common.
    NoCommonVersion,
    /// The server wants a certificate of its client.
    CertificateWanted,
    /// The server refused the client's certificate, with this alert.
    CertificateRefused(Excerpt),
    /// The server ended the handshake with an alert: it has no version or cipher in common with
    /// memtide, or wants a client certificate.
    HandshakeRefused,
    /// The server failed in the handshake. A memcached that asks for certificates does so when a
    /// session is resumed, unless it keeps sessions.
    ServerFailed,
    /// The server sent another alert.
    ///
    /// To do: Check the server's log.
    Alert(Excerpt),
    /// The server answered the handshake in plain text.
    ///
    /// To do: Start the server with TLS, or leave `--tls` out; check the port.
    Plain(Stranger),
    /// The server answered the handshake with bytes that are not TLS.
    Unknown(Excerpt),
    /// The server closed the connection within the handshake.
    ///
    /// To do: Read the server's log. If it has no TLS, leave `--tls` out.
    ClosedInHandshake,
    /// The bytes cannot be decrypted, or break TLS in another way.
    ///
    /// To do: Check for proxies between memtide and the server, and the server's log.
    Broken(Excerpt),
}

impl TlsFault {
    /// The sentence without its subject and its full stop, with the remedy if there is one.
    pub(super) fn sentence(&self) -> Sentence {
        match self {
            Self::Expired(since) => Sentence::new(format!(
                "has a certificate that expired on {}; renew it, and check this machine's clock",
                utc(*since)
            ))
            .remedy(Remedy::OrUnchecked),
            Self::NotYetValid(from) => Sentence::new(format!(
                "has a certificate that is not valid before {}; check both machines' clocks",
                utc(*from)
            ))
            .remedy(Remedy::OrUnchecked),
            Self::WrongName(names) => {
                Sentence::new(format!("has a certificate for other names: {names}"))
                    .remedy(Remedy::NameServer)
            }
            Self::UnknownCa => Sentence::new("has a certificate of a CA that is not trusted here")
                .remedy(Remedy::TrustCa),
            Self::BadCertificate(why) => {
                Sentence::new(format!("has a certificate that cannot be used: {why}"))
            }
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
                "refused the handshake of TLS: it wants a client certificate, or has no version or \
                 cipher in common with memtide",
            )
            .remedy(Remedy::GiveCertificate),
            Self::ServerFailed => Sentence::new(
                "failed in the handshake of TLS (internal_error); if it asks for client \
                 certificates, start it with -o ssl_session_cache",
            )
            .remedy(Remedy::NoResumption),
            Self::Alert(alert) => Sentence::new(format!("ended TLS with the alert {alert}")),
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
            Self::Broken(why) => Sentence::new(format!("broke TLS: {why}")),
        }
    }
}
