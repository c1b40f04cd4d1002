//! The address of a server in the words of a command line: a host, a port, IPv6 in brackets.
//! Resolves no name.

use std::fmt;
use std::net::Ipv6Addr;

/// The port of a server whose word names none.
pub(crate) const PORT: u16 = 11211;

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

/// A host, and the text behind the colon after it, if there is one.
pub(crate) type Parts<'a> = (&'a str, Option<&'a str>);

/// The parts of a word whose host is in brackets; `None` for any other word. The error is a clause.
pub(crate) fn bracketed(word: &str) -> Option<Result<Parts<'_>, String>> {
    let rest = word.strip_prefix('[')?;
    let Some((host, rest)) = rest.split_once(']') else {
        return Some(Err("the bracket of an IPv6 address is not closed".to_owned()));
    };
    Some(match rest.strip_prefix(':') {
        Some(port) => Ok((host, Some(port))),
        None if rest.is_empty() => Ok((host, None)),
        None => Err(format!("'{rest}' follows the IPv6 address instead of :port")),
    })
}

/// The parts of a word that has several colons and no brackets; `None` for any other word. It is an
/// IPv6 address, or one with a port behind it: `::1` with a number, whose other meaning no server
/// has, or a number that is too long for the end of an address. The error is a clause.
pub(crate) fn colons(word: &str) -> Option<Result<Parts<'_>, String>> {
    let (host, port) = word.rsplit_once(':').filter(|(host, _)| host.contains(':'))?;
    let is_number = port.starts_with(|first: char| first.is_ascii_digit());
    let has_port = host == "::1" || !is_address(word);
    Some(if is_number && has_port && is_address(host) {
        Ok((host, Some(port)))
    } else if is_address(word) {
        Ok((word, None))
    } else {
        Err(format!("'{word}' is no IPv6 address"))
    })
}

/// True for an IPv6 address, with or without a zone.
fn is_address(text: &str) -> bool {
    let (address, zone) = text.split_once('%').unwrap_or((text, ""));
    !zone.contains(':') && address.parse::<Ipv6Addr>().is_ok()
}

/// Checks that a word names a host. The error is a clause.
pub(crate) fn named(host: &str) -> Result<(), String> {
    if host.is_empty() { Err("no host is named".to_owned()) } else { Ok(()) }
}

/// Reads a port. The error is a clause.
pub(crate) fn port(word: &str) -> Result<u16, String> {
    let number = word.parse().ok().filter(|port| *port > 0);
    number.ok_or_else(|| format!("'{word}' is no port; a port is a number from 1 to 65535"))
}
