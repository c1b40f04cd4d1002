//! The meta protocol: operations as commands whose flags say what is returned. A get of several
//! keys is a sequence of quiet `mg` and an `mn`, whose answer ends them. A quiet request carries an
//! opaque that no other has, so that a reply to it answers no operation in flight.

use super::content::{Content, write_key};
use super::in_flight::InFlight;
use super::{GET_KEY, Question, Reader, Role, Text, WireFormat};
use crate::driver::{ConnectError, PeerError, SendBuffer};
use crate::plan::{Matching, Plan};
use memtide_codec::meta::encode;
use memtide_codec::meta::{Answer, Command, Flag, ReplyDecoder};
use memtide_codec::{Malformed, Reply};
use memtide_workload::{Action, Op, OpKind, Source, Version};

/// Encodes and decodes meta commands.
#[derive(Debug)]
pub(crate) struct Meta {
    /// True if answers must name their key, which verification needs.
    keyed: bool,
    /// True if requests carry the number of their operation.
    numbered: bool,
}

/// The opaque that an answer repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opaque {
    /// None.
    No,
    /// That of a quiet request.
    Quiet,
    /// That of one operation.
    Number(u32),
    /// None that was sent.
    Foreign,
}

/// The opaque of quiet requests.
const QUIET: &[u8] = b"q";

impl WireFormat for Meta {
    type Decoder = ReplyDecoder;
    type AnswerHead = Opaque;

    const NO_HEAD: Opaque = Opaque::No;
    const MAY_BE_DISORDERED: bool = true;

    /// A quiet `mg` hides only misses, so a touch has no quiet form.
    fn has_quiet_form(&self, kind: OpKind) -> bool {
        kind.allows_noreply() && !kind.does(Action::Touch)
    }

    fn request<S: Source>(
        &self,
        content: &Content,
        (op, source): (&Op, &S),
        (version, opaque): (Option<Version>, u32),
        out: &mut SendBuffer,
    ) {
        let own = out.bytes_mut();
        let end = self.end(content.noreply && self.has_quiet_form(op.kind), opaque);
        match op.kind.action() {
            Action::Read if op.keys > 1 => several(content, (op, source), own),
            Action::Read => self.get(content, (op.kind, op.key), end, own),
            Action::CompareAndStore => match content.cas_unique {
                Some(unique) => {
                    let end = self.end(content.noreply, opaque);
                    store(content, (OpKind::Cas, op.key), version, (Some(unique), end), out);
                }
                None => self.get(content, (OpKind::Gets, op.key), end, own),
            },
            Action::ReadAndTouch => {
                self.get_head(content, (op.kind, op.key), own);
                encode::flag_signed(own, Flag::Expiry, content.expiry_of(op.key));
                end.write(own);
            }
            Action::Touch => {
                on_key(content, Command::Get, op.key, own);
                encode::flag_signed(own, Flag::Expiry, content.expiry_of(op.key));
                end.write(own);
            }
            Action::Store => store(content, (op.kind, op.key), version, (None, end), out),
            Action::Remove => {
                on_key(content, Command::Delete, op.key, own);
                end.write(own);
            }
            Action::Count => {
                on_key(content, Command::Arithmetic, op.key, own);
                if op.kind == OpKind::Decr {
                    encode::flag_word(own, Flag::Mode, b"D");
                }
                encode::flag_number(own, Flag::Delta, content.values.delta(op.index));
                if !matches!(end, End::Quiet) {
                    // The classic commands return the number as well.
                    encode::flag(own, Flag::Value);
                }
                end.write(own);
            }
        }
    }

    fn cas(
        &self,
        content: &Content,
        (key, unique): (u64, u64),
        (version, opaque): (Option<Version>, u32),
        out: &mut SendBuffer,
    ) {
        let end = self.end(false, opaque);
        store(content, (OpKind::Cas, key), version, (Some(unique), end), out);
    }

    /// As over text: the protocol has no command of its own.
    fn authenticate(user: &[u8], password: &[u8], out: &mut Vec<u8>) {
        Text::authenticate(user, password, out);
    }

    fn ask(question: Question<'_>, out: &mut Vec<u8>) {
        match question {
            Question::Get => {
                encode::command(out, Command::Get);
                encode::key_with(out, |out| out.extend_from_slice(GET_KEY));
                encode::line_end(out);
            }
            _ => Text::ask(question, out),
        }
    }

    #[inline(always)]
    fn decoder(reader: &mut Reader) -> &mut ReplyDecoder {
        let Reader::Meta(decoder) = reader else { unreachable!("a reader keeps its format") };
        decoder
    }

    #[inline(always)]
    fn next<'a, 'i: 'a>(
        decoder: &'a mut ReplyDecoder,
        input: &mut &'i [u8],
        head: &mut Opaque,
    ) -> Result<Option<Reply<'a>>, Malformed> {
        Ok(decoder.next(input)?.map(|Answer { reply, flags }| {
            *head = match flags.find(Flag::Opaque) {
                None => Opaque::No,
                Some(word) if word.token == QUIET => Opaque::Quiet,
                Some(word) => match word.number().and_then(|number| u32::try_from(number).ok()) {
                    Some(number) => Opaque::Number(number),
                    None => Opaque::Foreign,
                },
            };
            reply
        }))
    }

    #[inline(always)]
    fn check_partial(decoder: &ReplyDecoder) -> Result<(), Malformed> {
        decoder.check_partial()
    }

    #[inline(always)]
    fn role<'a>(
        opaque: Opaque,
        reply: &Reply<'a>,
        turn: Option<(u32, &InFlight)>,
    ) -> Result<Role<'a>, PeerError> {
        match *reply {
            _ if opaque == Opaque::Quiet => Ok(Role::Aside),
            // One of the quiet gets failed; the answer to `mn` is still to come.
            Reply::Error(error)
                if turn.is_some_and(|(_, head)| head.keys > 1)
                    && !error.is_too_many_connections() =>
            {
                Ok(Role::FailedPart(error))
            }
            _ => Ok(Role::Answer),
        }
    }

    /// Errors repeat no opaque, so they are taken for the answer to the oldest operation.
    fn place<'e>(
        opaque: Opaque,
        reply: &Reply<'_>,
        mut sent: impl Iterator<Item = &'e InFlight>,
    ) -> Option<usize> {
        match (opaque, reply) {
            (_, Reply::Data { .. }) | (Opaque::No, Reply::Error(_)) | (Opaque::Quiet, _) => Some(0),
            (Opaque::Number(number), _) => sent.position(|entry| entry.opaque() == number),
            _ => None,
        }
    }

    #[inline(always)]
    fn meaning<'r, 'a>(entry: &InFlight, reply: &'r Reply<'a>) -> &'r Reply<'a> {
        let kind = entry.kind;
        match reply {
            Reply::Done if entry.stage.is_second() || kind.does(Action::Store) => &Reply::Stored,
            Reply::Done if kind.does(Action::Remove) => &Reply::Deleted,
            Reply::Done if kind.does(Action::Touch) => &Reply::Touched,
            Reply::End if kind.does(Action::Touch) => &Reply::NotFound,
            Reply::Noop if entry.keys > 1 => &Reply::End,
            Reply::Data { ends: true, .. } if kind.is_numeric() => &Reply::Number(0),
            _ => reply,
        }
    }

    #[inline(always)]
    fn ends_with_value(entry: &InFlight) -> bool {
        entry.keys == 1
    }

    fn welcome(_: Opaque, reply: &Reply<'_>) -> Option<Result<(), ConnectError>> {
        Text::welcome(super::text::NoHead, reply)
    }
}

impl Meta {
    pub(super) fn new(plan: &Plan) -> Self {
        let numbered = plan.requests.matching == Matching::Opaque;
        Self { keyed: plan.verify.is_some(), numbered }
    }

    /// The end of a request.
    fn end(&self, is_quiet: bool, opaque: u32) -> End {
        match is_quiet {
            true => End::Quiet,
            false if self.numbered => End::Numbered(opaque),
            false => End::Plain,
        }
    }

    fn get(&self, content: &Content, (kind, key): (OpKind, u64), end: End, out: &mut Vec<u8>) {
        self.get_head(content, (kind, key), out);
        end.write(out);
    }

    /// Appends a get of one key up to the flags that say what is returned.
    fn get_head(&self, content: &Content, (kind, key): (OpKind, u64), out: &mut Vec<u8>) {
        on_key(content, Command::Get, key, out);
        if self.keyed {
            encode::flag(out, Flag::Key);
        }
        encode::flag(out, Flag::Value);
        if matches!(kind, OpKind::Gets | OpKind::Gats) {
            encode::flag(out, Flag::ReturnCas);
        }
    }
}

/// The end of a request's line.
#[derive(Clone, Copy)]
enum End {
    /// An answer is awaited in order.
    Plain,
    /// An answer is awaited that repeats this number.
    Numbered(u32),
    /// No answer is awaited.
    Quiet,
}

impl End {
    #[inline(always)]
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Plain => {}
            Self::Numbered(number) => encode::flag_number(out, Flag::Opaque, number.into()),
            Self::Quiet => {
                encode::flag(out, Flag::Quiet);
                encode::flag_word(out, Flag::Opaque, QUIET);
            }
        }
        encode::line_end(out);
    }
}

fn several<S: Source>(content: &Content, (op, source): (&Op, &S), out: &mut Vec<u8>) {
    let is_gets = op.kind == OpKind::Gets;
    for nth in 0..op.keys {
        let key = if nth == 0 { op.key } else { source.key(op, nth) };
        on_key(content, Command::Get, key, out);
        out.extend_from_slice(if is_gets { b" k v c q\r\n" } else { b" k v q\r\n" });
    }
    encode::noop(out);
}

#[inline]
fn on_key(content: &Content, command: Command, key: u64, out: &mut Vec<u8>) {
    encode::command(out, command);
    write_key(content, key, out);
}

/// Appends a store; for a cas with the unique number that must still be valid.
fn store(
    content: &Content,
    (kind, key): (OpKind, u64),
    version: Option<Version>,
    (unique, end): (Option<u64>, End),
    out: &mut SendBuffer,
) {
    content.line_and_value(key, version, out, |out, bytes| {
        on_key(content, Command::Set, key, out);
        encode::value_bytes(out, bytes);
        match kind {
            OpKind::Add => encode::flag_word(out, Flag::Mode, b"E"),
            OpKind::Replace => encode::flag_word(out, Flag::Mode, b"R"),
            OpKind::Append => encode::flag_word(out, Flag::Mode, b"A"),
            OpKind::Prepend => encode::flag_word(out, Flag::Mode, b"P"),
            _ => {}
        }
        if let Some(unique) = unique {
            encode::flag_number(out, Flag::CompareCas, unique);
        }
        // Without these, an item has no flags and never expires. Append and prepend keep both.
        if !matches!(kind, OpKind::Append | OpKind::Prepend) {
            let expiry = content.expiry_of(key);
            if content.flags != 0 {
                encode::flag_number(out, Flag::StoreFlags, content.flags.into());
            }
            if expiry != 0 {
                encode::flag_signed(out, Flag::Expiry, expiry);
            }
        }
        end.write(out);
    });
}
