//! Writes what lines consist of: keys and decimal numbers, each after a space, without formatting
//! machinery.

use crate::request::KEY_BYTES_MAX;

/// Writes a space, then the key that the closure appends: 1 to 250 bytes without space, CR or LF
/// ("Keys").
pub fn key_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b' ');
    let begin = out.len();
    write(out);
    debug_assert!((1..=KEY_BYTES_MAX).contains(&(out.len() - begin)), "the caller bounds the key");
}

/// Writes a space and a decimal number.
pub fn number(out: &mut Vec<u8>, value: u64) {
    out.push(b' ');
    digits(out, value);
}

/// Writes a space and a decimal number, with its sign if negative.
pub fn signed(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(if value < 0 { b" -" } else { b" " });
    digits(out, value.unsigned_abs());
}

/// Writes decimal digits, two at a time from the right.
pub(crate) fn digits(out: &mut Vec<u8>, mut value: u64) {
    let mut room = [0u8; 20];
    let mut at = room.len();
    while value >= 100 {
        let pair = PAIRS[(value % 100) as usize];
        value /= 100;
        at -= 2;
        room[at..at + 2].copy_from_slice(&pair);
    }
    let [tens, ones] = PAIRS[value as usize];
    at -= 1;
    room[at] = ones;
    if value >= 10 {
        at -= 1;
        room[at] = tens;
    }
    out.extend_from_slice(&room[at..]);
}

/// The two digits of each number from 0 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut value = 0;
    while value < 100 {
        pairs[value] = [b'0' + value as u8 / 10, b'0' + value as u8 % 10];
        value += 1;
    }
    pairs
};
