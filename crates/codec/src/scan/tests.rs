//! The scanners against the plain way to write them.

use super::*;

#[test]
fn a_byte_is_found_wherever_it_stands() {
    for len in 0..40 {
        for first in 0..=len {
            // A borrow could mark a neighbour of LF by mistake.
            for filler in [0x00, 0x09, 0x0b, 0x8a, 0xff, b'a'] {
                let mut bytes = vec![filler; len];
                for byte in bytes.iter_mut().skip(first).step_by(3) {
                    *byte = b'\n';
                }
                let plain = bytes.iter().position(|&byte| byte == b'\n');
                assert_eq!(find(b'\n', &bytes), plain, "{bytes:?}");
            }
        }
    }
}

#[test]
fn a_key_ends_at_the_first_space_or_control_character() {
    for len in 0..40 {
        for first in 0..=len {
            for (inside, end) in [(b'!', b' '), (0x80, 0x1f), (0xff, 0), (b'a', b'\r')] {
                let mut bytes = vec![inside; len];
                for byte in bytes.iter_mut().skip(first).step_by(3) {
                    *byte = end;
                }
                let plain = bytes.iter().position(|&byte| byte <= b' ');
                assert_eq!(find_end_of_key(&bytes), plain, "{bytes:?}");
                let is_key = len > 0 && plain.is_none();
                bytes.extend_from_slice(b" \r\n0 \r\n0");
                assert_eq!(begins_with_key(&bytes, len), is_key, "{len} of {bytes:?}");
            }
        }
    }
}

#[test]
fn words_skip_every_run_of_spaces() {
    let mut rest: &[u8] = b"  get a  bb ";
    let mut words = Vec::new();
    while let Some(next) = word(&mut rest) {
        words.push(next);
    }
    assert_eq!(words, [&b"get"[..], b"a", b"bb"]);
    assert_eq!(trimmed(b"  a b  "), b"a b");
    assert_eq!(trimmed(b"   "), b"");
}

#[test]
fn numbers_at_their_bounds() {
    assert_eq!(decimal(b"0"), Some(0));
    assert_eq!(decimal(b"0000000000000000000000007"), Some(7));
    assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(decimal(b"18446744073709551616"), None);
    assert_eq!(decimal(b"99999999999999999999"), None);
    for word in [&b""[..], b"-1", b"+1", b"1a", b"a", b" 1", b"1 ", b"1/", b"1:"] {
        assert_eq!(decimal(word), None, "{word:?}");
    }
    assert_eq!(signed_decimal(b"-9223372036854775808"), Some(i64::MIN));
    assert_eq!(signed_decimal(b"-9223372036854775809"), None);
    assert_eq!(signed_decimal(b"9223372036854775807"), Some(i64::MAX));
    assert_eq!(signed_decimal(b"9223372036854775808"), None);
    assert_eq!(signed_decimal(b"+5"), Some(5));
    assert_eq!(signed_decimal(b"--5"), None);
}

#[test]
fn a_short_number_has_one_to_nine_digits_and_an_end() {
    assert_eq!(short_decimal(b"0 x"), Some((0, &b" x"[..])));
    assert_eq!(short_decimal(b"999999999\r\n"), Some((999_999_999, &b"\r\n"[..])));
    assert_eq!(short_decimal(b"1000000000\r"), None, "it might not fit");
    assert_eq!(short_decimal(b"12"), None, "more digits may follow");
    assert_eq!(short_decimal(b"-1 "), None);
    assert_eq!(short_decimal(b""), None);
}

#[test]
fn a_short_number_is_parsed_at_once_as_digit_by_digit() {
    let number = b"9081726354";
    for digits in 0..=number.len() {
        for (end, behind) in [(b' ', 9), (b'\r', 1), (b'/', 8), (b':', 8), (0xb0, 8), (0xff, 12)] {
            let mut bytes = number[..digits].to_vec();
            bytes.push(end);
            bytes.resize(bytes.len() + behind, b'7');
            assert_eq!(short_decimal(&bytes), nine_digits(&bytes), "{bytes:?}");
        }
    }
}
