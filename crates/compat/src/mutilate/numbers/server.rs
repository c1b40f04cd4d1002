//! Server words of the family: a host, and a port or a range of ports. Resolves no name.

use crate::server::{PORT, Parts, Server, bracketed, colons, named, port};

/// The servers that one word names: one, or one for each port of a range. The error names the
/// word's fault.
pub(in crate::mutilate) fn servers(word: &str) -> Result<Vec<Server>, String> {
    servers_at(word, PORT)
}

/// The servers that one word names, at port `default` if it names no port. The error names the
/// word's fault.
pub(in crate::mutilate) fn servers_at(word: &str, default: u16) -> Result<Vec<Server>, String> {
    let (host, ports) = parts(word)?;
    named(host)?;
    let (first, last) = match ports {
        None => (default, default),
        Some(ports) => {
            let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
            (port(first)?, port(last)?)
        }
    };
    if first > last {
        return Err(format!("the range of ports ends at {last}, before it begins at {first}"));
    }
    Ok((first..=last).map(|port| Server { host: host.to_owned(), port }).collect())
}

/// True if a word names a port, or what should be one.
pub(in crate::mutilate) fn names_port(word: &str) -> bool {
    parts(word).is_ok_and(|(_, ports)| ports.is_some())
}

/// Splits a word into host and ports. A colon at the end of a name stands for the default port. The
/// error is a clause.
fn parts(word: &str) -> Result<Parts<'_>, String> {
    let in_parts = bracketed(word).or_else(|| colons(word));
    let (host, ports) = in_parts.unwrap_or_else(|| {
        Ok(word.split_once(':').map_or((word, None), |(host, ports)| (host, Some(ports))))
    })?;
    Ok((host, ports.filter(|ports| !ports.is_empty())))
}
