//! Resolves names of hosts to addresses, once, before a run.

use memtide_world::{Address, ServerPlan};
use std::net::ToSocketAddrs;

/// Every address of `host`, in the resolver's order. The error is a sentence that names the host
/// and says what to do.
pub fn tcp(name: &str, host: &str, port: u16) -> Result<ServerPlan, String> {
    let resolved = (host, port).to_socket_addrs().map_err(|error| {
        format!(
            "server '{host}' cannot be resolved ({error}); give an address, or a name that \
             this machine knows"
        )
    })?;
    let mut addresses: Vec<Address> = Vec::new();
    for address in resolved.map(Address::Tcp) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(format!("server '{host}' has no address; give an address instead of the name"));
    }
    Ok(ServerPlan { name: name.to_owned(), addresses })
}

/// The server at a unix socket's path.
pub fn unix(name: &str, path: &str) -> ServerPlan {
    ServerPlan { name: name.to_owned(), addresses: vec![Address::Unix(path.to_owned())] }
}
