//! One question to a server, on a connection of its own: its version or its statistics.
//!
//! Sans-IO like all of the engine: it needs a driver that nothing else uses meanwhile.

use crate::driver::{
    Address, Closed, ConnectError, Driver, DriverError, Event, PeerError, Submission,
};
use memtide_base::{ConnectionId, Instant, Span};
use memtide_codec::text::{ReplyDecoder, encode};
use memtide_codec::{Reply, Request};
use std::fmt;

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The server's version.
    Version,
    /// Its general-purpose statistics.
    Statistics,
}

/// What a server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Question::Version`].
    Version(String),
    /// To [`Question::Statistics`]: names and values, in the server's order.
    Statistics(Vec<(String, String)>),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// The server could not be connected to.
    Connect(ConnectError),
    /// It closed the connection, or broke the protocol.
    Closed(Closed),
    /// It said nothing in this long.
    Silent(Span),
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
            Self::Silent(timeout) => write!(
                f,
                "accepted the connection but did not answer within {timeout}; is it a memcached \
                 with the text protocol, and is it running? (--timeout allows it more time)"
            ),
            Self::Refused(line) => write!(f, "answered '{line}'"),
            Self::Driver(error) => error.fmt(f),
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

/// Asks the server at the first of `addresses` that takes a connection; waits `timeout` in all.
pub fn ask<D: Driver>(
    driver: &mut D,
    addresses: &[Address],
    question: Question,
    timeout: Span,
) -> Result<Answer, AskError> {
    let deadline = driver.now() + timeout;
    let mut refused = ConnectError::Unreachable;
    for address in addresses {
        match connect(driver, address, deadline) {
            Ok(()) => {
                let answer = exchange(driver, question, deadline, timeout);
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
    let connect = Submission::Connect { connection: CONNECTION, address, source: None };
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

fn exchange<D: Driver>(
    driver: &mut D,
    question: Question,
    deadline: Instant,
    timeout: Span,
) -> Result<Answer, AskError> {
    let mut bytes = Vec::new();
    let request = match question {
        Question::Version => Request::Version,
        Question::Statistics => Request::Stats { argument: None },
    };
    encode::request(&mut bytes, &request);
    let send = Submission::Send { connection: CONNECTION, bytes: &bytes };
    driver.submit(send).expect("a driver has room for one request");
    let mut listener = Listener { decoder: ReplyDecoder::new(), rows: Vec::new() };
    loop {
        driver.wait(deadline)?;
        while let Some(completion) = driver.completion() {
            match completion.event {
                Event::Received(bytes) => {
                    if let Some(answer) = listener.handle_bytes(bytes)? {
                        return Ok(answer);
                    }
                }
                Event::Closed(closed) => return Err(AskError::Closed(closed)),
                Event::Connected | Event::ConnectFailed(_) | Event::Writable => {}
            }
        }
        if driver.now() >= deadline {
            return Err(AskError::Silent(timeout));
        }
    }
}

fn close<D: Driver>(driver: &mut D) {
    driver
        .submit(Submission::Close { connection: CONNECTION })
        .expect("a driver has room to close a connection");
}

/// Puts an answer together.
struct Listener {
    decoder: ReplyDecoder,
    rows: Vec<(String, String)>,
}

impl Listener {
    fn handle_bytes(&mut self, mut bytes: &[u8]) -> Result<Option<Answer>, AskError> {
        let broken = |error| AskError::Closed(Closed::Broken(error));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        while let Some(reply) =
            self.decoder.next(&mut bytes).map_err(|error| broken(PeerError::Malformed(error)))?
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
