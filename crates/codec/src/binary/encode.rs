//! Encodes requests and answers as frames. Appends to the caller's buffer; does not check keys and
//! values.

use super::frame::{Answer, Extras, Header, MAGIC_ANSWER, MAGIC_REQUEST, Request};
use super::opcode::{Opcode, Status};
use crate::reply::{ErrorReply, Reply};
use crate::request::KEY_BYTES_MAX;

/// The fields of a request's header, without the lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The command.
    pub opcode: Opcode,
    /// A number that the answer repeats.
    pub opaque: u32,
    /// The cas number that must still be valid; 0 for none.
    pub cas: u64,
}

/// Writes a whole request.
pub fn request(out: &mut Vec<u8>, request: &Request<'_>) {
    let Request { opcode, opaque, cas, extras, key, value } = *request;
    let head = Head { opcode, opaque, cas };
    request_with(out, head, extras, |o| o.extend_from_slice(key), |o| o.extend_from_slice(value));
}

/// Writes a whole request whose key and value the closures append: at most 250 bytes of key and 1
/// GiB of value.
pub fn request_with(
    out: &mut Vec<u8>,
    head: Head,
    extras: Extras,
    key: impl FnOnce(&mut Vec<u8>),
    value: impl FnOnce(&mut Vec<u8>),
) {
    let Head { opcode, opaque, cas } = head;
    let begin = out.len();
    let mut header = Header {
        opcode: opcode as u8,
        key_bytes: 0,
        extras_bytes: 0,
        status: Status::SUCCESS,
        body_bytes: 0,
        opaque,
        cas,
    };
    out.extend_from_slice(&header.bytes(MAGIC_REQUEST));
    let body = out.len();
    write_extras(out, extras);
    let key_begin = out.len();
    key(out);
    debug_assert!(out.len() - key_begin <= KEY_BYTES_MAX, "the caller bounds the key");
    header.key_bytes = (out.len() - key_begin) as u16;
    value(out);
    debug_assert!(u32::try_from(out.len() - body).is_ok(), "the caller bounds the value");
    header.extras_bytes = (key_begin - body) as u8;
    header.body_bytes = (out.len() - body) as u32;
    out[begin..body].copy_from_slice(&header.bytes(MAGIC_REQUEST));
}

/// Writes a whole request without extras, key and value.
pub fn bare(out: &mut Vec<u8>, opcode: Opcode, opaque: u32) {
    let request = Request { opcode, opaque, cas: 0, extras: Extras::None, key: &[], value: &[] };
    self::request(out, &request);
}

/// Writes a whole answer, or one decoded piece of it. Nothing follows the last piece of a value; an
/// `End` that only marks the end of its value writes no bytes.
pub fn answer(out: &mut Vec<u8>, answer: &Answer<'_>) {
    let Answer { opcode, status, reply, .. } = *answer;
    match reply {
        Reply::Value { key, flags, bytes: left, cas } if opcode.retrieves() => {
            let body = Body { extras: &flags.to_be_bytes(), key, left, ..Body::default() };
            frame(out, answer, cas.unwrap_or(0), &body);
        }
        Reply::Value { bytes: left, cas, .. } => {
            frame(out, answer, cas.unwrap_or(0), &Body { left, ..Body::default() });
        }
        Reply::Data { bytes, .. } => out.extend_from_slice(bytes),
        Reply::End if opcode.brings_value(status) => {}
        Reply::Number(number) => frame(out, answer, 0, &Body::of_value(&number.to_be_bytes())),
        Reply::Version(version) => frame(out, answer, 0, &Body::of_value(version)),
        Reply::Stat { name, value } => {
            frame(out, answer, 0, &Body { key: name, ..Body::of_value(value) });
        }
        // The server refuses a connection before it knows the client's protocol, so the refusal is
        // text.
        Reply::Error(error) if error.is_too_many_connections() => {
            crate::text::encode::reply(out, &reply);
        }
        Reply::Error(ErrorReply { message, .. }) => {
            frame(out, answer, 0, &Body::of_value(message));
        }
        _ => frame(out, answer, 0, &Body::default()),
    }
}

/// The parts of a frame behind its header.
#[derive(Default)]
struct Body<'a> {
    extras: &'a [u8],
    key: &'a [u8],
    value: &'a [u8],
    /// Bytes of the value that follow later.
    left: usize,
}

impl<'a> Body<'a> {
    fn of_value(value: &'a [u8]) -> Self {
        Self { value, ..Self::default() }
    }
}

/// Writes a frame of `answer`.
fn frame(out: &mut Vec<u8>, answer: &Answer<'_>, cas: u64, body: &Body<'_>) {
    let Body { extras, key, value, left } = *body;
    let header = Header {
        opcode: answer.opcode as u8,
        key_bytes: key.len() as u16,
        extras_bytes: extras.len() as u8,
        status: answer.status,
        body_bytes: (extras.len() + key.len() + value.len() + left) as u32,
        opaque: answer.opaque,
        cas,
    };
    out.extend_from_slice(&header.bytes(MAGIC_ANSWER));
    out.extend_from_slice(extras);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Writes a refusal with the words of its status. `opcode` may be one that no command has.
pub fn refusal(out: &mut Vec<u8>, opcode: u8, opaque: u32, status: Status) {
    let words = status.words();
    let body_bytes = words.len() as u32;
    let (key_bytes, extras_bytes, cas) = (0, 0, 0);
    let header = Header { opcode, key_bytes, extras_bytes, status, body_bytes, opaque, cas };
    out.extend_from_slice(&header.bytes(MAGIC_ANSWER));
    out.extend_from_slice(words);
}

fn write_extras(out: &mut Vec<u8>, extras: Extras) {
    match extras {
        Extras::None => {}
        Extras::Store { flags, expiry } => {
            out.extend_from_slice(&flags.to_be_bytes());
            out.extend_from_slice(&expiry.to_be_bytes());
        }
        Extras::Count { delta, initial, expiry } => {
            out.extend_from_slice(&delta.to_be_bytes());
            out.extend_from_slice(&initial.to_be_bytes());
            out.extend_from_slice(&expiry.to_be_bytes());
        }
        Extras::Expiry(number) | Extras::Level(number) => {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}
