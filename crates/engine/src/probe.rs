//! One question to a server, on a connection of its own: its version, its statistics, or any line.
//!
//! Like all of the engine it makes no system calls: it needs a driver that nothing else uses
//! meanwhile.

use crate::connection::{Heard, Link};
use crate::dialect::{Dialect, Reader, Rejection, name};
use memtide_base::{ConnectionId, Instant, Span};
use memtide_codec::Reply;
use memtide_world::driver::{
    Address, Closed, ConnectError, Driver, Event, PeerError, SendBuffer, SocketOptions,
};
use memtide_world::plan::{Plan, ServerPlan, Transport};
use memtide_world::question::{Answer, AskError, Question};

const CONNECTION: ConnectionId = ConnectionId(0);
/// The longest answer, in bytes: some three hundred times memcached's statistics.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// The interval at which a wait checks whether the user wants to stop.
const LOOK_EVERY: Span = Span::from_ms(50);
/// The longest answer to a line, in bytes.
const LINE_BYTES_MAX: usize = 8192;
/// The first words of an answer that is an error.
const ERRORS: [&[u8]; 3] = [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"];

/// Asks a server of `plan` a question, at the first of its addresses that accepts a connection, in
/// the plan's protocol and with its credentials. Waits for the plan's timeout in all.
pub fn ask<D: Driver>(
    driver: &mut D,
    plan: &Plan,
    server: &ServerPlan,
    question: Question<'_>,
) -> Result<Answer, AskError> {
    ask_unless(&|| false, driver, plan, server, question)
}

/// Asks as [`ask`] does, and returns soon after `is_interrupted` becomes true.
pub fn ask_unless<D: Driver>(
    is_interrupted: &dyn Fn() -> bool,
    driver: &mut D,
    plan: &Plan,
    server: &ServerPlan,
    question: Question<'_>,
) -> Result<Answer, AskError> {
    let deadline = driver.now() + plan.timeout;
    let mut asker =
        AskConnection::open((driver, is_interrupted), plan, server, question, deadline)?;
    let answer = asker.ask(question, deadline);
    asker.close();
    answer
}

/// A connection to a server for questions of one kind, one after the other.
pub struct AskConnection<'a, D: Driver> {
    line: Line<'a, D>,
    timeout: Span,
}

impl<'a, D: Driver> AskConnection<'a, D> {
    /// Connects to `server` of `plan` as [`ask`] does, for questions such as `question`, and
    /// authenticates if the plan has credentials. Gives up at `deadline`, and soon after the
    /// function beside `driver` returns true. The driver then has no connection open.
    pub fn open(
        (driver, is_interrupted): (&'a mut D, &'a dyn Fn() -> bool),
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
        deadline: Instant,
    ) -> Result<Self, AskError> {
        let dialect = Dialect::for_question(plan, question);
        let link = Link::new(plan, &dialect, &server.name, Transport::Stream);
        let out = SendBuffer::with_capacity(0, 0);
        let line = Line { driver, deadline, is_interrupted, dialect, link, out, heard: 0 };
        let mut asker = Self { line, timeout: plan.timeout };
        let mut refused = ConnectError::Unreachable;
        for (nth, address) in server.addresses.iter().enumerate() {
            // An address that does not answer leaves time to those behind it.
            let now = asker.line.driver.now();
            let left = (server.addresses.len() - nth) as u64;
            asker.line.deadline = now + Span::from_ns(deadline.since(now).ns() / left);
            match asker.line.connect(address) {
                Ok(()) => {
                    asker.line.deadline = deadline;
                    if let Err(error) = asker.greet() {
                        asker.close();
                        return Err(error);
                    }
                    return Ok(asker);
                }
                Err(AskError::Connect(error)) => refused = error,
                Err(error) => return Err(error),
            }
        }
        Err(AskError::Connect(refused))
    }

    fn greet(&mut self) -> Result<(), AskError> {
        let now = self.line.driver.now();
        let Line { link, dialect, out, .. } = &mut self.line;
        if link.handle_connected(now, dialect, out) {
            return Ok(());
        }
        let heard = self.line.exchange(|link, bytes| match link.handle_greeting(bytes) {
            Heard::Replies | Heard::Filtered | Heard::NotYet => Ok(None),
            Heard::Welcome => Ok(Some(())),
            Heard::Rejected(Rejection::Credentials(error)) => Err(AskError::Connect(error)),
            Heard::Rejected(Rejection::Broken(closed)) => Err(AskError::Closed(closed)),
        })?;
        heard.ok_or_else(|| match self.line.link.handle_timeout() {
            ConnectError::TimedOut => self.unanswered(),
            error => AskError::Connect(error),
        })
    }

    fn unanswered(&self) -> AskError {
        match self.line.heard {
            0 => AskError::Silent(self.timeout, self.line.dialect.protocol()),
            bytes => AskError::Unfinished { timeout: self.timeout, bytes },
        }
    }

    /// Asks, and waits until `deadline`. After an error other than [`AskError::Refused`], the
    /// connection must not be used again.
    pub fn ask(&mut self, question: Question<'_>, deadline: Instant) -> Result<Answer, AskError> {
        let line = &mut self.line;
        line.deadline = deadline;
        let mut listener = Listener {
            asked: question.word(),
            found: (question == Question::Get).then_some(false),
            rows: Vec::new(),
            line: Vec::new(),
        };
        line.dialect.ask(question, &mut line.out);
        let is_line = matches!(question, Question::Line(_));
        let heard = line.exchange(|link, bytes| {
            let heard =
                link.handle_bytes(bytes, &mut |reader: &mut Reader, bytes: &[u8]| match is_line {
                    true => listener.handle_line(reader, bytes),
                    false => listener.handle_bytes(reader, bytes),
                });
            heard.map_err(|error| AskError::Closed(Closed::Broken(error)))?
        })?;
        heard.ok_or_else(|| self.unanswered())
    }

    /// Closes the connection.
    pub fn close(mut self) {
        self.line.close();
    }
}

/// A connection for questions, each until its deadline.
struct Line<'a, D> {
    driver: &'a mut D,
    deadline: Instant,
    is_interrupted: &'a dyn Fn() -> bool,
    dialect: Dialect,
    link: Link,
    /// Bytes to send.
    out: SendBuffer,
    /// Bytes received of the present answer.
    heard: usize,
}

impl<D: Driver> Line<'_, D> {
    fn connect(&mut self, address: &Address) -> Result<(), AskError> {
        self.driver.connect(CONNECTION, address, None, SocketOptions::default());
        while self.wait()? {
            while let Some(completion) = self.driver.completion() {
                match completion.event {
                    Event::Connected => return Ok(()),
                    Event::ConnectFailed(error) => return Err(AskError::Connect(error)),
                    Event::Closed(closed) => return Err(AskError::Closed(closed)),
                    Event::Received(_) | Event::Writable => {}
                }
            }
        }
        self.close();
        Err(AskError::Connect(ConnectError::TimedOut))
    }

    /// Sends the link's bytes and waits until `hear` returns a result; `None` if the deadline comes
    /// first.
    fn exchange<T>(
        &mut self,
        mut hear: impl FnMut(&mut Link, &[u8]) -> Result<Option<T>, AskError>,
    ) -> Result<Option<T>, AskError> {
        self.transmit();
        self.heard = 0;
        while self.wait()? {
            while let Some(completion) = self.driver.completion() {
                match completion.event {
                    Event::Received(bytes) => {
                        self.heard += bytes.len();
                        let heard = hear(&mut self.link, bytes)?;
                        self.transmit();
                        if heard.is_some() {
                            return Ok(heard);
                        }
                        if self.heard > ANSWER_BYTES_MAX {
                            return Err(AskError::TooLong { bytes_max: ANSWER_BYTES_MAX });
                        }
                    }
                    Event::Closed(closed) => {
                        return Err(match (self.link.handle_end(closed), self.heard) {
                            (Closed::ByPeer, 1..) => AskError::CutShort(self.heard),
                            (closed, _) => AskError::Closed(closed),
                        });
                    }
                    Event::Connected | Event::ConnectFailed(_) | Event::Writable => {}
                }
            }
        }
        Ok(None)
    }

    fn transmit(&mut self) {
        self.link.poll_transmit(&mut self.out);
        if !self.out.is_empty() {
            self.driver.send(CONNECTION, self.out.message());
            self.out.clear();
        }
    }

    /// Waits for an event for a while. Returns false once the deadline has passed.
    fn wait(&mut self) -> Result<bool, AskError> {
        if (self.is_interrupted)() {
            return Err(AskError::Interrupted);
        }
        let now = self.driver.now();
        if now >= self.deadline {
            return Ok(false);
        }
        self.driver.wait(self.deadline.min(now + LOOK_EVERY))?;
        Ok(true)
    }

    fn close(&mut self) {
        self.out.clear();
        self.link.poll_close(&mut self.out);
        if !self.out.is_empty() {
            self.driver.send(CONNECTION, self.out.message());
        }
        self.driver.close(CONNECTION, None);
    }
}

/// Assembles an answer.
struct Listener {
    /// The question, in a word.
    asked: &'static str,
    /// True if the requested key was found; none if no key was requested.
    found: Option<bool>,
    rows: Vec<(String, String)>,
    /// The answer to a line, as far as it was received.
    line: Vec<u8>,
}

impl Listener {
    /// Handles the answer to any command; only an error can be recognised in it.
    fn handle_line(
        &mut self,
        reader: &mut Reader,
        bytes: &[u8],
    ) -> Result<Option<Answer>, AskError> {
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
            return self.handle_bytes(reader, &line[..=end]);
        }
        Ok(Some(Answer::Line(String::from_utf8_lossy(&line[..end]).trim_end().to_owned())))
    }

    fn handle_bytes(
        &mut self,
        reader: &mut Reader,
        mut bytes: &[u8],
    ) -> Result<Option<Answer>, AskError> {
        loop {
            let next = reader.next(&mut bytes).map_err(broken)?;
            let Some(reply) = next else { break };
            match reply {
                Reply::Version(version) => return Ok(Some(Answer::Version(text(version)))),
                Reply::Stat { name, value } => self.rows.push((text(name), text(value))),
                Reply::Value { .. } if self.found == Some(false) => self.found = Some(true),
                Reply::Data { .. } => {}
                Reply::Done if self.found.is_some() => return Ok(Some(Answer::Found(true))),
                Reply::End if self.found.is_some() => {
                    return Ok(Some(Answer::Found(self.found == Some(true))));
                }
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
                other => {
                    let (asked, got) = (self.asked, name(&other));
                    return Err(broken(PeerError::Unfit { asked, got }));
                }
            }
        }
        reader.check_partial().map_err(broken)?;
        Ok(None)
    }
}

fn broken(error: PeerError) -> AskError {
    AskError::Closed(Closed::Broken(error))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
