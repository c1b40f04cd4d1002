//! Keys in base64 with the alphabet and padding of RFC 4648, section 4. Decodes as memcached does.

/// The longest key before encoding, in bytes: its text has 248 of the 250 bytes of a key.
pub const RAW_BYTES_MAX: usize = 186;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// The value of each letter; 64 for other bytes.
const VALUES: [u8; 256] = {
    let mut values = [64; 256];
    let mut at = 0;
    while at < 64 {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values
};

/// Appends the text of `raw`.
pub fn encode(out: &mut Vec<u8>, raw: &[u8]) {
    for group in raw.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| group.get(at).copied().unwrap_or(0));
        let bits = u32::from_be_bytes([0, a, b, c]);
        let mut text = [18, 12, 6, 0].map(|shift| ALPHABET[(bits >> shift) as usize & 63]);
        text[group.len() + 1..].fill(b'=');
        out.extend_from_slice(&text);
    }
}

/// Appends the bytes that `text` means. `None`, with nothing of use appended, if it is not base64:
/// empty, not a multiple of four letters, or with padding elsewhere than at the end.
pub fn decode(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    let (groups, []) = text.as_chunks::<4>() else { return None };
    let (last, groups) = groups.split_last()?;
    for group in groups {
        out.extend_from_slice(&bytes_of(*group)?);
    }
    let (letters, count) = match *last {
        [a, b, b'=', b'='] => ([a, b, b'A', b'A'], 1),
        [a, b, c, b'='] => ([a, b, c, b'A'], 2),
        letters => (letters, 3),
    };
    out.extend_from_slice(&bytes_of(letters)?[..count]);
    Some(())
}

fn bytes_of(letters: [u8; 4]) -> Option<[u8; 3]> {
    let values = letters.map(|letter| VALUES[usize::from(letter)]);
    if values.contains(&64) {
        return None;
    }
    let bits = values.into_iter().fold(0, |bits, value| bits << 6 | u32::from(value));
    let [_, bytes @ ..] = bits.to_be_bytes();
    Some(bytes)
}
