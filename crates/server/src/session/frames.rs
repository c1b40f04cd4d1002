//! A connection that uses the binary protocol. Each frame is translated into the equivalent text
//! request, and the text answer into frames, so that each command is implemented only once.
//!
//! Keys are those that text lines allow. Only set, add and replace use a cas number; any other
//! command with one is refused, and answers to stores do not contain the new one.

use super::answer;
use crate::store::StoreAt;
use crate::table::{Outgoing, ReplyBuffer};
use memtide_codec::binary::{
    Answer, Extras, NEVER_CREATE, Opcode, Refused, Request as Frame, RequestDecoder, Status, encode,
};
use memtide_codec::text::ReplyDecoder;
use memtide_codec::{ErrorKind, Keys, Reply, Request, Then, Verb};

/// The first byte of every request frame; no text line begins with it.
pub(super) const FIRST_BYTE: u8 = 0x80;

/// The decoder of a connection's frames, and the buffer for the translation.
#[derive(Debug)]
pub(crate) struct Frames {
    decoder: RequestDecoder,
    /// The answer to one request, as text.
    lines: Outgoing,
}

/// The result of reading one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read<T> {
    /// Nothing; more bytes are needed.
    Nothing,
    /// A frame that was answered without the store.
    Answered,
    /// A request, with the result of carrying it out.
    Carried(T),
    /// A frame that ends the connection once the answer is sent.
    Close,
}

impl Frames {
    /// The state for a new connection to a store with this limit for items.
    pub fn new(item_bytes_max: usize) -> Self {
        Self { decoder: RequestDecoder::new(item_bytes_max), lines: Outgoing::default() }
    }

    /// Reads one frame from the front of `input` and appends its answer, if it has one. A request
    /// to the store is done by `carry_out`, which answers in text.
    pub fn next<T>(
        &mut self,
        input: &mut &[u8],
        at: StoreAt<'_>,
        out: &mut impl ReplyBuffer,
        carry_out: impl FnOnce(&Request<'_>, &mut Outgoing) -> T,
    ) -> Read<T> {
        let Self { decoder, lines } = self;
        let frame = match decoder.next(input) {
            Ok(None) => return Read::Nothing,
            Ok(Some(frame)) => frame,
            Err(refused) => return refuse(decoder, refused, at, out.bytes()),
        };
        let Frame { opcode, opaque, .. } = frame;
        let status = match (opcode.loud(), meaning(&frame)) {
            (Opcode::Quit | Opcode::Noop, _) => {
                if !opcode.is_quiet() {
                    let (status, reply) = (Status::SUCCESS, Reply::Ok);
                    encode::answer(out.bytes(), &Answer { opcode, opaque, status, reply });
                }
                return if opcode == Opcode::Noop { Read::Answered } else { Read::Close };
            }
            (_, Ok(request)) => {
                let carried = carry_out(&request, lines);
                if let Some(first) = first_number(&frame, lines.bytes()) {
                    let text = first.to_string();
                    let Extras::Count { expiry, .. } = frame.extras else {
                        unreachable!("only what counts has a first number")
                    };
                    lines.clear();
                    let store_it = Request::Store {
                        verb: Verb::Add,
                        key: frame.key,
                        flags: 0,
                        expiry: i64::from(expiry),
                        value: text.as_bytes(),
                        cas: None,
                        noreply: true,
                    };
                    answer(at.clock, &store_it, at.store, lines);
                    lines.bytes().extend_from_slice(text.as_bytes());
                    lines.bytes().extend_from_slice(b"\r\n");
                }
                translate(lines, &frame, out);
                lines.clear();
                return Read::Carried(carried);
            }
            (_, Err(status)) => status,
        };
        encode::refusal(out.bytes(), opcode as u8, opaque, status);
        Read::Answered
    }
}

/// Answers an invalid frame, which `decoder` has just reported.
fn refuse<T>(
    decoder: &RequestDecoder,
    refused: Refused,
    at: StoreAt<'_>,
    out: &mut Vec<u8>,
) -> Read<T> {
    if let Some((opcode, key)) = decoder.refused() {
        let verb = if opcode.loud() == Opcode::Set { Verb::Set } else { Verb::Add };
        at.store.refused_too_large(at.clock, verb, key);
    }
    if let Some(status) = refused.status {
        encode::refusal(out, refused.opcode, refused.opaque, status);
    }
    if refused.then == Then::Close { Read::Close } else { Read::Answered }
}

/// The request as text, which always requests an answer, or the status that refuses it.
fn meaning<'a>(frame: &Frame<'a>) -> Result<Request<'a>, Status> {
    let Frame { opcode, cas, extras, key, .. } = *frame;
    if key.iter().any(|byte| matches!(byte, b' ' | b'\r' | b'\n')) {
        return Err(Status::INVALID_ARGUMENTS);
    }
    let loud = opcode.loud();
    if cas != 0 && !matches!(loud, Opcode::Set | Opcode::Add | Opcode::Replace) {
        return Err(Status::NOT_SUPPORTED);
    }
    let noreply = false;
    let expiry = expiry(extras);
    Ok(match loud {
        Opcode::Get | Opcode::GetK => retrieval(frame, Verb::Gets),
        Opcode::Gat | Opcode::GatK => retrieval(frame, Verb::Gats),
        Opcode::Set | Opcode::Add | Opcode::Replace if cas != 0 => storage(frame, Verb::Cas),
        Opcode::Set => storage(frame, Verb::Set),
        Opcode::Add => storage(frame, Verb::Add),
        Opcode::Replace => storage(frame, Verb::Replace),
        Opcode::Append => storage(frame, Verb::Append),
        Opcode::Prepend => storage(frame, Verb::Prepend),
        Opcode::Delete => Request::Delete { key, noreply },
        Opcode::Increment => arithmetic(frame, Verb::Incr)?,
        Opcode::Decrement => arithmetic(frame, Verb::Decr)?,
        Opcode::Touch => Request::Touch { key, expiry: expiry.unwrap_or(0), noreply },
        Opcode::Stat => Request::Stats { argument: (!key.is_empty()).then_some(key) },
        Opcode::Version => Request::Version,
        Opcode::Flush => Request::FlushAll { delay: expiry, noreply },
        Opcode::Verbosity => match extras {
            Extras::Level(level) => Request::Verbosity { level, noreply },
            _ => return Err(Status::INVALID_ARGUMENTS),
        },
        _ => return Err(Status::UNKNOWN_COMMAND),
    })
}

fn expiry(extras: Extras) -> Option<i64> {
    match extras {
        Extras::Expiry(expiry) | Extras::Store { expiry, .. } => Some(i64::from(expiry)),
        _ => None,
    }
}

fn retrieval<'a>(frame: &Frame<'a>, verb: Verb) -> Request<'a> {
    Request::Retrieve { verb, expiry: expiry(frame.extras), keys: Keys::spaced(frame.key) }
}

fn storage<'a>(frame: &Frame<'a>, verb: Verb) -> Request<'a> {
    let Frame { cas, extras, key, value, .. } = *frame;
    Request::Store {
        verb,
        key,
        flags: if let Extras::Store { flags, .. } = extras { flags } else { 0 },
        expiry: expiry(extras).unwrap_or(0),
        value,
        cas: (cas != 0).then_some(cas),
        noreply: false,
    }
}

fn arithmetic<'a>(frame: &Frame<'a>, verb: Verb) -> Result<Request<'a>, Status> {
    match frame.extras {
        Extras::Count { delta, .. } => {
            Ok(Request::Arithmetic { verb, key: frame.key, delta, noreply: false })
        }
        _ => Err(Status::INVALID_ARGUMENTS),
    }
}

/// The initial number of a counter, if its key was not found and may be created.
fn first_number(frame: &Frame<'_>, lines: &[u8]) -> Option<u64> {
    match frame.extras {
        Extras::Count { initial, expiry, .. } if expiry != NEVER_CREATE => {
            (lines == b"NOT_FOUND\r\n").then_some(initial)
        }
        _ => None,
    }
}

/// Translates `lines`, the answer to a request with at most one key, into frames.
fn translate(lines: &Outgoing, frame: &Frame<'_>, out: &mut impl ReplyBuffer) {
    let (lines, large) = lines.parts();
    translate_lines(lines, frame, out.bytes());
    if let Some(value) = large {
        // The line end after a text value has no equivalent in frames.
        out.push_large(value);
    }
}

/// Translates an answer without large values.
fn translate_lines(lines: &[u8], frame: &Frame<'_>, out: &mut Vec<u8>) {
    let Frame { opcode, opaque, .. } = *frame;
    let mut decoder = ReplyDecoder::new();
    let mut input = lines;
    let mut found = false;
    loop {
        let reply = match decoder.next(&mut input) {
            Ok(Some(reply)) => reply,
            Ok(None) => return,
            // Text that is no reply is passed on unchanged.
            Err(_) => return out.extend_from_slice(lines),
        };
        let status = match reply {
            Reply::Value { key, flags, bytes, cas } => {
                found = true;
                let key = if opcode.repeats_key() { key } else { &[] };
                encode::answer(out, &success(frame, Reply::Value { key, flags, bytes, cas }));
                continue;
            }
            Reply::Data { .. } | Reply::Stat { .. } => {
                encode::answer(out, &success(frame, reply));
                continue;
            }
            Reply::End | Reply::Reset if opcode == Opcode::Stat => {
                let end = Reply::Stat { name: &[], value: &[] };
                return encode::answer(out, &success(frame, end));
            }
            Reply::End if found || opcode.is_quiet() => return,
            Reply::End | Reply::NotFound => Status::KEY_NOT_FOUND,
            Reply::Exists => Status::KEY_EXISTS,
            Reply::NotStored => match opcode.loud() {
                Opcode::Add => Status::KEY_EXISTS,
                Opcode::Replace => Status::KEY_NOT_FOUND,
                _ => Status::NOT_STORED,
            },
            Reply::Error(error) => match error.kind {
                ErrorKind::Error if opcode == Opcode::Stat => Status::KEY_NOT_FOUND,
                ErrorKind::Error => Status::UNKNOWN_COMMAND,
                ErrorKind::Client => Status::NOT_A_NUMBER,
                ErrorKind::Server if error.message.starts_with(b"out of memory") => {
                    Status::OUT_OF_MEMORY
                }
                ErrorKind::Server => {
                    let status = Status::INTERNAL_ERROR;
                    return encode::answer(out, &Answer { opcode, opaque, status, reply });
                }
            },
            _ if opcode.is_quiet() => return,
            _ => return encode::answer(out, &success(frame, reply)),
        };
        encode::refusal(out, opcode as u8, opaque, status);
    }
}

fn success<'a>(frame: &Frame<'_>, reply: Reply<'a>) -> Answer<'a> {
    Answer { opcode: frame.opcode, opaque: frame.opaque, status: Status::SUCCESS, reply }
}

#[cfg(test)]
mod tests;
