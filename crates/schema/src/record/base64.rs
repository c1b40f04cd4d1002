//! Bytes as text (RFC 4648 §4, with padding), for the histograms in a record.
//!
//! It accepts only what it would write: no line breaks, no other alphabet, no missing padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes `bytes` in base 64: four characters for each three bytes, padded with `=`.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let symbol = ALPHABET[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at > chunk.len() { '=' } else { char::from(symbol) });
        }
    }
    text
}

/// Decodes `text`, which [`encode`] made; none if it is anything else.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(body.len() * 3 / 4);
    for chunk in body.as_bytes().chunks(4) {
        let mut bits = 0;
        for at in 0..4 {
            let digit = chunk.get(at).map_or(Some(0), |&symbol| digit(symbol))?;
            bits = bits << 6 | u32::from(digit);
        }
        bytes.extend_from_slice(bits.to_be_bytes().get(1..chunk.len())?);
    }
    // Encoding must give the same text: no superfluous padding, no bits behind the last byte.
    (encode(&bytes) == text).then_some(bytes)
}

fn digit(symbol: u8) -> Option<u8> {
    let at = ALPHABET.iter().position(|&known| known == symbol)?;
    u8::try_from(at).ok()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn the_vectors_of_the_rfc_hold() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in vectors {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(encode(&[0xff, 0xef, 0xbe]), "/+++");
        assert_eq!(decode("/+++"), Some(vec![0xff, 0xef, 0xbe]));
    }

    #[test]
    fn only_its_own_text_is_read() {
        for text in ["Zg", "Zg=", "Zh==", "Z===", "====", "Zm9v====", "Zm 9", "Zm9v\n", "-_-_"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
