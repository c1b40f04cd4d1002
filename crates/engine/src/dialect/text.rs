//! The text protocol: operations as lines, and the lines that servers answer with.

use super::content::{Content, write_key};
use super::in_flight::InFlight;
use super::{GET_KEY, Reader, Role, SETTINGS, WireFormat};
use memtide_codec::text::ReplyDecoder;
use memtide_codec::text::encode::{self, LineEnd, StoreTail};
use memtide_codec::{Keys, Malformed, Reply, Request, Verb};
use memtide_workload::{Action, Op, OpKind, Source, Version};
use memtide_world::driver::{ConnectError, PeerError, Refusal, SendBuffer};
use memtide_world::plan::Plan;
use memtide_world::question::Question;

/// Encodes and decodes lines.
#[derive(Debug)]
pub(crate) struct Text {
    /// The command of each kind of operation.
    verbs: [Verb; OpKind::COUNT],
    /// The end of a line that requests an answer.
    line_end: LineEnd,
}

/// A text reply says nothing of its request; the order of replies does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoHead;

impl WireFormat for Text {
    type Decoder = ReplyDecoder;
    /// A line repeats nothing of its request.
    type AnswerHead = NoHead;

    const NO_HEAD: NoHead = NoHead;

    #[inline]
    fn has_quiet_form(&self, kind: OpKind) -> bool {
        kind.allows_noreply()
    }

    fn request<S: Source>(
        &self,
        content: &Content,
        op: &Op,
        source: &S,
        version: Option<Version>,
        _: u32,
        out: &mut SendBuffer,
    ) {
        let own = out.bytes_mut();
        match op.kind.action() {
            Action::CompareAndStore if content.cas_unique.is_some() => {
                self.store(content, Verb::Cas, content.cas_unique, op.key, version, out);
            }
            Action::CompareAndStore => self.retrieval(content, Verb::Gets, op, source, own),
            Action::Read => self.retrieval(content, self.verb(op.kind), op, source, own),
            Action::ReadAndTouch => {
                encode::command(own, self.verb(op.kind));
                encode::signed(own, content.expiry_of(op.key));
                write_key(content, op.key, own);
                encode::line_end(own, self.end(content, op.kind));
            }
            Action::Store => {
                self.store(content, self.verb(op.kind), None, op.key, version, out);
            }
            Action::Remove => {
                encode::command(own, self.verb(op.kind));
                write_key(content, op.key, own);
                encode::line_end(own, self.end(content, op.kind));
            }
            Action::Count => {
                encode::command(own, self.verb(op.kind));
                write_key(content, op.key, own);
                encode::number(own, content.values.delta(op.index));
                encode::line_end(own, self.end(content, op.kind));
            }
            Action::Touch => {
                encode::command(own, self.verb(op.kind));
                write_key(content, op.key, own);
                encode::signed(own, content.expiry_of(op.key));
                encode::line_end(own, self.end(content, op.kind));
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
        _: u32,
        out: &mut SendBuffer,
    ) {
        self.store(content, Verb::Cas, Some(unique), key, version, out);
    }

    /// Sends the `set` that memcached's `-Y` expects.
    fn authenticate(user: &[u8], password: &[u8], out: &mut Vec<u8>) {
        encode::command(out, Verb::Set);
        // A server that asks for no credentials would store them under any lawful name; it
        // refuses this one, whose flags are no number.
        encode::key_with(out, |out| out.extend_from_slice(b"auth t"));
        encode::number(out, 0);
        encode::number(out, (user.len() + 1 + password.len()) as u64);
        encode::line_end(out, false);
        out.extend_from_slice(user);
        out.push(b' ');
        out.extend_from_slice(password);
        out.extend_from_slice(b"\r\n");
    }

    fn ask(question: Question<'_>, out: &mut Vec<u8>) {
        match question {
            Question::Version => encode::request(out, &Request::Version),
            Question::Statistics => encode::request(out, &Request::Stats { argument: None }),
            Question::Settings => {
                encode::request(out, &Request::Stats { argument: Some(SETTINGS) });
            }
            Question::Get => {
                let keys = Keys::spaced(GET_KEY);
                encode::request(out, &Request::Retrieve { verb: Verb::Get, expiry: None, keys });
            }
            Question::Line(line) => {
                out.extend_from_slice(line.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
        }
    }

    #[inline(always)]
    fn decoder(reader: &mut Reader) -> &mut ReplyDecoder {
        let Reader::Text(decoder) = reader else { unreachable!("a reader keeps its format") };
        decoder
    }

    #[inline(always)]
    fn next<'a, 'i: 'a>(
        decoder: &'a mut ReplyDecoder,
        input: &mut &'i [u8],
        _head: &mut NoHead,
    ) -> Result<Option<Reply<'a>>, Malformed> {
        decoder.next(input)
    }

    #[inline(always)]
    fn skip_values(decoder: &mut ReplyDecoder, input: &mut &[u8], most: u16) -> (u16, u64) {
        decoder.skip_values(input, most)
    }

    #[inline(always)]
    fn skip_end(decoder: &mut ReplyDecoder, _: &InFlight, input: &mut &[u8]) -> bool {
        decoder.skip_end(input)
    }

    #[inline(always)]
    fn check_partial(decoder: &ReplyDecoder) -> Result<(), Malformed> {
        decoder.check_partial()
    }

    #[inline(always)]
    fn role<'a>(
        _: NoHead,
        _: &Reply<'a>,
        _: Option<(u32, &InFlight)>,
    ) -> Result<Role<'a>, PeerError> {
        Ok(Role::Answer)
    }

    fn welcome(_: NoHead, reply: &Reply<'_>) -> Option<Result<(), ConnectError>> {
        match reply {
            Reply::Stored => Some(Ok(())),
            Reply::Error(error) if error.is_authentication_failure() => {
                Some(Err(ConnectError::CredentialsRefused(Refusal::of(error))))
            }
            Reply::Error(error) => Some(Err(ConnectError::CredentialsUnwanted(Refusal::of(error)))),
            _ => None,
        }
    }
}

impl Text {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            verbs: OpKind::ALL.map(verb_of),
            line_end: if plan.requests.blank { LineEnd::Blank } else { LineEnd::Plain },
        }
    }

    /// The command for an operation of this kind.
    #[inline]
    fn verb(&self, kind: OpKind) -> Verb {
        self.verbs[kind.index()]
    }

    #[inline(always)]
    fn retrieval<S: Source>(
        &self,
        content: &Content,
        verb: Verb,
        op: &Op,
        source: &S,
        out: &mut Vec<u8>,
    ) {
        encode::command(out, verb);
        write_key(content, op.key, out);
        for nth in 1..op.keys {
            write_key(content, source.key(op, nth), out);
        }
        encode::line_end(out, self.line_end);
    }

    /// The end of the line for an operation of this kind.
    fn end(&self, content: &Content, kind: OpKind) -> LineEnd {
        match content.noreply && kind.allows_noreply() {
            true => LineEnd::Noreply,
            false => self.line_end,
        }
    }

    /// Appends a storage command; for a cas with the unique number that must still be valid.
    fn store(
        &self,
        content: &Content,
        verb: Verb,
        cas: Option<u64>,
        key: u64,
        version: Option<Version>,
        out: &mut SendBuffer,
    ) {
        content.line_and_value(key, version, out, |out, bytes| {
            self.store_head(content, verb, cas, key, bytes, out);
        });
    }

    fn store_head(
        &self,
        content: &Content,
        verb: Verb,
        cas: Option<u64>,
        key: u64,
        bytes: usize,
        out: &mut Vec<u8>,
    ) {
        encode::command(out, verb);
        write_key(content, key, out);
        let is_quiet = content.noreply && (cas.is_none() || content.cas_unique.is_some());
        let end = if is_quiet { LineEnd::Noreply } else { self.line_end };
        let (flags, expiry) = (content.flags, content.expiry_of(key));
        encode::store_tail(out, StoreTail { flags, expiry, bytes, cas, end });
    }
}

/// The command of a kind of operation, which is named after it; get for kinds that have none, which
/// are not sent.
fn verb_of(kind: OpKind) -> Verb {
    if kind.is_meta_only() {
        return Verb::Get;
    }
    Verb::from_word(kind.name().as_bytes()).expect("every kind is a command of memcached")
}
