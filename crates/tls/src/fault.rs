//! Errors of rustls as faults in a user's words.

use memtide_codec::Excerpt;
use memtide_world::TlsFault;
use memtide_world::driver::Stranger;
use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};
use std::fmt::Debug;

/// The fault that `error` is, in a handshake that began with `first`.
pub(crate) fn fault(error: &Error, first: Option<Excerpt>) -> TlsFault {
    match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::AlertReceived(alert) => told(*alert, first.is_some()),
        Error::PeerIncompatible(why) => match why {
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled => TlsFault::NoCommonVersion,
            why => TlsFault::Broken(named(why)),
        },
        error => match first {
            Some(first) if !begins_tls(first.bytes()) => match Stranger::of(first.bytes()) {
                Some(stranger) => TlsFault::Plain(stranger),
                None => TlsFault::Unknown(first),
            },
            _ => TlsFault::Broken(Excerpt::of(error.to_string().as_bytes())),
        },
    }
}

/// True if these are the first bytes of a record of TLS.
fn begins_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x14..=0x17, 0x03, ..])
}

/// The fault of a server's certificate.
fn certificate(error: &CertificateError) -> TlsFault {
    match error {
        CertificateError::ExpiredContext { not_after, .. } => {
            TlsFault::Expired(not_after.as_secs())
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            TlsFault::NotYetValid(not_before.as_secs())
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            TlsFault::WrongName(Excerpt::of(names.join(", ").as_bytes()))
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => TlsFault::UnknownCa,
        error => TlsFault::BadCertificate(Excerpt::of(error.to_string().as_bytes())),
    }
}

/// The name in rustls' form of a name, such as `DnsName("example.com")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

/// The fault that an alert tells of.
fn told(alert: AlertDescription, in_handshake: bool) -> TlsFault {
    match alert {
        AlertDescription::ProtocolVersion => TlsFault::NoCommonVersion,
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
            TlsFault::CertificateWanted
        }
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied => TlsFault::CertificateRefused(named(&alert)),
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity
            if in_handshake =>
        {
            TlsFault::HandshakeRefused
        }
        AlertDescription::InternalError if in_handshake => TlsFault::ServerFailed,
        alert => TlsFault::Alert(named(&alert)),
    }
}

fn named(what: &impl Debug) -> Excerpt {
    Excerpt::of(format!("{what:?}").as_bytes())
}
