//! Where operations become requests: the one place in which workload and protocol meet on the
//! way out. Appends to a buffer, to which large values go by reference; allocates only when that
//! buffer must grow.

mod binary;

use crate::driver::{SPLICE_BYTES_MIN, SendBuffer};
use crate::plan::{Plan, Protocol};
use memtide_codec::Verb;
use memtide_codec::text::encode::{self, StoreTail};
use memtide_workload::{
    Expiring, KeySpace, Op, OpKind, Source, ValueSpace, Version, numeric_value,
};

/// Turns operations into requests of the plan's protocol.
#[derive(Debug)]
pub(crate) struct Encoder {
    protocol: Protocol,
    /// Whether answers have to say which key they are about.
    keyed: bool,
    keys: KeySpace,
    values: ValueSpace,
    noreply: bool,
    expiry: i64,
    expiring: Expiring,
    flags: u32,
    seed: u64,
    numeric_from: u64,
}

impl Encoder {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            protocol: plan.requests.protocol,
            keyed: plan.verify.is_some(),
            keys: plan.keys.clone(),
            values: plan.values.clone(),
            noreply: plan.requests.noreply,
            expiry: plan.requests.expiry,
            expiring: plan.requests.expiring,
            flags: plan.requests.flags,
            seed: plan.seed,
            numeric_from: plan.numeric_from,
        }
    }

    /// Whether an operation of this kind asks for no answer.
    pub(crate) fn is_noreply(&self, kind: OpKind) -> bool {
        // A touch in frames is the one that has no quiet form.
        let has_quiet_form = self.protocol == Protocol::Text || kind != OpKind::Touch;
        self.noreply && kind.allows_noreply() && has_quiet_form
    }

    /// Appends the request of `op`; of a cas, its first request, the gets. A value proves itself
    /// if it has a version, and a frame bears the number `opaque`.
    pub(crate) fn request<S: Source>(
        &self,
        op: &Op,
        source: &S,
        (version, opaque): (Option<Version>, u32),
        out: &mut SendBuffer,
    ) {
        match self.protocol {
            Protocol::Text => self.lines(op, source, version, out),
            Protocol::Binary => self.frames(op, source, (version, opaque), out.bytes_mut()),
        }
    }

    /// Appends the second request of a cas, with the number that its gets brought.
    pub(crate) fn cas(
        &self,
        key: u64,
        unique: u64,
        (version, opaque): (Option<Version>, u32),
        out: &mut SendBuffer,
    ) {
        match self.protocol {
            Protocol::Text => self.store(Verb::Cas, key, version, Some(unique), out),
            Protocol::Binary => self.cas_frame(key, unique, (version, opaque), out.bytes_mut()),
        }
    }

    fn lines<S: Source>(
        &self,
        op: &Op,
        source: &S,
        version: Option<Version>,
        out: &mut SendBuffer,
    ) {
        let noreply = self.is_noreply(op.kind);
        let own = out.bytes_mut();
        match op.kind {
            OpKind::Get => self.retrieval(Verb::Get, op, source, own),
            OpKind::Gets | OpKind::Cas => self.retrieval(Verb::Gets, op, source, own),
            OpKind::Gat => {
                encode::command(own, Verb::Gat);
                encode::signed(own, self.expiry_of(op.key));
                self.key(op.key, own);
                encode::line_end(own, false);
            }
            OpKind::Set => self.store(Verb::Set, op.key, version, None, out),
            OpKind::Add => self.store(Verb::Add, op.key, version, None, out),
            OpKind::Replace => self.store(Verb::Replace, op.key, version, None, out),
            OpKind::Append => self.store(Verb::Append, op.key, version, None, out),
            OpKind::Prepend => self.store(Verb::Prepend, op.key, version, None, out),
            OpKind::Delete => {
                encode::command(own, Verb::Delete);
                self.key(op.key, own);
                encode::line_end(own, noreply);
            }
            OpKind::Incr | OpKind::Decr => {
                let verb = if op.kind == OpKind::Incr { Verb::Incr } else { Verb::Decr };
                encode::command(own, verb);
                self.key(op.key, own);
                encode::number(own, 1);
                encode::line_end(own, noreply);
            }
            OpKind::Touch => {
                encode::command(own, Verb::Touch);
                self.key(op.key, own);
                encode::signed(own, self.expiry_of(op.key));
                encode::line_end(own, noreply);
            }
        }
    }

    fn retrieval<S: Source>(&self, verb: Verb, op: &Op, source: &S, out: &mut Vec<u8>) {
        encode::command(out, verb);
        self.key(op.key, out);
        for nth in 1..op.keys {
            self.key(source.key(op, nth), out);
        }
        encode::line_end(out, false);
    }

    fn store(
        &self,
        verb: Verb,
        key: u64,
        version: Option<Version>,
        cas: Option<u64>,
        out: &mut SendBuffer,
    ) {
        if key >= self.numeric_from {
            let number = numeric_value(key, self.seed);
            self.store_head(verb, key, number.len(), cas, out.bytes_mut());
            out.bytes_mut().extend_from_slice(&number);
        } else if let Some(version) = version {
            self.store_head(verb, key, self.values.len(key), cas, out.bytes_mut());
            self.values.write(key, version, out.bytes_mut());
        } else {
            let place = self.values.pooled(key);
            let pool = self.values.pool();
            self.store_head(verb, key, place.len(), cas, out.bytes_mut());
            if place.len() < SPLICE_BYTES_MIN {
                out.bytes_mut().extend_from_slice(&pool[place]);
            } else {
                out.push_pooled(pool, place);
            }
        }
        out.bytes_mut().extend_from_slice(b"\r\n");
    }

    fn store_head(&self, verb: Verb, key: u64, bytes: usize, cas: Option<u64>, out: &mut Vec<u8>) {
        encode::command(out, verb);
        self.key(key, out);
        let noreply = self.noreply && cas.is_none();
        let expiry = self.expiry_of(key);
        let tail = StoreTail { flags: self.flags, expiry, bytes, cas, noreply };
        encode::store_tail(out, tail);
    }

    /// The expiry with which `key` is stored.
    fn expiry_of(&self, key: u64) -> i64 {
        if self.expiring.includes(self.seed, key) { self.expiry } else { 0 }
    }

    fn key(&self, id: u64, out: &mut Vec<u8>) {
        encode::key_with(out, |out| self.keys.write(id, out));
    }
}
