//! Encodes requests and replies as text. Appends to the caller's buffer without formatting
//! machinery; does not check keys and values.

use crate::reply::{ErrorReply, Reply};
use crate::request::{KEY_BYTES_MAX, Request, Verb};

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
#[inline]
pub fn command(out: &mut Vec<u8>, verb: Verb) {
    match verb {
        // A copy of known length is cheaper.
        Verb::Get => out.extend_from_slice(b"get"),
        Verb::Set => out.extend_from_slice(b"set"),
        _ => out.extend_from_slice(verb.word().as_bytes()),
    }
}

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

#[cfg(test)]
mod tests;
