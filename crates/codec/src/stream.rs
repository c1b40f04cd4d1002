//! The parts of a server's text stream: lines, which may be cut, and values, whose length a line
//! announces. Values pass through in pieces and are counted, never read; only a line that is cut in
//! two is copied. Whole values can be skipped, by comparison with the last one. Knows no reply but
//! the head of a value.

use crate::error::{Excerpt, Malformed};
use crate::reply::Reply;
use crate::scan;

/// The longest value: the maximum of memcached's `-I`.
pub(crate) const VALUE_BYTES_MAX: u64 = 1 << 30;
/// The longest line, in bytes, without its CRLF.
const LINE_BYTES_MAX: usize = 2048;
/// The longest line with its CRLF.
const LINE_ENDED_BYTES_MAX: usize = LINE_BYTES_MAX + 2;
/// The memory for cut lines that is kept between them, in bytes.
pub(crate) const PARTIAL_BYTES_KEPT: usize = 96;

/// What comes next in a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Expect {
    #[default]
    Line,
    /// The given number of bytes of a value, then its CRLF.
    Value(usize),
    /// The LF that ends a value.
    ValueLineFeed,
}

impl Expect {
    /// State after the line of `reply`.
    #[inline(always)]
    pub fn after(reply: &Reply<'_>) -> Self {
        match reply {
            Reply::Value { bytes, .. } => Self::Value(*bytes),
            _ => Self::Line,
        }
    }

    /// Takes the next piece of the open value from the front of `input`, which is not empty.
    #[inline(always)]
    pub fn next_data<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<Reply<'i>>, Malformed> {
        match *self {
            // Most values have arrived whole.
            Self::Value(left) => match input.split_at_checked(left) {
                Some((bytes, [b'\r', b'\n', rest @ ..])) => {
                    *self = Self::Line;
                    *input = rest;
                    Ok(Some(Reply::Data { bytes, ends: true }))
                }
                _ => self.next_piece(left, input),
            },
            _ => self.close(input),
        }
    }

    #[inline(never)]
    fn next_piece<'i>(
        &mut self,
        left: usize,
        input: &mut &'i [u8],
    ) -> Result<Option<Reply<'i>>, Malformed> {
        debug_assert!(left as u64 <= VALUE_BYTES_MAX, "a longer value is an error");
        let (bytes, rest) = input.split_at(left.min(input.len()));
        match rest {
            [b'\r', b'\n', rest @ ..] => {
                *self = Self::Line;
                *input = rest;
                Ok(Some(Reply::Data { bytes, ends: true }))
            }
            [] => {
                *self = Self::Value(left - bytes.len());
                *input = rest;
                Ok(Some(Reply::Data { bytes, ends: false }))
            }
            [b'\r'] => {
                *self = Self::ValueLineFeed;
                *input = &[];
                let piece = Reply::Data { bytes, ends: false };
                Ok((!bytes.is_empty()).then_some(piece))
            }
            // The bytes before the error are returned first, as if they had arrived alone.
            _ if !bytes.is_empty() => {
                *self = Self::Value(left - bytes.len());
                *input = rest;
                Ok(Some(Reply::Data { bytes, ends: false }))
            }
            [b'\r', got, ..] | [got, ..] => Err(Malformed::ValueNotClosed { got: *got }),
        }
    }

    #[inline(never)]
    fn close<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<Reply<'i>>, Malformed> {
        match *input {
            [b'\n', rest @ ..] => {
                *self = Self::Line;
                *input = rest;
                Ok(Some(Reply::Data { bytes: &[], ends: true }))
            }
            [] => Ok(None),
            [got, ..] => Err(Malformed::ValueNotClosed { got: *got }),
        }
    }
}

/// The head of the value that was skipped last. Most values that a connection receives have keys of
/// one length, and size and flags in common: then the next head is compared with this one, which
/// takes half of the instructions of parsing it. What stands before the key is the protocol's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueHead {
    /// The length of its key; 0 if there is nothing to compare with.
    key_bytes: usize,
    /// Length of its value.
    bytes: usize,
    /// The length from the end of its key to the end of its value.
    after_key: usize,
    /// What stands between its key and its value.
    tail: u128,
    /// The bytes of `tail` that count.
    mask: u128,
}

impl ValueHead {
    /// The longest tail that is kept for comparison, in bytes.
    const TAIL_BYTES: usize = size_of::<u128>();

    /// The head whose key of `key_bytes` bytes stands at the front of `from_key`, with `tail_bytes`
    /// between it and a value of `bytes` bytes.
    #[inline]
    pub fn of(from_key: &[u8], key_bytes: usize, tail_bytes: usize, bytes: usize) -> Self {
        let tail = from_key.get(key_bytes..).and_then(<[u8]>::first_chunk);
        match tail {
            Some(tail) if tail_bytes <= Self::TAIL_BYTES => Self {
                key_bytes,
                bytes,
                after_key: tail_bytes + bytes,
                tail: u128::from_le_bytes(*tail),
                mask: front_of_chunk(tail_bytes),
            },
            _ => Self { bytes, ..Self::default() },
        }
    }

    /// Length of its value.
    #[inline(always)]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The rest behind a value whose key begins at the front of `from_key`, and whose head differs
    /// from this one by no more than the letters of the key; `None` if it does, or if the value is
    /// not whole.
    #[inline(always)]
    pub fn skip_alike<'i>(&self, from_key: &'i [u8]) -> Option<&'i [u8]> {
        let rest = from_key.get(self.key_bytes..)?;
        let tail = u128::from_le_bytes(*rest.first_chunk::<{ Self::TAIL_BYTES }>()?);
        if (tail ^ self.tail) & self.mask != 0 || !scan::begins_with_key(from_key, self.key_bytes) {
            return None;
        }
        rest.get(self.after_key..)?.strip_prefix(b"\r\n")
    }
}

/// A mask of the first `bytes` bytes, at least one, of 16 that were loaded at once.
#[inline(always)]
pub(crate) const fn front_of_chunk(bytes: usize) -> u128 {
    u128::MAX >> (u128::BITS as usize - 8 * bytes)
}

/// Joins the pieces of cut lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The beginning of a line whose end has not arrived, or a cut line that was just returned.
    partial: Vec<u8>,
    /// True if `partial` was returned as a whole line and must be cleared.
    spent: bool,
}

impl Lines {
    /// Forgets the cut line that was just returned; true if the next byte begins a line.
    #[inline(always)]
    pub fn at_start(&mut self) -> bool {
        if self.spent {
            self.forget();
        }
        self.partial.is_empty()
    }

    /// True if no line is partly read.
    pub fn is_idle(&self) -> bool {
        self.partial.is_empty() || self.spent
    }

    /// The beginning of a line whose end has not arrived.
    #[inline]
    pub fn partial(&self) -> Option<&[u8]> {
        (!self.is_idle()).then_some(&self.partial)
    }

    /// Takes a line with its LF from the front of `input`. `None` if its end has not arrived; its
    /// beginning is then kept.
    pub fn take<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<&'a [u8]>, Malformed> {
        debug_assert!(!self.spent, "a line that was returned is forgotten first");
        if self.partial.is_empty() {
            return match take_line(input, LINE_ENDED_BYTES_MAX) {
                Ok(None) => {
                    self.keep(input);
                    Ok(None)
                }
                Ok(line) => Ok(line),
                Err(TooLong) => Err(too_long(input)),
            };
        }
        debug_assert!(self.partial.len() < LINE_ENDED_BYTES_MAX, "a longer line is an error");
        let room = LINE_ENDED_BYTES_MAX - self.partial.len();
        match take_line(input, room) {
            Ok(Some(tail)) => self.partial.extend_from_slice(tail),
            Ok(None) => {
                self.keep(input);
                return Ok(None);
            }
            Err(TooLong) => {
                self.partial.extend_from_slice(&input[..room]);
                return Err(too_long(&self.partial));
            }
        }
        self.spent = true;
        Ok(Some(&self.partial))
    }

    /// The memory that is held.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.partial.capacity()
    }

    /// Keeps the beginning of a line, which is all that is left of the input.
    fn keep(&mut self, input: &mut &[u8]) {
        if self.partial.capacity() == 0 {
            self.partial.reserve_exact(input.len().max(PARTIAL_BYTES_KEPT));
        }
        self.partial.extend_from_slice(input);
        *input = &[];
    }

    fn forget(&mut self) {
        self.partial.clear();
        if self.partial.capacity() > PARTIAL_BYTES_KEPT {
            self.partial = Vec::new();
        }
        self.spent = false;
    }
}

/// The line has no end within the limit.
struct TooLong;

/// Takes a line with its LF from the front of `input`. `None` if the LF has not arrived.
fn take_line<'i>(input: &mut &'i [u8], bytes_max: usize) -> Result<Option<&'i [u8]>, TooLong> {
    match scan::find(b'\n', &input[..input.len().min(bytes_max)]) {
        Some(at) => {
            let (line, rest) = input.split_at(at + 1);
            *input = rest;
            Ok(Some(line))
        }
        None if input.len() >= bytes_max => Err(TooLong),
        None => Ok(None),
    }
}

fn too_long(line: &[u8]) -> Malformed {
    Malformed::LineTooLong { line: Excerpt::of(line), bytes_max: LINE_BYTES_MAX }
}
