//! The client's end: what is trusted, what it shows of itself, and a filter for each connection.

use crate::end::End;
use crate::library::Library;
use crate::material::{Material, MaterialError, certificates};
use crate::sessions::Sessions;
use memtide_base::choice::TlsVersion;
use memtide_world::{Filter, FilterPlan};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Configuration of the client's end of TLS.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The certificates of the CAs that are trusted, as PEM texts.
    pub trusted: Vec<u8>,
    /// The client's own certificate and key, if a server wants one.
    pub own: Option<Material>,
    /// The oldest version that is spoken.
    pub least: TlsVersion,
    /// True to resume the sessions of earlier connections.
    pub resumes: bool,
    /// True to take any certificate.
    pub unchecked: bool,
}

/// Filters for connections to servers: each is its name in the plan, and the name that its
/// certificate must have.
pub fn client(
    options: &ClientOptions,
    servers: &[(String, String)],
) -> Result<FilterPlan, MaterialError> {
    client_of(&Library::real(), options, servers)
}

/// The filters of [`client`] by this library.
pub(crate) fn client_of(
    library: &Library,
    options: &ClientOptions,
    servers: &[(String, String)],
) -> Result<FilterPlan, MaterialError> {
    let provider = &library.provider;
    let verifier: Arc<dyn ServerCertVerifier> = match options.unchecked {
        true => Arc::new(AnyCertificate(provider.clone())),
        false => {
            let mut roots = RootCertStore::empty();
            let (taken, _) = roots.add_parsable_certificates(certificates(&options.trusted)?);
            if taken == 0 {
                return Err(MaterialError::NoCertificate);
            }
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .build()
                .map_err(|error| MaterialError::Unusable(error.to_string()))?
        }
    };
    let mut ends = BTreeMap::new();
    for (server, name) in servers {
        let expected =
            ServerName::try_from(name.clone()).map_err(|_| MaterialError::BadName(name.clone()))?;
        let config = config(library, options, &verifier)?;
        ends.insert(server.clone(), (Arc::new(config), expected));
    }
    Ok(FilterPlan::new(move |server: &str| -> Box<dyn Filter> {
        let (config, name) = &ends[server];
        let connection = ClientConnection::new(Arc::clone(config), name.clone())
            .expect("a config with a provider and versions makes connections");
        Box::new(End::new(connection))
    }))
}

/// The settings of connections to one server, which share its sessions.
fn config(
    library: &Library,
    options: &ClientOptions,
    verifier: &Arc<dyn ServerCertVerifier>,
) -> Result<ClientConfig, MaterialError> {
    let unusable = |error: Error| MaterialError::Unusable(error.to_string());
    let Library { provider, time } = library.clone();
    let builder = ClientConfig::builder_with_details(provider, time)
        .with_protocol_versions(crate::end::versions(options.least))
        .map_err(unusable)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(verifier));
    let mut config = match &options.own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let (chain, key) = own.read()?;
            builder.with_client_auth_cert(chain, key).map_err(unusable)?
        }
    };
    config.resumption = match options.resumes {
        true => Resumption::store(Arc::new(Sessions::default())),
        false => Resumption::disabled(),
    };
    Ok(config)
}

/// Takes any certificate; its key must still have signed the handshake.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

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
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
