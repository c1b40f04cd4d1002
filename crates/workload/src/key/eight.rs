//! A number as the first eight bytes of a key, none of them a space or the end of a line.
//!
//! Each byte holds seven bits of the number, lowest first. A bit between them is always set, which
//! avoids every byte that a line of the protocol cannot contain.

/// The number of bytes.
pub(super) const BYTES: usize = 8;
/// One more than the largest number.
pub(super) const END: u64 = 1 << (7 * BYTES);
/// The bit that is set in every byte.
const SET: u8 = 0x10;

/// The bytes of `number`, which must be below [`END`].
pub(super) fn bytes(number: u64) -> [u8; BYTES] {
    std::array::from_fn(|nth| {
        let seven = (number >> (7 * nth)) as u8 & 0x7f;
        (seven & 0x70) << 1 | SET | seven & 0x0f
    })
}

/// The number at the front of `key`; `None` if its bytes do not encode one.
pub(super) fn number(key: &[u8]) -> Option<u64> {
    key.get(..BYTES)?.iter().rev().try_fold(0, |number, &byte| {
        let seven = (byte & 0xe0) >> 1 | byte & 0x0f;
        (byte & SET != 0).then_some(number << 7 | u64::from(seven))
    })
}
