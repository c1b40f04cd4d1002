//! The embedded server's end: a certificate, whom it accepts, and a filter for each connection.

use crate::end::{End, versions};
use crate::library::Library;
use crate::material::{Material, MaterialError, certificates};
use memtide_base::choice::TlsVersion;
use memtide_world::{Filter, FilterPlan};
use rustls::server::{ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::sync::Arc;

/// The sessions that are kept for resumption.
const SESSIONS_MAX: usize = 16 * 1024;

/// Configuration of the server's end of TLS.
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
    server_of(&Library::real(), options)
}

/// The filters of [`server`] by this library.
pub(crate) fn server_of(
    library: &Library,
    options: &ServerOptions,
) -> Result<FilterPlan, MaterialError> {
    let config = Arc::new(config(library, options)?);
    Ok(FilterPlan::new(move |_| -> Box<dyn Filter> {
        let connection = ServerConnection::new(Arc::clone(&config))
            .expect("a config with a provider and versions makes connections");
        Box::new(End::new(connection))
    }))
}

/// The settings of all connections.
pub(crate) fn config(
    library: &Library,
    options: &ServerOptions,
) -> Result<ServerConfig, MaterialError> {
    let Library { provider, time } = library.clone();
    let builder = ServerConfig::builder_with_details(provider.clone(), time)
        .with_protocol_versions(versions(options.least))
        .expect("the provider has cipher suites for each version");
    let builder = match &options.clients {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates(pem)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|_| MaterialError::Unreadable)?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let (chain, key) = options.own.read()?;
    let mut config =
        builder.with_single_cert(chain, key).map_err(|error| MaterialError::unusable(&error))?;
    // Sessions are kept here, and a ticket is the number of one: no other key has to be drawn.
    config.session_storage = ServerSessionMemoryCache::new(SESSIONS_MAX);
    Ok(config)
}
