//! One client of the embedded server: its socket, and what it has not taken yet. Waits for
//! nothing by itself.

use crate::clock::Clock;
use memtide_base::Instant;
use memtide_server::{After, Endpoint, Flow, Session};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use socket2::SockRef;
use std::net::TcpStream;
use std::time::Duration;

/// Who answers on a connection.
pub(super) enum Line {
    /// A healthy server, at once.
    Plain(Session),
    /// A server that may take its time or do wrong.
    Conducted(Endpoint),
}

/// One client.
pub(super) struct Peer {
    pub stream: TcpStream,
    pub line: Line,
    /// Answers that have left and that the kernel has not taken.
    pub out: Vec<u8>,
    /// What epoll looks for.
    pub watched: EventFlags,
    /// For which instant a thread has noted this client.
    pub armed: Option<Instant>,
    /// The client sends nothing any more; it ends when nothing waits.
    pub is_deaf: bool,
    /// What to do as soon as `out` is gone.
    after: After,
}

impl Peer {
    /// A client that was just let in, and is watched for bytes.
    pub fn new(stream: TcpStream, line: Line) -> Self {
        let (out, watched, after) = (Vec::new(), EventFlags::IN, After::Open);
        Self { stream, line, out, watched, armed: None, is_deaf: false, after }
    }

    /// A session says how it goes on.
    pub fn heed(&mut self, flow: Flow) {
        if flow == Flow::Close {
            self.after = After::Close;
        }
    }

    /// Sends what has left. An error means that the connection is over.
    pub fn send(&mut self, clock: &Clock) -> Result<(), Errno> {
        if let (Line::Conducted(endpoint), true) = (&mut self.line, self.out.is_empty()) {
            self.after = endpoint.poll_transmit(clock.now(), &mut self.out);
        }
        if !self.out.is_empty() {
            match send(&self.stream, &self.out, SendFlags::NOSIGNAL) {
                Ok(sent) if sent == self.out.len() => self.out.clear(),
                Ok(sent) => drop(self.out.drain(..sent)),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        if !self.out.is_empty() {
            return Ok(());
        }
        match self.after {
            After::Open if self.is_deaf && self.leaves().is_none() => Err(Errno::PIPE),
            After::Open => Ok(()),
            After::Close => Err(Errno::PIPE),
            After::Reset => {
                reset_when_closed(&self.stream);
                Err(Errno::CONNRESET)
            }
        }
    }

    /// What epoll should look for. Nothing more is read from a client that does not take its
    /// answers.
    pub fn wanted(&self) -> EventFlags {
        let wants_bytes = match &self.line {
            Line::Plain(_) => true,
            Line::Conducted(endpoint) => endpoint.wants_bytes(),
        };
        match (self.out.is_empty(), self.is_deaf || !wants_bytes) {
            (false, _) => EventFlags::OUT,
            (true, true) => EventFlags::empty(),
            (true, false) => EventFlags::IN,
        }
    }

    /// The instant for which a thread must note this client, if it has not yet.
    pub fn arm(&mut self) -> Option<Instant> {
        if self.armed.is_some() || !self.out.is_empty() {
            return None;
        }
        self.armed = self.leaves();
        self.armed
    }

    /// When the next answer leaves that has not.
    fn leaves(&self) -> Option<Instant> {
        match &self.line {
            Line::Plain(_) => None,
            Line::Conducted(endpoint) => endpoint.poll_timeout(),
        }
    }
}

/// Closing `stream` will tell the client that the connection was reset.
pub(super) fn reset_when_closed(stream: &TcpStream) {
    // When this fails the client sees an ordinary end, which is the next best thing.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}
