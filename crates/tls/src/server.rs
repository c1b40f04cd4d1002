//! The embedded server's end: a certificate, whom it accepts, and a filter for each connection.

use crate::end::{End, versions};
use crate::material::{Material, MaterialError, certificates};
use memtide_base::choice::TlsVersion;
use memtide_engine::{Filter, FilterPlan};
use rustls::crypto::ring;
use rustls::server::{ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::sync::Arc;

/// The sessions that are kept for resumption.
const SESSIONS_MAX: usize = 16 * 1024;

/// What the server's end of TLS needs.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Its certificate and key.
    pub own: Material,
    /// The certificates of the CAs of clients, as PEM texts; none to take any client.
    pub clients: Option<Vec<u8>>,
    /// The oldest version that is spoken.
    pub least: TlsVersion,
}

/// Filters for connections of clients.
pub fn server(options: &ServerOptions) -> Result<FilterPlan, MaterialError> {
    let unusable = |error: rustls::Error| MaterialError::Unusable(error.to_string());
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions(options.least))
        .map_err(unusable)?;
    let builder = match &options.clients {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates(pem)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| MaterialError::Unusable(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let (chain, key) = options.own.read()?;
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.session_storage = ServerSessionMemoryCache::new(SESSIONS_MAX);
    let config = Arc::new(config);
    Ok(FilterPlan::new(move |_| -> Box<dyn Filter> {
        let connection = ServerConnection::new(Arc::clone(&config))
            .expect("a config with a provider and versions makes connections");
        Box::new(End::new(connection.into()))
    }))
}
