//! The distributions of the measured operations, in a tally or in a run's sums ([`Times`]); the
//! room that a run needs for its measurements ([`Shape`]); how long workers were late
//! ([`Lateness`]).

use crate::histogram::{Histogram, Tallying};
use memtide_base::Span;
use std::ops::AddAssign;

/// The measurements that a run needs. Decides once how much memory a tally has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// For each histogram slot (operation kinds, then finer classes): true if it is used.
    pub slots: Vec<bool>,
    /// For each slot: true if response times are recorded in it.
    pub response: Vec<bool>,
    /// For each slot: true if service times are recorded in it.
    pub service: Vec<bool>,
    /// The number of segments of the run.
    pub segments: usize,
    /// The number of servers. With several servers, each has a histogram of its own.
    pub servers: usize,
    /// The width of a row.
    pub row_width: Span,
    /// The number of rows kept before neighbours are merged.
    pub rows_max: usize,
    /// The slots of gets, if rows keep the times of gets; else none.
    pub row_gets: Vec<usize>,
    /// The first width of a slice.
    pub slice_width: Span,
    /// The number of cells for which a worker reserves memory; at least 1.
    pub cells: usize,
    /// The number of operations that one connection can have outstanding.
    pub depth: usize,
    /// True if connections are the load, so that their churn is recorded.
    pub churn: bool,
    /// True if the sizes of messages are kept.
    pub message_sizes: bool,
    /// True if what servers say of their items is kept.
    pub item_figures: bool,
    /// True if the window's end cuts operations off, so that lower bounds of their times are kept.
    pub bounds: bool,
}

impl Default for Shape {
    /// The smallest shape: one slot whose times are recorded, one segment, one server and one cell,
    /// with rows and slices of a second.
    fn default() -> Self {
        Self {
            slots: vec![true],
            response: vec![true],
            service: vec![true],
            segments: 1,
            servers: 1,
            row_width: Span::from_s(1),
            rows_max: 1024,
            row_gets: Vec::new(),
            slice_width: Span::from_s(1),
            cells: 1,
            depth: 1,
            churn: false,
            message_sizes: false,
            item_figures: false,
            bounds: false,
        }
    }
}

/// The distributions of the measured operations, as a worker records them or as a run sums them up.
#[derive(Clone, Debug)]
pub struct Times<H> {
    /// received − intended, per slot; empty in a tally, whose cells hold it.
    pub response: Vec<Option<H>>,
    /// received − sent, per slot; empty in a tally, whose cells hold it.
    pub service: Vec<Option<H>>,
    /// sent − intended, per slot.
    pub lag: Vec<Option<H>>,
    /// Response times of operations that were drawn, per slot, each counted as often as it stands
    /// for.
    pub drawn: Vec<Option<H>>,
    /// Response times of the operations in `drawn` less the most that memtide may have added, per
    /// slot, counted as often as there; 0 if that is over a quarter of the time.
    pub punctual: Vec<Option<H>>,
    /// The part of the lag during which the operation could have been sent.
    pub lag_generator: H,
    /// The part of the lag during which the operation had no room and the worker was busy.
    pub lag_client_busy: H,
    /// The part of the lag during which it had no room and the worker was idle: the server's part.
    pub lag_server: H,
    /// The part of the lag during which no connection was open.
    pub lag_disconnected: H,
    /// Time from a worker's wake-up to the receive of a reply.
    pub client_delay: H,
    /// Operations in flight on a worker when another was sent; a count, not a time.
    pub in_flight_at_send: H,
    /// Response per server; empty with a single server.
    pub servers: Vec<H>,
    /// Lower bounds of the times of operations that the window's end cut off, per slot; empty
    /// unless operations are cut off. Hits and misses are not distinguished.
    pub bounds: Vec<Option<H>>,
    /// Lower bounds per server, as far as they are known; empty with a single server.
    pub server_bounds: Vec<H>,
    /// Bytes of a request, as far as it was made at once; `None` unless sizes are kept.
    pub request_bytes: Option<H>,
    /// Bytes of a reply; `None` unless sizes are kept.
    pub reply_bytes: Option<H>,
    /// Seconds since the last access of items, as the server says; `None` unless it is asked.
    pub item_age_s: Option<H>,
    /// Seconds left until items expire, of those that do; `None` unless the server is asked.
    pub item_ttl_s: Option<H>,
    /// 1 for an item that never expires, else 0; `None` unless the server is asked.
    pub item_endless: Option<H>,
    /// 1 for each item that was read before, else 0; `None` unless the server is asked.
    pub item_read: Option<H>,
}

impl<H: Default> Times<H> {
    pub(crate) fn new(shape: &Shape) -> Self {
        let slots = || shape.slots.iter().map(|&used| used.then(H::default)).collect();
        let servers = if shape.servers > 1 { shape.servers } else { 0 };
        let bounded = if shape.bounds { servers } else { 0 };
        Self {
            response: slots(),
            service: slots(),
            lag: slots(),
            drawn: slots(),
            punctual: slots(),
            lag_generator: H::default(),
            lag_client_busy: H::default(),
            lag_server: H::default(),
            lag_disconnected: H::default(),
            client_delay: H::default(),
            in_flight_at_send: H::default(),
            servers: (0..servers).map(|_| H::default()).collect(),
            bounds: if shape.bounds { slots() } else { Vec::new() },
            server_bounds: (0..bounded).map(|_| H::default()).collect(),
            request_bytes: shape.message_sizes.then(H::default),
            reply_bytes: shape.message_sizes.then(H::default),
            item_age_s: shape.item_figures.then(H::default),
            item_ttl_s: shape.item_figures.then(H::default),
            item_endless: shape.item_figures.then(H::default),
            item_read: shape.item_figures.then(H::default),
        }
    }
}

impl<H> Times<H> {
    /// The places for distributions of slots, used or not, of all but response and service times.
    pub(crate) fn slotted(shape: &Shape) -> usize {
        let channels = if shape.bounds { 4 } else { 3 };
        channels * shape.slots.len()
    }

    /// All distributions but those that cells hold, in one order for every `H`.
    pub(crate) fn each(&mut self) -> impl Iterator<Item = &mut H> {
        let slots = [&mut self.lag, &mut self.drawn, &mut self.punctual, &mut self.bounds];
        let of_all = [
            &mut self.lag_generator,
            &mut self.lag_client_busy,
            &mut self.lag_server,
            &mut self.lag_disconnected,
            &mut self.client_delay,
            &mut self.in_flight_at_send,
        ];
        let servers = [&mut self.servers, &mut self.server_bounds];
        let some = [
            &mut self.request_bytes,
            &mut self.reply_bytes,
            &mut self.item_age_s,
            &mut self.item_ttl_s,
            &mut self.item_endless,
            &mut self.item_read,
        ];
        let of_parts = slots.into_iter().flatten().chain(some).flatten();
        of_parts.chain(of_all).chain(servers.into_iter().flatten())
    }
}

impl Times<Histogram<u64>> {
    pub(crate) fn absorb(&mut self, other: &mut Times<Tallying>) {
        assert_eq!(self.each().count(), other.each().count(), "both have one shape");
        self.each().zip(other.each()).for_each(|(sum, part)| sum.absorb_tallied(part.settled()));
    }
}

/// Lateness up to this, in ns, begins no stretch.
pub const LATE_MIN_NS: u64 = 2_000;

/// Number of classes of lateness: class *k* holds stretches whose largest lag is from 2^k to
/// 2^(k+1) times 2 µs; the last has no end.
pub const LATE_CLASSES: usize = 16;

/// Lateness of workers towards one server: what bounds the delay that one worker's lateness may
/// have caused the operations of another. A worker is late from the intended instant of the first
/// operation that it sends over 2 µs late until it has nothing in flight there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Measured operations that the server answered.
    pub operations: u64,
    /// Length of all workers' stretches within the measured window, by class, in ns.
    pub late_ns: [u64; LATE_CLASSES],
    /// By class, the sum over the workers of the length of a worker's stretches times its
    /// operations.
    pub weighted_ns: [u128; LATE_CLASSES],
}

impl AddAssign<&Self> for Lateness {
    fn add_assign(&mut self, other: &Self) {
        self.operations += other.operations;
        self.late_ns.iter_mut().zip(&other.late_ns).for_each(|(sum, part)| *sum += part);
        self.weighted_ns.iter_mut().zip(&other.weighted_ns).for_each(|(sum, part)| *sum += part);
    }
}
