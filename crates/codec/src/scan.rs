//! Small byte scanners: the end of a line, words, decimal numbers. They read each byte once,
//! allocate nothing and know no command.

const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// The position of the first `wanted` byte.
#[inline]
pub(crate) fn find(wanted: u8, bytes: &[u8]) -> Option<usize> {
    let pattern = u64::from_ne_bytes([wanted; 8]);
    first_marked(
        bytes,
        |chunk| {
            let zero_where_found = chunk ^ pattern;
            zero_where_found.wrapping_sub(LOW) & !zero_where_found & HIGH
        },
        |byte| byte == wanted,
    )
}

/// The least byte that may stand in a key; below it are the space and control characters.
const FIRST_OF_KEYS: u8 = b' ' + 1;

/// The position of the first space or control character.
#[inline]
pub(crate) fn find_end_of_key(bytes: &[u8]) -> Option<usize> {
    first_marked(bytes, ends_of_key, |byte| byte < FIRST_OF_KEYS)
}

/// True if the first `len` bytes are some and contain no space or control character. Blocks may
/// overlap, so that only whole ones are compared; a key of fewer than eight bytes is looked at with
/// what follows it.
#[inline(always)]
pub(crate) fn begins_with_key(bytes: &[u8], len: usize) -> bool {
    let Some(key) = bytes.get(..len) else { return false };
    if let Some(first) = key.first_chunk::<BLOCK>() {
        let (_, blocks) = key.as_rchunks::<BLOCK>();
        blocks.iter().fold(is_within(first), |so_far, block| so_far & is_within(block))
    } else if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        ends_of_key(u64::from_le_bytes(*first)) | ends_of_key(u64::from_le_bytes(*last)) == 0
    } else if let (Some(first), 1..) = (bytes.first_chunk(), len) {
        ends_of_key(u64::from_le_bytes(*first) | u64::MAX << (8 * len)) == 0
    } else {
        false
    }
}

/// The bytes of a key that are compared together.
const BLOCK: usize = 16;

/// True if the block contains no space or control character.
#[inline(always)]
fn is_within(block: &[u8; BLOCK]) -> bool {
    block.iter().fold(true, |so_far, &byte| so_far & (byte >= FIRST_OF_KEYS))
}

/// True if one of the two begins with the other.
pub(crate) fn agree(one: &[u8], other: &[u8]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Marks spaces and control characters of a chunk as [`first_marked`] needs it: there is a mark if
/// and only if there is such a byte.
#[inline(always)]
const fn ends_of_key(chunk: u64) -> u64 {
    chunk.wrapping_sub(LOW * FIRST_OF_KEYS as u64) & !chunk & HIGH
}

/// The position of the first marked byte, eight bytes at a time: `mark` sets the high bit of each
/// marked byte of a chunk. A borrow may also set it in bytes above the first marked byte, so only
/// the lowest mark is reliable.
#[inline]
fn first_marked(
    bytes: &[u8],
    mark: impl Fn(u64) -> u64,
    is_marked: impl Fn(u8) -> bool,
) -> Option<usize> {
    let (chunks, tail) = bytes.as_chunks::<8>();
    for (at, chunk) in chunks.iter().enumerate() {
        let found = mark(u64::from_le_bytes(*chunk));
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let at = tail.iter().position(|&byte| is_marked(byte))?;
    Some(chunks.len() * 8 + at)
}

/// Takes the next word from the front: skips leading spaces, and takes one space after the word.
/// `None` if only spaces are left.
pub(crate) fn word<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let bytes = *rest;
    let start = bytes.iter().position(|&byte| byte != b' ')?;
    let bytes = &bytes[start..];
    match find(b' ', bytes) {
        Some(end) => {
            *rest = &bytes[end + 1..];
            Some(&bytes[..end])
        }
        None => {
            *rest = &[];
            Some(bytes)
        }
    }
}

/// `bytes` without leading spaces.
pub(crate) fn trimmed_start(mut bytes: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] = bytes {
        bytes = rest;
    }
    bytes
}

/// `bytes` without leading and trailing spaces.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let mut bytes = trimmed_start(bytes);
    while let [rest @ .., b' '] = bytes {
        bytes = rest;
    }
    bytes
}

/// Parses a word of at least one decimal digit. `None` for any other byte and above 64 bits.
pub(crate) fn decimal(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    // Nineteen digits always fit into 64 bits, so only longer words need checked arithmetic.
    let checked_from = word.len().min(19);
    let mut value = 0u64;
    for &byte in &word[..checked_from] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    for &byte in &word[checked_from..] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Parses one to nine digits at the front; returns the number and the rest. `None` without a digit
/// or with a tenth. Up to seven digits with a byte behind them are parsed at once.
#[inline(always)]
pub(crate) fn short_decimal(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let Some(chunk) = bytes.first_chunk::<8>() else { return nine_digits(bytes) };
    let values = u64::from_le_bytes(*chunk) ^ (LOW * b'0' as u64);
    // As in `first_marked`: only the lowest mark is reliable, and it is the first other byte.
    let others = (values.wrapping_add(LOW * (0x80 - 10)) | values) & HIGH;
    let count = others.trailing_zeros() as usize / 8;
    if others == 0 || count == 0 {
        return nine_digits(bytes);
    }
    // The last digit moves to the last byte, zeros stand before the first.
    let digits = values << (64 - 8 * count);
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let low = (pairs >> 16 & PAIRS).wrapping_mul(1 + (10_000 << 32));
    Some(((high.wrapping_add(low) >> 32) as u32, &bytes[count..]))
}

/// [`short_decimal`] near the end of the bytes, and of more than seven digits.
#[inline(never)]
fn nine_digits(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, mut rest) = bytes.split_first()?;
    let mut value = u32::from(first.wrapping_sub(b'0'));
    if value > 9 {
        return None;
    }
    for _ in 0..9 {
        let (byte, after) = rest.split_first()?;
        let digit = u32::from(byte.wrapping_sub(b'0'));
        if digit > 9 {
            return Some((value, rest));
        }
        value = value.wrapping_mul(10).wrapping_add(digit);
        rest = after;
    }
    None
}

/// Parses a decimal number with an optional sign. `None` if [`decimal`] rejects its digits.
pub(crate) fn signed_decimal(word: &[u8]) -> Option<i64> {
    match word {
        [b'-', digits @ ..] => 0i64.checked_sub_unsigned(decimal(digits)?),
        [b'+', digits @ ..] => i64::try_from(decimal(digits)?).ok(),
        digits => i64::try_from(decimal(digits)?).ok(),
    }
}

#[cfg(test)]
mod tests;
