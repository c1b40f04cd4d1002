//! One question to a server, on a connection of its own: its version, its statistics, or whatever
//! somebody wants to tell it.
//!
//! Sans-IO like all of the engine: it needs a driver that nothing else uses meanwhile.

use crate::connection::greeting::{self, Rejection, greeting};
use crate::connection::wire::Wire;
use crate::driver::{
    Address, Closed, ConnectError, Driver, DriverError, Event, Message, PeerError, SocketPlan,
    Submission,
};
use crate::plan::{Plan, Protocol, ServerPlan};
use memtide_base::{ConnectionId, Instant, Span};
use memtide_codec::binary::{self, Opcode};
use memtide_codec::text::encode;
use memtide_codec::{Reply, Request};
use std::fmt;

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// The server's version.
    Version,
    /// Its general-purpose statistics.
    Statistics,
    /// A line of the text protocol, without its end and in whatever protocol the plan speaks. Its
    /// answer is the first line that comes back.
    Line(&'a str),
}

/// What a server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Question::Version`].
    Version(String),
    /// To [`Question::Statistics`]: names and values, in the server's order.
    Statistics(Vec<(String, String)>),
    /// To [`Question::Line`]: without its end.
    Line(String),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// The server could not be connected to.
    Connect(ConnectError),
    /// It closed the connection, or broke the protocol.
    Closed(Closed),
    /// It said nothing in this long, to a question in this protocol.
    Silent(Span, Protocol),
    /// It answered with an error line.
    Refused(String),
    /// Our own side failed.
    Driver(DriverError),
}

impl fmt::Display for AskError {
    /// A sentence without its subject (the server) and its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => error.fmt(f),
            Self::Closed(Closed::ByPeer) => {
                f.write_str("closed the connection without an answer; is it a memcached?")
            }
            Self::Closed(closed) => closed.fmt(f),
            Self::Silent(timeout, protocol) => write!(
                f,
                "accepted the connection but did not answer within {timeout}; is it a memcached \
                 with the {} protocol, and is it running? (--timeout allows it more time)",
                protocol
            ),
            Self::Refused(line) => write!(f, "answered '{line}'"),
            Self::Driver(error) => write!(f, "could not be asked: {error}"),
        }
    }
}

impl std::error::Error for AskError {}

impl From<DriverError> for AskError {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

const CONNECTION: ConnectionId = ConnectionId(0);
/// The longest answer to a line.
const LINE_BYTES_MAX: usize = 8192;
/// What the first word of an answer is when it is an error.
const ERRORS: [&[u8]; 3] = [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"];

/// Asks a server of `plan` at the first of its addresses that takes a connection, in the plan's
/// protocol and with its credentials; waits the plan's timeout in all.
pub fn ask<D: Driver>(
    driver: &mut D,
    plan: &Plan,
    server: &ServerPlan,
    question: Question<'_>,
) -> Result<Answer, AskError> {
    let deadline = driver.now() + plan.timeout;
    let mut refused = ConnectError::Unreachable;
    for address in &server.addresses {
        match connect(driver, address, deadline) {
            Ok(()) => {
                let answer = talk(driver, plan, question, deadline);
                close(driver);
                return answer;
            }
            Err(AskError::Connect(error)) => refused = error,
            Err(error) => return Err(error),
        }
    }
    Err(AskError::Connect(refused))
}

fn connect<D: Driver>(
    driver: &mut D,
    address: &Address,
    deadline: Instant,
) -> Result<(), AskError> {
    let sockets = SocketPlan::default();
    let connect = Submission::Connect { connection: CONNECTION, address, source: None, sockets };
    driver.submit(connect).expect("a driver has room for one connection");
    loop {
        driver.wait(deadline)?;
        while let Some(completion) = driver.completion() {
            match completion.event {
                Event::Connected => return Ok(()),
                Event::ConnectFailed(error) => return Err(AskError::Connect(error)),
                Event::Closed(closed) => return Err(AskError::Closed(closed)),
                Event::Received(_) | Event::Writable => {}
            }
        }
        if driver.now() >= deadline {
            close(driver);
            return Err(AskError::Connect(ConnectError::TimedOut));
        }
    }
}

/// Says who we are, if the plan knows, and then asks.
fn talk<D: Driver>(
    driver: &mut D,
    plan: &Plan,
    question: Question<'_>,
    deadline: Instant,
) -> Result<Answer, AskError> {
    let is_line = matches!(question, Question::Line(_));
    let protocol = if is_line { Protocol::Text } else { plan.requests.protocol };
    let mut listener = Listener { wire: Wire::new(protocol), rows: Vec::new(), line: Vec::new() };
    let silent = || AskError::Silent(plan.timeout, protocol);
    if let Some(credentials) = &plan.credentials {
        let bytes = greeting(protocol, credentials);
        let heard = exchange(driver, &bytes, deadline, |bytes| listener.handle_greeting(bytes));
        heard?.ok_or_else(silent)?;
    }
    let bytes = request(question, protocol);
    let heard = exchange(driver, &bytes, deadline, |bytes| match is_line {
        true => listener.handle_line(bytes),
        false => listener.handle_bytes(bytes),
    });
    heard?.ok_or_else(silent)
}

fn request(question: Question<'_>, protocol: Protocol) -> Vec<u8> {
    let mut bytes = Vec::new();
    match (protocol, question) {
        (_, Question::Line(line)) => {
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        (Protocol::Text, Question::Version) => encode::request(&mut bytes, &Request::Version),
        (Protocol::Text, Question::Statistics) => {
            encode::request(&mut bytes, &Request::Stats { argument: None });
        }
        (Protocol::Binary, Question::Version) => {
            binary::encode::bare(&mut bytes, Opcode::Version, 0);
        }
        (Protocol::Binary, Question::Statistics) => {
            binary::encode::bare(&mut bytes, Opcode::Stat, 0);
        }
    }
    bytes
}

/// Sends `bytes` and waits until `hear` has heard enough; `None` when that is not by `deadline`.
fn exchange<D: Driver, T>(
    driver: &mut D,
    bytes: &[u8],
    deadline: Instant,
    mut hear: impl FnMut(&[u8]) -> Result<Option<T>, AskError>,
) -> Result<Option<T>, AskError> {
    let message = Message::plain(bytes);
    let send = Submission::Send { connection: CONNECTION, message };
    driver.submit(send).expect("a driver has room for one request");
    loop {
        driver.wait(deadline)?;
        while let Some(completion) = driver.completion() {
            match completion.event {
                Event::Received(bytes) => {
                    if let Some(heard) = hear(bytes)? {
                        return Ok(Some(heard));
                    }
                }
                Event::Closed(closed) => return Err(AskError::Closed(closed)),
                Event::Connected | Event::ConnectFailed(_) | Event::Writable => {}
            }
        }
        if driver.now() >= deadline {
            return Ok(None);
        }
    }
}

fn close<D: Driver>(driver: &mut D) {
    driver
        .submit(Submission::Close { connection: CONNECTION, linger: None })
        .expect("a driver has room to close a connection");
}

/// Puts an answer together.
struct Listener {
    wire: Wire,
    rows: Vec<(String, String)>,
    /// The answer to a line, as far as it has come.
    line: Vec<u8>,
}

impl Listener {
    fn handle_greeting(&mut self, bytes: &[u8]) -> Result<Option<()>, AskError> {
        match greeting::heard(&mut self.wire, bytes) {
            None => Ok(None),
            Some(Ok(())) => Ok(Some(())),
            Some(Err(Rejection::Credentials(error))) => Err(AskError::Connect(error)),
            Some(Err(Rejection::Broken(closed))) => Err(AskError::Closed(closed)),
        }
    }

    /// The answer to a command that may be anybody's has no form but an error's.
    fn handle_line(&mut self, bytes: &[u8]) -> Result<Option<Answer>, AskError> {
        self.line.extend_from_slice(bytes);
        let Some(end) = self.line.iter().position(|&byte| byte == b'\n') else {
            return match self.line.len() > LINE_BYTES_MAX {
                true => Err(AskError::Closed(Closed::Broken(PeerError::Unasked {
                    got: "a line without an end",
                }))),
                false => Ok(None),
            };
        };
        let line = std::mem::take(&mut self.line);
        let first = line[..end].split(|byte| b" \r".contains(byte)).next();
        if first.is_some_and(|word| ERRORS.contains(&word)) {
            return self.handle_bytes(&line[..=end]);
        }
        Ok(Some(Answer::Line(String::from_utf8_lossy(&line[..end]).trim_end().to_owned())))
    }

    fn handle_bytes(&mut self, mut bytes: &[u8]) -> Result<Option<Answer>, AskError> {
        let broken = |error| AskError::Closed(Closed::Broken(error));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        while let Some((reply, _)) =
            self.wire.next(&mut bytes).map_err(|error| broken(PeerError::Malformed(error)))?
        {
            match reply {
                Reply::Version(version) => return Ok(Some(Answer::Version(text(version)))),
                Reply::Stat { name, value } => self.rows.push((text(name), text(value))),
                Reply::End => {
                    let rows = std::mem::take(&mut self.rows);
                    return Ok(Some(Answer::Statistics(rows)));
                }
                Reply::Error(error) if error.is_too_many_connections() => {
                    return Err(broken(PeerError::TooManyConnections));
                }
                Reply::Error(error) if error.wants_credentials() => {
                    return Err(AskError::Connect(ConnectError::CredentialsMissing));
                }
                Reply::Error(error) => {
                    let line = format!("{} {}", error.kind.word(), text(error.message));
                    return Err(AskError::Refused(line.trim_end().to_owned()));
                }
                _ => return Err(broken(PeerError::Unasked { got: "another reply" })),
            }
        }
        Ok(None)
    }
}
