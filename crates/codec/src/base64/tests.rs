//! Vectors of RFC 4648, and what memcached skips or refuses.

use super::*;

#[test]
fn the_vectors_of_rfc_4648_hold_both_ways() {
    let vectors = [
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("\0\u{7f}", "AH8="),
    ];
    for (raw, text) in vectors {
        let mut out = Vec::new();
        encode(&mut out, raw.as_bytes());
        assert_eq!(out, text.as_bytes());
        assert_eq!(decode(text.as_bytes(), &mut [0; RAW_BYTES_MAX]), Some(raw.as_bytes()));
    }
}

#[test]
fn what_is_no_base64_is_refused() {
    for text in ["", "A", "AAA", "====", "A===", "AAAAA", "!!!!"] {
        assert_eq!(decode(text.as_bytes(), &mut [0; RAW_BYTES_MAX]), None, "{text}");
    }
    // memcached skips other bytes, and what follows the padding.
    assert_eq!(decode(b"Z!m9v", &mut [0; RAW_BYTES_MAX]), Some(&b"foo"[..]));
    assert_eq!(decode(b"Zg==Zm9v", &mut [0; RAW_BYTES_MAX]), Some(&b"f"[..]));
}

#[test]
fn the_longest_key_fits() {
    for (bytes, letters) in [(RAW_BYTES_MAX, 248), (RAW_BYTES_MAX + 1, 252)] {
        let mut text = Vec::new();
        encode(&mut text, &vec![0xff; bytes]);
        assert_eq!((text.len(), text.len() <= 250), (letters, bytes <= RAW_BYTES_MAX));
    }
}
