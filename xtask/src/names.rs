//! A name server for proofs, whose caller supplies the names (RFC 1035). It asks no other server.

use std::net::{Ipv4Addr, UdpSocket};
use std::thread;

const HEADER_BYTES: usize = 12;
/// Type A, class IN, in a question and in an answer.
const ADDRESS: [u8; 4] = [0, 1, 0, 1];

/// Answers queries at `socket` until the process ends. `lookup` returns the addresses of a name, or
/// `None` for a name that does not exist.
pub(crate) fn serve(
    socket: UdpSocket,
    mut lookup: impl FnMut(&str) -> Option<Vec<Ipv4Addr>> + Send + 'static,
) {
    thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut query) {
            if let Some(reply) = reply(&query[..length], &mut lookup) {
                // If the send fails, the resolver asks again.
                let _ = socket.send_to(&reply, from);
            }
        }
    });
}

/// The reply to a query with one question (RFC 1035, section 4); `None` for other bytes.
fn reply(query: &[u8], lookup: impl FnOnce(&str) -> Option<Vec<Ipv4Addr>>) -> Option<Vec<u8>> {
    let (mut labels, mut rest) = (Vec::new(), query.get(HEADER_BYTES..)?);
    loop {
        let (&length, after) = rest.split_first()?;
        if length == 0 {
            rest = after;
            break;
        }
        let (label, after) = after.split_at_checked(usize::from(length))?;
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        rest = after;
    }
    let kind = rest.get(..ADDRESS.len())?;
    let question = &query[HEADER_BYTES..query.len() - rest.len() + ADDRESS.len()];
    let known = lookup(&labels.join("."));
    // A response, with recursion; "no such name" (3) for all others.
    let code = if known.is_some() { 0x80 } else { 0x83 };
    let addresses = known.filter(|_| kind == ADDRESS).unwrap_or_default();
    let answers = u8::try_from(addresses.len()).ok()?;
    let mut reply = vec![query[0], query[1], 0x81, code, 0, 1, 0, answers, 0, 0, 0, 0];
    reply.extend(question);
    for address in addresses {
        // The name of the question, for 1 s, in 4 bytes.
        reply.extend([0xc0, HEADER_BYTES as u8]);
        reply.extend(ADDRESS);
        reply.extend([0, 0, 0, 1, 0, 4]);
        reply.extend(address.octets());
    }
    Some(reply)
}

#[cfg(test)]
mod tests;
