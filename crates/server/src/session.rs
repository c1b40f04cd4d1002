//! One connection: a client's bytes in, answers out, in order, in text or binary as the first byte
//! decides. Keeps the beginning of an incomplete request, and requests that are not carried out
//! because too many answers wait. Owns no socket.

mod frames;
mod rest;

use crate::clock::Clock;
use crate::fault::FaultCounts;
use crate::shard::Incoming;
use crate::store::{Store, StoreAt, StoreOptions};
use crate::table::{Outgoing, ReplyBuffer};
use memtide_codec::text::{RequestDecoder, encode};
use memtide_codec::{BadRequest, ErrorKind, ErrorReply, Keys, Reply, Request, Then, Verb, meta};

pub(crate) use frames::{Frames, Read};
pub(crate) use rest::Rest;

/// The server's version.
const VERSION: &str = concat!("memtide ", env!("CARGO_PKG_VERSION"));

/// No further request is carried out for a client while this many bytes of answers wait for it.
pub(crate) const WAITING_BYTES_MAX: usize = 256 << 10;
/// Keys of one request that are looked up before other clients have their turn.
const KEYS_MAX: usize = 4096;

/// The state of a connection after received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More bytes may come.
    Continue,
    /// Some received requests are not carried out yet: call the session again, without bytes, once
    /// fewer answers wait.
    Paused,
    /// Send the answers, then close.
    Close,
}

/// The server's side of one connection.
#[derive(Debug)]
pub struct Session {
    format: Decoding,
    /// A retrieval with keys that are not answered yet.
    unfinished: Option<Unfinished>,
    /// Bytes that were received and not read.
    rest: Rest,
}

/// The protocol of a connection and its decoder.
#[derive(Debug)]
pub(crate) enum Decoding {
    /// Not known yet; holds the limit for items.
    Unheard(usize),
    /// The text protocol.
    Text(RequestDecoder),
    /// The binary protocol.
    Binary(Frames),
}

impl Decoding {
    /// Decides the protocol by the first byte.
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
        let (format, rest) = (Decoding::Unheard(item_bytes_max), Rest::default());
        Self { format, unfinished: None, rest }
    }

    /// Handles received bytes, however they are split, and appends all answers to `out`, however
    /// many. After [`Flow::Close`] the rest of the bytes was not read.
    pub fn handle_bytes(
        &mut self,
        clock: Clock,
        mut bytes: &[u8],
        store: &Store,
        out: &mut Vec<u8>,
    ) -> Flow {
        loop {
            match self.handle_within(clock, bytes, store, out, usize::MAX) {
                Flow::Paused => bytes = &[],
                flow => return flow,
            }
        }
    }

    /// Handles bytes as [`Session::handle_bytes`] does, for a client that may not take its answers:
    /// stops while 256 KiB wait in `out`, which one value at most exceeds. Call it again, without
    /// bytes, until it no longer returns [`Flow::Paused`].
    pub fn handle_some(
        &mut self,
        clock: Clock,
        bytes: &[u8],
        store: &Store,
        out: &mut Outgoing,
    ) -> Flow {
        self.handle_within(clock, bytes, store, out, WAITING_BYTES_MAX)
    }

    /// True if it has more to do before it needs more bytes.
    pub fn is_behind(&self) -> bool {
        self.unfinished.is_some() || !self.rest.is_empty()
    }

    /// Handles bytes as [`Session::handle_some`] does, while less than `most` bytes wait in `out`.
    pub(crate) fn handle_within(
        &mut self,
        clock: Clock,
        bytes: &[u8],
        store: &Store,
        out: &mut impl ReplyBuffer,
        most: usize,
    ) -> Flow {
        self.format.hear(bytes);
        let Self { format, unfinished, rest } = self;
        let at = StoreAt { clock, store };
        let flow = rest.feed(bytes, |input| match format {
            Decoding::Unheard(_) => Flow::Continue,
            Decoding::Text(decoder) => {
                if let Some(begun) = unfinished {
                    if !begun.go_on(at, out, most) {
                        return Flow::Paused;
                    }
                    *unfinished = None;
                }
                read_lines(decoder, input, at, out, most).unwrap_or_else(|begun| {
                    *unfinished = Some(begun);
                    Flow::Paused
                })
            }
            Decoding::Binary(frames) => read_frames(frames, input, at, out, most),
        });
        if flow == Flow::Close {
            rest.clear();
        }
        debug_assert_eq!(flow == Flow::Paused, self.is_behind(), "a paused session has more to do");
        flow
    }
}

/// Carries out requests; returns how the connection continues, or the retrieval in which it
/// stopped.
fn read_lines(
    decoder: &mut RequestDecoder,
    input: &mut &[u8],
    at: StoreAt<'_>,
    out: &mut impl ReplyBuffer,
    most: usize,
) -> Result<Flow, Unfinished> {
    loop {
        if out.waiting() >= most && !input.is_empty() {
            return Ok(Flow::Paused);
        }
        match decoder.next(input) {
            Ok(Some(Request::Quit)) => return Ok(Flow::Close),
            Ok(Some(Request::Retrieve { verb, expiry, keys })) => {
                let mut retrieval = Retrieval { verb, expiry, keys };
                if !retrieval.go_on(at, out, most) {
                    return Err(Unfinished::of(&retrieval));
                }
            }
            Ok(Some(request)) => answer(at.clock, &request, at.store, out),
            Ok(None) => return Ok(Flow::Continue),
            Err(bad) => {
                refuse(decoder, at.clock, &bad, at.store, out.bytes());
                if bad.then == Then::Close {
                    return Ok(Flow::Close);
                }
            }
        }
    }
}

fn read_frames(
    frames: &mut Frames,
    input: &mut &[u8],
    at: StoreAt<'_>,
    out: &mut impl ReplyBuffer,
    most: usize,
) -> Flow {
    loop {
        if out.waiting() >= most && !input.is_empty() {
            return Flow::Paused;
        }
        let read = frames.next(input, at, out, |request, lines| {
            answer(at.clock, request, at.store, lines);
        });
        match read {
            Read::Nothing => return Flow::Continue,
            Read::Answered | Read::Carried(()) => {}
            Read::Close => return Flow::Close,
        }
    }
}

/// The keys of a retrieval that are not answered yet.
pub(crate) struct Retrieval<'a> {
    pub verb: Verb,
    pub expiry: Option<i64>,
    pub keys: Keys<'a>,
}

impl Retrieval<'_> {
    /// Answers key by key while less than `most` bytes wait in `out`, and at most a few thousand
    /// keys. Returns false if keys are left.
    pub fn go_on(
        &mut self,
        StoreAt { clock, store }: StoreAt<'_>,
        out: &mut impl ReplyBuffer,
        most: usize,
    ) -> bool {
        let with_cas = matches!(self.verb, Verb::Gets | Verb::Gats);
        for _ in 0..KEYS_MAX {
            if out.waiting() >= most {
                return false;
            }
            let Some(key) = self.keys.next() else {
                encode::reply(out.bytes(), &Reply::End);
                return true;
            };
            match self.expiry {
                Some(expiry) => store.get_and_touch(clock, key, expiry, with_cas, out),
                None => store.get(clock, key, with_cas, out),
            }
        }
        false
    }
}

/// A retrieval that was begun, with a copy of its keys.
#[derive(Debug)]
struct Unfinished {
    verb: Verb,
    expiry: Option<i64>,
    keys: Vec<u8>,
    /// Bytes of the keys that are answered.
    done: usize,
}

impl Unfinished {
    fn of(retrieval: &Retrieval<'_>) -> Self {
        let Retrieval { verb, expiry, keys } = *retrieval;
        Self { verb, expiry, keys: keys.rest().to_vec(), done: 0 }
    }

    fn go_on(&mut self, at: StoreAt<'_>, out: &mut impl ReplyBuffer, most: usize) -> bool {
        let keys = Keys::spaced(&self.keys[self.done..]);
        let mut retrieval = Retrieval { verb: self.verb, expiry: self.expiry, keys };
        let finished = retrieval.go_on(at, out, most);
        self.done = self.keys.len() - retrieval.keys.rest().len();
        finished
    }
}

/// Answers bytes that are no valid request, which `decoder` has just reported.
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

/// Carries out any request but quit and appends the answer, however long.
pub(crate) fn answer(
    clock: Clock,
    request: &Request<'_>,
    store: &Store,
    out: &mut impl ReplyBuffer,
) {
    let (silent, reply) = match *request {
        Request::Retrieve { verb, expiry, keys } => {
            let mut retrieval = Retrieval { verb, expiry, keys };
            while !retrieval.go_on(StoreAt { clock, store }, out, usize::MAX) {}
            return;
        }
        Request::Store { verb, key, flags, expiry, value, cas, noreply } => {
            let incoming = Incoming { verb, flags, ends_s: clock.ends_s(expiry), value, cas };
            (noreply, store.store(clock, key, &incoming))
        }
        Request::Delete { key, noreply } => (noreply, store.delete(clock, key)),
        Request::Arithmetic { verb, key, delta, noreply } => {
            (noreply, store.count(clock, key, verb, delta))
        }
        Request::Touch { key, expiry, noreply } => (noreply, store.touch(clock, key, expiry)),
        Request::Stats { argument } => return statistics(clock, argument, store, out.bytes()),
        Request::Version => (false, Reply::Version(VERSION.as_bytes())),
        Request::FlushAll { delay, noreply } => {
            store.flush(clock, delay);
            (noreply, Reply::Ok)
        }
        // The server writes no log, so the level has no effect.
        Request::Verbosity { noreply, .. } => (noreply, Reply::Ok),
        Request::Meta(ref request) => match request.command {
            meta::Command::Noop => return meta::encode::answer(out.bytes(), &Reply::Noop.into()),
            _ => return store.meta(clock, request, out),
        },
        Request::Quit => unreachable!("quit is not answered"),
    };
    write_unless(silent, out.bytes(), reply);
}

/// Answers `stats` ("Statistics" of the protocol document), as far as the server has these figures.
fn statistics(clock: Clock, argument: Option<&[u8]>, store: &Store, out: &mut Vec<u8>) {
    match argument {
        None => general(clock, store, out),
        Some(b"reset") => {
            store.reset_counters();
            encode::reply(out, &Reply::Reset);
        }
        Some(b"settings") => settings(store, out),
        // A session without a profile has no faults.
        Some(b"faults") => FaultCounts::default().write(out),
        Some(_) => {
            let unknown = ErrorReply { kind: ErrorKind::Error, message: b"" };
            encode::reply(out, &Reply::Error(unknown));
        }
    }
}

fn general(clock: Clock, store: &Store, out: &mut Vec<u8>) {
    // The session does not know the process that serves it.
    statistic(out, "pid", 0);
    statistic(out, "uptime", clock.now.ns() / 1_000_000_000);
    statistic(out, "time", clock.unix_s);
    statistic(out, "version", VERSION);
    statistic(out, "pointer_size", usize::BITS);
    for (name, value) in store.snapshot().named() {
        statistic(out, name, value);
    }
    encode::reply(out, &Reply::End);
}

/// Writes the limits of the store, which are the only settings.
fn settings(store: &Store, out: &mut Vec<u8>) {
    let StoreOptions { memory_bytes_max, item_bytes_max, .. } = *store.options();
    statistic(out, "maxbytes", memory_bytes_max);
    statistic(out, "item_size_max", item_bytes_max);
    encode::reply(out, &Reply::End);
}

fn statistic(out: &mut Vec<u8>, name: &str, value: impl ToString) {
    let (name, value) = (name.as_bytes(), value.to_string());
    encode::reply(out, &Reply::Stat { name, value: value.as_bytes() });
}

fn write_unless(silent: bool, out: &mut Vec<u8>, reply: Reply<'_>) {
    if !silent {
        encode::reply(out, &reply);
    }
}

#[cfg(test)]
mod tests;
