//! The contents of requests in every protocol: keys, values and their expiry.

use memtide_base::ServerId;
use memtide_workload::{Action, Expiring, KeySpace, OpKind, ValueSpace, Version, numeric_value};
use memtide_world::driver::{SPLICE_BYTES_MIN, SendBuffer};
use memtide_world::plan::{Credentials, Plan};
use std::sync::Arc;

/// The contents of a plan's requests.
#[derive(Debug)]
pub(crate) struct Content {
    pub(super) keys: KeySpace,
    pub(super) values: ValueSpace,
    /// Keys from this id on hold numbers.
    pub(super) numeric_from: u64,
    pub(super) seed: u64,
    pub(super) flags: u32,
    expiry: i64,
    expiring: Expiring,
    /// The unique number that a cas sends without reading it first; none if it reads first.
    pub(super) cas_unique: Option<u64>,
    pub(super) noreply: bool,
    pub(super) credentials: Option<Arc<Credentials>>,
    /// Servers and keys with the cas numbers of their values, at the place that follows from both;
    /// empty unless the plan peeks.
    known: Vec<(ServerId, u64, u64)>,
    /// The server of the requests that are made now.
    pub(super) server: ServerId,
}

/// The most keys whose cas number is known: a key takes the place of another.
const KNOWN_PLACES: usize = 1 << 14;

/// The place of a server's key; the same key of another server has another one.
fn place_of(server: ServerId, key: u64) -> usize {
    // The golden section of the places: however many servers there are, they lie far apart.
    const APART: usize = 10_127;
    (key as usize).wrapping_add(usize::from(server.0).wrapping_mul(APART)) % KNOWN_PLACES
}

impl Content {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            keys: plan.keys.clone(),
            values: plan.values.clone(),
            numeric_from: plan.numeric_from,
            seed: plan.source.seed,
            flags: plan.requests.flags,
            expiry: plan.requests.expiry,
            expiring: plan.requests.expiring,
            cas_unique: plan.requests.cas_unique,
            noreply: plan.requests.noreply,
            credentials: plan.credentials.clone(),
            known: match plan.source.mix.kinds().any(|kind| kind.does(Action::Peek)) {
                true => vec![(ServerId(0), 0, 0); KNOWN_PLACES],
                false => Vec::new(),
            },
            server: ServerId(0),
        }
    }

    /// Remembers the cas number of the value of `key` on this server.
    pub(super) fn remember(&mut self, server: ServerId, key: u64, unique: u64) {
        self.known[place_of(server, key)] = (server, key, unique);
    }

    /// The cas number of the value of `key` that was read last from the present server, if it is
    /// known.
    pub(super) fn known(&self, key: u64) -> Option<u64> {
        let (server, of, unique) = *self.known.get(place_of(self.server, key))?;
        (server == self.server && of == key && unique != 0).then_some(unique)
    }

    /// True if an operation of this kind is a cas that reads nothing first.
    #[inline]
    pub(super) fn is_cas_alone(&self, kind: OpKind) -> bool {
        kind.does(Action::CompareAndStore) && self.cas_unique.is_some()
    }

    /// The expiry that `key` is stored with, as the protocol's number; 0 means never.
    pub(super) fn expiry_of(&self, key: u64) -> i64 {
        if self.expiring.includes(self.seed, key) { self.expiry } else { 0 }
    }

    /// Appends the line of a store, which `line` writes for the value's length, the value of `key`
    /// in this version, if it has one, and the line's end behind it.
    #[inline(always)]
    pub(super) fn line_and_value(
        &self,
        key: u64,
        version: Option<Version>,
        out: &mut SendBuffer,
        line: impl Fn(&mut Vec<u8>, usize),
    ) {
        let values = &self.values;
        if key >= self.numeric_from {
            let number = numeric_value(key, self.seed);
            line(out.bytes_mut(), number.len());
            out.bytes_mut().extend_from_slice(&number);
        } else if let Some(version) = version {
            line(out.bytes_mut(), values.len(key));
            values.write(key, version, out.bytes_mut());
        } else {
            let place = values.pooled(key);
            let pool = values.pool();
            line(out.bytes_mut(), place.len());
            if place.len() < SPLICE_BYTES_MIN {
                out.bytes_mut().extend_from_slice(&pool[place]);
            } else {
                out.push_pooled(pool, place);
            }
        }
        out.bytes_mut().extend_from_slice(b"\r\n");
    }
}

/// Appends a space and the key with this number.
#[inline]
pub(super) fn write_key(content: &Content, id: u64, out: &mut Vec<u8>) {
    content.keys.write_spaced(id, out);
}
