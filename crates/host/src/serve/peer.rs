//! One client of the embedded server: its socket, and what it has not taken yet. Waits for
//! nothing by itself.

use super::shared::Shared;
use crate::clock::Clock;
use memtide_base::Instant;
use memtide_server::{After, Endpoint, Flow, Outgoing, Session, Sink};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use socket2::SockRef;
use std::io::IoSlice;
use std::net::TcpStream;
use std::time::Duration;

/// How many pieces are sent at once; a session stops before there are as many.
const SLICES_MAX: usize = 64;

/// Who answers on a connection.
pub(super) enum Line {
    /// A healthy server, at once.
    Plain(Session),
    /// A server that may take its time or do wrong.
    Shaped(Endpoint),
}

/// One client.
pub(super) struct Peer {
    pub stream: TcpStream,
    pub line: Line,
    /// Answers that have left and that the kernel has not taken.
    pub out: Outgoing,
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
        let (out, watched, after) = (Outgoing::default(), EventFlags::IN, After::Open);
        Self { stream, line, out, watched, armed: None, is_deaf: false, after }
    }

    /// Answers to bytes that came, or without any to what is not carried out yet.
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

    /// Sends what has left. An error means that the connection is over.
    pub fn send(&mut self, clock: &Clock) -> Result<(), Errno> {
        if let (Line::Shaped(endpoint), true) = (&mut self.line, self.out.is_empty()) {
            self.after = endpoint.poll_transmit(clock.now(), self.out.bytes());
        }
        if !self.out.is_empty() {
            match send_slices(&self.stream, &self.out) {
                Ok(sent) => self.out.advance(sent),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        if !self.out.is_empty() {
            return Ok(());
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

    /// What epoll should look for at `now`. Nothing more is read from a client that does not take
    /// its answers; one that takes them is answered further as soon as others had their turn.
    pub fn wanted(&self, now: Instant) -> EventFlags {
        let wants_bytes = match &self.line {
            Line::Plain(session) => !session.is_behind(),
            Line::Shaped(endpoint) => endpoint.wants_bytes(now),
        };
        if !self.out.is_empty() || self.can_go_on(now) {
            EventFlags::OUT
        } else if self.is_deaf || !wants_bytes {
            EventFlags::empty()
        } else {
            EventFlags::IN
        }
    }

    /// Whether something that has come and is not carried out can be at `now`.
    pub fn can_go_on(&self, now: Instant) -> bool {
        match &self.line {
            Line::Plain(session) => session.is_behind(),
            Line::Shaped(endpoint) => endpoint.can_go_on(now),
        }
    }

    /// Whether something that has come is not carried out.
    pub fn is_behind(&self) -> bool {
        match &self.line {
            Line::Plain(session) => session.is_behind(),
            Line::Shaped(endpoint) => endpoint.is_behind(),
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
            Line::Shaped(endpoint) => endpoint.poll_timeout(),
        }
    }
}

/// Sends what there is, as far as one call does.
fn send_slices(stream: &TcpStream, out: &Outgoing) -> Result<usize, Errno> {
    let mut slices = [IoSlice::new(&[]); SLICES_MAX];
    let mut count = 0;
    for (place, slice) in slices.iter_mut().zip(out.slices()) {
        *place = IoSlice::new(slice);
        count += 1;
    }
    match &slices[..count] {
        [slice] => send(stream, slice, SendFlags::NOSIGNAL),
        slices => sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL),
    }
}

/// Closing `stream` will tell the client that the connection was reset.
pub(super) fn reset_when_closed(stream: &TcpStream) {
    // When this fails the client sees an ordinary end, which is the next best thing.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}
