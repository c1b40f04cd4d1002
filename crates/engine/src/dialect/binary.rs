//! The binary protocol: operations as frames, and the frames that servers answer with. A get of
//! several keys is a sequence of quiet gets and a noop, whose answer ends them; all requests of one
//! operation carry the same number (opaque).

use super::content::Content;
use super::in_flight::InFlight;
use super::{GET_KEY, Reader, Role, SETTINGS, WireFormat};
use memtide_codec::binary::encode::{self, Head};
use memtide_codec::binary::{
    Answer, Extras, NEVER_CREATE, Opcode, ReplyDecoder, Request, Status, expiry,
};
use memtide_codec::{Malformed, Reply, sasl};
use memtide_workload::{Action, Op, OpKind, Source, Version, numeric_value};
use memtide_world::driver::{ConnectError, PeerError, Refusal, SendBuffer};
use memtide_world::plan::Plan;
use memtide_world::question::Question;

/// Encodes and decodes frames.
#[derive(Debug)]
pub(crate) struct Binary {
    /// True if answers must name their key, which verification needs.
    keyed: bool,
}

/// The fields of an answer that repeat or judge its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerHead {
    opcode: Opcode,
    opaque: u32,
    status: Status,
}

impl WireFormat for Binary {
    type Decoder = ReplyDecoder;
    type AnswerHead = AnswerHead;

    const NO_HEAD: AnswerHead =
        AnswerHead { opcode: Opcode::Noop, opaque: 0, status: Status::SUCCESS };

    fn has_quiet_form(&self, kind: OpKind) -> bool {
        let (loud, quiet) = opcodes(kind, self.keyed);
        loud != quiet
    }

    fn request<S: Source>(
        &self,
        content: &Content,
        op: &Op,
        source: &S,
        version: Option<Version>,
        opaque: u32,
        out: &mut SendBuffer,
    ) {
        let own = out.bytes_mut();
        if let (Action::CompareAndStore, Some(cas)) = (op.kind.action(), content.cas_unique) {
            let opcode = if content.noreply { Opcode::SetQ } else { Opcode::Set };
            return stored(content, Head { opcode, opaque, cas }, op.key, version, own);
        }
        let (loud, quiet) = opcodes(op.kind, self.keyed);
        let opcode = if content.noreply { quiet } else { loud };
        let head = Head { opcode, opaque, cas: 0 };
        match op.kind.action() {
            Action::Read if op.keys > 1 => several(content, op, source, opaque, own),
            Action::Read | Action::CompareAndStore | Action::Remove => {
                on_key(content, head, Extras::None, op.key, own);
            }
            Action::ReadAndTouch | Action::Touch => {
                let extras = Extras::Expiry(expiry(content.expiry_of(op.key)));
                on_key(content, head, extras, op.key, own);
            }
            Action::Store => stored(content, head, op.key, version, own),
            Action::Count => {
                let delta = content.values.delta(op.index);
                let extras = Extras::Count { delta, initial: 0, expiry: NEVER_CREATE };
                on_key(content, head, extras, op.key, own);
            }
            Action::Recache | Action::Invalidate | Action::Peek => {
                unreachable!("the plan's protocol is meta")
            }
        }
    }

    fn cas(
        &self,
        content: &Content,
        key: u64,
        unique: u64,
        version: Option<Version>,
        opaque: u32,
        out: &mut SendBuffer,
    ) {
        let head = Head { opcode: Opcode::Set, opaque, cas: unique };
        stored(content, head, key, version, out.bytes_mut());
    }

    /// Sends SASL PLAIN.
    fn authenticate(user: &[u8], password: &[u8], out: &mut Vec<u8>) {
        let head = Head { opcode: Opcode::SaslAuth, opaque: 0, cas: 0 };
        encode::request_with(
            out,
            head,
            Extras::None,
            |out| out.extend_from_slice(sasl::PLAIN),
            |out| sasl::plain(out, user, password),
        );
    }

    fn ask(question: Question<'_>, out: &mut Vec<u8>) {
        match question {
            Question::Version => encode::bare(out, Opcode::Version, 0),
            Question::Statistics => encode::bare(out, Opcode::Stat, 0),
            Question::Settings => {
                let (opcode, extras, key) = (Opcode::Stat, Extras::None, SETTINGS);
                let stat = Request { opcode, opaque: 0, cas: 0, extras, key, value: &[] };
                encode::request(out, &stat);
            }
            Question::Get => {
                let (opcode, extras) = (Opcode::Get, Extras::None);
                let key = GET_KEY;
                let get = Request { opcode, opaque: 0, cas: 0, extras, key, value: &[] };
                encode::request(out, &get);
            }
            Question::Line(_) => unreachable!("a line is asked in text"),
        }
    }

    #[inline(always)]
    fn decoder(reader: &mut Reader) -> &mut ReplyDecoder {
        let Reader::Binary(decoder) = reader else { unreachable!("a reader keeps its format") };
        decoder
    }

    #[inline(always)]
    fn next<'a, 'i: 'a>(
        decoder: &'a mut ReplyDecoder,
        input: &mut &'i [u8],
        head: &mut AnswerHead,
    ) -> Result<Option<Reply<'a>>, Malformed> {
        Ok(decoder.next(input)?.map(|answer| {
            let Answer { opcode, opaque, status, reply } = answer;
            *head = AnswerHead { opcode, opaque, status };
            reply
        }))
    }

    /// The decoder itself reports bytes that cannot become an answer.
    #[inline(always)]
    fn check_partial(_: &ReplyDecoder) -> Result<(), Malformed> {
        Ok(())
    }

    /// Decides by the fields that a frame repeats of its request.
    fn role<'a>(
        head: AnswerHead,
        reply: &Reply<'a>,
        turn: Option<(u32, &InFlight)>,
    ) -> Result<Role<'a>, PeerError> {
        match *reply {
            // The server sends it before any request, so it repeats no request's fields.
            Reply::Error(error) if error.is_too_many_connections() => return Ok(Role::Answer),
            _ if head.opcode.is_quiet() && !head.opcode.retrieves() => return Ok(Role::Aside),
            _ => {}
        }
        match (turn, *reply) {
            (Some((expected, _)), _) if expected != head.opaque => {
                Err(PeerError::OutOfTurn { expected, got: head.opaque })
            }
            (Some(_), Reply::Error(error)) if head.opcode.is_quiet() => Ok(Role::FailedPart(error)),
            _ => Ok(Role::Answer),
        }
    }

    fn welcome(head: AnswerHead, reply: &Reply<'_>) -> Option<Result<(), ConnectError>> {
        match reply {
            Reply::Ok => Some(Ok(())),
            Reply::Error(error) => Some(Err(match head.status {
                Status::AUTHENTICATION_CONTINUE => ConnectError::CredentialsUnfinished,
                Status::UNKNOWN_COMMAND | Status::NOT_SUPPORTED => {
                    ConnectError::CredentialsUnwanted(Refusal::of(error))
                }
                _ => ConnectError::CredentialsRefused(Refusal::of(error)),
            })),
            _ => None,
        }
    }
}

impl Binary {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { keyed: plan.verify.is_some() }
    }
}

fn several<S: Source>(content: &Content, op: &Op, source: &S, opaque: u32, out: &mut Vec<u8>) {
    let head = Head { opcode: Opcode::GetKQ, opaque, cas: 0 };
    on_key(content, head, Extras::None, op.key, out);
    for nth in 1..op.keys {
        on_key(content, head, Extras::None, source.key(op, nth), out);
    }
    encode::bare(out, Opcode::Noop, opaque);
}

fn on_key(content: &Content, head: Head, extras: Extras, key: u64, out: &mut Vec<u8>) {
    encode::request_with(out, head, extras, |out| content.keys.write(key, out), |_| {});
}

fn stored(content: &Content, head: Head, key: u64, version: Option<Version>, out: &mut Vec<u8>) {
    let extras = match head.opcode.loud() {
        // Append and prepend do not change flags and expiry.
        Opcode::Append | Opcode::Prepend => Extras::None,
        _ => Extras::Store { flags: content.flags, expiry: expiry(content.expiry_of(key)) },
    };
    encode::request_with(
        out,
        head,
        extras,
        |out| content.keys.write(key, out),
        |out| match version {
            _ if key >= content.numeric_from => {
                out.extend_from_slice(&numeric_value(key, content.seed));
            }
            Some(version) => content.values.write(key, version, out),
            None => out.extend_from_slice(content.values.slice(key)),
        },
    );
}

/// The command of an operation on one key, and its quiet form if it has one. Every frame with a
/// value also has its version, so kinds that differ only in that use one command.
fn opcodes(kind: OpKind, keyed: bool) -> (Opcode, Opcode) {
    let get = if keyed { Opcode::GetK } else { Opcode::Get };
    let gat = if keyed { Opcode::GatK } else { Opcode::Gat };
    match kind {
        // The last three are not sent.
        OpKind::Get
        | OpKind::Gets
        | OpKind::Cas
        | OpKind::Recache
        | OpKind::Invalidate
        | OpKind::Peek => (get, get),
        OpKind::Gat | OpKind::Gats => (gat, gat),
        OpKind::Touch => (Opcode::Touch, Opcode::Touch),
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
