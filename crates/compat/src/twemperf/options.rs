//! A command line of twemperf as decided values, with nothing left to parse.

use super::distribution::Distribution;
use memtide_base::{Span, worded};

/// The decided values of a command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The server.
    pub target: Target,
    /// The sockets of its connections.
    pub socket: Socket,
    /// The request of every call.
    pub request: Request,
    /// The keys of the calls.
    pub keys: Keys,
    /// The connections and calls, and their times.
    pub load: Load,
    /// The output and its destinations.
    pub output: Output,
    /// Notes on this command line for the user: whole sentences, each for a line of the log before
    /// the report. Empty if the verbosity is below that of warnings.
    pub notes: Vec<String>,
}

/// The server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A host and its port.
    Tcp {
        /// A name or an address.
        host: String,
        /// The port, 1 to 65 535.
        port: u16,
    },
    /// The path of a unix socket; it begins with `/`.
    Unix(String),
}

/// The sockets of connections, and their end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// The longest time that connecting may take, and that the oldest call of a connection may wait
    /// after it was sent; then the connection is given up with all its calls. `None` waits for
    /// ever.
    pub timeout: Option<Span>,
    /// SO_LINGER at the close, in seconds; 0 resets the connection. `None` leaves it off.
    pub linger_s: Option<u32>,
    /// SO_SNDBUF.
    pub send_buffer_bytes: u32,
    /// SO_RCVBUF.
    pub receive_buffer_bytes: u32,
    /// True to leave Nagle's algorithm on.
    pub is_nagle_on: bool,
}

/// The request of every call. Flags are 0, and values consist of the digit 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The command.
    pub method: Method,
    /// The expiry of storage commands, as memcached reads it.
    pub expiry_s: u32,
    /// True to send commands with `noreply` and await nothing. Never for a retrieval.
    pub is_noreply: bool,
    /// The length of a value in bytes; for `incr` and `decr`, the amount.
    pub sizes: Sizes,
}

/// The source of sizes: one draw for each call, in the order of the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// The law of the draws, which are rounded to the nearest whole number, halves to even ones.
    pub law: Distribution,
    /// The largest size; larger draws become this.
    pub size_max: u64,
}

worded! {
    /// A command of a call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Method {
        /// `get`.
        Get = "get",
        /// `gets`.
        Gets = "gets",
        /// `delete`.
        Delete = "delete",
        /// `cas`, always with the unique number 1.
        Cas = "cas",
        /// `set`.
        Set = "set",
        /// `add`.
        Add = "add",
        /// `replace`.
        Replace = "replace",
        /// `append`.
        Append = "append",
        /// `prepend`.
        Prepend = "prepend",
        /// `incr`.
        Incr = "incr",
        /// `decr`.
        Decr = "decr",
    }
    /// The word on the command line and on the wire.
    pub const fn name;
    /// All commands.
    pub const ALL;
}

/// The keys of the calls: the prefix, then a number of at least eight hexadecimal digits in lower
/// case. One counter runs over all connections and threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The prefix, at most 16 bytes.
    pub prefix: String,
    /// The number of the first call's key.
    pub first: u32,
    /// The number of distinct keys. Calls count up from the first key, and start over after this
    /// many.
    pub count: u64,
}

/// The connections and calls, and their times.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The number of connections to open, at least 1; `None` opens them until the time is over.
    pub connections: Option<u32>,
    /// The number of calls on each, at least 1; `None` calls until the time is over.
    pub calls_each: Option<u32>,
    /// The gaps between two connects, in seconds; `None` opens each connection when the one before
    /// it was closed. The first is opened at once.
    pub connection_gaps: Option<Distribution>,
    /// The gaps between two calls on a connection, in seconds, however many are unanswered; `None`
    /// issues each call when the one before it was answered. The first is issued when the
    /// connection is established.
    pub call_gaps: Option<Distribution>,
    /// The longest time in which calls are issued; `None` until all are done.
    pub time: Option<Span>,
    /// The number of workers that share the load; at least 1.
    pub threads: u32,
    /// The initial state of C's erand48, for [`rand48_draw`](memtide_base::rng::rand48_draw). The
    /// gaps of connections, the gaps of calls and the sizes each use a stream of their own, and all
    /// three start from this state.
    pub seed_words: [u16; 3],
}

/// The output and its destinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// True if the report has a histogram.
    pub is_histogram_shown: bool,
    /// True if the report goes to stdout, false for stderr.
    pub is_on_stdout: bool,
    /// True to exit with 1 if any error was counted.
    pub is_error_fatal: bool,
    /// The file for the record.
    pub json: Option<String>,
    /// True to print notes on stderr.
    pub has_notes: bool,
    /// The file to which notes are appended; without one they go to stderr, if wanted.
    pub log: Option<String>,
}

impl Method {
    /// True if it requests a value.
    pub const fn is_retrieval(self) -> bool {
        matches!(self, Self::Get | Self::Gets)
    }

    /// True if it changes a number.
    pub const fn is_arithmetic(self) -> bool {
        matches!(self, Self::Incr | Self::Decr)
    }

    /// True if it sends a value.
    pub const fn is_storage(self) -> bool {
        !self.is_retrieval() && !self.is_arithmetic() && !matches!(self, Self::Delete)
    }
}
