//! A question to a server beside the load, its answer, and why there is none. It asks nothing: the
//! engine does.

use crate::driver::{Closed, ConnectError, DriverError};
use crate::plan::Protocol;
use memtide_base::{Remedy, Sentence, Span};
use std::fmt;

/// A question to a server, asked on a connection beside the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// The server's version.
    Version,
    /// Its general-purpose statistics.
    Statistics,
    /// Its settings, which are answered like statistics.
    Settings,
    /// A get of a key that it hardly has. Every server that knows any command answers it.
    Get,
    /// A line of the text protocol, without its end, whichever protocol the plan uses. Its answer
    /// is the first line that is received.
    Line(&'a str),
}

impl Question<'_> {
    /// The question's name, for a message.
    pub fn word(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Statistics => "stats",
            Self::Settings => "stats settings",
            Self::Get => "a get",
            Self::Line(_) => "a command",
        }
    }
}

/// A server's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The answer to [`Question::Version`].
    Version(String),
    /// The answer to [`Question::Statistics`] or [`Question::Settings`]: names and values, in the
    /// server's order.
    Statistics(Vec<(String, String)>),
    /// The answer to [`Question::Get`]: true if the key was found.
    Found(bool),
    /// The answer to [`Question::Line`], without its line end.
    Line(String),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// The server could not be connected to.
    Connect(ConnectError),
    /// The connection ended, or the server broke the protocol, before an answer came.
    Closed(Closed),
    /// The server accepts connections and does not answer: it is stopped, overloaded or not a
    /// memcached.
    Silent(Span, Protocol),
    /// The answer began and did not end within the timeout.
    Unfinished {
        /// The timeout.
        timeout: Span,
        /// The number of bytes received.
        bytes: usize,
    },
    /// The server closed the connection after part of its answer.
    CutShort(usize),
    /// The answer is longer than any that a memcached gives.
    TooLong {
        /// The longest answer that is read, in bytes.
        bytes_max: usize,
    },
    /// The user interrupted memtide while it waited for an answer.
    Interrupted,
    /// `--no-stats` forbids the question.
    NotAsked,
    /// The server answered with an error: it does not know the command, or forbids it.
    Refused(String),
    /// A system call of memtide itself failed.
    Driver(DriverError),
}

impl AskError {
    /// The sentence without its subject (the server) and its full stop, with the remedy if there is
    /// one.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::Connect(error) => error.sentence(),
            Self::Closed(Closed::ByPeer) => {
                Sentence::new("closed the connection without an answer; is it a memcached?")
                    .remedy(Remedy::PerhapsTls)
            }
            Self::Closed(Closed::Reset) => Closed::Reset.sentence().remedy(Remedy::PerhapsTls),
            Self::Closed(closed) => closed.sentence(),
            Self::Silent(timeout, protocol) => Sentence::new(format!(
                "accepted the connection but did not answer within {timeout}; is it a memcached \
                 with the {protocol} protocol, and is it running?"
            ))
            .remedy(Remedy::AllowTime),
            Self::Unfinished { timeout, bytes } => Sentence::new(format!(
                "began to answer but did not end its answer within {timeout} ({bytes} bytes came); \
                 is it a memcached, and is it running?"
            ))
            .remedy(Remedy::AllowTime),
            Self::CutShort(bytes) => Sentence::new(format!(
                "closed the connection within its answer, after {bytes} bytes; is it a memcached?"
            )),
            Self::TooLong { bytes_max } => Sentence::new(format!(
                "sent an answer without an end: more than {bytes_max} bytes; is it a memcached?"
            )),
            Self::NotAsked => {
                Sentence::new("was not asked for its statistics").remedy(Remedy::AskStats)
            }
            Self::Interrupted => Sentence::new("was not waited for: the run was interrupted"),
            Self::Refused(line) => Sentence::new(format!("answered '{line}'")),
            Self::Driver(error) => {
                Sentence::new(format!("could not be asked: {error}")).remedy(Remedy::OtherIo)
            }
        }
    }
}

impl fmt::Display for AskError {
    /// Writes the sentence without its subject (the server) and its full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl std::error::Error for AskError {}

impl From<DriverError> for AskError {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}
