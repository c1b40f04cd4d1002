//! Errors in a peer's bytes. [`Malformed`] is a server's fault and ends the stream; [`BadRequest`]
//! is a client's fault and says what memcached answers.

use crate::reply::{ErrorKind, ErrorReply};
use std::fmt;

/// The first bytes of a line that could not be parsed, stored without allocating.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Excerpt {
    bytes: [u8; Self::BYTES_MAX],
    len: u8,
    cut: bool,
}

impl Excerpt {
    /// The number of bytes kept.
    const BYTES_MAX: usize = 40;

    /// The beginning of `line`.
    pub fn of(line: &[u8]) -> Self {
        let len = line.len().min(Self::BYTES_MAX);
        let mut bytes = [0; Self::BYTES_MAX];
        bytes[..len].copy_from_slice(&line[..len]);
        Self { bytes, len: len as u8, cut: line.len() > len }
    }

    /// The bytes that were kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.cut { "…" } else { "" };
        write!(f, "'{}{more}'", self.bytes().escape_ascii())
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The server sent bytes that violate the protocol. Nothing after them can be trusted: close the
/// connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A line has no end within the limit.
    LineTooLong {
        /// The beginning of the line.
        line: Excerpt,
        /// The limit, in bytes.
        bytes_max: usize,
    },
    /// A line is not a reply of the text protocol.
    UnknownReply {
        /// The beginning of the line.
        line: Excerpt,
    },
    /// A line is not an answer of the meta protocol.
    UnknownAnswer {
        /// The beginning of the line.
        line: Excerpt,
    },
    /// A number of a reply is missing, not decimal or out of range.
    BadNumber {
        /// The beginning of the line.
        line: Excerpt,
        /// The form that the protocol requires here.
        expected: &'static str,
    },
    /// A value is longer or shorter than its reply said.
    ValueNotClosed {
        /// The first byte that is not part of CRLF.
        got: u8,
    },
    /// The bytes do not begin a reply of the binary protocol.
    NoFrame {
        /// The first byte.
        got: u8,
    },
    /// The header of a binary reply contradicts itself.
    BadFrame {
        /// The number of the command that it answers.
        opcode: u8,
        /// The form that the protocol requires here.
        expected: &'static str,
    },
}

impl fmt::Display for Malformed {
    /// Writes the sentence without its subject (the server) and without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineTooLong { line, bytes_max } => write!(
                f,
                "sent a line that starts with {line} and does not end within \
                 {bytes_max} bytes; is it a memcached with the text protocol?"
            ),
            Self::UnknownReply { line } => write!(
                f,
                "sent {line} where a memcached text reply such as STORED, VALUE or \
                 END was expected; is it a memcached with the text protocol?"
            ),
            Self::UnknownAnswer { line } => write!(
                f,
                "sent {line} where a meta reply of memcached such as HD, VA or EN was \
                 expected"
            ),
            Self::BadNumber { line, expected } => {
                write!(f, "sent {line} where {expected} was expected")
            }
            Self::ValueNotClosed { got } => write!(
                f,
                "sent '{}' after the last byte of a value where CRLF was expected",
                [*got].escape_ascii()
            ),
            Self::NoFrame { got } => write!(
                f,
                "sent '{}' where a binary answer begins; is it a memcached with the \
                 binary protocol?",
                [*got].escape_ascii()
            ),
            Self::BadFrame { opcode, expected } => write!(
                f,
                "sent an invalid binary answer to command 0x{opcode:02x}: {expected} \
                 was expected"
            ),
        }
    }
}

impl std::error::Error for Malformed {}

/// A client's bytes that violate the protocol, and what memcached does about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRequest {
    /// The error reply.
    pub reply: ErrorReply<'static>,
    /// True if nothing is sent after all: the client asked for no replies, or memcached closes the
    /// connection without one.
    pub silent: bool,
    /// The continuation of the stream.
    pub then: Then,
}

/// A line that is refused.
pub(crate) struct BadLine {
    /// The answer.
    pub bad: BadRequest,
    /// The length of a value that follows and is skipped.
    pub value_bytes: Option<usize>,
}

impl From<BadRequest> for BadLine {
    /// A line without a value.
    fn from(bad: BadRequest) -> Self {
        Self { bad, value_bytes: None }
    }
}

/// The continuation of a stream after a bad request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The next byte begins a new line.
    Continue,
    /// The request's value was skipped; the next byte begins a new line.
    SwallowedValue,
    /// Nothing more can be read.
    Close,
}

impl BadRequest {
    pub(crate) const fn answer(kind: ErrorKind, message: &'static [u8]) -> Self {
        Self { reply: ErrorReply { kind, message }, silent: false, then: Then::Continue }
    }

    pub(crate) const fn client(message: &'static [u8]) -> Self {
        Self::answer(ErrorKind::Client, message)
    }

    pub(crate) const fn silent_if(self, silent: bool) -> Self {
        Self { silent, ..self }
    }
}

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.then {
            Then::Continue => "",
            Then::SwallowedValue => " and the value is thrown away",
            Then::Close => " and the connection is closed",
        };
        write!(f, "the client sent what is answered with '{}'{what}", self.reply)
    }
}

impl std::error::Error for BadRequest {}
