//! Decodes a server's bytes into replies. A reply that arrives whole is decoded in place; values
//! pass through in pieces and are counted, never read. Only a line that is cut in two is copied.
//! Does not know which request a reply belongs to.

use crate::error::{Excerpt, Malformed};
use crate::reply::{ErrorKind, ErrorReply, Reply};
use crate::request::KEY_BYTES_MAX;
use crate::scan;

/// The longest line, in bytes, without its CRLF.
const LINE_BYTES_MAX: usize = 2048;
/// The longest line with its CRLF.
const LINE_ENDED_BYTES_MAX: usize = LINE_BYTES_MAX + 2;
/// The longest value: the maximum of memcached's `-I`.
const VALUE_BYTES_MAX: u64 = 1 << 30;
/// The memory for cut lines that the decoder keeps between them, in bytes.
const PARTIAL_BYTES_KEPT: usize = 96;

/// Decodes what a server sends on one connection.
#[derive(Debug, Default)]
pub struct ReplyDecoder {
    expect: Expect,
    /// The beginning of a line whose end has not arrived, or a cut line that was just returned.
    partial: Vec<u8>,
    /// True if `partial` was returned as a whole line and must be cleared.
    partial_spent: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Expect {
    #[default]
    Line,
    /// The given number of bytes of a value, then its CRLF.
    Value(usize),
    /// The LF that ends a value.
    ValueLineFeed,
}

impl Expect {
    fn after(reply: &Reply<'_>) -> Self {
        match reply {
            Reply::Value { bytes, .. } => Self::Value(*bytes),
            _ => Self::Line,
        }
    }
}

impl ReplyDecoder {
    /// A decoder at the beginning of a stream. It allocates nothing until a line is cut in two.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next reply from the front of `input`. `None` means that more bytes are needed;
    /// `input` is then empty. An error is the server's fault, and nothing can be decoded after it.
    #[inline(always)]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Reply<'a>>, Malformed> {
        if input.is_empty() {
            return Ok(None);
        }
        match self.expect {
            Expect::Line => self.next_line(input),
            // Most values have arrived whole.
            Expect::Value(left) => match input.split_at_checked(left) {
                Some((bytes, [b'\r', b'\n', rest @ ..])) => {
                    self.expect = Expect::Line;
                    *input = rest;
                    Ok(Some(Reply::Data { bytes, ends: true }))
                }
                _ => self.next_data(left, input),
            },
            Expect::ValueLineFeed => self.close_value(input),
        }
    }

    /// True if the stream stands between replies: no line is partly read and no value is open.
    pub fn is_idle(&self) -> bool {
        matches!(self.expect, Expect::Line) && (self.partial.is_empty() || self.partial_spent)
    }

    /// Checks the beginning of a line whose end has not arrived. An error if no reply can begin
    /// like this: a server of another kind is recognised by its first bytes, not by a timeout.
    #[inline]
    pub fn check_partial(&self) -> Result<(), Malformed> {
        if self.partial.is_empty() || self.partial_spent || may_become_reply(&self.partial) {
            return Ok(());
        }
        Err(Malformed::UnknownReply { line: Excerpt::of(&self.partial) })
    }

    #[inline(always)]
    fn next_line<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Reply<'a>>, Malformed> {
        if self.partial_spent {
            self.forget_partial();
        }
        if self.partial.is_empty() {
            // The replies that make up most traffic are compared whole.
            if let Some(rest) = input.strip_prefix(b"STORED\r\n") {
                *input = rest;
                return Ok(Some(Reply::Stored));
            }
            if let Some(rest) = input.strip_prefix(b"END\r\n") {
                *input = rest;
                return Ok(Some(Reply::End));
            }
            if let Some((value, rest)) = plain_value(input) {
                *input = rest;
                self.expect = Expect::after(&value);
                return Ok(Some(value));
            }
        }
        self.next_unusual_line(input)
    }

    /// Reads a line that is none of the usual ones, or that arrives in pieces. A function of its
    /// own, so that the usual lines do not pay for it.
    #[inline(never)]
    fn next_unusual_line<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Reply<'a>>, Malformed> {
        if self.partial.is_empty() {
            return match take_line(input, LINE_ENDED_BYTES_MAX) {
                Ok(Some(line)) => {
                    let reply = parse_line(line)?;
                    self.expect = Expect::after(&reply);
                    Ok(Some(reply))
                }
                Ok(None) => {
                    self.keep(input);
                    Ok(None)
                }
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
        self.partial_spent = true;
        let reply = parse_line(&self.partial)?;
        self.expect = Expect::after(&reply);
        Ok(Some(reply))
    }

    #[inline(never)]
    fn next_data<'i>(
        &mut self,
        left: usize,
        input: &mut &'i [u8],
    ) -> Result<Option<Reply<'i>>, Malformed> {
        debug_assert!(left as u64 <= VALUE_BYTES_MAX, "a longer value is an error");
        let (bytes, rest) = input.split_at(left.min(input.len()));
        match rest {
            [b'\r', b'\n', rest @ ..] => {
                self.expect = Expect::Line;
                *input = rest;
                Ok(Some(Reply::Data { bytes, ends: true }))
            }
            [] => {
                self.expect = Expect::Value(left - bytes.len());
                *input = rest;
                Ok(Some(Reply::Data { bytes, ends: false }))
            }
            [b'\r'] => {
                self.expect = Expect::ValueLineFeed;
                *input = &[];
                let piece = Reply::Data { bytes, ends: false };
                Ok((!bytes.is_empty()).then_some(piece))
            }
            // The bytes before the error are returned first, as if they had arrived alone.
            _ if !bytes.is_empty() => {
                self.expect = Expect::Value(left - bytes.len());
                *input = rest;
                Ok(Some(Reply::Data { bytes, ends: false }))
            }
            [b'\r', got, ..] | [got, ..] => Err(Malformed::ValueNotClosed { got: *got }),
        }
    }

    #[inline(never)]
    fn close_value<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<Reply<'i>>, Malformed> {
        match *input {
            [b'\n', rest @ ..] => {
                self.expect = Expect::Line;
                *input = rest;
                Ok(Some(Reply::Data { bytes: &[], ends: true }))
            }
            [] => Ok(None),
            [got, ..] => Err(Malformed::ValueNotClosed { got: *got }),
        }
    }

    /// Keeps the beginning of a line, which is all that is left of the input.
    fn keep(&mut self, input: &mut &[u8]) {
        if self.partial.capacity() == 0 {
            self.partial.reserve_exact(input.len().max(PARTIAL_BYTES_KEPT));
        }
        self.partial.extend_from_slice(input);
        *input = &[];
    }

    fn forget_partial(&mut self) {
        self.partial.clear();
        if self.partial.capacity() > PARTIAL_BYTES_KEPT {
            self.partial = Vec::new();
        }
        self.partial_spent = false;
    }
}

/// Parses the head of a value in one pass if its numbers have at most nine digits and it has no cas
/// number; returns it and the rest. `None` for every other line, which the general parser reads.
#[inline(always)]
fn plain_value(input: &[u8]) -> Option<(Reply<'_>, &[u8])> {
    let rest = input.strip_prefix(b"VALUE ")?;
    let end = scan::find_end_of_key(&rest[..rest.len().min(KEY_BYTES_MAX + 1)])?;
    let (key, rest) = rest.split_at(end);
    if key.is_empty() {
        return None;
    }
    let (flags, rest) = scan::short_decimal(rest.strip_prefix(b" ")?)?;
    let (bytes, rest) = scan::short_decimal(rest.strip_prefix(b" ")?)?;
    let [b'\r', b'\n', rest @ ..] = rest else { return None };
    Some((Reply::Value { key, flags, bytes: bytes as usize, cas: None }, rest))
}

/// True if a line that begins with `partial` can be a reply.
fn may_become_reply(partial: &[u8]) -> bool {
    const REPLIES: [&[u8]; 15] = [
        b"VALUE ",
        b"STORED\r\n",
        b"END\r\n",
        b"NOT_STORED\r\n",
        b"NOT_FOUND\r\n",
        b"EXISTS\r\n",
        b"DELETED\r\n",
        b"TOUCHED\r\n",
        b"OK\r\n",
        b"RESET\r\n",
        b"STAT ",
        b"VERSION ",
        b"ERROR",
        b"CLIENT_ERROR",
        b"SERVER_ERROR",
    ];
    let is_begun = |reply: &&[u8]| reply.starts_with(partial) || partial.starts_with(reply);
    partial.first().is_some_and(u8::is_ascii_digit) || REPLIES.iter().any(is_begun)
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

/// Reads one line with its CRLF.
fn parse_line(line: &[u8]) -> Result<Reply<'_>, Malformed> {
    let unknown = || Malformed::UnknownReply { line: Excerpt::of(line) };
    let text = line.strip_suffix(b"\r\n").ok_or_else(unknown)?;
    if let Some(rest) = text.strip_prefix(b"VALUE ") {
        return parse_value(rest).ok_or(Malformed::BadNumber {
            line: Excerpt::of(line),
            expected: "VALUE, a key, 32 bits of flags, a size of at most 1 GiB and maybe a cas \
                       number",
        });
    }
    if text.first().is_some_and(u8::is_ascii_digit) {
        // "Increment/Decrement": a number that became shorter may have trailing spaces.
        return scan::decimal(scan::trimmed(text)).map(Reply::Number).ok_or(Malformed::BadNumber {
            line: Excerpt::of(line),
            expected: "a decimal number of at most 64 bits",
        });
    }
    match text {
        b"STORED" => Ok(Reply::Stored),
        b"END" => Ok(Reply::End),
        b"NOT_STORED" => Ok(Reply::NotStored),
        b"NOT_FOUND" => Ok(Reply::NotFound),
        b"EXISTS" => Ok(Reply::Exists),
        b"DELETED" => Ok(Reply::Deleted),
        b"TOUCHED" => Ok(Reply::Touched),
        b"OK" => Ok(Reply::Ok),
        b"RESET" => Ok(Reply::Reset),
        _ => parse_words(text).ok_or_else(unknown),
    }
}

/// "Retrieval command": `<key> <flags> <bytes> [<cas unique>]`.
fn parse_value(mut rest: &[u8]) -> Option<Reply<'_>> {
    let key = scan::word(&mut rest)?;
    let flags = u32::try_from(scan::decimal(scan::word(&mut rest)?)?).ok()?;
    let bytes = scan::decimal(scan::word(&mut rest)?)?;
    let cas = match scan::word(&mut rest) {
        Some(word) => Some(scan::decimal(word)?),
        None => None,
    };
    if bytes > VALUE_BYTES_MAX || scan::word(&mut rest).is_some() {
        return None;
    }
    Some(Reply::Value { key, flags, bytes: usize::try_from(bytes).ok()?, cas })
}

/// Parses the replies that carry text of the server's own.
fn parse_words(text: &[u8]) -> Option<Reply<'_>> {
    if let Some(rest) = text.strip_prefix(b"STAT ") {
        // "Statistics": some settings have an empty value.
        let at = scan::find(b' ', rest).unwrap_or(rest.len());
        let (name, value) = rest.split_at(at);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        return (!name.is_empty()).then_some(Reply::Stat { name, value });
    }
    if let Some(version) = text.strip_prefix(b"VERSION ") {
        return Some(Reply::Version(version));
    }
    let kinds = [ErrorKind::Error, ErrorKind::Client, ErrorKind::Server];
    kinds.into_iter().find_map(|kind| {
        // "Error strings". Some messages stand behind a colon: `ERROR: shutdown not enabled`.
        let rest = text.strip_prefix(kind.word().as_bytes())?;
        let message = match rest.strip_prefix(b":").unwrap_or(rest) {
            [] => &[],
            [b' ', message @ ..] => message,
            _ => return None,
        };
        Some(Reply::Error(ErrorReply { kind, message }))
    })
}

#[cfg(test)]
mod tests;
