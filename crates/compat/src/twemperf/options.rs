//! A command line of twemperf as decided values: nothing in them is left to be parsed.

use super::distribution::Distribution;
use memtide_base::Span;

/// Everything that a command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Whom to load.
    pub target: Target,
    /// How its connections are made and closed.
    pub socket: Socket,
    /// What every call asks for.
    pub request: Request,
    /// Which keys the calls ask for.
    pub keys: Keys,
    /// How many connections and calls there are, and when.
    pub load: Load,
    /// What is shown, and written where.
    pub output: Output,
    /// What a user should know about this command line: whole sentences, each for a line of the
    /// log, before the report. Empty when the verbosity does not ask for warnings.
    pub notes: Vec<String>,
}

/// Whom to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A host and its port.
    Tcp {
        /// A name or an address.
        host: String,
        /// 1 to 65535.
        port: u16,
    },
    /// The path of a unix socket; it begins with `/`.
    Unix(String),
}

/// How connections are made and closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// The longest that connecting may take, and the oldest call of a connection may wait after
    /// it was sent; then the connection is given up with all its calls. `None` waits for ever.
    pub timeout: Option<Span>,
    /// SO_LINGER at the end, in seconds; 0 resets the connection. `None` leaves it off.
    pub linger_s: Option<u32>,
    /// SO_SNDBUF.
    pub send_buffer_bytes: u32,
    /// SO_RCVBUF.
    pub receive_buffer_bytes: u32,
    /// Nagle's algorithm stays on.
    pub is_nagle_on: bool,
}

/// What every call asks for. Flags are 0, and values consist of the digit 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Which command.
    pub method: Method,
    /// The expiry of storage commands, as memcached reads it.
    pub expiry_s: u32,
    /// Commands are sent with `noreply`, and nothing is awaited. Never for a retrieval.
    pub is_noreply: bool,
    /// The length of a value in bytes or, of `incr` and `decr`, the amount.
    pub sizes: Sizes,
}

/// What sizes are drawn from: one draw for each call, in the order of the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// The law of the draws, which are rounded to the nearest whole number, halves to even ones.
    pub law: Distribution,
    /// What is drawn above this becomes this.
    pub size_max: u64,
}

/// The commands that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `get`.
    Get,
    /// `gets`.
    Gets,
    /// `delete`.
    Delete,
    /// `cas`, always with the unique number 1.
    Cas,
    /// `set`.
    Set,
    /// `add`.
    Add,
    /// `replace`.
    Replace,
    /// `append`.
    Append,
    /// `prepend`.
    Prepend,
    /// `incr`.
    Incr,
    /// `decr`.
    Decr,
}

/// Which keys the calls ask for: the prefix, then a number of at least eight hexadecimal digits in
/// lower case. One counter runs over all connections and threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// At most 16 bytes.
    pub prefix: String,
    /// The number of the first call's key.
    pub first: u32,
    /// Further calls take the next numbers; after this many the first one comes again.
    pub count: u64,
}

/// How many connections and calls there are, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Connections to open in all, at least 1; `None` opens them until the time is over.
    pub connections: Option<u32>,
    /// Calls on each, at least 1; `None` calls until the time is over.
    pub calls_each: Option<u32>,
    /// The gaps between two connects, in seconds; `None` opens each when the one before it was
    /// closed. The first is opened at once.
    pub connection_gaps: Option<Distribution>,
    /// The gaps between two calls on a connection, in seconds, however many are unanswered; `None`
    /// issues each when the one before it was answered. The first is issued when the connection
    /// stands.
    pub call_gaps: Option<Distribution>,
    /// The longest that calls are issued; `None` until all are done.
    pub time: Option<Span>,
    /// Workers that share the load; at least 1.
    pub threads: u32,
    /// The state of C's erand48 at the beginning, for [`Rand48`](memtide_base::rng::Rand48). The
    /// gaps of connections, the gaps of calls and the sizes are each drawn from a stream of their
    /// own, and all three begin here.
    pub seed_words: [u16; 3],
}

/// What is shown, and written where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The report has a histogram.
    pub is_histogram_shown: bool,
    /// The report goes to stdout; to stderr otherwise.
    pub is_on_stdout: bool,
    /// Exit 1 when any error was counted.
    pub is_error_fatal: bool,
    /// The file of the record.
    pub json: Option<String>,
    /// Notes are wanted on stderr.
    pub has_notes: bool,
    /// The file that notes are appended to; without one they go to stderr, if wanted.
    pub log: Option<String>,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Get,
        Self::Gets,
        Self::Delete,
        Self::Cas,
        Self::Set,
        Self::Add,
        Self::Replace,
        Self::Append,
        Self::Prepend,
        Self::Incr,
        Self::Decr,
    ];

    /// The word on the command line and on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Gets => "gets",
            Self::Delete => "delete",
            Self::Cas => "cas",
            Self::Set => "set",
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Prepend => "prepend",
            Self::Incr => "incr",
            Self::Decr => "decr",
        }
    }

    /// Whether it asks for a value.
    pub const fn is_retrieval(self) -> bool {
        matches!(self, Self::Get | Self::Gets)
    }

    /// Whether it changes a number.
    pub const fn is_arithmetic(self) -> bool {
        matches!(self, Self::Incr | Self::Decr)
    }

    /// Whether it sends a value.
    pub const fn is_storage(self) -> bool {
        !self.is_retrieval() && !self.is_arithmetic() && !matches!(self, Self::Delete)
    }
}
