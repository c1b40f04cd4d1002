//! Certificates and keys: read from PEM texts, or made for an embedded server.

use rustls::Error;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;

/// A certificate with its chain, and its key; as PEM texts.
#[derive(Clone)]
pub struct Material {
    /// The certificate first, then those of the CAs up to the root.
    pub chain: Vec<u8>,
    /// The private key.
    pub key: Vec<u8>,
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Material")
    }
}

impl Material {
    pub(crate) fn read(
        &self,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), MaterialError> {
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| MaterialError::NoKey)?;
        let chain = certificates(&self.chain).map_err(|_| MaterialError::NoChain)?;
        Ok((chain, key))
    }
}

/// The certificates in a PEM text; at least one.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, MaterialError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(MaterialError::NoCertificate),
    }
}

/// A new key, and a certificate for these names that it signs itself.
pub fn made(names: &[&str]) -> Result<Material, MaterialError> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|_| MaterialError::Unusable("it cannot be made for this machine's names"))?;
    Ok(Material {
        chain: made.cert.pem().into_bytes(),
        key: made.signing_key.serialize_pem().into_bytes(),
    })
}

/// Why certificates and keys cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaterialError {
    /// The text of trusted certificates has none.
    NoCertificate,
    /// The text for a key's own certificate has none.
    NoChain,
    /// The text has certificates, and none that can be read.
    Unreadable,
    /// The text has no private key that can be read.
    NoKey,
    /// A server is called by what is no name of a certificate.
    BadName(String),
    /// A certificate and its key cannot be used, for this reason.
    Unusable(&'static str),
}

impl MaterialError {
    /// The error of a certificate and its key that rustls refuses.
    pub(crate) fn unusable(error: &Error) -> Self {
        Self::Unusable(match error {
            Error::InconsistentKeys(_) => "the key is that of another certificate",
            Error::InvalidCertificate(_) => {
                "the certificate is not of X.509 version 3, which openssl x509 -req makes with \
                 -extfile"
            }
            Error::General(_) => {
                "the key is of a kind or a length that is not accepted; openssl makes one with \
                 -newkey rsa:2048, or with -newkey ec -pkeyopt ec_paramgen_curve:P-256"
            }
            _ => "TLS cannot be set up with them",
        })
    }
}

impl fmt::Display for MaterialError {
    /// Writes what is wrong, without its subject.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCertificate | Self::NoChain => f.write_str("has no certificate in PEM form"),
            Self::Unreadable => f.write_str("has no certificate that can be read"),
            Self::NoKey => f.write_str("has no private key in PEM form without a password"),
            Self::BadName(name) => write!(f, "'{name}' is no host's name and no IP address"),
            Self::Unusable(why) => write!(f, "cannot be used: {why}"),
        }
    }
}

impl std::error::Error for MaterialError {}
