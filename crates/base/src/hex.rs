//! Bytes as hexadecimal digits.

/// Formats `bytes` as lower-case digits, two for each byte.
pub fn to_hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).expect("below 16");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Parses digits of either case, two for each byte; `None` for any other text.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |symbol: u8| char::from(symbol).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
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
