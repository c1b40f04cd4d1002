//! Server words of the family: a host, and a port or a range of ports. Resolves no name.

use crate::server::{PORT, Parts, Server, bracketed, named, port};

/// The servers that one word names: one, or one for each port of a range. The error names the
/// word's fault.
pub(in crate::mutilate) fn servers(word: &str) -> Result<Vec<Server>, String> {
    let (host, ports) = bracketed(word).unwrap_or_else(|| Ok(parts(word)))?;
    named(host)?;
    let ports = ports.unwrap_or("");
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
fn parts(word: &str) -> Parts<'_> {
    match word.split_once(':') {
        Some((_, ports)) if ports.contains(':') => (word, None),
        Some((host, ports)) => (host, Some(ports)),
        None => (word, None),
    }
}
