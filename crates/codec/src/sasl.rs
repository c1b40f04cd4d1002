//! SASL PLAIN (RFC 4616): one message with user name and password. The message is not encrypted;
//! only a trusted network, or encryption below it, keeps it secret.

/// The mechanism's name.
pub const PLAIN: &[u8] = b"PLAIN";

/// Appends the initial response: an empty authorization identity, NUL, the user's name, NUL, the
/// password. Name and password must not contain a NUL.
pub fn plain(out: &mut Vec<u8>, user: &[u8], password: &[u8]) {
    out.push(0);
    out.extend_from_slice(user);
    out.push(0);
    out.extend_from_slice(password);
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_response_is_three_parts_between_nuls() {
        let mut out = Vec::new();
        super::plain(&mut out, b"tim", b"tan staaf tan staaf");
        assert_eq!(out, b"\0tim\0tan staaf tan staaf");
    }
}
