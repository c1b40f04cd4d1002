//! Decodes a server's bytes into replies. A reply that arrives whole is decoded in place. Does not
//! know which request a reply belongs to.

use crate::error::{Excerpt, Malformed};
use crate::reply::{ErrorKind, ErrorReply, Reply};
use crate::request::KEY_BYTES_MAX;
use crate::scan;
use crate::stream::{Expect, Lines, VALUE_BYTES_MAX, ValueHead};

/// Decodes what a server sends on one connection.
#[derive(Debug, Default)]
pub struct ReplyDecoder {
    expect: Expect,
    lines: Lines,
    skipped: ValueHead,
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
            _ => self.expect.next_data(input),
        }
    }

    /// Skips up to `most` values at the front of `input` that have arrived whole; returns their
    /// number and the sum of their lengths. For values that the caller does not read: as replies
    /// and pieces they would be matched one by one. What is unusual is left to [`Self::next`].
    #[inline]
    pub fn skip_values(&mut self, input: &mut &[u8], most: u16) -> (u16, u64) {
        let (mut count, mut sum) = (0, 0);
        if matches!(self.expect, Expect::Line) && self.lines.at_start() {
            while count < most
                && let Some(rest) = skip_alike(&self.skipped, input)
                    .or_else(|| skip_plain(&mut self.skipped, input))
            {
                *input = rest;
                count += 1;
                sum += self.skipped.bytes() as u64;
            }
        }
        (count, sum)
    }

    /// Skips the `END` of a retrieval, if it is whole and at the front of `input`; false if it is
    /// not.
    #[inline]
    pub fn skip_end(&mut self, input: &mut &[u8]) -> bool {
        if matches!(self.expect, Expect::Line)
            && self.lines.at_start()
            && let Some(rest) = input.strip_prefix(b"END\r\n")
        {
            *input = rest;
            return true;
        }
        false
    }

    /// True if the stream stands between replies: no line is partly read and no value is open.
    pub fn is_idle(&self) -> bool {
        matches!(self.expect, Expect::Line) && self.lines.is_idle()
    }

    /// Checks the beginning of a line whose end has not arrived. An error if no reply can begin
    /// like this: a server of another kind is recognised by its first bytes, not by a timeout.
    #[inline]
    pub fn check_partial(&self) -> Result<(), Malformed> {
        match self.lines.partial() {
            Some(partial) if !may_become_reply(partial) => {
                Err(Malformed::UnknownReply { line: Excerpt::of(partial) })
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn next_line<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Reply<'a>>, Malformed> {
        if self.lines.at_start() {
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
        let Some(line) = self.lines.take(input)? else { return Ok(None) };
        let reply = parse_line(line)?;
        self.expect = Expect::after(&reply);
        Ok(Some(reply))
    }
}

/// The rest behind a plain value at the front of `input`, whose head becomes `skipped`; `None` if
/// there is no such value, or if it is not whole.
#[inline]
fn skip_plain<'i>(skipped: &mut ValueHead, input: &'i [u8]) -> Option<&'i [u8]> {
    let (Reply::Value { key, bytes, .. }, rest) = plain_value(input)? else { return None };
    let behind = rest.get(bytes..)?.strip_prefix(b"\r\n")?;
    let from_key = input.strip_prefix(b"VALUE ")?;
    let tail_bytes = from_key.len() - key.len() - rest.len();
    *skipped = ValueHead::of(from_key, key.len(), tail_bytes, bytes);
    Some(behind)
}

/// [`skip_plain`] of a value whose head is like that of the one `skipped` last.
#[inline(always)]
fn skip_alike<'i>(skipped: &ValueHead, input: &'i [u8]) -> Option<&'i [u8]> {
    skipped.skip_alike(input.strip_prefix(b"VALUE ")?)
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
    let (flags, rest) = match rest.strip_prefix(b" 0 ") {
        // What most values have.
        Some(rest) => (0, rest),
        None => {
            let (flags, rest) = scan::short_decimal(rest.strip_prefix(b" ")?)?;
            (flags, rest.strip_prefix(b" ")?)
        }
    };
    let (bytes, rest) = scan::short_decimal(rest)?;
    let rest = rest.strip_prefix(b"\r\n")?;
    Some((Reply::Value { key, flags, bytes: bytes as usize, cas: None }, rest))
}

/// True if a line that begins with `partial` can be a reply.
pub(crate) fn may_become_reply(partial: &[u8]) -> bool {
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
    partial.first().is_some_and(u8::is_ascii_digit)
        || REPLIES.iter().any(|reply| scan::agree(reply, partial))
}

/// Reads one line with its CRLF.
pub(crate) fn parse_line(line: &[u8]) -> Result<Reply<'_>, Malformed> {
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
