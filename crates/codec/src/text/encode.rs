//! Encodes requests and replies as text. Appends to the caller's buffer without formatting
//! machinery; does not check keys and values.

use crate::reply::{ErrorReply, Reply};
use crate::request::meta::{self, Flags};
use crate::request::{Request, Verb};
use crate::write::digits;

pub use crate::write::{key_with, number, signed};

/// Writes a whole request ("Commands").
pub fn request(out: &mut Vec<u8>, request: &Request<'_>) {
    match *request {
        Request::Retrieve { verb, expiry, keys } => {
            command(out, verb);
            if let Some(expiry) = expiry {
                signed(out, expiry);
            }
            keys.for_each(|one| key(out, one));
            line_end(out, false);
        }
        Request::Store { verb, key: name, flags, expiry, value, cas, noreply } => {
            command(out, verb);
            key(out, name);
            let (bytes, end) = (value.len(), noreply.into());
            store_tail(out, StoreTail { flags, expiry, bytes, cas, end });
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        Request::Delete { key: name, noreply } => {
            command(out, Verb::Delete);
            key(out, name);
            line_end(out, noreply);
        }
        Request::Arithmetic { verb, key: name, delta, noreply } => {
            command(out, verb);
            key(out, name);
            number(out, delta);
            line_end(out, noreply);
        }
        Request::Touch { key: name, expiry, noreply } => {
            command(out, Verb::Touch);
            key(out, name);
            signed(out, expiry);
            line_end(out, noreply);
        }
        Request::Stats { argument } => {
            command(out, Verb::Stats);
            if let Some(argument) = argument {
                key(out, argument);
            }
            line_end(out, false);
        }
        Request::Version => bare(out, Verb::Version),
        Request::FlushAll { delay, noreply } => {
            command(out, Verb::FlushAll);
            if let Some(delay) = delay {
                signed(out, delay);
            }
            line_end(out, noreply);
        }
        Request::Verbosity { level, noreply } => {
            command(out, Verb::Verbosity);
            number(out, u64::from(level));
            line_end(out, noreply);
        }
        Request::Quit => bare(out, Verb::Quit),
        Request::Meta(ref request) => meta_request(out, request),
    }
}

/// Writes a request of the meta protocol; its options are those that its flags say.
fn meta_request(out: &mut Vec<u8>, request: &meta::Request<'_>) {
    let meta::Request { command, key: name, flags, value, .. } = *request;
    out.extend_from_slice(command.word());
    if command == meta::Command::Noop {
        return line_end(out, false);
    }
    key(out, name);
    if command == meta::Command::Set {
        number(out, value.len() as u64);
    }
    meta_flags(out, flags);
    line_end(out, false);
    if command == meta::Command::Set {
        out.extend_from_slice(value);
        line_end(out, false);
    }
}

/// Writes flags, each after a space.
pub(crate) fn meta_flags(out: &mut Vec<u8>, flags: Flags<'_>) {
    for word in flags {
        out.extend_from_slice(&[b' ', word.letter]);
        out.extend_from_slice(word.token);
    }
}

/// Writes a whole reply, or one decoded piece of it. The last piece of a value is followed by CRLF.
pub fn reply(out: &mut Vec<u8>, reply: &Reply<'_>) {
    match *reply {
        Reply::Value { key: name, flags, bytes, cas } => {
            out.extend_from_slice(b"VALUE");
            key(out, name);
            number(out, u64::from(flags));
            number(out, bytes as u64);
            if let Some(cas) = cas {
                number(out, cas);
            }
            line_end(out, false);
        }
        Reply::Data { bytes, ends } => {
            out.extend_from_slice(bytes);
            if ends {
                out.extend_from_slice(b"\r\n");
            }
        }
        Reply::End => out.extend_from_slice(b"END\r\n"),
        Reply::Stored => out.extend_from_slice(b"STORED\r\n"),
        Reply::NotStored => out.extend_from_slice(b"NOT_STORED\r\n"),
        Reply::Exists => out.extend_from_slice(b"EXISTS\r\n"),
        Reply::NotFound => out.extend_from_slice(b"NOT_FOUND\r\n"),
        Reply::Deleted => out.extend_from_slice(b"DELETED\r\n"),
        Reply::Touched => out.extend_from_slice(b"TOUCHED\r\n"),
        Reply::Ok => out.extend_from_slice(b"OK\r\n"),
        Reply::Reset => out.extend_from_slice(b"RESET\r\n"),
        Reply::Number(value) => {
            digits(out, value);
            line_end(out, false);
        }
        Reply::Version(version) => {
            out.extend_from_slice(b"VERSION");
            key(out, version);
            line_end(out, false);
        }
        Reply::Stat { name, value } => {
            out.extend_from_slice(b"STAT");
            key(out, name);
            key(out, value);
            line_end(out, false);
        }
        Reply::Done | Reply::Noop | Reply::Item { .. } => {
            unreachable!("a reply of the meta protocol")
        }
        Reply::Error(ErrorReply { kind, message }) => {
            out.extend_from_slice(kind.word().as_bytes());
            if !message.is_empty() {
                key(out, message);
            }
            line_end(out, false);
        }
    }
}

/// Writes the command's word.
#[inline(always)]
pub fn command(out: &mut Vec<u8>, verb: Verb) {
    match verb {
        // A copy of known length is cheaper.
        Verb::Get => out.extend_from_slice(b"get"),
        Verb::Set => out.extend_from_slice(b"set"),
        _ => out.extend_from_slice(verb.word().as_bytes()),
    }
}

/// The part of a storage command's line after the key ("Storage commands").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreTail {
    /// The number that the server keeps for the client.
    pub flags: u32,
    /// The expiry in seconds ("Expiration times").
    pub expiry: i64,
    /// The length of the value, whose bytes and CRLF must follow.
    pub bytes: usize,
    /// The cas number that must still be valid; given for cas only.
    pub cas: Option<u64>,
    /// The end of the line.
    pub end: LineEnd,
}

/// The end of a request's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// CRLF.
    Plain,
    /// ` noreply`, then CRLF.
    Noreply,
    /// A space, then CRLF, as some clients write it; servers ignore the space.
    Blank,
}

impl From<bool> for LineEnd {
    /// The end of a line with or without `noreply`.
    fn from(noreply: bool) -> Self {
        if noreply { Self::Noreply } else { Self::Plain }
    }
}

/// Writes the rest of a storage command's line.
#[inline]
pub fn store_tail(out: &mut Vec<u8>, tail: StoreTail) {
    number(out, u64::from(tail.flags));
    signed(out, tail.expiry);
    number(out, tail.bytes as u64);
    if let Some(cas) = tail.cas {
        number(out, cas);
    }
    line_end(out, tail.end);
}

/// Writes the end of any line.
#[inline]
pub fn line_end(out: &mut Vec<u8>, end: impl Into<LineEnd>) {
    match end.into() {
        LineEnd::Plain => out.extend_from_slice(b"\r\n"),
        LineEnd::Noreply => out.extend_from_slice(b" noreply\r\n"),
        LineEnd::Blank => out.extend_from_slice(b" \r\n"),
    }
}

fn bare(out: &mut Vec<u8>, verb: Verb) {
    command(out, verb);
    line_end(out, false);
}

fn key(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b' ');
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests;
