//! An operation in flight: what its connection and its dialect know of it until it ends.

use memtide_base::{Instant, Span};
use memtide_workload::{Op, OpKind};
use memtide_world::plan::OPERATION_BYTES;

/// An operation in flight, from the schedule to the histogram. At most 48 bytes: there may be
/// thousands on each of thousands of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    /// When it was due. Nothing rewrites this.
    pub(crate) intended: Instant,
    /// The instant since which it could be sent, until [`Self::hand_over`] makes it the instant at
    /// which it was sent; never for an operation that ends unsent.
    pub(crate) ready_or_sent: Instant,
    /// The most that memtide itself may have delayed it, as far as known: by its own part of the
    /// operation's lag and, once it is sent, by that of others that may delay it at its server.
    pub(crate) own_max: Span,
    pub(crate) index: u64,
    pub(crate) key: u64,
    pub(crate) segment: u16,
    pub(crate) keys: u16,
    /// Keys found so far.
    pub(crate) hits: u16,
    pub(crate) kind: OpKind,
    pub(crate) stage: InFlightStage,
}

const _: () = assert!(size_of::<InFlight>() as u64 <= OPERATION_BYTES, "an entry in flight grew");

/// The stage of an operation in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InFlightStage {
    /// Its (first) answer is awaited.
    First,
    /// A recache whose first answer says that it shall store.
    Won,
    /// A cas or recache whose read was answered and whose store is awaited.
    Second,
    /// A cas that reads nothing first: it is one request, and its one answer is awaited.
    Alone,
    /// It has timed out and is counted; its late answer will be discarded.
    Expired,
    /// Timed out in the second half of a cas, whose reply is awaited.
    ExpiredSecond,
}

impl InFlightStage {
    /// The stage of an operation whose first request was issued. `is_cas_alone`: a cas that reads
    /// nothing first.
    pub(crate) const fn begun(is_cas_alone: bool) -> Self {
        if is_cas_alone { Self::Alone } else { Self::First }
    }

    pub(crate) const fn is_expired(self) -> bool {
        matches!(self, Self::Expired | Self::ExpiredSecond)
    }

    /// True if the next reply answers the cas itself and not its gets.
    pub(crate) const fn is_second(self) -> bool {
        matches!(self, Self::Second | Self::Alone | Self::ExpiredSecond)
    }

    /// True if the operation counts as sent once this request is sent.
    pub(crate) const fn is_first_request(self) -> bool {
        matches!(self, Self::First | Self::Alone)
    }

    pub(crate) const fn expired(self) -> Self {
        if self.is_second() { Self::ExpiredSecond } else { Self::Expired }
    }
}

impl InFlight {
    /// An operation due `at` that could be sent since `ready`, with memtide's own part of that
    /// wait, in this segment.
    #[inline(always)]
    pub(crate) fn of(op: &Op, at: Instant, ready: Instant, own: Span, segment: u16) -> Self {
        Self {
            intended: at,
            ready_or_sent: ready,
            own_max: own,
            index: op.index,
            key: op.key,
            segment,
            keys: op.keys,
            hits: 0,
            kind: op.kind,
            stage: InFlightStage::First,
        }
    }

    /// Records that it was sent at `now`; returns how long after it could have been.
    pub(crate) fn hand_over(&mut self, now: Instant) -> Span {
        debug_assert!(now >= self.intended, "sent before it was intended");
        let late = now.since(self.ready_or_sent);
        self.ready_or_sent = now;
        self.own_max += late;
        late
    }

    /// The operation as one that ends unsent.
    pub(crate) fn never_sent(self) -> Self {
        Self { ready_or_sent: Instant::NEVER, ..self }
    }

    /// The instant at which it was sent, if it was; never if it ended unsent.
    #[inline(always)]
    pub(crate) fn sent(&self) -> Instant {
        self.ready_or_sent
    }

    /// True if it was sent, once it has ended. A cas in its second half was sent as a gets.
    pub(crate) fn is_sent(&self) -> bool {
        let is_half_way = matches!(self.stage, InFlightStage::Second);
        self.sent() != Instant::NEVER || is_half_way
    }

    /// A number that no other request in flight on its connection has. It follows from the
    /// operation, so that replies in any order find it; a cas has one for each of its requests.
    pub(crate) fn opaque(&self) -> u32 {
        (self.index as u32) << 1 | u32::from(self.stage.is_second())
    }

    pub(crate) fn op(&self) -> Op {
        Op { index: self.index, key: self.key, kind: self.kind, keys: self.keys }
    }
}
