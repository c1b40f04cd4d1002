//! Bytes as hexadecimal digits.

/// Formats `bytes` as lower-case digits, two for each byte.
pub fn to_hex(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(|half| char::from_digit(half.into(), 16).expect("below 16")).collect()
}

/// Parses digits of either case, two for each byte; `None` for any other text.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes().chunks(2).map(|pair| {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(*pair.get(1)?).to_digit(16)?;
        Some((high * 16 + low) as u8)
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_back_and_other_texts_are_none() {
        assert_eq!(to_hex(&[0, 0x0f, 0xf0, 0xff]), "000ff0ff");
        assert_eq!(from_hex("000Ff0FF"), Some(vec![0, 0x0f, 0xf0, 0xff]));
        assert_eq!(from_hex(""), Some(Vec::new()));
        for text in ["0", "000", "+f", "0x", "g0", "é"] {
            assert_eq!(from_hex(text), None, "{text}");
        }
    }
}
