//! Server words: a host, a port, a range of ports, IPv6 in brackets. Resolves no name.

use std::fmt;

/// The port of a server whose word names none.
const PORT: u16 = 11211;

/// One server to load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Server {
    /// A host's name or address; an IPv6 address without its brackets.
    pub host: String,
    /// The port, not 0.
    pub port: u16,
}

impl fmt::Display for Server {
    /// Writes `host:port`, with an IPv6 address in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The servers that one word names: one, or one for each port of a range. The error names the
/// word's fault.
pub(in crate::mutilate) fn servers(word: &str) -> Result<Vec<Server>, String> {
    let (host, ports) = parts(word)?;
    if host.is_empty() {
        return Err("no host is named".to_owned());
    }
    let (first, last) = match ports.split_once('-') {
        _ if ports.is_empty() => (PORT, PORT),
        None => (port(ports)?, port(ports)?),
        Some((first, last)) => (port(first)?, port(last)?),
    };
    if first > last {
        return Err(format!("the range of ports ends at {last}, before it begins at {first}"));
    }
    Ok((first..=last).map(|port| Server { host: host.to_owned(), port }).collect())
}

/// Splits a word into host and ports. A word with several colons and no brackets is an IPv6
/// address.
fn parts(word: &str) -> Result<(&str, &str), String> {
    if let Some(rest) = word.strip_prefix('[') {
        let closed = rest.split_once(']');
        let (host, rest) = closed.ok_or("the bracket of an IPv6 address is not closed")?;
        return match rest.strip_prefix(':') {
            Some(ports) => Ok((host, ports)),
            None if rest.is_empty() => Ok((host, "")),
            None => Err(format!("'{rest}' follows the IPv6 address instead of :port")),
        };
    }
    match word.split_once(':') {
        Some((_, ports)) if ports.contains(':') => Ok((word, "")),
        Some(parts) => Ok(parts),
        None => Ok((word, "")),
    }
}

fn port(word: &str) -> Result<u16, String> {
    let number = word.parse().ok().filter(|port| *port > 0);
    number.ok_or_else(|| format!("'{word}' is no port; a port is a number from 1 to 65535"))
}
