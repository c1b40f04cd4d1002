//! A master's identity: a key, and the certificate that agents recognise by its digest.
//!
//! Only the digest is trusted: names, dates and issuers in the certificate are ignored. It opens no
//! file.

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use ring::digest::{SHA256, digest};
use ring::rand::SecureRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use std::fmt;
use tokio_rustls::rustls::crypto::ring::sign::any_supported_type;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;

/// A key with its self-signed certificate.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    /// The key and the certificate as PEM.
    text: String,
}

impl Identity {
    /// Makes an ECDSA P-256 key with a certificate for `name`. The certificate does not expire:
    /// agents trust a digest, and their clocks may be wrong.
    ///
    /// # Errors
    /// If `random` fails.
    pub fn make(name: &str, random: &dyn SecureRandom) -> Result<Self, String> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, random)
            .map_err(|_| failed("the system returned no random bytes"))?;
        let document = PrivatePkcs8KeyDer::from(document.as_ref().to_vec());
        let pair = KeyPair::from_pkcs8_der_and_sign_algo(&document, &PKCS_ECDSA_P256_SHA256)
            .map_err(failed)?;
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, name);
        let certificate = parameters.self_signed(&pair).map_err(failed)?;
        let text = pair.serialize_pem() + &certificate.pem();
        let key = PrivateKeyDer::from(document);
        Ok(Self { certificate: certificate.der().clone(), key, text })
    }

    /// Reads a key and its certificate from PEM text.
    ///
    /// # Errors
    /// A sentence that says which of them is missing or damaged, or that they do not match.
    pub fn parse(text: &str) -> Result<Self, String> {
        let again = "memtide key new makes new files";
        let certificate = CertificateDer::from_pem_slice(text.as_bytes())
            .map_err(|_| format!("it contains no complete PEM certificate; {again}"))?;
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes())
            .map_err(|_| format!("it contains no complete PEM private key; {again}"))?;
        let signing = any_supported_type(&key)
            .map_err(|_| format!("its private key is damaged or of an unknown kind; {again}"))?;
        CertifiedKey::new(vec![certificate.clone()], signing).keys_match().map_err(|_| {
            format!("its certificate is damaged or belongs to another key; {again}")
        })?;
        Ok(Self { certificate, key, text: text.to_owned() })
    }

    /// The key and the certificate as PEM text, which is secret.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of the certificate, which join files name.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        fingerprint(&self.certificate)
    }

    /// The certificate and a copy of the key, for TLS.
    pub(crate) fn parts(&self) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        (self.certificate.clone(), self.key.clone_key())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", crate::join::digest_text(&self.fingerprint()))
    }
}

fn failed(what: impl fmt::Display) -> String {
    format!("cannot make a key: {what}")
}

/// SHA-256 of a certificate.
pub(crate) fn fingerprint(certificate: &[u8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
    bytes
}

#[cfg(test)]
mod tests;
