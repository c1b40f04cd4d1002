//! A list of servers as libmemcached reads it, ignoring weights; unlike libmemcached, it accepts
//! IPv6 addresses in brackets. Resolves no name.

use std::fmt;

/// The port of a server whose word names none.
const PORT: u16 = 11211;

/// One server to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// A host's name or address; an IPv6 address without its brackets.
    pub host: String,
    /// The port, not 0.
    pub port: u16,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The servers of `list`, in its order; none if it is empty. The error names the wrong word and its
/// fault.
pub(super) fn servers(list: &str) -> Result<Vec<Server>, String> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| server(word).map_err(|why| format!("'{word}': {why}"))).collect()
}

fn server(word: &str) -> Result<Server, String> {
    // A weight follows the port after a slash, a space or a colon; every server here has a port.
    let bare = word.split(['/', ' ']).next().unwrap_or(word);
    let (host, port) = parts(bare)?;
    if host.is_empty() {
        return Err("no host is named".to_owned());
    }
    let port =
        match port {
            None | Some("") => PORT,
            Some(digits) => digits.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                format!("'{digits}' is no port; a port is a number from 1 to 65535")
            })?,
        };
    Ok(Server { host: host.to_owned(), port })
}

/// Splits a word into host and port. A word that begins with a bracket, or has more colons than a
/// port and a weight need, is an IPv6 address.
fn parts(word: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = word.strip_prefix('[') {
        let closed = rest.split_once(']');
        let (host, rest) = closed.ok_or("the bracket of an IPv6 address is not closed")?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(format!("'{rest}' follows the IPv6 address instead of :port")),
        };
    }
    let pieces: Vec<&str> = word.split(':').collect();
    match pieces[..] {
        [host] => Ok((host, None)),
        [host, port] => Ok((host, Some(port))),
        [host, port, _] if !host.is_empty() && !port.is_empty() => Ok((host, Some(port))),
        _ => Ok((word, None)),
    }
}
