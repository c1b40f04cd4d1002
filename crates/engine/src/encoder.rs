//! Where operations become requests: the one place in which workload and protocol meet on the
//! way out. Appends to a buffer, to which large values go by reference; allocates only when that
//! buffer must grow.

mod binary;

use crate::driver::{SPLICE_BYTES_MIN, SendBuffer};
use crate::plan::{Plan, Protocol};
use memtide_codec::Verb;
use memtide_codec::text::encode::{self, LineEnd, StoreTail};
use memtide_workload::{
    Action, Expiring, KeySpace, Op, OpKind, Source, ValueSpace, Version, numeric_value,
};

/// Turns operations into requests of the plan's protocol.
#[derive(Debug)]
pub(crate) struct Encoder {
    protocol: Protocol,
    /// The command of each kind of operation.
    verbs: [Verb; OpKind::COUNT],
    /// Whether answers have to say which key they are about.
    keyed: bool,
    keys: KeySpace,
    values: ValueSpace,
    noreply: bool,
    /// How a line ends that asks for an answer.
    line_end: LineEnd,
    /// What a cas says without reading it first.
    cas_unique: Option<u64>,
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
            verbs: OpKind::ALL.map(verb_of),
            keyed: plan.verify.is_some(),
            keys: plan.keys.clone(),
            values: plan.values.clone(),
            noreply: plan.requests.noreply,
            line_end: if plan.requests.blank { LineEnd::Blank } else { LineEnd::Plain },
            cas_unique: plan.requests.cas_unique,
            expiry: plan.requests.expiry,
            expiring: plan.requests.expiring,
            flags: plan.requests.flags,
            seed: plan.seed,
            numeric_from: plan.numeric_from,
        }
    }

    /// Whether an operation of this kind asks for no answer.
    pub(crate) fn is_noreply(&self, kind: OpKind) -> bool {
        self.noreply && (self.has_quiet_form(kind) || self.is_cas_alone(kind))
    }

    fn has_quiet_form(&self, kind: OpKind) -> bool {
        match self.protocol {
            Protocol::Text => kind.allows_noreply(),
            Protocol::Binary => binary::has_quiet_form(kind),
        }
    }

    /// Whether an operation of this kind is a cas that reads nothing first.
    pub(crate) fn is_cas_alone(&self, kind: OpKind) -> bool {
        kind.does(Action::CompareAndStore) && self.cas_unique.is_some()
    }

    /// Appends the request of `op`; of a cas that reads first, its gets. A value proves itself
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
            Protocol::Text => self.store((Verb::Cas, Some(unique)), key, version, out),
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
        let end = || self.end(op.kind);
        let own = out.bytes_mut();
        match op.kind.action() {
            Action::CompareAndStore if self.cas_unique.is_some() => {
                self.store((Verb::Cas, self.cas_unique), op.key, version, out);
            }
            Action::CompareAndStore => self.retrieval(Verb::Gets, op, source, own),
            Action::Read => self.retrieval(self.verb(op.kind), op, source, own),
            Action::ReadAndTouch => {
                encode::command(own, self.verb(op.kind));
                encode::signed(own, self.expiry_of(op.key));
                self.key(op.key, own);
                encode::line_end(own, end());
            }
            Action::Store => self.store((self.verb(op.kind), None), op.key, version, out),
            Action::Remove => {
                encode::command(own, self.verb(op.kind));
                self.key(op.key, own);
                encode::line_end(own, end());
            }
            Action::Count => {
                encode::command(own, self.verb(op.kind));
                self.key(op.key, own);
                encode::number(own, self.values.delta(op.index));
                encode::line_end(own, end());
            }
            Action::Touch => {
                encode::command(own, self.verb(op.kind));
                self.key(op.key, own);
                encode::signed(own, self.expiry_of(op.key));
                encode::line_end(own, end());
            }
        }
    }

    /// The command that asks for an operation of this kind.
    #[inline]
    fn verb(&self, kind: OpKind) -> Verb {
        self.verbs[kind.index()]
    }

    fn retrieval<S: Source>(&self, verb: Verb, op: &Op, source: &S, out: &mut Vec<u8>) {
        encode::command(out, verb);
        self.key(op.key, out);
        for nth in 1..op.keys {
            self.key(source.key(op, nth), out);
        }
        encode::line_end(out, self.line_end);
    }

    /// How the line of an operation of this kind ends.
    fn end(&self, kind: OpKind) -> LineEnd {
        if self.is_noreply(kind) { LineEnd::Noreply } else { self.line_end }
    }

    /// Appends a storage command, and with a cas the number that must still be valid.
    fn store(
        &self,
        command: (Verb, Option<u64>),
        key: u64,
        version: Option<Version>,
        out: &mut SendBuffer,
    ) {
        if key >= self.numeric_from {
            let number = numeric_value(key, self.seed);
            self.store_head(command, key, number.len(), out.bytes_mut());
            out.bytes_mut().extend_from_slice(&number);
        } else if let Some(version) = version {
            self.store_head(command, key, self.values.len(key), out.bytes_mut());
            self.values.write(key, version, out.bytes_mut());
        } else {
            let place = self.values.pooled(key);
            let pool = self.values.pool();
            self.store_head(command, key, place.len(), out.bytes_mut());
            if place.len() < SPLICE_BYTES_MIN {
                out.bytes_mut().extend_from_slice(&pool[place]);
            } else {
                out.push_pooled(pool, place);
            }
        }
        out.bytes_mut().extend_from_slice(b"\r\n");
    }

    fn store_head(
        &self,
        (verb, cas): (Verb, Option<u64>),
        key: u64,
        bytes: usize,
        out: &mut Vec<u8>,
    ) {
        encode::command(out, verb);
        self.key(key, out);
        let is_quiet = self.noreply && (cas.is_none() || self.cas_unique.is_some());
        let end = if is_quiet { LineEnd::Noreply } else { self.line_end };
        let tail = StoreTail { flags: self.flags, expiry: self.expiry_of(key), bytes, cas, end };
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

/// The command of a kind of operation, which is named after it.
fn verb_of(kind: OpKind) -> Verb {
    Verb::from_word(kind.name().as_bytes()).expect("every kind is a command of memcached")
}
