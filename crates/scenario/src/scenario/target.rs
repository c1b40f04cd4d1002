//! Names of servers, as users write them: hosts, ports and port ranges, unix sockets.
//!
//! Nothing is resolved here; the world finds out whether a host exists.

use std::fmt;
use std::net::Ipv6Addr;

/// Default port of a server: memcached's own.
const PORT: u16 = 11211;
/// Largest number of servers in one word.
const RANGE_MAX: usize = 1024;

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A host (a name or an address, without brackets) and its port.
    Tcp {
        /// The name or address.
        host: String,
        /// The port, never 0.
        port: u16,
    },
    /// A socket in the file system.
    Unix {
        /// Path of the socket.
        path: String,
    },
}

impl Target {
    /// Parses a comma list of `host[:port]`, `[v6]:port`, `host:first-last` and `unix:/path`; an
    /// empty word is an empty list. The error says which item is wrong and why.
    pub fn parse_list(word: &str) -> Result<Vec<Self>, String> {
        if word.trim().is_empty() {
            return Ok(Vec::new());
        }
        let mut targets = Vec::new();
        for item in word.split(',') {
            targets.extend(parse_item(item.trim()).map_err(|why| wrong(item.trim(), &why))?);
        }
        Ok(targets)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix { path } => write!(f, "unix:{path}"),
        }
    }
}

fn parse_item(item: &str) -> Result<Vec<Target>, String> {
    if let Some(path) = item.strip_prefix("unix:") {
        return match path.is_empty() || path.contains('\0') {
            true => Err("a unix socket needs its path".to_owned()),
            false => Ok(vec![Target::Unix { path: path.to_owned() }]),
        };
    }
    if item == "unix" {
        return Err("a unix socket needs its path, as in unix:/run/memcached.sock".to_owned());
    }
    let (host, ports) = split_host(item)?;
    let (first, last) = match ports {
        None => (PORT, PORT),
        Some(ports) => {
            let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
            (parse_port(first)?, parse_port(last)?)
        }
    };
    if last < first {
        return Err(format!("the port range ends at {last}, before it begins"));
    }
    if usize::from(last - first) >= RANGE_MAX {
        return Err(format!("a port range holds at most {RANGE_MAX} ports"));
    }
    Ok((first..=last).map(|port| Target::Tcp { host: host.to_owned(), port }).collect())
}

/// Splits off the host, without brackets, and the text after its colon.
fn split_host(item: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = item.strip_prefix('[') {
        let (host, after) =
            rest.split_once(']').ok_or_else(|| "the closing bracket is missing".to_owned())?;
        check_v6(host)?;
        return match after.strip_prefix(':') {
            Some(ports) => Ok((host, Some(ports))),
            None if after.is_empty() => Ok((host, None)),
            None => Err("only :port may follow the closing bracket".to_owned()),
        };
    }
    match item.split_once(':') {
        // Several colons without brackets are an address without a port, because a port would be
        // ambiguous.
        Some((_, rest)) if rest.contains(':') => check_v6(item)
            .map(|()| (item, None))
            .map_err(|why| format!("{why}; put an address with colons in brackets")),
        Some((host, ports)) => check_name(host).map(|()| (host, Some(ports))),
        None => check_name(item).map(|()| (item, None)),
    }
}

fn check_v6(host: &str) -> Result<(), String> {
    let (address, zone) = host.split_once('%').unwrap_or((host, "none"));
    match address.parse::<Ipv6Addr>() {
        Ok(_) if !zone.is_empty() && zone.chars().all(allowed) => Ok(()),
        _ => Err(format!("'{host}' is not an IPv6 address")),
    }
}

fn check_name(host: &str) -> Result<(), String> {
    match host.chars().find(|&c| !allowed(c)) {
        Some(c) => Err(format!("{c:?} is not allowed in a host name")),
        None if host.is_empty() => Err("the host is missing".to_owned()),
        None => Ok(()),
    }
}

fn allowed(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-' | '_')
}

fn parse_port(word: &str) -> Result<u16, String> {
    match word.parse() {
        // `parse` alone would accept a sign.
        Ok(port) if port > 0 && !word.starts_with('+') => Ok(port),
        _ => Err(format!("'{word}' is not a port from 1 to 65535")),
    }
}

fn wrong(item: &str, why: &str) -> String {
    format!(
        "'{item}' is not a server: {why}; allowed are host, host:port, [v6]:port, \
         host:first-last and unix:/path"
    )
}
