//! Errors of rustls as faults in a user's words.

use memtide_codec::Excerpt;
use memtide_world::driver::Stranger;
use memtide_world::{CertificateFault, TlsFault};
use rustls::{
    AlertDescription, CertificateError, Error, OtherError, PeerIncompatible, PeerMisbehaved,
};
use std::fmt;
use std::sync::Arc;

/// The fault that `error` is, in a handshake that began with `first`.
pub(crate) fn fault(error: &Error, first: Option<Excerpt>) -> TlsFault {
    match error {
        Error::InvalidCertificate(error) => TlsFault::Certificate(certificate(error)),
        Error::AlertReceived(alert) => told(*alert, first.is_some()),
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled,
        ) => TlsFault::NoCommonVersion,
        error => match first {
            Some(first) if !begins_tls(first.bytes()) => match Stranger::of(first.bytes()) {
                Some(stranger) => TlsFault::Plain(stranger),
                None => TlsFault::Unknown(first),
            },
            _ => TlsFault::Broken(deed(error)),
        },
    }
}

/// True if these are the first bytes of a record of TLS.
fn begins_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x14..=0x17, 0x03, ..])
}

/// What the other end did, as a sentence about it.
fn deed(error: &Error) -> &'static str {
    match error {
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            "it sent a message out of turn"
        }
        Error::InvalidMessage(_) => "it sent a message that cannot be read",
        Error::DecryptError => "it sent a record that cannot be decrypted",
        Error::PeerSentOversizedRecord => "it sent a record that is too long",
        Error::NoCertificatesPresented => "it sent no certificate",
        Error::PeerIncompatible(_) => "it asks for what memtide's TLS does not have",
        Error::PeerMisbehaved(
            PeerMisbehaved::TooManyEmptyFragments
            | PeerMisbehaved::TooManyKeyUpdateRequests
            | PeerMisbehaved::TooManyRenegotiationRequests
            | PeerMisbehaved::TooManyWarningAlertsReceived,
        ) => "it sent too many requests and warnings without data",
        Error::PeerMisbehaved(
            PeerMisbehaved::SelectedUnofferedApplicationProtocol
            | PeerMisbehaved::SelectedUnofferedCertCompression
            | PeerMisbehaved::SelectedUnofferedCipherSuite
            | PeerMisbehaved::SelectedUnofferedCompression
            | PeerMisbehaved::SelectedUnofferedKxGroup
            | PeerMisbehaved::SelectedUnofferedPsk,
        ) => "it chose what memtide did not offer",
        Error::PeerMisbehaved(_) => "it violated the rules of the handshake",
        _ => "its connection cannot be continued",
    }
}

/// A server's certificate that is not accepted, on its way through rustls.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) CertificateFault);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate is not accepted")
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        CertificateError::Other(OtherError(Arc::new(refused))).into()
    }
}

/// The fault of a certificate: of a server's, what [`Refused`] says; of a client's, only that it is
/// not accepted, because no user of memtide is told.
fn certificate(error: &CertificateError) -> CertificateFault {
    let refused = match error {
        CertificateError::Other(OtherError(other)) => other.downcast_ref::<Refused>(),
        _ => None,
    };
    refused.map_or(
        CertificateFault::Unusable("that is not accepted; see what openssl verify says"),
        |refused| refused.0,
    )
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
        | AlertDescription::AccessDenied => TlsFault::CertificateRefused(named(alert)),
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity
            if in_handshake =>
        {
            TlsFault::HandshakeRefused
        }
        AlertDescription::InternalError if in_handshake => TlsFault::ServerFailed,
        alert => TlsFault::Alert(named(alert)),
    }
}

/// The name of an alert (RFC 8446, 6; RFC 5246, 7.2).
const fn named(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::CloseNotify => "close_notify",
        AlertDescription::UnexpectedMessage => "unexpected_message",
        AlertDescription::BadRecordMac => "bad_record_mac",
        AlertDescription::DecryptionFailed => "decryption_failed",
        AlertDescription::RecordOverflow => "record_overflow",
        AlertDescription::DecompressionFailure => "decompression_failure",
        AlertDescription::HandshakeFailure => "handshake_failure",
        AlertDescription::NoCertificate => "no_certificate",
        AlertDescription::BadCertificate => "bad_certificate",
        AlertDescription::UnsupportedCertificate => "unsupported_certificate",
        AlertDescription::CertificateRevoked => "certificate_revoked",
        AlertDescription::CertificateExpired => "certificate_expired",
        AlertDescription::CertificateUnknown => "certificate_unknown",
        AlertDescription::IllegalParameter => "illegal_parameter",
        AlertDescription::UnknownCA => "unknown_ca",
        AlertDescription::AccessDenied => "access_denied",
        AlertDescription::DecodeError => "decode_error",
        AlertDescription::DecryptError => "decrypt_error",
        AlertDescription::ExportRestriction => "export_restriction",
        AlertDescription::ProtocolVersion => "protocol_version",
        AlertDescription::InsufficientSecurity => "insufficient_security",
        AlertDescription::InternalError => "internal_error",
        AlertDescription::InappropriateFallback => "inappropriate_fallback",
        AlertDescription::UserCanceled => "user_canceled",
        AlertDescription::NoRenegotiation => "no_renegotiation",
        AlertDescription::MissingExtension => "missing_extension",
        AlertDescription::UnsupportedExtension => "unsupported_extension",
        AlertDescription::UnrecognisedName => "unrecognized_name",
        AlertDescription::UnknownPSKIdentity => "unknown_psk_identity",
        AlertDescription::CertificateRequired => "certificate_required",
        AlertDescription::NoApplicationProtocol => "no_application_protocol",
        _ => "of an unknown kind",
    }
}
