//! Operations as frames. Several keys are asked for by quiet gets and a noop, whose answer ends
//! them; all requests of one operation bear the same number.

use super::Encoder;
use memtide_codec::binary::encode::{self, Head};
use memtide_codec::binary::{Extras, NEVER_CREATE, Opcode, expiry};
use memtide_workload::{Action, Op, OpKind, Source, Version, numeric_value};

impl Encoder {
    pub(super) fn frames<S: Source>(
        &self,
        op: &Op,
        source: &S,
        (version, opaque): (Option<Version>, u32),
        out: &mut Vec<u8>,
    ) {
        if let (Action::CompareAndStore, Some(unique)) = (op.kind.action(), self.cas_unique) {
            let opcode = if self.noreply { Opcode::SetQ } else { Opcode::Set };
            return self.stored(Head { opcode, opaque, cas: unique }, op.key, version, out);
        }
        let (loud, quiet) = opcodes(op.kind, self.keyed);
        let opcode = if self.is_noreply(op.kind) { quiet } else { loud };
        let head = Head { opcode, opaque, cas: 0 };
        match op.kind.action() {
            Action::Read if op.keys > 1 => self.several(op, source, opaque, out),
            Action::Read | Action::CompareAndStore | Action::Remove => {
                self.on_key(head, Extras::None, op.key, out);
            }
            Action::ReadAndTouch | Action::Touch => {
                self.on_key(head, Extras::Expiry(expiry(self.expiry_of(op.key))), op.key, out);
            }
            Action::Store => self.stored(head, op.key, version, out),
            Action::Count => {
                let delta = self.values.delta(op.index);
                let extras = Extras::Count { delta, initial: 0, expiry: NEVER_CREATE };
                self.on_key(head, extras, op.key, out);
            }
        }
    }

    pub(super) fn cas_frame(
        &self,
        key: u64,
        unique: u64,
        (version, opaque): (Option<Version>, u32),
        out: &mut Vec<u8>,
    ) {
        self.stored(Head { opcode: Opcode::Set, opaque, cas: unique }, key, version, out);
    }

    fn several<S: Source>(&self, op: &Op, source: &S, opaque: u32, out: &mut Vec<u8>) {
        let head = Head { opcode: Opcode::GetKQ, opaque, cas: 0 };
        self.on_key(head, Extras::None, op.key, out);
        for nth in 1..op.keys {
            self.on_key(head, Extras::None, source.key(op, nth), out);
        }
        encode::bare(out, Opcode::Noop, opaque);
    }

    fn on_key(&self, head: Head, extras: Extras, key: u64, out: &mut Vec<u8>) {
        encode::request_with(out, head, extras, |out| self.keys.write(key, out), |_| {});
    }

    fn stored(&self, head: Head, key: u64, version: Option<Version>, out: &mut Vec<u8>) {
        let extras = match head.opcode.loud() {
            // These leave flags and expiry as they are.
            Opcode::Append | Opcode::Prepend => Extras::None,
            _ => Extras::Store { flags: self.flags, expiry: expiry(self.expiry_of(key)) },
        };
        let write_key = |out: &mut Vec<u8>| self.keys.write(key, out);
        let write_value = |out: &mut Vec<u8>| match version {
            _ if key >= self.numeric_from => {
                out.extend_from_slice(&numeric_value(key, self.seed));
            }
            Some(version) => self.values.write(key, version, out),
            None => out.extend_from_slice(self.values.slice(key)),
        };
        encode::request_with(out, head, extras, write_key, write_value);
    }
}

/// Whether an operation of this kind can be sent without wanting an answer.
pub(super) fn has_quiet_form(kind: OpKind) -> bool {
    let (loud, quiet) = opcodes(kind, false);
    loud != quiet
}

/// The command of an operation on one key, and its quiet form if it has one. Every frame that
/// brings a value brings its version too, so what differs in that alone is one command.
fn opcodes(kind: OpKind, keyed: bool) -> (Opcode, Opcode) {
    let both = |opcode| (opcode, opcode);
    match kind {
        OpKind::Get | OpKind::Gets | OpKind::Cas => {
            both(if keyed { Opcode::GetK } else { Opcode::Get })
        }
        OpKind::Gat => both(if keyed { Opcode::GatK } else { Opcode::Gat }),
        OpKind::Touch => both(Opcode::Touch),
        OpKind::Set => (Opcode::Set, Opcode::SetQ),
        OpKind::Add => (Opcode::Add, Opcode::AddQ),
        OpKind::Replace => (Opcode::Replace, Opcode::ReplaceQ),
        OpKind::Append => (Opcode::Append, Opcode::AppendQ),
        OpKind::Prepend => (Opcode::Prepend, Opcode::PrependQ),
        OpKind::Delete => (Opcode::Delete, Opcode::DeleteQ),
        OpKind::Incr => (Opcode::Increment, Opcode::IncrementQ),
        OpKind::Decr => (Opcode::Decrement, Opcode::DecrementQ),
    }
}
