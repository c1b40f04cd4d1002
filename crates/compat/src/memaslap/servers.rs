//! A list of servers as libmemcached reads it, ignoring weights; unlike libmemcached, it accepts
//! IPv6 addresses in brackets. Resolves no name.

use crate::server::{PORT, Parts, Server, bracketed, named, port};

/// The servers of `list`, in its order; none if it is empty. The error names the wrong word and its
/// fault.
pub(super) fn servers(list: &str) -> Result<Vec<Server>, String> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| server(word).map_err(|why| format!("'{word}': {why}"))).collect()
}

fn server(word: &str) -> Result<Server, String> {
    // A weight follows the port after a slash, a space or a colon; every server here has a port.
    let bare = word.split(['/', ' ']).next().unwrap_or(word);
    let (host, digits) = bracketed(bare).unwrap_or_else(|| Ok(parts(bare)))?;
    named(host)?;
    let port = match digits {
        None | Some("") => PORT,
        Some(digits) => port(digits)?,
    };
    Ok(Server { host: host.to_owned(), port })
}

/// Splits a word into host and port. A word that has more colons than a port and a weight need is
/// an IPv6 address.
fn parts(word: &str) -> Parts<'_> {
    let pieces: Vec<&str> = word.split(':').collect();
    match pieces[..] {
        [host] => (host, None),
        [host, port] => (host, Some(port)),
        [host, port, _] if !host.is_empty() && !port.is_empty() => (host, Some(port)),
        _ => (word, None),
    }
}
