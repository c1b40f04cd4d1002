//! What memcached may answer, whatever the wire form, piece by piece as the bytes pass.

/// One reply, or one piece of it. A retrieval is answered by any number of
/// `Value, Data, Data, …` groups and one `End`; statistics by `Stat`s and one `End`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The head of a value ("Retrieval command").
    Value {
        /// Whose value it is.
        key: &'a [u8],
        /// The number that was stored with it.
        flags: u32,
        /// How many bytes follow in `Data`.
        bytes: usize,
        /// Its cas number, if asked for.
        cas: Option<u64>,
    },
    /// A piece of the value whose head came before.
    Data {
        /// The next bytes of the value.
        bytes: &'a [u8],
        /// Whether these are the last, and the CRLF after them was there. Exactly one piece of
        /// each value says so, and that piece may be empty.
        ends: bool,
    },
    /// The end of a retrieval or of statistics.
    End,
    /// Stored ("Storage commands").
    Stored,
    /// The condition of add, replace, append or prepend was not met.
    NotStored,
    /// Somebody stored since the cas number was read.
    Exists,
    /// There is no such key.
    NotFound,
    /// Removed ("Deletion").
    Deleted,
    /// Has its new expiry ("Touch").
    Touched,
    /// Done ("Other commands").
    Ok,
    /// The counters were set back ("Statistics").
    Reset,
    /// The number after counting ("Increment/Decrement").
    Number(u64),
    /// The server's version.
    Version(&'a [u8]),
    /// One counter ("Statistics").
    Stat {
        /// Its name, without spaces.
        name: &'a [u8],
        /// The rest of the line.
        value: &'a [u8],
    },
    /// The request was refused ("Error strings").
    Error(ErrorReply<'a>),
}

/// A refusal ("Error strings").
///
/// After `CLIENT_ERROR bad data chunk` memcached takes the misread rest of the value for the next
/// command line, so a second line, usually `ERROR`, follows that nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorReply<'a> {
    /// Whose fault the server says it is.
    pub kind: ErrorKind,
    /// The rest of the line; may be empty.
    pub message: &'a [u8],
}

/// Whose fault the server says it is ("Error strings").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// `ERROR`: the command is not known, or the server refuses the connection.
    Error,
    /// `CLIENT_ERROR`: the request is not as the protocol wants it.
    Client,
    /// `SERVER_ERROR`: the server cannot do it now.
    Server,
}

impl ErrorKind {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Client => "CLIENT_ERROR",
            Self::Server => "SERVER_ERROR",
        }
    }
}

impl ErrorReply<'_> {
    /// Whether a value did not end where its length said, so that a second error line follows.
    pub fn is_bad_data_chunk(&self) -> bool {
        self.kind == ErrorKind::Client && self.message == b"bad data chunk"
    }

    /// Whether credentials were not right.
    pub fn is_authentication_failure(&self) -> bool {
        self.kind == ErrorKind::Client && self.message == b"authentication failure"
    }

    /// Whether the server wants credentials first: in lines, or in frames.
    pub fn wants_credentials(&self) -> bool {
        let words: [&[u8]; 2] = [b"unauthenticated", b"Auth failure."];
        self.kind == ErrorKind::Client && words.contains(&self.message)
    }

    /// Whether the server has no room for this connection and is about to close it.
    pub fn is_too_many_connections(&self) -> bool {
        self.kind == ErrorKind::Error && self.message.starts_with(b"Too many open connections")
    }
}
