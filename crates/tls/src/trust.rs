//! Whom the client's end trusts: CAs, certificates that are trusted themselves, or any. It says why
//! another certificate is not accepted; webpki verifies signatures, chains and names.

#![allow(clippy::disallowed_types, reason = "webpki takes its time as a Duration")]

use crate::fault::Refused;
use crate::material::{MaterialError, certificates};
use crate::x509::{Facts, KEY_BITS, common_name};
use memtide_codec::Excerpt;
use memtide_world::CertificateFault;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use std::fmt;
use std::time::Duration;
use webpki::{EndEntityCert, KeyUsage, VerifiedPath, anchor_from_trusted_cert};

/// Accepts certificates of trusted CAs, and those that are trusted themselves: the very same, with
/// valid dates and names. In both cases the certificate's key must sign the handshake.
pub(crate) struct Trust {
    certificates: Vec<CertificateDer<'static>>,
    /// Those of them that may sign others, and the first and last second of their validity.
    anchors: Vec<TrustAnchor<'static>>,
    validity: Vec<[u64; 2]>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Trust {
    /// Trusts the certificates in a PEM text. What cannot be read is left out, as in a system's
    /// file, unless nothing remains.
    pub(crate) fn of(
        pem: &[u8],
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Result<Self, MaterialError> {
        let certificates = certificates(pem)?;
        let (mut anchors, mut validity) = (Vec::new(), Vec::new());
        let mut is_any_known = false;
        for certificate in &certificates {
            let (Ok(anchor), Some(facts)) =
                (anchor_from_trusted_cert(certificate), Facts::of(certificate))
            else {
                continue;
            };
            is_any_known = true;
            if facts.is_ca {
                anchors.push(anchor.to_owned());
                validity.push([facts.not_before, facts.not_after]);
            }
        }
        match is_any_known {
            true => Ok(Self { certificates, anchors, validity, algorithms }),
            false => Err(MaterialError::Unreadable),
        }
    }

    /// Verifies what a server has shown, and that it is for `server_name`.
    fn verify(&self, shown: &Shown<'_>, server_name: &ServerName<'_>) -> Verified {
        let certificate =
            EndEntityCert::try_from(shown.certificate).map_err(|error| unusable(&error))?;
        match self.certificates.iter().any(|trusted| trusted == shown.certificate) {
            true => shown.verify_dates()?,
            false => self.verify_chain(shown, &certificate)?,
        }
        let named = certificate.verify_is_valid_for_subject_name(server_name);
        named.map_err(|error| name_fault(&error, server_name))?;
        let bits = Facts::of(shown.certificate).and_then(|facts| facts.rsa_bits());
        match bits.filter(|bits| !KEY_BITS.contains(bits)) {
            Some(bits) => Err(CertificateFault::KeyLength(bits)),
            None => Ok(()),
        }
    }

    /// Verifies that a trusted CA signed the certificate of a server, also by others between.
    fn verify_chain(&self, shown: &Shown<'_>, certificate: &EndEntityCert<'_>) -> Verified {
        let path = certificate.verify_for_usage(
            self.algorithms.all,
            &self.anchors,
            shown.intermediates,
            shown.now,
            KeyUsage::server_auth(),
            None,
            Some(&|path: &VerifiedPath<'_>| self.verify_anchor(path.anchor(), shown.now)),
        );
        path.map(drop).map_err(|error| self.chain_fault(&error, shown))
    }

    /// Verifies the dates of a trusted CA's certificate, which webpki does not look at. A CA that
    /// was renewed with its key has several.
    fn verify_anchor(&self, anchor: &TrustAnchor<'_>, now: UnixTime) -> Result<(), webpki::Error> {
        let same = self.anchors.iter().zip(&self.validity).filter(|(it, _)| *it == anchor);
        let mut validity: Vec<[u64; 2]> = same.map(|(_, validity)| *validity).collect();
        validity.sort_unstable_by_key(|[_, until]| *until);
        if validity.iter().any(|[from, until]| (*from..=*until).contains(&now.as_secs())) {
            return Ok(());
        }
        let [from, until] = *validity.last().expect("paths end at anchors");
        let [not_before, not_after] =
            [from, until].map(|second| UnixTime::since_unix_epoch(Duration::from_secs(second)));
        Err(match now.as_secs() > until {
            true => webpki::Error::CertExpired { time: now, not_after },
            false => webpki::Error::CertNotValidYet { time: now, not_before },
        })
    }

    /// The fault of a certificate that no trusted CA signed, or not as it should be.
    fn chain_fault(&self, error: &webpki::Error, shown: &Shown<'_>) -> CertificateFault {
        let Some(facts) = Facts::of(shown.certificate) else { return UNREADABLE };
        let is_self_signed = facts.issuer == facts.subject;
        match error {
            webpki::Error::CertExpired { not_after, .. } => match not_after.as_secs() {
                since if since == facts.not_after => CertificateFault::Expired(since),
                since => CertificateFault::CaExpired(since),
            },
            webpki::Error::CertNotValidYet { not_before, .. } => {
                CertificateFault::NotYetValid(not_before.as_secs())
            }
            webpki::Error::InvalidCertValidity => shown.wrong_dates(&facts),
            webpki::Error::UnknownIssuer | webpki::Error::CaUsedAsEndEntity if is_self_signed => {
                CertificateFault::SelfSigned
            }
            webpki::Error::UnknownIssuer => {
                let issuer = shown.last_issuer(&facts);
                match self.certificates.iter().filter_map(Facts::of).any(|it| it.subject == issuer)
                {
                    true => NO_CA,
                    false => CertificateFault::UnknownCa(Excerpt::of(common_name(issuer))),
                }
            }
            webpki::Error::InvalidSignatureForPublicKey => self.signature_fault(shown),
            error => unusable(error),
        }
    }

    /// The fault of a chain in which the key of a CA does not verify a signature.
    fn signature_fault(&self, shown: &Shown<'_>) -> CertificateFault {
        let chain = shown.intermediates.iter().chain([shown.certificate]);
        let chain: Vec<Facts<'_>> = chain.filter_map(Facts::of).collect();
        let mut above = self.certificates.iter().chain(shown.intermediates).filter_map(Facts::of);
        let short = above.find_map(|ca| {
            let bits = ca.rsa_bits().filter(|bits| !KEY_BITS.contains(bits))?;
            chain.iter().any(|it| it.issuer == ca.subject).then_some(bits)
        });
        short.map_or(NOT_SIGNED, CertificateFault::KeyLength)
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust")
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = Shown { certificate: end_entity, intermediates, now };
        match self.verify(&shown, server_name) {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(fault) => Err(Refused(fault).into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms).map_err(wrong_key)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms).map_err(wrong_key)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The certificate itself is known to be in order when its key is asked for.
fn wrong_key(error: Error) -> Error {
    match error {
        Error::InvalidCertificate(_) => Refused(CertificateFault::WrongKey).into(),
        error => error,
    }
}

type Verified = Result<(), CertificateFault>;

/// What a server shows in a handshake, and the date of the handshake.
#[derive(Clone, Copy)]
struct Shown<'a> {
    certificate: &'a CertificateDer<'a>,
    intermediates: &'a [CertificateDer<'a>],
    now: UnixTime,
}

impl Shown<'_> {
    /// Verifies the dates of the certificate itself.
    fn verify_dates(&self) -> Verified {
        let facts = Facts::of(self.certificate).ok_or(UNREADABLE)?;
        match (facts.not_before..=facts.not_after).contains(&self.now.as_secs()) {
            true => Ok(()),
            false => Err(self.wrong_dates(&facts)),
        }
    }

    /// The fault of a certificate that is not valid now, or never is.
    fn wrong_dates(&self, facts: &Facts<'_>) -> CertificateFault {
        match self.now.as_secs() > facts.not_after {
            true => CertificateFault::Expired(facts.not_after),
            false => CertificateFault::NotYetValid(facts.not_before),
        }
    }

    /// The issuer of the last certificate of the chain that the server sends.
    fn last_issuer<'a>(&'a self, leaf: &Facts<'a>) -> &'a [u8] {
        let mut issuer = leaf.issuer;
        for _ in self.intermediates {
            let next = self.intermediates.iter().filter_map(Facts::of);
            let Some(next) = next.into_iter().find(|it| it.subject == issuer) else { break };
            issuer = next.issuer;
        }
        issuer
    }
}

/// The fault of a certificate that is not for the server's name.
fn name_fault(error: &webpki::Error, expected: &ServerName<'_>) -> CertificateFault {
    let webpki::Error::CertNotValidForName(context) = error else { return unusable(error) };
    let address = matches!(expected, ServerName::IpAddress(_));
    if context.presented.is_empty() {
        let (kind, word) = if address { ("IP:", "ADDRESS") } else { ("DNS:", "NAME") };
        let wanted = format!("{kind}{}", expected.to_str());
        let whole = Excerpt::of(wanted.as_bytes());
        return CertificateFault::NoName(match whole.bytes() == wanted.as_bytes() {
            true => whole,
            false => Excerpt::of(format!("{kind}{word}").as_bytes()),
        });
    }
    let names: Vec<&str> = context.presented.iter().map(|name| bare(name)).collect();
    CertificateFault::WrongName { names: Excerpt::of(names.join(", ").as_bytes()), address }
}

/// The name in webpki's form of a name, such as `DnsName("example.com")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

const UNREADABLE: CertificateFault = CertificateFault::Unusable(
    "that cannot be read; see what openssl x509 -text shows, and make another",
);
const NO_CA: CertificateFault = CertificateFault::Unusable(
    "of a CA that may not sign others; make the CA's certificate with openssl's -addext \
     basicConstraints=critical,CA:TRUE",
);
const NOT_SIGNED: CertificateFault = CertificateFault::Unusable(
    "that names a trusted CA which did not sign it; sign it again with openssl's -CA and -CAkey, \
     or trust the CA that did",
);

/// The fault of a certificate that webpki cannot use.
fn unusable(error: &webpki::Error) -> CertificateFault {
    use webpki::Error;
    CertificateFault::Unusable(match error {
        Error::UnsupportedCertVersion => {
            "of X.509 version 1, which has no names; openssl x509 -req makes version 3 with \
             -extfile FILE, where FILE contains subjectAltName=DNS:NAME"
        }
        Error::CaUsedAsEndEntity => {
            "of a CA (CA:TRUE) in place of a server's; trust this certificate itself, or make one \
             with openssl's -addext basicConstraints=critical,CA:FALSE"
        }
        Error::EndEntityUsedAsCa => return NO_CA,
        Error::PathLenConstraintViolated => {
            "below more CAs than one of them allows; make that CA's certificate with a larger \
             pathlen in openssl's -addext basicConstraints=critical,CA:TRUE,pathlen:N"
        }
        Error::RequiredEkuNotFoundContext(_) | Error::EmptyEkuExtension => {
            "that is not for servers; make one with openssl's -addext extendedKeyUsage=serverAuth"
        }
        Error::NameConstraintViolation => {
            "for a name that its CA may not sign; change nameConstraints in openssl's -addext of \
             the CA"
        }
        Error::UnsupportedCriticalExtension => {
            "with a critical extension that memtide does not know; leave it out of openssl's \
             -addext or -extfile"
        }
        Error::UnsupportedSignatureAlgorithmContext(context) => {
            signed_with(&context.signature_algorithm_id)
        }
        Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            "of a CA with a kind of key that memtide does not accept; make the CA's with openssl's \
             -newkey rsa:2048, or -newkey ec -pkeyopt ec_paramgen_curve:P-256"
        }
        Error::MaximumPathDepthExceeded
        | Error::MaximumPathBuildCallsExceeded
        | Error::MaximumSignatureChecksExceeded
        | Error::MaximumNameConstraintComparisonsExceeded => {
            "with too long a chain; send only the certificates that lead to a trusted CA (openssl \
             s_server's -cert_chain)"
        }
        _ => return UNREADABLE,
    })
}

/// The fault of a signature with the algorithm that this DER names.
fn signed_with(algorithm: &[u8]) -> &'static str {
    const SHA1_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05];
    const SHA1_ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
    const MD5_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04];
    // The tag and the length of the object identifier come first.
    let name = algorithm.get(2..).unwrap_or_default();
    if name.starts_with(SHA1_RSA) || name.starts_with(SHA1_ECDSA) {
        "signed with SHA-1, which is not accepted; sign it again with openssl's -sha256"
    } else if name.starts_with(MD5_RSA) {
        "signed with MD5, which is not accepted; sign it again with openssl's -sha256"
    } else {
        "signed with an algorithm that memtide does not accept; sign it again with openssl's \
         -sha256 and an RSA, P-256 or P-384 key"
    }
}

/// Takes any certificate, also one that cannot be read, and any signature: without a known
/// certificate a signature says nothing about who signs.
#[derive(Debug)]
pub(crate) struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureScheme::ECDSA_NISTP384_SHA384,
            SignatureScheme::ECDSA_NISTP521_SHA512,
            SignatureScheme::ED25519,
            SignatureScheme::ED448,
            SignatureScheme::RSA_PSS_SHA512,
            SignatureScheme::RSA_PSS_SHA384,
            SignatureScheme::RSA_PSS_SHA256,
            SignatureScheme::RSA_PKCS1_SHA512,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::RSA_PKCS1_SHA1,
            SignatureScheme::ECDSA_SHA1_Legacy,
        ]
    }
}
