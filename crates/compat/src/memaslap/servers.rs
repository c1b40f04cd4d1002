//! A list of servers as libmemcached reads it, ignoring weights; unlike libmemcached, it accepts
//! IPv6 addresses in brackets. Resolves no name.

use crate::server::{PORT, Parts, Server, bracketed, colons, named, port};

/// The servers of `list`, in its order; none if it is empty. The error names the wrong word and its
/// fault.
pub(super) fn servers(list: &str) -> Result<Vec<Server>, String> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| server(word).map_err(|why| format!("'{word}': {why}"))).collect()
}

fn server(word: &str) -> Result<Server, String> {
    // A weight follows the port after a slash, a space or a colon; every server here has a port.
    let bare = word.split(['/', ' ']).next().unwrap_or(word);
    let (host, digits) = bracketed(bare).unwrap_or_else(|| parts(bare))?;
    named(host)?;
    let port = match digits {
        None | Some("") => PORT,
        Some(digits) => port(digits)?,
    };
    Ok(Server { host: host.to_owned(), port })
}

/// Splits a word into host and port. A word that has more colons than a port and a weight need is
/// an IPv6 address, which a port may follow. The error is a clause.
fn parts(word: &str) -> Result<Parts<'_>, String> {
    let pieces: Vec<&str> = word.split(':').collect();
    match pieces[..] {
        [host] => Ok((host, None)),
        [host, port] => Ok((host, Some(port))),
        [host, port, _] if !host.is_empty() && !port.is_empty() => Ok((host, Some(port))),
        _ => colons(word).unwrap_or(Ok((word, None))),
    }
}
