//! Encodes requests and replies as text.

use super::*;

#[test]
fn digits_are_those_of_the_standard_library() {
    let mut value = 1u64;
    for _ in 0..20 {
        for near in [value - 1, value, value + 1, value.wrapping_mul(7)] {
            let mut out = Vec::new();
            digits(&mut out, near);
            assert_eq!(out, near.to_string().as_bytes());
        }
        value = value.saturating_mul(10).min(u64::MAX - 1);
    }
    let mut out = Vec::new();
    signed(&mut out, i64::MIN);
    signed(&mut out, 0);
    number(&mut out, u64::MAX);
    assert_eq!(out, b" -9223372036854775808 0 18446744073709551615");
}
