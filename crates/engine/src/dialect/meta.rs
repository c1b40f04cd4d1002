//! The meta protocol: operations as commands whose flags say what is returned. A get of several
//! keys is a sequence of quiet `mg` and an `mn`, whose answer ends them. A quiet request carries an
//! opaque that no other has, so that a reply to it answers no operation in flight. What a reply
//! says of its item, such as who stores it anew, travels beside it.

use super::content::{Content, write_key};
use super::in_flight::InFlight;
use super::{GET_KEY, Reader, Role, Text, WireFormat};
use memtide_codec::meta::{Command, Flag, Flags, Letters, ReplyDecoder, encode};
use memtide_codec::{Malformed, Reply};
use memtide_workload::{Action, Op, OpKind, Source, Version};
use memtide_world::driver::{ConnectError, PeerError, SendBuffer};
use memtide_world::plan::{Matching, Plan};
use memtide_world::question::Question;

/// Encodes and decodes meta commands.
#[derive(Debug)]
pub(crate) struct Meta {
    /// The flags of a read of one key, without and with its cas number.
    single: [Vec<u8>; 2],
    /// What stands behind one of several keys, without and with its cas number.
    several: [Behind; 2],
    /// True if requests carry the number of their operation.
    numbered: bool,
    /// The times of recache and invalidate, in seconds.
    stale_s: i64,
}

/// What an answer repeats of its request, and says of its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    opaque: Opaque,
    marks: Marks,
}

/// What an answer says of its item beside the value. Small, since every answer has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// A bit for each of the marks below.
    bits: u8,
    age_s: u32,
    ttl_s: u32,
}

impl Marks {
    /// An answer that says nothing.
    pub(crate) const NONE: Self = Self { bits: 0, age_s: 0, ttl_s: 0 };
    /// The client shall store the value anew.
    pub(crate) const WON: u8 = 1;
    /// The value is stale.
    pub(crate) const STALE: u8 = 2;
    /// Another client was asked to store the value anew.
    pub(crate) const WAITING: u8 = 4;
    const AGE: u8 = 8;
    const TTL: u8 = 16;
    const READ: u8 = 32;
    const UNREAD: u8 = 64;
    const ENDLESS: u8 = 128;

    /// True if nothing is said.
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// True if one of these marks is set.
    #[inline(always)]
    pub(crate) const fn has(&self, marks: u8) -> bool {
        self.bits & marks != 0
    }

    /// Seconds since the last access.
    pub(crate) fn age_s(&self) -> Option<u32> {
        self.has(Self::AGE).then_some(self.age_s)
    }

    /// Seconds until expiry, of an item that expires.
    pub(crate) fn ttl_s(&self) -> Option<u32> {
        self.has(Self::TTL).then_some(self.ttl_s)
    }

    /// True if the item never expires.
    pub(crate) fn never_expires(&self) -> Option<bool> {
        self.has(Self::TTL | Self::ENDLESS).then(|| self.has(Self::ENDLESS))
    }

    /// True if the item was read before.
    pub(crate) fn read(&self) -> Option<bool> {
        self.has(Self::READ | Self::UNREAD).then(|| self.has(Self::READ))
    }
}

impl Head {
    const NONE: Self = Self { opaque: Opaque::No, marks: Marks::NONE };

    /// Reads the flags of an answer.
    #[inline]
    fn of(flags: Flags<'_>) -> Self {
        let mut head = Self::NONE;
        let Self { opaque, marks: Marks { bits, age_s, ttl_s } } = &mut head;
        for word in flags {
            match word.letter {
                b'O' if word.token == QUIET => *opaque = Opaque::Quiet,
                b'O' => *opaque = small(word.number()).map_or(Opaque::Foreign, Opaque::Number),
                b'W' => *bits |= Marks::WON,
                b'X' => *bits |= Marks::STALE,
                b'Z' => *bits |= Marks::WAITING,
                b'h' => *bits |= if word.token == b"1" { Marks::READ } else { Marks::UNREAD },
                b'l' => (*age_s, *bits) = told(small(word.number()), *bits, Marks::AGE),
                b't' if word.token == b"-1" => *bits |= Marks::ENDLESS,
                b't' => (*ttl_s, *bits) = told(small(word.number()), *bits, Marks::TTL),
                _ => {}
            }
        }
        head
    }
}

/// A number and its mark, if it is one.
fn told(number: Option<u32>, bits: u8, mark: u8) -> (u32, u8) {
    number.map_or((0, bits), |number| (number, bits | mark))
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
/// The flags of an answer that [`Head`] reads.
const TOLD: Letters = Letters::of(b"OWXZlth");
/// The flags of a value that are read or checked.
const READ: Letters = Letters::of(b"OWXZlthfc");

impl WireFormat for Meta {
    type Decoder = ReplyDecoder;
    type AnswerHead = Head;

    const NO_HEAD: Head = Head::NONE;
    const MAY_BE_DISORDERED: bool = true;
    const HAS_MARKS: bool = true;

    /// A quiet `mg` hides only misses, so a touch has no quiet form.
    fn has_quiet_form(&self, kind: OpKind) -> bool {
        kind.allows_noreply() && !kind.does(Action::Touch)
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
        let end = self.end(content.noreply && self.has_quiet_form(op.kind), opaque);
        match op.kind.action() {
            Action::Read if op.keys > 1 => self.several(content, op, source, own),
            Action::Read => self.get(content, op.kind, op.key, end, own),
            Action::CompareAndStore => match content.cas_unique {
                Some(unique) => {
                    let end = self.end(content.noreply, opaque);
                    store(content, OpKind::Cas, op.key, version, Some(unique), end, out);
                }
                None => self.get(content, OpKind::Gets, op.key, end, own),
            },
            Action::ReadAndTouch => {
                self.get_head(content, op.kind, op.key, own);
                encode::flag_signed(own, Flag::Expiry, content.expiry_of(op.key));
                end.write(own);
            }
            Action::Touch => {
                on_key(content, Command::Get, op.key, own);
                encode::flag_signed(own, Flag::Expiry, content.expiry_of(op.key));
                end.write(own);
            }
            Action::Recache => {
                self.get_head(content, op.kind, op.key, own);
                encode::flag_signed(own, Flag::Vivify, self.stale_s);
                encode::flag_signed(own, Flag::Recache, self.stale_s);
                end.write(own);
            }
            Action::Peek => {
                self.get_head(content, op.kind, op.key, own);
                if let Some(unique) = content.known(op.key) {
                    encode::flag_number(own, Flag::CompareCas, unique);
                }
                end.write(own);
            }
            Action::Invalidate => {
                on_key(content, Command::Delete, op.key, own);
                encode::flag(own, Flag::Invalidate);
                encode::flag_signed(own, Flag::Expiry, self.stale_s);
                end.write(own);
            }
            Action::Store => store(content, op.kind, op.key, version, None, end, out),
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
        key: u64,
        unique: u64,
        version: Option<Version>,
        opaque: u32,
        out: &mut SendBuffer,
    ) {
        let end = self.end(false, opaque);
        let unique = (unique != 0).then_some(unique);
        store(content, OpKind::Cas, key, version, unique, end, out);
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
        head: &mut Head,
    ) -> Result<Option<Reply<'a>>, Malformed> {
        let mut flags = Flags::default();
        let next = decoder.next_reply(input, &mut flags);
        if flags.may_have(TOLD) {
            *head = Head::of(flags);
        }
        next
    }

    /// What a server says of an item is read, so values with such flags come as replies.
    #[inline(always)]
    fn skip_values(decoder: &mut ReplyDecoder, input: &mut &[u8], most: u16) -> (u16, u64) {
        decoder.skip_values(input, most, READ)
    }

    #[inline(always)]
    fn skip_end(decoder: &mut ReplyDecoder, entry: &InFlight, input: &mut &[u8]) -> bool {
        decoder.skip_end(input, !Self::ends_with_value(entry))
    }

    #[inline(always)]
    fn check_partial(decoder: &ReplyDecoder) -> Result<(), Malformed> {
        decoder.check_partial()
    }

    #[inline(always)]
    fn role<'a>(
        Head { opaque, .. }: Head,
        reply: &Reply<'a>,
        turn: Option<(u32, &InFlight)>,
    ) -> Result<Role<'a>, PeerError> {
        let of_several = turn.map(|(_, head)| head).filter(|head| head.keys > 1);
        match (*reply, of_several) {
            _ if opaque == Opaque::Quiet => Ok(Role::Aside),
            // One of the quiet gets failed; the answer to `mn` is still to come.
            (Reply::Error(error), Some(_)) if !error.is_too_many_connections() => {
                Ok(Role::FailedPart(error))
            }
            // Quiet gets do not report what is missing.
            (Reply::End, Some(head)) => Err(PeerError::Mismatch { kind: head.kind, got: "EN" }),
            _ => Ok(Role::Answer),
        }
    }

    /// Errors repeat no opaque, so they are taken for the answer to the oldest operation.
    fn place<'e>(
        Head { opaque, .. }: Head,
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
            Reply::Done if kind.does(Action::Invalidate) => &Reply::Ok,
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

    #[inline(always)]
    fn marks(head: Head) -> Marks {
        head.marks
    }

    fn welcome(_: Head, reply: &Reply<'_>) -> Option<Result<(), ConnectError>> {
        Text::welcome(super::text::NoHead, reply)
    }
}

impl Meta {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            single: [flags(plan, false, false), flags(plan, false, true)],
            several: [flags(plan, true, false), flags(plan, true, true)]
                .map(|bytes| Behind::new(&bytes)),
            numbered: plan.requests.matching == Matching::Opaque,
            stale_s: plan.requests.stale_s.into(),
        }
    }

    /// The end of a request.
    fn end(&self, is_quiet: bool, opaque: u32) -> End {
        match is_quiet {
            true => End::Quiet,
            false if self.numbered => End::Numbered(opaque),
            false => End::Plain,
        }
    }

    fn get(&self, content: &Content, kind: OpKind, key: u64, end: End, out: &mut Vec<u8>) {
        self.get_head(content, kind, key, out);
        end.write(out);
    }

    /// Appends a get of one key up to the flags that say what is returned.
    fn get_head(&self, content: &Content, kind: OpKind, key: u64, out: &mut Vec<u8>) {
        on_key(content, Command::Get, key, out);
        let wants_cas = matches!(kind, OpKind::Gets | OpKind::Gats | OpKind::Peek);
        out.extend_from_slice(&self.single[usize::from(wants_cas)]);
    }

    fn several<S: Source>(&self, content: &Content, op: &Op, source: &S, out: &mut Vec<u8>) {
        let behind = &self.several[usize::from(op.kind == OpKind::Gets)];
        encode::command(out, Command::Get);
        for nth in 0..op.keys {
            let key = if nth == 0 { op.key } else { source.key(op, nth) };
            write_key(content, key, out);
            behind.write(out);
        }
        // `mn` takes the place of the `mg` that no key follows.
        out.truncate(out.len() - Command::Get.word().len());
        encode::noop(out);
    }
}

/// What stands between two keys: flags, the end of the line, and the next command. Of constant
/// size, so that it is appended in registers: each key has it, and a call that copies as many bytes
/// as there are takes as long as writing the key.
#[derive(Debug)]
struct Behind {
    room: [u8; Self::ROOM],
    len: usize,
}

impl Behind {
    /// Room for each flag that a read can have.
    const ROOM: usize = 32;

    fn new(bytes: &[u8]) -> Self {
        let mut room = [0; Self::ROOM];
        room[..bytes.len()].copy_from_slice(bytes);
        Self { room, len: bytes.len() }
    }

    #[inline(always)]
    fn write(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.room);
        out.truncate(end);
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

#[inline]
fn on_key(content: &Content, command: Command, key: u64, out: &mut Vec<u8>) {
    encode::command(out, command);
    write_key(content, key, out);
}

/// The flags of a get of one key, or between several keys with the next command. A read asks for
/// the cas number once, even if both a cas and the user want it.
fn flags(plan: &Plan, of_several: bool, wants_cas: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if of_several || plan.verify.is_some() {
        encode::flag(&mut out, Flag::Key);
    }
    encode::flag(&mut out, Flag::Value);
    if wants_cas {
        encode::flag(&mut out, Flag::ReturnCas);
    }
    let others = plan.requests.item_flags.letters();
    let others = others.filter(|&letter| letter != b'c' || !wants_cas);
    others.filter_map(Flag::from_letter).for_each(|one| encode::flag(&mut out, one));
    if of_several {
        encode::flag(&mut out, Flag::Quiet);
        encode::line_end(&mut out);
        encode::command(&mut out, Command::Get);
    }
    out
}

/// A number that fits into 32 bits.
#[inline]
fn small(number: Option<u64>) -> Option<u32> {
    number.and_then(|number| u32::try_from(number).ok())
}

/// Appends a store; for a cas with the unique number that must still be valid.
fn store(
    content: &Content,
    kind: OpKind,
    key: u64,
    version: Option<Version>,
    unique: Option<u64>,
    end: End,
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
