//! TLS of this machine: reads the files of certificates and keys that the user names, and makes the
//! filters of the load's connections and of the embedded server.

use crate::exit::Stop;
use memtide_scenario::{Resume, Scenario, Target, Tls};
use memtide_sim::{WorldClock, WorldFilter};
pub(super) use memtide_tls::Material;
use memtide_tls::{
    ClientOptions, MaterialError, ServerOptions, SimulatedOptions, client, made, server,
};
use memtide_world::{FilterPlan, ServerPlan};
use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;

/// Where distributions keep the CAs of the system, in one file.
const SYSTEM_CAS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// The largest file of certificates or keys.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The embedded server's own certificate and key, made now for this machine's names.
pub(super) fn own(name: Option<&str>) -> Result<Material, Stop> {
    let names = ["localhost", "127.0.0.1", "::1"].into_iter().chain(name);
    made(&names.collect::<Vec<_>>()).map_err(|error| wrong("--tls", "the new key", &error))
}

/// The filter of an embedded server with this certificate and key.
pub(super) fn embedded(own: &Material, tls: &Tls) -> Result<FilterPlan, Stop> {
    let options = ServerOptions { own: own.clone(), clients: None, least: tls.min };
    server(&options).map_err(|error| wrong("--tls", "the new certificate", &error))
}

/// The filter of a server that listens on `listen` and uses this TLS, if it is on, with the files
/// that flags name; without them, with a certificate that is made for it, and published in a file.
///
/// # Errors
/// If TLS was not built, the files cannot be used, or the certificate cannot be written.
pub fn secured(tls: &Tls, listen: IpAddr) -> Result<(Option<FilterPlan>, Option<Published>), Stop> {
    if !tls.on {
        return Ok((None, None));
    }
    if let Some(own) = given(tls)? {
        return Ok((Some(serving(own, tls)?), None));
    }
    let own = own(Some(&listen.to_string()))?;
    let published = published(&own)?;
    Ok((Some(serving(own, tls)?), Some(published)))
}

/// The filter of a server by itself, whose flags name these files.
fn serving(own: Material, tls: &Tls) -> Result<FilterPlan, Stop> {
    let clients = tls.ca.as_deref().map(|path| read("--tls-ca", path)).transpose()?;
    let options = ServerOptions { own, clients, least: tls.min };
    server(&options).map_err(|error| wrong("--tls", "the certificate or its key", &error))
}

/// The certificate and key that flags name, if they do.
fn given(tls: &Tls) -> Result<Option<Material>, Stop> {
    let (Some(cert), Some(key)) = (&tls.cert, &tls.key) else { return Ok(None) };
    Ok(Some(Material { chain: read("--tls-cert", cert)?, key: read("--tls-key", key)? }))
}

/// The filter of the load's connections; none without TLS. `embedded` is what an embedded server
/// shows.
pub(super) fn filter(
    scenario: &Scenario,
    servers: &[ServerPlan],
    embedded: Option<&Material>,
) -> Result<Option<FilterPlan>, Stop> {
    let tls = &scenario.tls;
    if !tls.on {
        return Ok(None);
    }
    let (flag, file, trusted) = match (embedded, &tls.ca) {
        _ if tls.insecure => ("--tls", "nothing", Vec::new()),
        (Some(made), _) => ("--tls", "the new certificate", made.chain.clone()),
        (None, Some(path)) => ("--tls-ca", path.as_str(), read("--tls-ca", path)?),
        (None, None) => {
            let (path, cas) = system_cas()?;
            ("--tls", path, cas)
        }
    };
    let options = ClientOptions {
        trusted,
        own: given(tls)?,
        least: tls.min,
        resumes: tls.resume == Resume::On,
        unchecked: tls.insecure,
    };
    let names: Vec<(String, String)> = servers
        .iter()
        .enumerate()
        .map(|(nth, server)| {
            let host = match scenario.servers.get(nth) {
                Some(Target::Tcp { host, .. }) => host.clone(),
                _ => "localhost".to_owned(),
            };
            (server.name.clone(), tls.server_name.clone().unwrap_or(host))
        })
        .collect();
    match client(&options, &names) {
        Ok(filter) => Ok(Some(filter)),
        Err(error @ MaterialError::BadName(_)) => Err(wrong("--tls-server-name", "", &error)),
        Err(error @ MaterialError::NoChain) => {
            Err(wrong("--tls-cert", tls.cert.as_deref().unwrap_or_default(), &error))
        }
        Err(error @ MaterialError::NoKey) => {
            Err(wrong("--tls-key", tls.key.as_deref().unwrap_or_default(), &error))
        }
        Err(error @ MaterialError::Unusable(_)) => {
            Err(wrong("--tls-cert", "the certificate or its key", &error))
        }
        Err(error) => Err(wrong(flag, file, &error)),
    }
}

/// The filters of the load's connections and of the servers' ends in a simulation; none without
/// TLS.
pub(super) fn simulated(
    scenario: &Scenario,
    servers: &[ServerPlan],
) -> Result<Option<(FilterPlan, WorldFilter)>, Stop> {
    let tls = &scenario.tls;
    if !tls.on {
        return Ok(None);
    }
    let (seed, least) = (scenario.seed, tls.min);
    let options = SimulatedOptions { seed, least, resumes: tls.resume == Resume::On };
    let clock = WorldClock::default();
    let read = clock.clone();
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    memtide_tls::simulated(&options, move || read.since_unix(), &names)
        .map(|(client, filters)| Some((client, WorldFilter { filters, clock })))
        .map_err(|error| wrong("--tls", "the simulated certificate", &error))
}

/// The system's CAs, with the file that has them.
fn system_cas() -> Result<(&'static str, Vec<u8>), Stop> {
    let found = SYSTEM_CAS.into_iter().find_map(|path| Some((path, std::fs::read(path).ok()?)));
    found.ok_or_else(|| {
        Stop::usage(
            "--tls: this system has no CAs of its own; name the file of the server's CA with \
             --tls-ca, or install the package ca-certificates",
        )
    })
}

/// Reads a file that `flag` names.
fn read(flag: &str, path: &str) -> Result<Vec<u8>, Stop> {
    let read = std::fs::metadata(path).and_then(|it| match it.len() {
        0..=FILE_BYTES_MAX => std::fs::read(path),
        _ => Err(std::io::Error::other("it is too long for a file of certificates")),
    });
    read.map_err(|error| Stop::usage(format!("{flag}: '{path}' cannot be read: {error}")))
}

fn wrong(flag: &str, file: &str, error: &MaterialError) -> Stop {
    let file = if file.contains('/') { format!("'{file}'") } else { file.to_owned() };
    let gap = if file.is_empty() { "" } else { " " };
    Stop::usage(format!("{flag}: {file}{gap}{error}; name PEM files that belong together"))
}

/// A certificate in a file of this process, for clients of `memtide serve`; dropping it removes the
/// file.
pub struct Published(PathBuf);

impl Published {
    /// The path of the file.
    pub fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        // Nothing else can be done about a file that is in the way.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes the certificate of `own` to a new file in the folder for temporary files.
fn published(own: &Material) -> Result<Published, Stop> {
    let path = std::env::temp_dir().join(format!("memtide-serve-{}.pem", std::process::id()));
    let written = File::create_new(&path).and_then(|mut file| file.write_all(&own.chain));
    written.map(|()| Published(path.clone())).map_err(|error| {
        Stop::usage(format!(
            "--tls: the new certificate cannot be written to '{}': {error}; set TMPDIR to another \
             folder, or give the server files with --tls-cert and --tls-key",
            path.display()
        ))
    })
}
