//! One connection: a client's bytes in, answers out, in order, in lines or in frames as the first
//! byte says. Keeps nothing but the beginning of a request that has not come whole; owns no socket.

mod frames;

use crate::clock::Clock;
use crate::fault::FaultCounts;
use crate::shard::Incoming;
use crate::store::Store;
use memtide_codec::text::{RequestDecoder, encode};
use memtide_codec::{BadRequest, ErrorKind, ErrorReply, Keys, Reply, Request, Then, Verb};

pub(crate) use frames::{Frames, Read};

/// What the server calls itself.
const VERSION: &str = concat!("memtide ", env!("CARGO_PKG_VERSION"));

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More bytes may come.
    Continue,
    /// Send what was written, then close.
    Close,
}

/// The server's side of one connection.
#[derive(Debug)]
pub struct Session {
    tongue: Tongue,
}

/// What a connection speaks, and how far it is read.
#[derive(Debug)]
pub(crate) enum Tongue {
    /// Nothing yet; the limit for items.
    Unheard(usize),
    /// Lines.
    Text(RequestDecoder),
    /// Frames.
    Binary(Frames),
}

impl Tongue {
    /// What it is, once there is a first byte.
    pub fn hear(&mut self, bytes: &[u8]) {
        if let (Self::Unheard(item_bytes_max), Some(&first)) = (&*self, bytes.first()) {
            *self = match first {
                frames::FIRST_BYTE => Self::Binary(Frames::new(*item_bytes_max)),
                _ => Self::Text(RequestDecoder::new(*item_bytes_max)),
            };
        }
    }
}

impl Session {
    /// A new connection to a store with this limit for items.
    pub fn new(item_bytes_max: usize) -> Self {
        Self { tongue: Tongue::Unheard(item_bytes_max) }
    }

    /// Takes bytes as they come, however cut, and appends the answers to `out`. After
    /// [`Flow::Close`] the rest of the bytes was not looked at.
    pub fn handle_bytes(
        &mut self,
        clock: Clock,
        bytes: &[u8],
        store: &Store,
        out: &mut Vec<u8>,
    ) -> Flow {
        self.tongue.hear(bytes);
        match &mut self.tongue {
            Tongue::Unheard(_) => Flow::Continue,
            Tongue::Text(decoder) => read_lines(decoder, clock, bytes, store, out),
            Tongue::Binary(frames) => read_frames(frames, clock, bytes, store, out),
        }
    }
}

fn read_lines(
    decoder: &mut RequestDecoder,
    clock: Clock,
    bytes: &[u8],
    store: &Store,
    out: &mut Vec<u8>,
) -> Flow {
    let mut input = bytes;
    loop {
        match decoder.next(&mut input) {
            Ok(Some(Request::Quit)) => return Flow::Close,
            Ok(Some(request)) => answer(clock, &request, store, out),
            Ok(None) => return Flow::Continue,
            Err(bad) => {
                refuse(decoder, clock, &bad, store, out);
                if bad.then == Then::Close {
                    return Flow::Close;
                }
            }
        }
    }
}

fn read_frames(
    frames: &mut Frames,
    clock: Clock,
    bytes: &[u8],
    store: &Store,
    out: &mut Vec<u8>,
) -> Flow {
    let mut input = bytes;
    loop {
        let carry_out =
            |request: &Request<'_>, lines: &mut Vec<u8>| answer(clock, request, store, lines);
        match frames.next(&mut input, (clock, store), out, carry_out) {
            Read::Nothing => return Flow::Continue,
            Read::Answered | Read::Carried(()) => {}
            Read::Close => return Flow::Close,
        }
    }
}

/// What is said to bytes that are no request; `decoder` has just said so.
pub(crate) fn refuse(
    decoder: &RequestDecoder,
    clock: Clock,
    bad: &BadRequest,
    store: &Store,
    out: &mut Vec<u8>,
) {
    if bad.reply.is_bad_data_chunk() {
        store.refused_bad_chunk();
    }
    if let Some((verb, key)) = decoder.refused() {
        store.refused_too_large(clock, verb, key);
    }
    write_unless(bad.silent, out, Reply::Error(bad.reply));
}

/// Does what any request but quit asks for, and appends the answer.
pub(crate) fn answer(clock: Clock, request: &Request<'_>, store: &Store, out: &mut Vec<u8>) {
    match *request {
        Request::Retrieve { verb, expiry, keys } => {
            retrieve(clock, verb, expiry, keys, store, out);
        }
        Request::Store { verb, key, flags, expiry, value, cas, noreply } => {
            let incoming = Incoming { verb, flags, ends_s: clock.ends_s(expiry), value, cas };
            write_unless(noreply, out, store.store(clock, key, &incoming));
        }
        Request::Delete { key, noreply } => write_unless(noreply, out, store.delete(clock, key)),
        Request::Arithmetic { verb, key, delta, noreply } => {
            write_unless(noreply, out, store.count(clock, key, verb, delta));
        }
        Request::Touch { key, expiry, noreply } => {
            write_unless(noreply, out, store.touch(clock, key, expiry));
        }
        Request::Stats { argument } => statistics(clock, argument, store, out),
        Request::Version => encode::reply(out, &Reply::Version(VERSION.as_bytes())),
        Request::FlushAll { delay, noreply } => {
            store.flush(clock, delay);
            write_unless(noreply, out, Reply::Ok);
        }
        // There is no log whose amount could be set.
        Request::Verbosity { noreply, .. } => write_unless(noreply, out, Reply::Ok),
        Request::Quit => unreachable!("quit is not answered"),
    }
}

fn retrieve(
    clock: Clock,
    verb: Verb,
    expiry: Option<i64>,
    keys: Keys<'_>,
    store: &Store,
    out: &mut Vec<u8>,
) {
    let with_cas = matches!(verb, Verb::Gets | Verb::Gats);
    for key in keys {
        match expiry {
            Some(expiry) => store.get_and_touch(clock, key, expiry, with_cas, out),
            None => store.get(clock, key, with_cas, out),
        }
    }
    encode::reply(out, &Reply::End);
}

/// "Statistics" of the protocol document, as far as there is something to tell.
fn statistics(clock: Clock, argument: Option<&[u8]>, store: &Store, out: &mut Vec<u8>) {
    match argument {
        None => general(clock, store, out),
        Some(b"reset") => {
            store.reset_counters();
            encode::reply(out, &Reply::Reset);
        }
        // A session by itself is healthy.
        Some(b"faults") => FaultCounts::default().write(out),
        Some(_) => {
            let unknown = ErrorReply { kind: ErrorKind::Error, message: b"" };
            encode::reply(out, &Reply::Error(unknown));
        }
    }
}

fn general(clock: Clock, store: &Store, out: &mut Vec<u8>) {
    let mut write = |name: &str, value: &str| {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        encode::reply(out, &Reply::Stat { name, value });
    };
    // The server has no process of its own that it could know of.
    write("pid", "0");
    write("uptime", &(clock.now.ns() / 1_000_000_000).to_string());
    write("time", &clock.unix_s.to_string());
    write("version", VERSION);
    write("pointer_size", &usize::BITS.to_string());
    for (name, value) in store.snapshot().named() {
        write(name, &value.to_string());
    }
    encode::reply(out, &Reply::End);
}

fn write_unless(silent: bool, out: &mut Vec<u8>, reply: Reply<'_>) {
    if !silent {
        encode::reply(out, &reply);
    }
}

#[cfg(test)]
mod tests;
