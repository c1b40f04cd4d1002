//! The parts of a server's text stream: lines, which may be cut, and values, whose length a line
//! announces. Values pass through in pieces and are counted, never read; only a line that is cut in
//! two is copied. Knows no reply but the head of a value.

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
