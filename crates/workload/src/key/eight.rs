//! A number as eight bytes with which a key may begin, none of them a blank or the end of a line.
//!
//! Seven bits of the number are in each byte, the lowest first; the bit between them is always
//! set, which keeps the byte away from everything that a line cannot hold.

/// How many bytes there are.
pub(super) const BYTES: usize = 8;
/// Numbers below this have room.
pub(super) const END: u64 = 1 << (7 * BYTES);
/// The bit that every byte has.
const SET: u8 = 0x10;

/// The bytes of `number`, which must be below [`END`].
pub(super) fn bytes(number: u64) -> [u8; BYTES] {
    std::array::from_fn(|nth| {
        let seven = (number >> (7 * nth)) as u8 & 0x7f;
        (seven & 0x70) << 1 | SET | seven & 0x0f
    })
}

/// The number that `key` begins with; none when it begins with no bytes of that kind.
pub(super) fn number(key: &[u8]) -> Option<u64> {
    key.get(..BYTES)?.iter().rev().try_fold(0, |number, &byte| {
        let seven = (byte & 0xe0) >> 1 | byte & 0x0f;
        (byte & SET != 0).then_some(number << 7 | u64::from(seven))
    })
}
