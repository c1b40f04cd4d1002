//! A peer below its operations: whether there is one, who we are to it, and what stands between its
//! protocol and the wire. The load's connections and questions beside the load go through it.

use super::datagrams::reassembler;
use super::{Heard, TooLong};
use crate::dialect::{Dialect, Reader};
use crate::driver::SendBuffer;
use crate::plan::Transport;
use memtide_base::Instant;
use memtide_codec::udp::{self, Header, Reassembler};

/// Whether there is a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No; a timer may bring it back.
    Closed,
    /// A connect is under way since this instant.
    Opening(Instant),
    /// It was made, and is told who we are; under way since this instant.
    Greeting(Instant),
    /// Yes.
    Open,
}

/// One peer.
#[derive(Debug)]
pub(crate) struct Link {
    state: State,
    pub(crate) reader: Reader,
    pub(super) filter: Filter,
}

/// What stands between the bytes of a protocol and those of the wire.
#[derive(Debug)]
pub(super) enum Filter {
    /// Nothing: they are the same.
    None,
    /// Each request is a datagram, and replies are put together of several.
    Datagrams(Box<Reassembler>),
}

impl Link {
    /// A link that is closed.
    pub(crate) fn new(dialect: &Dialect, transport: Transport) -> Self {
        let filter = match transport {
            Transport::Stream => Filter::None,
            Transport::Datagrams { reply_bytes_max } => {
                Filter::Datagrams(reassembler(reply_bytes_max))
            }
        };
        Self { state: State::Closed, reader: dialect.reader(), filter }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// A connect is under way from `now` on.
    pub(crate) fn open(&mut self, now: Instant) {
        self.state = State::Opening(now);
    }

    /// It was made: appends what tells the server who we are, if that is to be said. Returns
    /// whether it is open.
    pub(crate) fn handle_connected(
        &mut self,
        now: Instant,
        dialect: &Dialect,
        out: &mut SendBuffer,
    ) -> bool {
        let greets = dialect.greet(out);
        self.state = if greets { State::Greeting(now) } else { State::Open };
        !greets
    }

    /// Reads what comes before it is open.
    pub(crate) fn handle_greeting(&mut self, bytes: &[u8]) -> Heard {
        match self.reader.welcome(bytes) {
            None => Heard::NotYet,
            Some(Ok(())) => {
                self.state = State::Open;
                Heard::Welcome
            }
            Some(Err(rejection)) => Heard::Rejected(rejection),
        }
    }

    /// Appends what stands before a request.
    #[inline]
    pub(super) fn begin_request(&mut self, out: &mut SendBuffer) {
        if let Filter::Datagrams(reassembler) = &mut self.filter {
            let header = Header::of_request(reassembler.begin());
            out.bytes_mut().extend_from_slice(&header.bytes());
        }
    }

    /// How long the request is that was appended behind `before` bytes. One that cannot be sent is
    /// taken out again.
    #[inline]
    pub(super) fn check_request(
        &self,
        before: usize,
        out: &mut SendBuffer,
    ) -> Result<usize, TooLong> {
        let bytes = out.len() - before;
        if matches!(self.filter, Filter::Datagrams(_)) && bytes > udp::DATAGRAM_BYTES_MAX {
            assert_eq!(before, 0, "a datagram is all that is gathered");
            out.clear();
            return Err(TooLong);
        }
        Ok(bytes)
    }

    /// Makes of what was appended to `out` since the last call what goes over the wire.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, _out: &mut SendBuffer) {
        match self.filter {
            Filter::None | Filter::Datagrams(_) => {}
        }
    }

    /// There is no peer.
    pub(crate) fn reset(&mut self) {
        self.state = State::Closed;
        self.reader.reset();
        if let Filter::Datagrams(reassembler) = &mut self.filter {
            reassembler.give_up();
        }
    }
}
