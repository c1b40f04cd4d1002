//! A worker's only interface to its world. It is shaped like io_uring: submit, wait, take
//! completions. A driver over readiness (epoll) imitates completions.

mod filter;
mod message;
mod stranger;
mod tls_fault;

pub use filter::{Filter, FilterPlan, Handshake};
pub use message::{BufferPosition, Message, SPLICE_BYTES_MIN, SendBuffer};
pub use stranger::Stranger;
pub use tls_fault::{CertificateFault, TlsFault};

pub use memtide_base::SocketOptions;
use memtide_base::{ConnectionId, Full, Instant, Remedy, Sentence, Span};
use memtide_codec::{ErrorKind, ErrorReply, Excerpt, Malformed};
use memtide_metrics::ErrorClass;
use memtide_workload::{OpKind, Outcome};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The address at which a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP over IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A unix domain socket's path.
    Unix(String),
    /// UDP over IPv4 or IPv6: each [`Driver::send`] and each [`Event::Received`] is one
    /// datagram.
    Udp(SocketAddr),
}

impl Address {
    /// True if the server is certainly on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) | Self::Udp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{path}"),
            Self::Udp(address) => write!(f, "udp:{address}"),
        }
    }
}

/// The immediate result of [`Driver::send`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Done, or an event will report the result.
    Done,
    /// Some bytes are not sent yet; [`Event::Writable`] reports when they are. Until then the
    /// worker should send no more.
    Pending,
}

/// Something that happened to a connection.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'a> {
    /// The connection.
    pub connection: ConnectionId,
    /// The instant, read from the clock after the receive call that returned it (one reading may
    /// serve up to 8 completions), never the instant at which waiting ended.
    pub at: Instant,
    /// The event.
    pub event: Event<'a>,
}

/// An event of a connection.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It is open.
    Connected,
    /// It could not be opened.
    ConnectFailed(ConnectError),
    /// Bytes were received, at least one.
    Received(&'a [u8]),
    /// All bytes that were pending are sent.
    Writable,
    /// It is closed, and the driver has dropped its state.
    Closed(Closed),
}

/// Why a connect failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// Nothing listens on the address: the server does not run, or listens elsewhere.
    Refused,
    /// No route leads to the address, or the network says that it is closed.
    Unreachable,
    /// The connection was not open within the timeout: the server is overloaded or far away.
    TimedOut,
    /// It was established, and TLS was not agreed on within the timeout: a server without TLS waits
    /// for the end of a line.
    HandshakeTimedOut,
    /// No attempt was answered until the system gave up: the machine is off, or a firewall drops
    /// packets.
    Unanswered,
    /// The server or a proxy reset the connection while it was opened.
    Reset,
    /// This process has as many files open as it may; each connection is one.
    FilesExhausted,
    /// The system has as many files open as it may; each connection is one.
    FileTableFull,
    /// Every local port for this destination is in use, or was until a minute ago.
    PortsExhausted,
    /// No file exists at the path of the unix socket.
    NoSuchPath,
    /// The address to come from is not one of this machine's.
    SourceNotLocal,
    /// The server does not know this user, or the password is another one.
    CredentialsRefused(Refusal),
    /// The server has no authentication for this protocol.
    CredentialsUnwanted(Refusal),
    /// The server asks for more steps of authentication than SASL PLAIN has.
    CredentialsUnfinished,
    /// The server requires credentials, and the scenario has none.
    CredentialsMissing,
    /// The address, unless it is a unix socket's path, is none that this agent's operator allows.
    NotAllowed(Option<SocketAddr>),
    /// The system does not allow a socket option that the scenario asks for.
    OptionRefused {
        /// The option, as the system names it.
        option: &'static str,
        /// The permission that the system requires, as a sentence without its full stop.
        remedy: &'static str,
        /// The reason, as the system numbers it.
        code: i32,
    },
    /// The system reports an error that has no name here; the number is the system's.
    Other(i32),
}

impl ConnectError {
    /// The sentence without its subject and its full stop, with the remedy if there is one.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::Refused => Sentence::new("refused the connection; is the server running there?"),
            Self::Unreachable => Sentence::new("cannot be reached from here; check the address"),
            Self::TimedOut => {
                Sentence::new("did not accept a connection in time").remedy(Remedy::SeeTimeout)
            }
            Self::HandshakeTimedOut => Sentence::new(
                "accepted the connection and did not end the handshake of TLS in time; does it \
                 speak TLS (memcached -Z)?",
            )
            .remedy(Remedy::LeaveTls),
            Self::Unanswered => Sentence::new(
                "did not answer any attempt to connect; check the address, and firewalls on the \
                 way",
            ),
            Self::Reset => {
                Sentence::new("reset the connection before it was open").remedy(Remedy::ReadLog)
            }
            Self::FilesExhausted => Sentence::new(
                "needs more open files than this process may have; raise the hard limit \
                 (`ulimit -Hn`)",
            )
            .remedy(Remedy::OrFewerConnections),
            Self::FileTableFull => {
                Sentence::new("needs more open files than this system may have; raise fs.file-max")
                    .remedy(Remedy::OrFewerConnections)
            }
            Self::PortsExhausted => {
                Sentence::new("needs more local ports than are free").remedy(Remedy::MorePorts)
            }
            Self::NoSuchPath => Sentence::new("does not exist; check the path of the socket"),
            Self::SourceNotLocal => Sentence::new("cannot be reached").remedy(Remedy::LocalSource),
            Self::CredentialsRefused(said) => {
                Sentence::new(format!("refused the credentials with '{said}'"))
                    .remedy(Remedy::CheckCredentials)
            }
            Self::CredentialsUnwanted(said) => Sentence::new(format!(
                "does not take credentials over this protocol: it answered '{said}'"
            ))
            .remedy(Remedy::LeaveCredentials),
            Self::CredentialsUnfinished => Sentence::new(
                "refused the credentials: it wants more steps than SASL PLAIN has; allow the \
                 mechanism PLAIN",
            ),
            Self::CredentialsMissing => {
                Sentence::new("requires authentication").remedy(Remedy::GiveCredentials)
            }
            Self::NotAllowed(Some(address)) => Sentence::new(format!(
                "has the address {address}, which is not among the targets that this agent allows"
            ))
            .remedy(Remedy::AllowTarget),
            Self::NotAllowed(None) => {
                Sentence::new("is not among the targets that this agent allows")
                    .remedy(Remedy::AllowTarget)
            }
            Self::OptionRefused { option, remedy, code } => Sentence::new(format!(
                "could not be connected to: this system refuses {option} (system error {code}); \
                 {remedy}"
            )),
            Self::Other(code) => {
                Sentence::new(format!("could not be connected to (system error {code})"))
                    .remedy(Remedy::LookUpError)
            }
        }
    }
}

/// Why an open connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The server closed the connection in good order: it stopped, or closes idle connections.
    ByPeer,
    /// The server closed the connection without the `close_notify` that ends TLS: it was stopped,
    /// or something on the way ended the connection. What it sent last may be missing.
    Truncated,
    /// The connection was reset: the server was killed, or a proxy or firewall cut it.
    Reset,
    /// Nothing was acknowledged until the system gave up: the machine or the network failed.
    Unanswered,
    /// memtide closed the connection because the server broke the protocol.
    Broken(PeerError),
    /// Nothing listens for datagrams at the address.
    Unheard,
    /// The system reports an error that has no name here; the number is the system's.
    Other(i32),
}

impl Closed {
    /// The sentence without its subject and its full stop, with the remedy if there is one.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::ByPeer => Sentence::new("closed the connection").remedy(Remedy::ReadLog),
            Self::Truncated => {
                Sentence::new("closed the connection without TLS's close_notify; was it stopped?")
            }
            Self::Reset => Sentence::new("reset the connection").remedy(Remedy::ReadLog),
            Self::Unanswered => {
                Sentence::new("no longer acknowledges what is sent").remedy(Remedy::CheckMachine)
            }
            Self::Broken(error) => error.sentence(),
            Self::Unheard => {
                Sentence::new("does not listen for UDP; start it with -U and the port, or use TCP")
            }
            Self::Other(code) => {
                Sentence::new(format!("lost the connection (system error {code})"))
                    .remedy(Remedy::LookUpError)
            }
        }
    }
}

impl From<Closed> for ErrorClass {
    fn from(closed: Closed) -> Self {
        match closed {
            Closed::ByPeer
            | Closed::Truncated
            | Closed::Reset
            | Closed::Unanswered
            | Closed::Unheard
            | Closed::Other(_) => Self::Closed,
            Closed::Broken(PeerError::TooManyConnections) => Self::TooManyConnections,
            Closed::Broken(PeerError::Unmatched { .. }) => Self::Unmatched,
            Closed::Broken(_) => Self::Protocol,
        }
    }
}

/// How a server broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerError {
    /// The server has as many connections as its limit allows.
    TooManyConnections,
    /// The bytes that came are not the protocol.
    Malformed(Malformed),
    /// The bytes that came are of another protocol, which is known.
    Foreign {
        /// The other protocol.
        stranger: Stranger,
        /// The beginning of the bytes.
        line: Excerpt,
    },
    /// A reply does not fit its request: a proxy mixed replies up, or it is not a memcached.
    Mismatch {
        /// The request's kind.
        kind: OpKind,
        /// The reply's name.
        got: &'static str,
    },
    /// A reply does not fit a question that memtide asked beside the load.
    Unfit {
        /// The question, in a word.
        asked: &'static str,
        /// The reply's name.
        got: &'static str,
    },
    /// Replies came in another order than their requests.
    OutOfTurn {
        /// The number of the request that is to be answered next on this connection.
        expected: u32,
        /// The number that the reply repeats.
        got: u32,
    },
    /// A reply repeats an opaque that no request in flight has, or none: it is a second answer, or
    /// something between memtide and the server changed it.
    Unmatched {
        /// The reply's name.
        got: &'static str,
    },
    /// A reply came although no request waited for one.
    Unasked {
        /// The reply's name.
        got: &'static str,
    },
    /// TLS cannot be agreed on, or was broken.
    Tls(TlsFault),
    /// The bytes cannot be decoded by a filter.
    Unreadable {
        /// The fault of the bytes, as the end of "its bytes ...".
        why: &'static str,
    },
    /// An error came although no request waited for a reply.
    UnaskedError {
        /// The beginning of the error.
        line: Excerpt,
    },
}

impl PeerError {
    /// The error for bytes that could not be decoded from `rest` on. A known other protocol is
    /// named.
    pub fn of(error: Malformed, rest: &[u8]) -> Self {
        let begun = match &error {
            Malformed::UnknownReply { line }
            | Malformed::UnknownAnswer { line }
            | Malformed::LineTooLong { line, .. } => line.bytes(),
            Malformed::NoFrame { .. } => rest,
            _ => return Self::Malformed(error),
        };
        let end = begun.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(begun.len());
        match Stranger::of(begun) {
            Some(stranger) => Self::Foreign { stranger, line: Excerpt::of(&begun[..end]) },
            None => Self::Malformed(error),
        }
    }

    /// The sentence without its subject and its full stop, with the remedy if there is one.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::TooManyConnections => {
                Sentence::new("answered 'ERROR Too many open connections'; raise its -c")
                    .remedy(Remedy::OrFewerConnections)
            }
            Self::Malformed(error) => {
                let sentence = Sentence::new(error.to_string());
                match error {
                    // These ask whether it is a memcached with this protocol.
                    Malformed::LineTooLong { .. }
                    | Malformed::UnknownReply { .. }
                    | Malformed::NoFrame { .. } => sentence,
                    Malformed::UnknownAnswer { .. }
                    | Malformed::BadNumber { .. }
                    | Malformed::ValueNotClosed { .. }
                    | Malformed::BadFrame { .. } => sentence.remedy(Remedy::CheckPort),
                }
            }
            Self::Foreign { stranger, line } => {
                Sentence::new("answered with ").and(&stranger.sentence()).text(format!(" ({line})"))
            }
            Self::Mismatch { kind, got } => Sentence::new(format!(
                "answered {got} to a {}, which the protocol rules out",
                kind.name()
            ))
            .remedy(Remedy::CheckPort),
            Self::Unfit { asked, got } => {
                Sentence::new(format!("answered {got} to {asked}, which the protocol rules out"))
                    .remedy(Remedy::CheckPort)
            }
            Self::OutOfTurn { expected, got } => Sentence::new(format!(
                "answered request {got} of a connection when it was request {expected}'s turn"
            ))
            .remedy(Remedy::CheckPort),
            Self::Unmatched { got } => {
                Sentence::new(format!("sent {got} without the opaque of a request in flight"))
                    .remedy(Remedy::MatchOrder)
            }
            Self::Unasked { got } => {
                Sentence::new(format!("sent {got} although nothing was asked"))
                    .remedy(Remedy::CheckPort)
            }
            Self::Tls(fault) => fault.sentence(),
            Self::Unreadable { why } => {
                Sentence::new(format!("cannot be understood: its bytes {why}"))
                    .remedy(Remedy::CheckPort)
            }
            Self::UnaskedError { line } => {
                Sentence::new(format!("sent {line} although nothing was asked"))
                    .remedy(Remedy::CheckPort)
            }
        }
    }
}

/// An error line that a server answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The protocol's kind of error.
    pub kind: ErrorKind,
    /// The beginning of its message.
    pub line: Excerpt,
}

impl Refusal {
    /// The refusal that this error line says.
    pub fn of(error: &ErrorReply<'_>) -> Self {
        Self { kind: error.kind, line: Excerpt::of(error.message) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        match self.line.bytes() {
            [] => Ok(()),
            line => write!(f, " {}", line.escape_ascii()),
        }
    }
}

/// One measured operation, as exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The instant at which the schedules of the load began.
    pub begun: Instant,
    /// Its position in the run's sequence.
    pub index: u64,
    /// The id of its first key.
    pub key: u64,
    /// Its intended instant.
    pub intended: Instant,
    /// The instant at which it was sent; [`Instant::NEVER`] if it was not.
    pub sent: Instant,
    /// The instant at which its reply was complete; [`Instant::NEVER`] if none was.
    pub received: Instant,
    /// Its kind.
    pub kind: OpKind,
    /// Its outcome.
    pub outcome: Outcome,
    /// Bytes of its reply.
    pub bytes: u32,
    /// The connection, counted over all workers; `u32::MAX` if it got none.
    pub connection: u32,
}

/// A world, as a worker sees it.
pub trait Driver {
    /// The present instant.
    fn now(&self) -> Instant;

    /// Opens `connection`, which must not be open; answered by [`Event::Connected`] or
    /// [`Event::ConnectFailed`]. It connects from the local address `source`; with `None` the
    /// system chooses.
    fn connect(
        &mut self,
        connection: ConnectionId,
        address: &Address,
        source: Option<IpAddr>,
        sockets: SocketOptions,
    );

    /// Sends `message` on `connection`, which must be open, after all that was sent before: at
    /// once, or with the next wait. If the driver cannot send all of it at once, it keeps a copy of
    /// the message's own bytes and references to the others.
    fn send(&mut self, connection: ConnectionId, message: Message<'_>) -> Submitted;

    /// Closes `connection`, if it is open; no event of it is delivered any more. Without `linger`
    /// it closes in good order, which leaves the port waiting for a while. A span in whole seconds
    /// is the time that the system may take for unsent bytes; zero resets the connection and frees
    /// its port.
    fn close(&mut self, connection: ConnectionId, linger: Option<Span>);

    /// True if the kernel has not taken all bytes that were sent.
    fn has_unsent(&self) -> bool;

    /// Waits for a completion, until `until` at the latest; an instant in the past only polls.
    fn wait(&mut self, until: Instant) -> Result<(), DriverError>;

    /// The next completion since the last wait, or `None` when there is none left.
    fn completion(&mut self) -> Option<Completion<'_>>;

    /// Time in which the thread that calls this was ready to run and had no CPU, so far; `None` if
    /// that is unknown.
    fn kept(&self) -> Option<Span>;

    /// Passes a measured operation to the exporter; [`Full`] if the exporter cannot keep up.
    fn export(&mut self, sample: Sample) -> Result<(), Full>;
}

/// A system call failed without which the worker cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverError {
    /// The action that failed, for a message.
    pub action: &'static str,
    /// The system's error number.
    pub code: i32,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed with system error {}", self.action, self.code)
    }
}

impl std::error::Error for DriverError {}
