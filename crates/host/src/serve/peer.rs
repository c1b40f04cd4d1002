//! One client of the embedded server: its socket, and the bytes that the kernel has not taken yet.
//! It never waits.

use super::sealed::Sealed;
use super::shared::Shared;
use crate::clock::Clock;
use crate::driver::socket::send_slices;
use memtide_base::Instant;
use memtide_server::{After, Endpoint, Flow, Outgoing, ReplyBuffer, Session};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::SendFlags;
use socket2::SockRef;
use std::net::TcpStream;
use std::time::Duration;

/// The server behind a connection.
pub(super) enum Line {
    /// A server that answers correctly and at once.
    Plain(Session),
    /// A server with a profile, which may be slow or faulty.
    Shaped(Endpoint),
}

/// One client.
pub(super) struct Peer {
    pub stream: TcpStream,
    pub line: Line,
    /// The transformation of its bytes; `None` for none.
    sealed: Option<Box<Sealed>>,
    /// Answers that have left and that the kernel has not taken.
    pub out: Outgoing,
    /// The events that epoll watches for.
    pub watched: EventFlags,
    /// The instant at which the thread will look at this client next, if any.
    pub armed: Option<Instant>,
    /// True if the client sends nothing more; its connection ends once nothing waits.
    pub is_deaf: bool,
    /// The state of the connection once `out` is sent.
    after: After,
}

impl Peer {
    /// A client that was just accepted, watched for bytes.
    pub fn new(stream: TcpStream, line: Line, sealed: Option<Box<Sealed>>) -> Self {
        let (out, watched, after) = (Outgoing::default(), EventFlags::IN, After::Open);
        Self { stream, line, sealed, out, watched, armed: None, is_deaf: false, after }
    }

    /// Handles received bytes. An error means that the connection is over.
    pub fn receive(&mut self, bytes: &[u8], shared: &Shared) -> Result<(), Errno> {
        let Some(mut sealed) = self.sealed.take() else {
            self.answer(bytes, shared);
            return Ok(());
        };
        let opened = sealed.open(bytes, &self.stream);
        if !sealed.plain.is_empty() {
            self.answer(&sealed.plain, shared);
        }
        self.sealed = Some(sealed);
        opened
    }

    /// True if the kernel has not taken all that has left.
    pub fn has_unsent(&self) -> bool {
        !self.out.is_empty() || self.sealed.as_ref().is_some_and(|sealed| !sealed.is_sent())
    }

    /// Answers received bytes; without bytes, the requests that are not carried out yet.
    pub fn answer(&mut self, bytes: &[u8], shared: &Shared) {
        match (&mut self.line, shared.profile()) {
            (Line::Plain(session), _) => {
                let time = shared.time();
                let flow = session.handle_some(time, bytes, &shared.store, &mut self.out);
                if flow == Flow::Close {
                    self.after = After::Close;
                }
            }
            (Line::Shaped(endpoint), Some(mut state)) => {
                // Read under the lock, so that it never goes back from one request to the next.
                let time = shared.time();
                endpoint.handle_bytes(time, bytes, &shared.store, &mut state);
            }
            (Line::Shaped(_), None) => unreachable!("an endpoint needs a profile"),
        }
    }

    /// Sends the answers that are due. An error means that the connection is over.
    pub fn send(&mut self, clock: &Clock) -> Result<(), Errno> {
        let is_sent = !self.has_unsent();
        if let (Line::Shaped(endpoint), true) = (&mut self.line, is_sent) {
            self.after = endpoint.poll_transmit(clock.now(), self.out.bytes());
        }
        if let Some(sealed) = &mut self.sealed {
            sealed.send(&mut self.out, &self.stream)?;
        } else if !self.out.is_empty() {
            match send_slices(&self.stream, self.out.slices(), SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    debug_assert!(sent <= self.out.waiting(), "more was sent than waited");
                    self.out.advance(sent);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        if self.has_unsent() {
            return Ok(());
        }
        if let (After::Close, Some(sealed)) = (&self.after, &mut self.sealed) {
            sealed.close(&self.stream);
        }
        match self.after {
            After::Open if self.is_deaf && self.leaves().is_none() && !self.is_behind() => {
                Err(Errno::PIPE)
            }
            After::Open => Ok(()),
            After::Close => Err(Errno::PIPE),
            After::Reset => {
                reset_when_closed(&self.stream);
                Err(Errno::CONNRESET)
            }
        }
    }

    /// The events to watch for at `now`. Nothing more is read from a client that does not take its
    /// answers; one that takes them is served again after the others.
    pub fn wanted(&self, now: Instant) -> EventFlags {
        let wants_bytes = match &self.line {
            Line::Plain(session) => !session.is_behind(),
            Line::Shaped(endpoint) => endpoint.wants_bytes(now),
        };
        if self.has_unsent() || self.can_go_on(now) {
            EventFlags::OUT
        } else if self.is_deaf || !wants_bytes {
            EventFlags::empty()
        } else {
            EventFlags::IN
        }
    }

    /// True if kept requests can be carried out at `now`.
    pub fn can_go_on(&self, now: Instant) -> bool {
        match &self.line {
            Line::Plain(session) => session.is_behind(),
            Line::Shaped(endpoint) => endpoint.can_go_on(now),
        }
    }

    /// True if received requests are not carried out yet.
    pub fn is_behind(&self) -> bool {
        match &self.line {
            Line::Plain(session) => session.is_behind(),
            Line::Shaped(endpoint) => endpoint.is_behind(),
        }
    }

    /// The instant at which the thread must look at this client, if it is not armed yet.
    pub fn arm(&mut self) -> Option<Instant> {
        if self.armed.is_some() || self.has_unsent() {
            return None;
        }
        self.armed = self.leaves();
        self.armed
    }

    /// The instant at which the next answer leaves.
    fn leaves(&self) -> Option<Instant> {
        match &self.line {
            Line::Plain(_) => None,
            Line::Shaped(endpoint) => endpoint.poll_timeout(),
        }
    }
}

/// Makes a later close of `stream` reset the connection.
pub(super) fn reset_when_closed(stream: &TcpStream) {
    // If this fails, the client sees an orderly end, which is the closest alternative.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}
