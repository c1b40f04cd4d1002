//! What is said to servers and what they answer, in the protocol of a plan. This is the one place
//! that knows which protocols there are: each has a file that encodes operations, decodes replies,
//! greets and asks, and the rest of the engine holds a [`Dialect`] and a [`Reader`] of it. What a
//! reply belongs to is the connection's business.

mod binary;
mod content;
mod text;

use crate::driver::{Closed, ConnectError, PeerError, SendBuffer};
use crate::plan::{Plan, Protocol};
pub(crate) use binary::Binary;
use content::Content;
use memtide_codec::{ErrorReply, Malformed, Reply};
use memtide_workload::{Op, OpKind, Source, Version};
pub(crate) use text::Text;

/// The speaking half of a plan's protocol, which all connections of a worker share. It appends to a
/// buffer, to which large values go by reference, and allocates only when that must grow.
#[derive(Debug)]
pub(crate) struct Dialect {
    content: Content,
    format: Speaker,
}

/// Which it is.
#[derive(Debug)]
enum Speaker {
    Text(Text),
    Binary(Binary),
}

/// The listening half, one for each connection.
#[derive(Debug)]
pub(crate) enum Reader {
    Text(<Text as WireFormat>::Decoder),
    Binary(<Binary as WireFormat>::Decoder),
}

/// Does `$does` with the type `$format` of what `$reader` reads, so that a loop over replies asks
/// once.
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
        }
    };
}
pub(crate) use in_format_of;

/// Calls the speaker of a dialect with its content.
macro_rules! spoken {
    ($dialect:expr, $format:ident, $content:ident => $does:expr) => {{
        let $content = &$dialect.content;
        match &$dialect.format {
            Speaker::Text($format) => $does,
            Speaker::Binary($format) => $does,
        }
    }};
}

/// One protocol.
pub(crate) trait WireFormat {
    /// What puts its replies together.
    type Decoder: 'static;
    /// What a reply says of the request that it answers.
    type AnswerHead: Copy;

    /// Whether an operation of this kind can be sent without wanting an answer.
    fn has_quiet_form(&self, kind: OpKind) -> bool;

    /// Appends the request of an operation of this source; of a cas that reads first, its gets.
    /// Said with it are the version of a value that proves itself, and a number that the reply may
    /// repeat.
    fn request<S: Source>(
        &self,
        content: &Content,
        asked: (&Op, &S),
        said: (Option<Version>, u32),
        out: &mut SendBuffer,
    );

    /// Appends the second request of a cas on a key, with the number that its gets brought.
    fn cas(
        &self,
        content: &Content,
        key: (u64, u64),
        said: (Option<Version>, u32),
        out: &mut SendBuffer,
    );

    /// Appends what tells a server who we are. Credentials go as they are, in one message; nothing
    /// is hidden by it.
    fn authenticate(user: &[u8], password: &[u8], out: &mut Vec<u8>);

    /// Appends a question.
    fn ask(question: Question<'_>, out: &mut Vec<u8>);

    /// The decoder of a reader of this format.
    fn decoder(reader: &mut Reader) -> &mut Self::Decoder;

    /// Takes the next reply from the front of `input`. `None` means that more bytes are needed;
    /// `input` is then empty.
    fn next<'a, 'i: 'a>(
        decoder: &'a mut Self::Decoder,
        input: &mut &'i [u8],
    ) -> Next<'a, Self::AnswerHead>;

    /// Once there is no further reply in what came: an error when what is left of it cannot become
    /// one.
    fn check_partial(decoder: &Self::Decoder) -> Result<(), Malformed>;

    /// What a reply is to the operations in flight, of which the head has the number `turn`.
    fn role<'a>(
        answer_head: Self::AnswerHead,
        reply: &Reply<'a>,
        turn: Option<u32>,
    ) -> Result<Role<'a>, PeerError>;

    /// Whether `reply` says that our credentials are taken; `None` if it is no answer to them.
    fn welcome(
        answer_head: Self::AnswerHead,
        reply: &Reply<'_>,
    ) -> Option<Result<(), ConnectError>>;
}

/// A reply and what it says of its request, if it is there whole.
pub(crate) type Next<'a, AnswerHead> = Result<Option<(Reply<'a>, AnswerHead)>, Malformed>;

/// What a reply is to the operations in flight.
pub(crate) enum Role<'a> {
    /// An answer, or a piece of one, to the head.
    Answer,
    /// The head asks for several values, and one of them could not be had.
    FailedPart(ErrorReply<'a>),
    /// What went wrong with an operation that wanted no answer and is over.
    Aside,
}

/// Why a connection is not open although it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The credentials were not taken.
    Credentials(ConnectError),
    /// The answer was none.
    Broken(Closed),
}

/// What can be asked beside the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// The server's version.
    Version,
    /// Its general-purpose statistics.
    Statistics,
    /// A key that it hardly has: what every server answers that knows any command at all.
    Get,
    /// A line of the text protocol, without its end and in whatever protocol the plan speaks. Its
    /// answer is the first line that comes back.
    Line(&'a str),
}

/// What [`Question::Get`] asks for.
const GET_KEY: &[u8] = b"memtide";

impl Dialect {
    /// In the plan's protocol.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self::of(plan, plan.requests.protocol)
    }

    /// In the protocol in which `question` is asked of the plan's servers.
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
        };
        Self { content: Content::new(plan), format }
    }

    /// Which it is, for a sentence.
    pub(crate) fn protocol(&self) -> Protocol {
        match self.format {
            Speaker::Text(_) => Protocol::Text,
            Speaker::Binary(_) => Protocol::Binary,
        }
    }

    /// A reader at the beginning of a stream.
    pub(crate) fn reader(&self) -> Reader {
        match self.format {
            Speaker::Text(_) => Reader::Text(Default::default()),
            Speaker::Binary(_) => Reader::Binary(Default::default()),
        }
    }

    /// Whether an operation of this kind asks for no answer.
    #[inline]
    pub(crate) fn is_noreply(&self, kind: OpKind) -> bool {
        self.content.noreply
            && (self.is_cas_alone(kind)
                || spoken!(self, format, _content => format.has_quiet_form(kind)))
    }

    /// Whether an operation of this kind is a cas that reads nothing first.
    #[inline]
    pub(crate) fn is_cas_alone(&self, kind: OpKind) -> bool {
        self.content.is_cas_alone(kind)
    }

    /// As [`WireFormat::request`].
    pub(crate) fn request<S: Source>(
        &self,
        op: &Op,
        source: &S,
        (version, opaque): (Option<Version>, u32),
        out: &mut SendBuffer,
    ) {
        spoken!(self, format, content => {
            format.request(content, (op, source), (version, opaque), out);
        });
    }

    /// As [`WireFormat::cas`].
    pub(crate) fn cas(
        &self,
        (key, unique): (u64, u64),
        (version, opaque): (Option<Version>, u32),
        out: &mut SendBuffer,
    ) {
        spoken!(self, format, content => {
            format.cas(content, (key, unique), (version, opaque), out);
        });
    }

    /// Appends what a new connection says first; false when that is nothing.
    pub(crate) fn authenticate(&self, out: &mut SendBuffer) -> bool {
        let Some(credentials) = &self.content.credentials else { return false };
        let (user, password) = (credentials.user.as_bytes(), credentials.password.as_bytes());
        match self.format {
            Speaker::Text(_) => Text::authenticate(user, password, out.bytes_mut()),
            Speaker::Binary(_) => Binary::authenticate(user, password, out.bytes_mut()),
        }
        true
    }

    /// Appends a question.
    pub(crate) fn ask(&self, question: Question<'_>, out: &mut SendBuffer) {
        match self.format {
            Speaker::Text(_) => Text::ask(question, out.bytes_mut()),
            Speaker::Binary(_) => Binary::ask(question, out.bytes_mut()),
        }
    }
}

impl Reader {
    /// Forgets what has come: a stream begins.
    pub(crate) fn reset(&mut self) {
        match self {
            Self::Text(decoder) => *decoder = Default::default(),
            Self::Binary(decoder) => *decoder = Default::default(),
        }
    }

    /// Takes the next reply from the front of `input`. `None` means that more bytes are needed, and
    /// can complete one.
    pub(crate) fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Reply<'a>>, PeerError> {
        in_format_of!(self, T => match T::next(T::decoder(self), input) {
            Ok(next) => Ok(next.map(|(reply, _)| reply)),
            Err(error) => Err(PeerError::of(error, input)),
        })
    }

    /// Once there is no further reply in what came: an error when what is left of it cannot become
    /// one.
    pub(crate) fn check_partial(&mut self) -> Result<(), PeerError> {
        in_format_of!(self, T => check_partial::<T>(self))
    }

    /// Reads the answer to a greeting. `None` while it has not come whole.
    pub(crate) fn welcome(&mut self, bytes: &[u8]) -> Option<Result<(), Rejection>> {
        in_format_of!(self, T => welcome::<T>(self, bytes))
    }
}

/// As [`Reader::check_partial`].
#[inline(always)]
pub(crate) fn check_partial<T: WireFormat>(reader: &mut Reader) -> Result<(), PeerError> {
    T::check_partial(T::decoder(reader)).map_err(|error| PeerError::of(error, &[]))
}

fn welcome<T: WireFormat>(reader: &mut Reader, bytes: &[u8]) -> Option<Result<(), Rejection>> {
    let mut input = bytes;
    let broken = |error| Some(Err(Rejection::Broken(Closed::Broken(error))));
    let (reply, answer_head) = match T::next(T::decoder(reader), &mut input) {
        Ok(Some(next)) => next,
        Ok(None) => return check_partial::<T>(reader).err().and_then(broken),
        Err(error) => return broken(PeerError::of(error, bytes)),
    };
    if let Reply::Error(error) = reply
        && error.is_too_many_connections()
    {
        return broken(PeerError::TooManyConnections);
    }
    match T::welcome(answer_head, &reply) {
        Some(Ok(())) if input.is_empty() => Some(Ok(())),
        Some(Ok(())) => broken(PeerError::Unasked { got: "more" }),
        Some(Err(error)) => Some(Err(Rejection::Credentials(error))),
        None => broken(PeerError::Unfit { asked: "credentials", got: name(&reply) }),
    }
}

/// A reply in short.
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
        Reply::Error(_) => "an error",
    }
}

#[cfg(test)]
pub(crate) mod tests;
