//! The client's end: what is trusted, what it shows of itself, and a filter for each connection.

use crate::end::End;
use crate::library::Library;
use crate::material::{Material, MaterialError};
use crate::sessions::Sessions;
use crate::trust::{AnyCertificate, Trust};
use memtide_base::choice::TlsVersion;
use memtide_world::{Filter, FilterPlan};
use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Configuration of the client's end of TLS.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The certificates that are trusted: of CAs, and of servers themselves; as PEM texts.
    pub trusted: Vec<u8>,
    /// The client's own certificate and key, if a server wants one.
    pub own: Option<Material>,
    /// The oldest version that is spoken.
    pub least: TlsVersion,
    /// True to resume the sessions of earlier connections.
    pub resumes: bool,
    /// True to take any certificate, without any check.
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
    let verifier: Arc<dyn ServerCertVerifier> = match options.unchecked {
        true => Arc::new(AnyCertificate),
        false => {
            let algorithms = library.provider.signature_verification_algorithms;
            Arc::new(Trust::of(&options.trusted, algorithms)?)
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
    let Library { provider, time } = library.clone();
    let builder = ClientConfig::builder_with_details(provider, time)
        .with_protocol_versions(crate::end::versions(options.least))
        .expect("the provider has cipher suites for each version")
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(verifier));
    let mut config = match &options.own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let (chain, key) = own.read()?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| MaterialError::unusable(&error))?
        }
    };
    config.resumption = match options.resumes {
        true => Resumption::store(Arc::new(Sessions::default())),
        false => Resumption::disabled(),
    };
    Ok(config)
}
