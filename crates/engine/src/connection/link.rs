//! A connection below its operations: its state, its authentication, and the transformation between
//! the protocol's bytes and those on the wire. The load's connections and the probes beside the
//! load both use it.

use super::{Heard, TooLong};
use crate::dialect::{Dialect, Reader, broken};
use memtide_base::Instant;
use memtide_codec::udp::{self, Header, Reassembler};
use memtide_world::driver::{
    Closed, ConnectError, Filter, FilterPlan, Handshake, PeerError, SendBuffer,
};
use memtide_world::plan::{Plan, Transport};

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not connected; a timer may reconnect it.
    Closed,
    /// A connect has been in progress since this instant.
    Opening(Instant),
    /// It is established and authenticates; the connect began at this instant.
    Greeting(Instant),
    /// Open: operations can be sent.
    Open,
}

/// The connection to one peer.
#[derive(Debug)]
pub(crate) struct Link {
    state: State,
    pub(crate) reader: Reader,
    pub(super) wrap: Wrap,
    /// True if the credentials were sent and are not answered yet.
    is_introduced: bool,
}

/// The transformation between the protocol's bytes and those on the wire.
#[derive(Debug)]
pub(super) enum Wrap {
    /// None: the bytes are the same.
    None,
    /// Each request is one datagram; a reply is assembled from one or more.
    Datagrams(Box<Reassembler>),
    /// A filter.
    Filtered(Box<Filtered>),
}

/// A filter, made anew for each connection that is established.
#[derive(Debug)]
pub(super) struct Filtered {
    plan: FilterPlan,
    server: String,
    /// None while no connection is established.
    filter: Option<Box<dyn Filter>>,
    /// The protocol's bytes decoded from the last reception.
    plain: Vec<u8>,
}

impl Filtered {
    /// Decodes received bytes; returns the protocol's bytes in them.
    pub(super) fn handle_bytes(&mut self, wire: &[u8]) -> Result<&[u8], PeerError> {
        self.plain.clear();
        if let Some(filter) = &mut self.filter {
            filter.handle_bytes(wire, &mut self.plain)?;
        }
        Ok(&self.plain)
    }

    fn is_open(&self) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter.is_open())
    }
}

impl Link {
    /// A closed link to the server of this name.
    pub(crate) fn new(plan: &Plan, dialect: &Dialect, server: &str, transport: Transport) -> Self {
        let wrap = match (transport, &plan.filter) {
            (Transport::Datagrams { reply_bytes_max }, _) => {
                Wrap::Datagrams(Box::new(Reassembler::new(reply_bytes_max)))
            }
            (Transport::Stream, None) => Wrap::None,
            (Transport::Stream, Some(filters)) => {
                let (plan, server) = (filters.clone(), server.to_owned());
                let filtered = Filtered { plan, server, filter: None, plain: Vec::new() };
                Wrap::Filtered(Box::new(filtered))
            }
        };
        Self { state: State::Closed, reader: dialect.reader(), wrap, is_introduced: false }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Records that a connect begins at `now`.
    pub(crate) fn open(&mut self, now: Instant) {
        self.state = State::Opening(now);
    }

    /// Handles an established connection: appends the credentials if the plan has any. Returns true
    /// if the link is open, false if it waits for their answer.
    pub(crate) fn handle_connected(
        &mut self,
        now: Instant,
        dialect: &Dialect,
        out: &mut SendBuffer,
    ) -> bool {
        self.is_introduced = dialect.authenticate(out);
        let is_filter_open = match &mut self.wrap {
            Wrap::None | Wrap::Datagrams(_) => true,
            Wrap::Filtered(filtered) => {
                filtered.filter = Some(filtered.plan.make(&filtered.server));
                filtered.is_open()
            }
        };
        let is_open = is_filter_open && !self.is_introduced;
        self.state = if is_open { State::Open } else { State::Greeting(now) };
        is_open
    }

    /// Handles bytes received before the link is open.
    pub(crate) fn handle_greeting(&mut self, bytes: &[u8]) -> Heard {
        let plain = match &mut self.wrap {
            Wrap::None | Wrap::Datagrams(_) => bytes,
            Wrap::Filtered(filtered) => {
                if let Err(error) = filtered.handle_bytes(bytes) {
                    return Heard::Rejected(broken(error));
                }
                match filtered.is_open() {
                    true => &filtered.plain,
                    false => return Heard::NotYet,
                }
            }
        };
        if !plain.is_empty() && !self.is_introduced {
            return Heard::Rejected(broken(PeerError::Unasked { got: "more" }));
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

    /// Handles bytes received while the link is open: passes the protocol's bytes to `hear`.
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

    /// Appends the header that precedes a request; only datagrams have one.
    #[inline]
    pub(super) fn begin_request(&mut self, out: &mut SendBuffer) {
        if let Wrap::Datagrams(reassembler) = &mut self.wrap {
            let header = Header::of_request(reassembler.begin());
            out.bytes_mut().extend_from_slice(&header.bytes());
        }
    }

    /// The length of the request that was appended after the first `before` bytes. A request that
    /// is too long to be sent is removed again.
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

    /// Transforms the bytes appended to `out` since the last call into those for the wire. Returns
    /// true if a filter did so, which takes time.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, out: &mut SendBuffer) -> bool {
        let Wrap::Filtered(filtered) = &mut self.wrap else { return false };
        match &mut filtered.filter {
            Some(filter) => filter.poll_transmit(out),
            None => debug_assert!(out.is_empty(), "bytes are sent before a filter, or after it"),
        }
        true
    }

    #[inline]
    fn filter(&mut self) -> Option<&mut Box<dyn Filter>> {
        match &mut self.wrap {
            Wrap::None | Wrap::Datagrams(_) => None,
            Wrap::Filtered(filtered) => filtered.filter.as_mut(),
        }
    }

    /// Appends the last bytes for the wire, before this end closes the connection.
    pub(crate) fn poll_close(&mut self, out: &mut SendBuffer) {
        if let Some(filter) = self.filter() {
            filter.poll_close(out);
        }
    }

    /// Why the connection ended, if the driver says `why`.
    pub(crate) fn handle_end(&mut self, why: Closed) -> Closed {
        match &mut self.wrap {
            Wrap::None | Wrap::Datagrams(_) => why,
            // It has no last words: the server would not hear them.
            Wrap::Filtered(filtered) => {
                filtered.filter.take().map_or(why, |mut filter| filter.handle_closed(why))
            }
        }
    }

    /// Why the link is not open at its deadline.
    pub(crate) fn handle_timeout(&mut self) -> ConnectError {
        let filter = self.filter().filter(|filter| !filter.is_open());
        filter.map_or(ConnectError::TimedOut, |filter| filter.handle_timeout())
    }

    /// How the handshake of an open link's filter went; `None` without one.
    pub(crate) fn handshake(&mut self) -> Option<Handshake> {
        self.filter()?.handshake()
    }

    /// Handles the end of the connection: the link is closed.
    pub(crate) fn reset(&mut self) {
        self.state = State::Closed;
        self.reader.reset();
        match &mut self.wrap {
            Wrap::None => {}
            Wrap::Datagrams(reassembler) => {
                reassembler.give_up();
            }
            Wrap::Filtered(filtered) => filtered.filter = None,
        }
    }
}
