//! memcached's replies, in any protocol, piece by piece as the bytes arrive.

/// One reply, or one piece of it. A retrieval is answered by any number of
/// `Value, Data, Data, …` groups and one `End`; statistics by `Stat`s and one `End`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The head of a value ("Retrieval command").
    Value {
        /// The key.
        key: &'a [u8],
        /// The number stored with the value.
        flags: u32,
        /// The length of the value, which follows in `Data`.
        bytes: usize,
        /// Its cas number, if requested.
        cas: Option<u64>,
    },
    /// A piece of the value whose head came last.
    Data {
        /// The next bytes of the value.
        bytes: &'a [u8],
        /// True if these are the last bytes and the CRLF after them has arrived. Exactly one piece
        /// of each value says so; that piece may be empty.
        ends: bool,
    },
    /// The end of a retrieval or of statistics.
    End,
    /// Stored ("Storage commands").
    Stored,
    /// The condition of add, replace, append or prepend was not met.
    NotStored,
    /// Another client stored the key since the cas number was read.
    Exists,
    /// The key does not exist.
    NotFound,
    /// Removed ("Deletion").
    Deleted,
    /// The new expiry is set ("Touch").
    Touched,
    /// Done ("Other commands").
    Ok,
    /// The counters were reset ("Statistics").
    Reset,
    /// The number after the increment or decrement ("Increment/Decrement").
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
    /// Meta: carried out, whatever was asked ("Meta Set" and others).
    Done,
    /// Meta: the answer to `mn` ("Meta No-Op").
    Noop,
    /// Meta: all about one item, for people ("Meta Debug").
    Item {
        /// The key as written.
        key: &'a [u8],
        /// The rest of the line: names and values.
        figures: &'a [u8],
    },
    /// The request was refused ("Error strings").
    Error(ErrorReply<'a>),
}

/// An error reply ("Error strings").
///
/// After `CLIENT_ERROR bad data chunk` memcached takes the rest of the value, whose length was
/// wrong, for the next command line. A second line, usually `ERROR`, follows that answers no
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorReply<'a> {
    /// Whose fault the server says it is.
    pub kind: ErrorKind,
    /// The rest of the line; may be empty.
    pub message: &'a [u8],
}

/// The side that an error reply blames ("Error strings").
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
    /// True if a value did not end where its length said; a second error line follows.
    pub fn is_bad_data_chunk(&self) -> bool {
        self.kind == ErrorKind::Client && self.message == b"bad data chunk"
    }

    /// True if the credentials were wrong.
    pub fn is_authentication_failure(&self) -> bool {
        self.kind == ErrorKind::Client && self.message == b"authentication failure"
    }

    /// True if the server requires authentication first, in either protocol.
    pub fn wants_credentials(&self) -> bool {
        let words: [&[u8]; 2] = [b"unauthenticated", b"Auth failure."];
        self.kind == ErrorKind::Client && words.contains(&self.message)
    }

    /// True if the server has no room for this connection and is about to close it.
    pub fn is_too_many_connections(&self) -> bool {
        self.kind == ErrorKind::Error && self.message.starts_with(b"Too many open connections")
    }
}
