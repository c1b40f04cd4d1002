//! Keys in base64 with the alphabet and padding of RFC 4648, section 4. Decodes as memcached does,
//! which skips bytes that are no letters.

/// The longest key before encoding, in bytes: its text has 248 of the 250 bytes of a key.
pub const RAW_BYTES_MAX: usize = 186;

/// The memory for a decoded key.
pub type Raw = [u8; RAW_BYTES_MAX];

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// The value of each letter; 0 for the padding and [`NO_LETTER`] for other bytes.
const VALUES: [u8; 256] = {
    let mut values = [NO_LETTER; 256];
    values[b'=' as usize] = 0;
    let mut at = 0;
    while at < 64 {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values
};
const NO_LETTER: u8 = 64;

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

/// The bytes that a key's `text` means, written to `raw`. `None` if they are none: without letters,
/// if the number of letters is not a multiple of four, or with three letters of padding.
pub fn decode<'o>(text: &[u8], raw: &'o mut Raw) -> Option<&'o [u8]> {
    let count = text.iter().copied().filter(is_letter).count();
    if count == 0 || count % 4 != 0 || count / 4 * 3 > text.len().min(raw.len()) {
        return None;
    }
    let mut letters = text.iter().copied().filter(is_letter);
    let (mut len, mut padding) = (0, 0);
    while let (0, Some(first)) = (padding, letters.next()) {
        let mut group = [first; 4];
        group[1..]
            .fill_with(|| letters.next().expect("the number of letters is a multiple of four"));
        let bits = group
            .iter()
            .fold(0, |bits, letter| bits << 6 | u32::from(VALUES[usize::from(*letter)]));
        raw[len..len + 3].copy_from_slice(&bits.to_be_bytes()[1..]);
        padding = group.iter().filter(|letter| **letter == b'=').count();
        len += 3_usize.checked_sub(padding).filter(|kept| *kept > 0)?;
    }
    debug_assert!(len <= RAW_BYTES_MAX, "a longer text is refused");
    Some(&raw[..len])
}

fn is_letter(byte: &u8) -> bool {
    VALUES[usize::from(*byte)] != NO_LETTER
}

#[cfg(test)]
mod tests;
