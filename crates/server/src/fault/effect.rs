//! Changes an answer as a fault says. Only the answer is changed: the store is read, without
//! counting or using items, and never written.

use super::FaultKind;
use crate::clock::Clock;
use crate::store::Store;
use memtide_base::{Instant, Random, Span};
use memtide_codec::meta::{self, Command, Flag, Flags};
use memtide_codec::text::{ReplyDecoder, encode};
use memtide_codec::{ErrorKind, ErrorReply, Keys, Reply, base64};
use std::collections::HashMap;

const SERVER_ERROR: Reply<'static> =
    Reply::Error(ErrorReply { kind: ErrorKind::Server, message: b"this fault was asked for" });
/// The age of a replacement from which the previous value counts as stale: by then every client has
/// received the answer to the write.
const STALE_AFTER: Span = Span::from_ms(100);
/// The memory for older values, in bytes; values beyond it are not kept.
const VERSIONS_BYTES_MAX: usize = 256 << 20;
/// Approximate number of bytes that an older value needs beside its own and its key's.
const VERSION_BYTES_OVERHEAD: usize = 96;

/// The state that a fault may read.
pub(crate) struct Scene<'a> {
    /// The time of the request.
    pub clock: Clock,
    /// The server's items.
    pub store: &'a Store,
    /// The previous values of the server's keys.
    pub versions: &'a Versions,
    /// A value of one of the request's keys that expired before the request; `None` if there is
    /// none.
    pub late: Option<&'a Late>,
}

/// An answer: the bytes of `out` from `from` on.
pub(crate) struct WrittenAnswer<'a> {
    pub out: &'a mut Vec<u8>,
    pub from: usize,
}

impl WrittenAnswer<'_> {
    fn bytes(&self) -> &[u8] {
        &self.out[self.from..]
    }

    /// Removes the answer; returns where another one is written.
    fn cleared(&mut self) -> &mut Vec<u8> {
        self.out.truncate(self.from);
        self.out
    }
}

/// A value that has expired, found by a request that would make the server forget it.
pub(crate) struct Late {
    /// The number of the request's keys before it.
    place: usize,
    value: Value,
}

/// A value within an answer.
struct Value {
    key: Vec<u8>,
    flags: u32,
    cas: Option<u64>,
    bytes: Vec<u8>,
}

impl Late {
    /// The first of `keys` whose value has expired and is still there.
    pub fn find(clock: Clock, keys: Keys<'_>, with_cas: bool, store: &Store) -> Option<Self> {
        keys.enumerate().find_map(|(place, key)| {
            let (flags, cas, bytes) = store.expired(clock, key)?;
            let cas = with_cas.then_some(cas);
            Some(Self { place, value: Value { key: key.to_vec(), flags, cas, bytes } })
        })
    }
}

impl Scene<'_> {
    /// Applies `kind` to the answer. False if it cannot be applied to this
    /// answer, which then is unchanged. Reset, stall and refuse do not change answers.
    pub fn strike(
        &self,
        kind: FaultKind,
        keys: Option<Keys<'_>>,
        random: &mut Random,
        mut answer: WrittenAnswer<'_>,
    ) -> bool {
        if let Some(done) = strike_whole(kind, random, &mut answer) {
            return done;
        }
        let Some((keys, mut values)) = keys.zip(values_in(answer.bytes())) else { return false };
        if !self.change(kind, keys, random, &mut values) {
            return false;
        }
        let out = answer.cleared();
        for Value { key, flags, cas, bytes } in &values {
            let (flags, cas) = (*flags, *cas);
            encode::reply(out, &Reply::Value { key, flags, bytes: bytes.len(), cas });
            encode::reply(out, &Reply::Data { bytes, ends: true });
        }
        encode::reply(out, &Reply::End);
        true
    }

    /// Applies `kind` to the answer to a request of the meta protocol: see [`Self::strike`]. A
    /// value that has expired is not returned late.
    pub fn strike_meta(
        &self,
        kind: FaultKind,
        request: &meta::Request<'_>,
        random: &mut Random,
        mut answer: WrittenAnswer<'_>,
    ) -> bool {
        if let Some(done) = strike_whole(kind, random, &mut answer) {
            return done;
        }
        if request.command != Command::Get {
            return false;
        }
        let Some((flags, bytes)) = meta_value(answer.bytes()) else { return false };
        let key = request.raw_key(&mut [0; base64::RAW_BYTES_MAX]).to_vec();
        let mut value = Value { key, flags: 0, cas: None, bytes };
        if !self.change_one(kind, random, &mut value) {
            return false;
        }
        let out = answer.cleared();
        if kind != FaultKind::ExpireEarly {
            meta::encode::value_head(out, value.bytes.len());
            out.extend_from_slice(&flags);
            meta::encode::line_end(out);
            encode::reply(out, &Reply::Data { bytes: &value.bytes, ends: true });
        } else if !request.options.has(Flag::Quiet) {
            meta::encode::code(out, Reply::End);
            let repeated = [Flag::Opaque, Flag::Key, Flag::Base64];
            let words = Flags::spaced(&flags);
            for word in words.filter(|word| repeated.iter().any(|flag| *flag as u8 == word.letter))
            {
                out.extend_from_slice(&[b' ', word.letter]);
                out.extend_from_slice(word.token);
            }
            meta::encode::line_end(out);
        }
        true
    }

    /// Changes one of the values, beginning with a random one.
    fn change(
        &self,
        kind: FaultKind,
        keys: Keys<'_>,
        random: &mut Random,
        values: &mut Vec<Value>,
    ) -> bool {
        if kind == FaultKind::ExpireLate {
            return self.late.is_some_and(|late| late.insert(keys, values));
        }
        if values.is_empty() {
            return false;
        }
        let first = random.below(values.len() as u64) as usize;
        let places = (first..values.len()).chain(0..first);
        let struck = places.into_iter().find(|&at| self.change_one(kind, random, &mut values[at]));
        if let (FaultKind::ExpireEarly, Some(at)) = (kind, struck) {
            values.remove(at);
        }
        struck.is_some()
    }

    fn change_one(&self, kind: FaultKind, random: &mut Random, value: &mut Value) -> bool {
        let Value { key, bytes, .. } = value;
        match kind {
            FaultKind::Truncate if !bytes.is_empty() => {
                bytes.truncate(random.below(bytes.len() as u64) as usize);
                true
            }
            FaultKind::Flip if !bytes.is_empty() => {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
                true
            }
            FaultKind::OtherKey => match self.store.other_value(self.clock, key, bytes, random) {
                Some(other) => {
                    *bytes = other;
                    true
                }
                None => false,
            },
            FaultKind::Stale => match self.versions.before(key, self.clock.now) {
                Some(older) if older != bytes => {
                    *bytes = older.to_vec();
                    true
                }
                _ => false,
            },
            FaultKind::ExpireEarly => true,
            _ => false,
        }
    }
}

impl Late {
    /// Inserts the value at its key's position in the answer; false if another value is there.
    fn insert(&self, keys: Keys<'_>, values: &mut Vec<Value>) -> bool {
        let mut at = 0;
        for (place, key) in keys.enumerate() {
            let is_here = values.get(at).is_some_and(|value| value.key == key);
            if place == self.place {
                if !is_here {
                    let Value { key, flags, cas, bytes } = &self.value;
                    let (key, bytes) = (key.clone(), bytes.clone());
                    values.insert(at, Value { key, flags: *flags, cas: *cas, bytes });
                }
                return !is_here;
            }
            at += usize::from(is_here);
        }
        false
    }
}

/// Replaces a whole answer, if `kind` does that; returns whether it could. `None` for other faults.
fn strike_whole(
    kind: FaultKind,
    random: &mut Random,
    answer: &mut WrittenAnswer<'_>,
) -> Option<bool> {
    if answer.bytes().is_empty() {
        return Some(false); // The client wants no answer, so there is none to be wrong.
    }
    match kind {
        FaultKind::ServerError => encode::reply(answer.cleared(), &SERVER_ERROR),
        FaultKind::Garbage => {
            let out = answer.cleared();
            out.extend_from_slice(b"?");
            out.extend((0..16).map(|_| b'a' + random.below(26) as u8));
            out.extend_from_slice(b"\r\n");
        }
        _ => return None,
    }
    Some(true)
}

/// The flags and the value of an answer to `mg`; `None` if it has no value.
fn meta_value(mut answer: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut decoder = meta::ReplyDecoder::new();
    let head = decoder.next(&mut answer).ok()??;
    let flags = matches!(head.reply, Reply::Value { .. }).then(|| head.flags.rest().to_vec())?;
    match decoder.next(&mut answer).ok()??.reply {
        Reply::Data { bytes, ends: true } => Some((flags, bytes.to_vec())),
        _ => None,
    }
}

/// The values of a retrieval's answer; `None` if it is another answer.
fn values_in(mut answer: &[u8]) -> Option<Vec<Value>> {
    let mut decoder = ReplyDecoder::new();
    let mut values: Vec<Value> = Vec::new();
    loop {
        match decoder.next(&mut answer).ok()?? {
            Reply::Value { key, flags, cas, .. } => {
                values.push(Value { key: key.to_vec(), flags, cas, bytes: Vec::new() });
            }
            Reply::Data { bytes, .. } => values.last_mut()?.bytes.extend_from_slice(bytes),
            Reply::End => return Some(values),
            _ => return None,
        }
    }
}

/// The previous values of keys, kept only for a server with stale faults; at most 256 MiB. Values
/// replaced while this memory is full are not kept.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    older: HashMap<Box<[u8]>, Version>,
    bytes: usize,
}

#[derive(Debug)]
struct Version {
    value: Vec<u8>,
    /// The instant at which the answer to the replacing write left.
    replaced: Instant,
}

impl Versions {
    /// Records that `key` had the value `before`, and that the answer to the replacing write left
    /// at `replaced`.
    pub fn replaced(&mut self, key: &[u8], before: Vec<u8>, replaced: Instant) {
        self.forget(key);
        let bytes = counted_bytes(key, &before);
        if self.bytes + bytes <= VERSIONS_BYTES_MAX {
            self.bytes += bytes;
            debug_assert!(self.bytes <= VERSIONS_BYTES_MAX, "versions without room are forgotten");
            self.older.insert(key.into(), Version { value: before, replaced });
        }
    }

    /// Records that `key` had no value before the present one, or has none at present.
    pub fn forget(&mut self, key: &[u8]) {
        if let Some(version) = self.older.remove(key) {
            self.bytes -= counted_bytes(key, &version.value);
        }
    }

    /// The value that `key` had before the present one, if it was replaced long enough ago.
    fn before(&self, key: &[u8], now: Instant) -> Option<&[u8]> {
        let version = self.older.get(key)?;
        (version.replaced + STALE_AFTER <= now).then_some(&version.value)
    }
}

fn counted_bytes(key: &[u8], value: &[u8]) -> usize {
    key.len() + value.len() + VERSION_BYTES_OVERHEAD
}
