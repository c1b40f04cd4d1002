//! A plan's protocol. This is the only module that knows which protocols exist: each has a file
//! that encodes operations, decodes replies, authenticates and asks questions. The rest of the
//! engine holds a [`Dialect`] and a [`Reader`]. The connection matches replies to operations.

mod binary;
mod content;
mod in_flight;
mod meta;
mod text;

pub(crate) use binary::Binary;
use content::Content;
pub(crate) use in_flight::{InFlight, InFlightStage};
use memtide_base::ServerId;
use memtide_codec::{ErrorReply, Malformed, Reply};
use memtide_workload::{Op, OpKind, Source, Version};
use memtide_world::driver::{Closed, ConnectError, PeerError, SendBuffer};
use memtide_world::plan::{Plan, Protocol};
use memtide_world::question::Question;
pub(crate) use meta::{Marks, Meta};
pub(crate) use text::Text;

/// The encoder of a plan's protocol, shared by all connections of a worker. It appends to a buffer
/// that refers to large values instead of copying them, and allocates only when that buffer must
/// grow.
#[derive(Debug)]
pub(crate) struct Dialect {
    content: Content,
    format: Speaker,
}

/// The protocol's encoder.
#[derive(Debug)]
enum Speaker {
    Text(Text),
    Binary(Binary),
    Meta(Meta),
}

/// The decoder of a plan's protocol, one for each connection.
#[derive(Debug)]
pub(crate) enum Reader {
    Text(<Text as WireFormat>::Decoder),
    Binary(<Binary as WireFormat>::Decoder),
    Meta(<Meta as WireFormat>::Decoder),
}

/// Evaluates `$does` with `$format` as the wire format of `$reader`, so that a loop over replies
/// chooses the protocol once.
macro_rules! in_format_of {
    ($reader:expr, $format:ident => $does:expr) => {
        match $reader {
            $crate::dialect::Reader::Text(_) => {
                type $format = $crate::dialect::Text;
                $does
            }
            $crate::dialect::Reader::Binary(_) => {
                type $format = $crate::dialect::Binary;
                $does
            }
            $crate::dialect::Reader::Meta(_) => {
                type $format = $crate::dialect::Meta;
                $does
            }
        }
    };
}
pub(crate) use in_format_of;

/// Evaluates `$does` with a dialect's wire format and its content.
macro_rules! spoken {
    ($dialect:expr, $format:ident, $content:ident => $does:expr) => {{
        let $content = &$dialect.content;
        match &$dialect.format {
            Speaker::Text($format) => $does,
            Speaker::Binary($format) => $does,
            Speaker::Meta($format) => $does,
        }
    }};
}

/// One protocol: how operations are encoded and replies decoded.
pub(crate) trait WireFormat {
    /// The decoder of its replies.
    type Decoder: 'static;
    /// The fields of a reply that identify its request; `()` where replies identify nothing.
    type AnswerHead: Copy;

    /// A head that [`Self::next`] has not written yet.
    const NO_HEAD: Self::AnswerHead;
    /// True if replies may come in another order than requests, if the plan says so.
    const MAY_BE_DISORDERED: bool = false;
    /// True if answers may say more of an item than its value.
    const HAS_MARKS: bool = false;

    /// True if an operation of this kind can be sent so that the server does not answer it.
    fn has_quiet_form(&self, kind: OpKind) -> bool;

    /// Appends the request of an operation of this source; for a cas that reads first, its gets.
    /// `version` is that of a value that can be verified; the reply may repeat `opaque`.
    fn request<S: Source>(
        &self,
        content: &Content,
        op: &Op,
        source: &S,
        version: Option<Version>,
        opaque: u32,
        out: &mut SendBuffer,
    );

    /// Appends the second request of an operation on a key: of a cas with the unique number that
    /// its gets returned, of others with 0.
    fn cas(
        &self,
        content: &Content,
        key: u64,
        unique: u64,
        version: Option<Version>,
        opaque: u32,
        out: &mut SendBuffer,
    );

    /// Appends the credentials as one message. They are sent in the clear.
    fn authenticate(user: &[u8], password: &[u8], out: &mut Vec<u8>);

    /// Appends a question.
    fn ask(question: Question<'_>, out: &mut Vec<u8>);

    /// The decoder of a reader of this format.
    fn decoder(reader: &mut Reader) -> &mut Self::Decoder;

    /// Takes the next reply from the front of `input`, and writes the fields that identify its
    /// request to `head`: returned beside the reply, they would have each reply copied. `None`
    /// means that more bytes are needed; `input` is then empty.
    fn next<'a, 'i: 'a>(
        decoder: &'a mut Self::Decoder,
        input: &mut &'i [u8],
        head: &mut Self::AnswerHead,
    ) -> Result<Option<Reply<'a>>, Malformed>;

    /// Skips up to `most` values at the front of `input` that are whole and usual; returns their
    /// number and the sum of their lengths. Those that are not skipped come as replies.
    #[inline(always)]
    fn skip_values(_decoder: &mut Self::Decoder, _input: &mut &[u8], _most: u16) -> (u16, u64) {
        (0, 0)
    }

    /// Skips the reply that ends the answer to this operation, if it is whole and at the front of
    /// `input`; false if it is not. One that is not skipped comes as a reply.
    #[inline(always)]
    fn skip_end(_decoder: &mut Self::Decoder, _entry: &InFlight, _input: &mut &[u8]) -> bool {
        false
    }

    /// To be called when no further reply is complete: returns an error if the remaining bytes
    /// cannot become one.
    fn check_partial(decoder: &Self::Decoder) -> Result<(), Malformed>;

    /// The relation of a reply to the operations in flight. `turn` is the oldest one (the head)
    /// with its number; `None` if none is in flight.
    fn role<'a>(
        answer_head: Self::AnswerHead,
        reply: &Reply<'a>,
        turn: Option<(u32, &InFlight)>,
    ) -> Result<Role<'a>, PeerError>;

    /// What a reply means to the operation that it answers, in the words of the classic protocol.
    #[inline(always)]
    fn meaning<'r, 'a>(_entry: &InFlight, reply: &'r Reply<'a>) -> &'r Reply<'a> {
        reply
    }

    /// True if the answer to this operation ends with its value, and no reply follows that says so.
    #[inline(always)]
    fn ends_with_value(_entry: &InFlight) -> bool {
        false
    }

    /// What an answer says of its item beside the value.
    #[inline(always)]
    fn marks(_answer_head: Self::AnswerHead) -> Marks {
        Marks::NONE
    }

    /// The operation, counted from the oldest one, that a reply answers; `None` if it answers none
    /// of those `sent`. Asked only if the plan matches by opaques.
    #[inline(always)]
    fn place<'e>(
        _answer_head: Self::AnswerHead,
        _reply: &Reply<'_>,
        _sent: impl Iterator<Item = &'e InFlight>,
    ) -> Option<usize> {
        Some(0)
    }

    /// The result of authentication if `reply` is its answer, else `None`.
    fn welcome(
        answer_head: Self::AnswerHead,
        reply: &Reply<'_>,
    ) -> Option<Result<(), ConnectError>>;
}

/// The relation of a reply to the operations in flight.
pub(crate) enum Role<'a> {
    /// The answer to the oldest operation in flight, or a part of it.
    Answer,
    /// One of several values that the oldest operation requested could not be returned.
    FailedPart(ErrorReply<'a>),
    /// The error of an operation that wanted no answer and has already ended.
    Aside,
}

/// Why a connection that was established cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The server refused the credentials.
    Credentials(ConnectError),
    /// The answer to the credentials broke the protocol.
    Broken(Closed),
}

/// The key that [`Question::Get`] requests.
const GET_KEY: &[u8] = b"memtide";
/// The group of statistics that [`Question::Settings`] requests.
const SETTINGS: &[u8] = b"settings";

impl Dialect {
    /// The dialect of the plan's protocol.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self::of(plan, plan.requests.protocol)
    }

    /// The dialect of the protocol in which `question` is asked: text for a line, else the plan's.
    pub(crate) fn for_question(plan: &Plan, question: Question<'_>) -> Self {
        match question {
            Question::Line(_) => Self::of(plan, Protocol::Text),
            _ => Self::new(plan),
        }
    }

    fn of(plan: &Plan, protocol: Protocol) -> Self {
        let format = match protocol {
            Protocol::Text => Speaker::Text(Text::new(plan)),
            Protocol::Binary => Speaker::Binary(Binary::new(plan)),
            Protocol::Meta => Speaker::Meta(Meta::new(plan)),
        };
        Self { content: Content::new(plan), format }
    }

    /// The protocol, for messages.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.format {
            Speaker::Text(_) => Protocol::Text,
            Speaker::Binary(_) => Protocol::Binary,
            Speaker::Meta(_) => Protocol::Meta,
        }
    }

    /// A reader at the beginning of a stream.
    pub(crate) fn reader(&self) -> Reader {
        match self.format {
            Speaker::Text(_) => Reader::Text(Default::default()),
            Speaker::Binary(_) => Reader::Binary(Default::default()),
            Speaker::Meta(_) => Reader::Meta(Default::default()),
        }
    }

    /// True if the plan sends operations of this kind without requesting an answer.
    #[inline]
    pub(crate) fn is_noreply(&self, kind: OpKind) -> bool {
        self.content.noreply
            && (self.is_cas_alone(kind)
                || spoken!(self, format, _content => format.has_quiet_form(kind)))
    }

    /// True if an operation of this kind is a cas that reads nothing first.
    #[inline]
    pub(crate) fn is_cas_alone(&self, kind: OpKind) -> bool {
        self.content.is_cas_alone(kind)
    }

    /// Appends the request of an operation: see [`WireFormat::request`].
    pub(crate) fn request<S: Source>(
        &self,
        op: &Op,
        source: &S,
        version: Option<Version>,
        opaque: u32,
        out: &mut SendBuffer,
    ) {
        spoken!(self, format, content => {
            format.request(content, op, source, version, opaque, out);
        });
    }

    /// Makes the next requests for this server.
    #[inline]
    pub(crate) fn turn_to(&mut self, server: ServerId) {
        self.content.server = server;
    }

    /// Remembers the cas number of a key's value on a server, which later peeks name.
    pub(crate) fn remember(&mut self, server: ServerId, key: u64, unique: u64) {
        self.content.remember(server, key, unique);
    }

    /// Appends the second request of a cas: see [`WireFormat::cas`].
    pub(crate) fn cas(
        &self,
        key: u64,
        unique: u64,
        version: Option<Version>,
        opaque: u32,
        out: &mut SendBuffer,
    ) {
        spoken!(self, format, content => {
            format.cas(content, key, unique, version, opaque, out);
        });
    }

    /// Appends the authentication of a new connection; false if the plan has no credentials.
    pub(crate) fn authenticate(&self, out: &mut SendBuffer) -> bool {
        let Some(credentials) = &self.content.credentials else { return false };
        let (user, password) = (credentials.user.as_bytes(), credentials.password.as_bytes());
        match self.format {
            Speaker::Text(_) => Text::authenticate(user, password, out.bytes_mut()),
            Speaker::Binary(_) => Binary::authenticate(user, password, out.bytes_mut()),
            Speaker::Meta(_) => Meta::authenticate(user, password, out.bytes_mut()),
        }
        true
    }

    /// Appends a question.
    pub(crate) fn ask(&self, question: Question<'_>, out: &mut SendBuffer) {
        match self.format {
            Speaker::Text(_) => Text::ask(question, out.bytes_mut()),
            Speaker::Binary(_) => Binary::ask(question, out.bytes_mut()),
            Speaker::Meta(_) => Meta::ask(question, out.bytes_mut()),
        }
    }
}

impl Reader {
    /// Drops everything read so far, because a new stream begins.
    pub(crate) fn reset(&mut self) {
        match self {
            Self::Text(decoder) => *decoder = Default::default(),
            Self::Binary(decoder) => *decoder = Default::default(),
            Self::Meta(decoder) => *decoder = Default::default(),
        }
    }

    /// From now on only answers to operations are awaited: over meta, replies of the text protocol
    /// other than errors are malformed.
    pub(crate) fn await_operations(&mut self) {
        if let Self::Meta(decoder) = self {
            decoder.refuse_classic();
        }
    }

    /// Takes the next reply from the front of `input`. `None` means that more bytes are needed and
    /// can complete one.
    pub(crate) fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Reply<'a>>, PeerError> {
        in_format_of!(self, T => {
            let mut head = T::NO_HEAD;
            let next = T::next(T::decoder(self), input, &mut head);
            next.map_err(|error| PeerError::of(error, input))
        })
    }

    /// To be called when no further reply is complete: returns an error if the remaining bytes
    /// cannot become one.
    pub(crate) fn check_partial(&mut self) -> Result<(), PeerError> {
        in_format_of!(self, T => check_partial::<T>(self))
    }

    /// Reads the answer to the authentication. `None` while it is not complete.
    pub(crate) fn welcome(&mut self, bytes: &[u8]) -> Option<Result<(), Rejection>> {
        in_format_of!(self, T => welcome::<T>(self, bytes))
    }
}

/// Checks a partial reply: see [`Reader::check_partial`].
#[inline(always)]
pub(crate) fn check_partial<T: WireFormat>(reader: &mut Reader) -> Result<(), PeerError> {
    T::check_partial(T::decoder(reader)).map_err(|error| PeerError::of(error, &[]))
}

fn welcome<T: WireFormat>(reader: &mut Reader, bytes: &[u8]) -> Option<Result<(), Rejection>> {
    let mut input = bytes;
    let mut answer_head = T::NO_HEAD;
    let reply = match T::next(T::decoder(reader), &mut input, &mut answer_head) {
        Ok(Some(reply)) => reply,
        Ok(None) => return check_partial::<T>(reader).err().map(|error| Err(broken(error))),
        Err(error) => return Some(Err(broken(PeerError::of(error, bytes)))),
    };
    if let Reply::Error(error) = reply
        && error.is_too_many_connections()
    {
        return Some(Err(broken(PeerError::TooManyConnections)));
    }
    match T::welcome(answer_head, &reply) {
        Some(Ok(())) if input.is_empty() => Some(Ok(())),
        Some(Ok(())) => Some(Err(broken(PeerError::Unasked { got: "more" }))),
        Some(Err(error)) => Some(Err(Rejection::Credentials(error))),
        None => Some(Err(broken(PeerError::Unfit { asked: "credentials", got: name(&reply) }))),
    }
}

/// The rejection of a connection whose peer broke the protocol.
pub(crate) fn broken(error: PeerError) -> Rejection {
    Rejection::Broken(Closed::Broken(error))
}

/// A word or two for the kind of `reply`, for messages.
pub(crate) fn name(reply: &Reply<'_>) -> &'static str {
    match reply {
        Reply::Value { .. } | Reply::Data { .. } => "VALUE",
        Reply::End => "END",
        Reply::Stored => "STORED",
        Reply::NotStored => "NOT_STORED",
        Reply::Exists => "EXISTS",
        Reply::NotFound => "NOT_FOUND",
        Reply::Deleted => "DELETED",
        Reply::Touched => "TOUCHED",
        Reply::Ok => "OK",
        Reply::Reset => "RESET",
        Reply::Number(_) => "a number",
        Reply::Version(_) => "VERSION",
        Reply::Stat { .. } => "STAT",
        Reply::Done => "HD",
        Reply::Noop => "MN",
        Reply::Item { .. } => "ME",
        Reply::Error(_) => "an error",
    }
}

#[cfg(test)]
pub(crate) mod tests;
