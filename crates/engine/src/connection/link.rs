//! A peer below its operations: whether there is one, who we are to it, and what stands between its
//! protocol and the wire. The load's connections and questions beside the load go through it.

use super::{Heard, TooLong};
use crate::dialect::{Dialect, Reader, Rejection};
use crate::driver::{Closed, Filter, FilterPlan, PeerError, SendBuffer};
use crate::plan::{Plan, Transport};
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
    pub(super) wrap: Wrap,
    /// Whether it has said who we are, and the answer has not come.
    is_introduced: bool,
}

/// What stands between the bytes of a protocol and those of the wire.
#[derive(Debug)]
pub(super) enum Wrap {
    /// Nothing: they are the same.
    None,
    /// Each request is a datagram, and replies are put together of several.
    Datagrams(Box<Reassembler>),
    /// A filter.
    Filtered(Box<Filtered>),
}

/// A filter, anew for each time that the connection is made.
#[derive(Debug)]
pub(super) struct Filtered {
    plan: FilterPlan,
    server: String,
    filter: Box<dyn Filter>,
    /// What the server said in the last bytes.
    plain: Vec<u8>,
}

impl Filtered {
    /// What the server said in these bytes.
    pub(super) fn handle_bytes(&mut self, wire: &[u8]) -> Result<&[u8], PeerError> {
        self.plain.clear();
        self.filter.handle_bytes(wire, &mut self.plain)?;
        Ok(&self.plain)
    }
}

impl Link {
    /// A link to the server of this name; it is closed.
    pub(crate) fn new(
        plan: &Plan,
        dialect: &Dialect,
        (server, transport): (&str, Transport),
    ) -> Self {
        let wrap = match (transport, &plan.filter) {
            (Transport::Datagrams { reply_bytes_max }, _) => {
                Wrap::Datagrams(Box::new(Reassembler::new(reply_bytes_max)))
            }
            (Transport::Stream, None) => Wrap::None,
            (Transport::Stream, Some(filters)) => {
                let (plan, filter) = (filters.clone(), filters.make(server));
                let (server, plain) = (server.to_owned(), Vec::new());
                Wrap::Filtered(Box::new(Filtered { plan, server, filter, plain }))
            }
        };
        Self { state: State::Closed, reader: dialect.reader(), wrap, is_introduced: false }
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
        self.is_introduced = dialect.authenticate(out);
        let is_filter_open = match &self.wrap {
            Wrap::None | Wrap::Datagrams(_) => true,
            Wrap::Filtered(filtered) => filtered.filter.is_open(),
        };
        let is_open = is_filter_open && !self.is_introduced;
        self.state = if is_open { State::Open } else { State::Greeting(now) };
        is_open
    }

    /// Reads what comes before it is open.
    pub(crate) fn handle_greeting(&mut self, bytes: &[u8]) -> Heard {
        let broken = |error| Heard::Rejected(Rejection::Broken(Closed::Broken(error)));
        let plain = match &mut self.wrap {
            Wrap::None | Wrap::Datagrams(_) => bytes,
            Wrap::Filtered(filtered) => {
                if let Err(error) = filtered.handle_bytes(bytes) {
                    return broken(error);
                }
                match filtered.filter.is_open() {
                    true => &filtered.plain,
                    false => return Heard::NotYet,
                }
            }
        };
        if !plain.is_empty() && !self.is_introduced {
            return broken(PeerError::Unasked { got: "more" });
        }
        if self.is_introduced {
            match self.reader.welcome(plain) {
                None => return Heard::NotYet,
                Some(Err(rejection)) => return Heard::Rejected(rejection),
                Some(Ok(())) => {}
            }
        }
        self.state = State::Open;
        Heard::Welcome
    }

    /// Hands what comes, once it is open, to `hear` as the server said it.
    pub(crate) fn handle_bytes<T>(
        &mut self,
        bytes: &[u8],
        hear: impl FnOnce(&mut Reader, &[u8]) -> T,
    ) -> Result<T, PeerError> {
        Ok(match &mut self.wrap {
            Wrap::None | Wrap::Datagrams(_) => hear(&mut self.reader, bytes),
            Wrap::Filtered(filtered) => hear(&mut self.reader, filtered.handle_bytes(bytes)?),
        })
    }

    /// Appends what stands before a request.
    #[inline]
    pub(super) fn begin_request(&mut self, out: &mut SendBuffer) {
        if let Wrap::Datagrams(reassembler) = &mut self.wrap {
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
        if matches!(self.wrap, Wrap::Datagrams(_)) && bytes > udp::DATAGRAM_BYTES_MAX {
            assert_eq!(before, 0, "a datagram is all that is gathered");
            out.clear();
            return Err(TooLong);
        }
        Ok(bytes)
    }

    /// Makes of what was appended to `out` since the last call what goes over the wire.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, out: &mut SendBuffer) {
        if let Wrap::Filtered(filtered) = &mut self.wrap {
            filtered.filter.poll_transmit(out);
        }
    }

    /// There is no peer.
    pub(crate) fn reset(&mut self) {
        self.state = State::Closed;
        self.reader.reset();
        match &mut self.wrap {
            Wrap::None => {}
            Wrap::Datagrams(reassembler) => {
                reassembler.give_up();
            }
            Wrap::Filtered(filtered) => filtered.filter = filtered.plan.make(&filtered.server),
        }
    }
}
