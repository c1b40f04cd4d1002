//! The address of a server in the words of a command line: a host, a port, IPv6 in brackets.
//! Resolves no name.

use std::fmt;

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

/// Checks that a word names a host. The error is a clause.
pub(crate) fn named(host: &str) -> Result<(), String> {
    if host.is_empty() { Err("no host is named".to_owned()) } else { Ok(()) }
}

/// Reads a port. The error is a clause.
pub(crate) fn port(word: &str) -> Result<u16, String> {
    let number = word.parse().ok().filter(|port| *port > 0);
    number.ok_or_else(|| format!("'{word}' is no port; a port is a number from 1 to 65535"))
}
