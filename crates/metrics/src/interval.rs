//! The measurements of one worker in one interval ([`Tally`]), and their sums over a run
//! ([`TallySum`]).
//!
//! A worker owns one tally at a time and hands it over whole; the totals absorb it, clear it and
//! return it. Tallies use 32-bit counts, totals 64-bit counts.

use crate::absence::Absences;
use crate::cell::{Answer, Cells, Loss};
use crate::churn::Churn;
use crate::counter::{Counters, KINDS_MAX, summed};
use crate::histogram::{Histogram, Tallying};
use crate::mismatch::Mismatches;
use crate::series::Series;
use crate::slices::{SLICES_KEPT, SliceSet};
use memtide_base::Span;
use std::ops::AddAssign;

/// The number of wrong values that a worker keeps between two hand-overs.
const TALLY_MISMATCHES_MAX: usize = 1_024;
/// The number of absences that a worker keeps between two hand-overs.
const TALLY_ABSENCES_MAX: usize = 64;

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
    /// True if the window's end cuts operations off, so that lower bounds of their times are kept.
    pub bounds: bool,
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
    /// Response time less the generator's part of the lag: the response time under a perfect
    /// generator.
    pub response_ideal: H,
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
}

impl<H: Default> Times<H> {
    fn new(shape: &Shape) -> Self {
        let slots = || shape.slots.iter().map(|&used| used.then(H::default)).collect();
        let servers = if shape.servers > 1 { shape.servers } else { 0 };
        let each_server = |count| (0..count).map(|_| H::default()).collect();
        Self {
            response: slots(),
            service: slots(),
            lag: slots(),
            response_ideal: H::default(),
            lag_generator: H::default(),
            lag_client_busy: H::default(),
            lag_server: H::default(),
            lag_disconnected: H::default(),
            client_delay: H::default(),
            in_flight_at_send: H::default(),
            servers: each_server(servers),
            bounds: if shape.bounds { slots() } else { Vec::new() },
            server_bounds: each_server(if shape.bounds { servers } else { 0 }),
            request_bytes: shape.message_sizes.then(H::default),
            reply_bytes: shape.message_sizes.then(H::default),
        }
    }
}

impl<H> Times<H> {
    /// All distributions but those that cells hold, in one order for every `H`.
    fn each(&mut self) -> impl Iterator<Item = &mut H> {
        let slots = [&mut self.lag, &mut self.bounds];
        let of_all = [
            &mut self.response_ideal,
            &mut self.lag_generator,
            &mut self.lag_client_busy,
            &mut self.lag_server,
            &mut self.lag_disconnected,
            &mut self.client_delay,
            &mut self.in_flight_at_send,
        ];
        let servers = [&mut self.servers, &mut self.server_bounds];
        let sizes = [&mut self.request_bytes, &mut self.reply_bytes];
        let of_parts = slots.into_iter().flatten().chain(sizes).flatten();
        of_parts.chain(of_all).chain(servers.into_iter().flatten())
    }
}

impl Times<Histogram<u64>> {
    fn absorb(&mut self, other: &mut Times<Tallying>) {
        assert_eq!(self.each().count(), other.each().count(), "both have one shape");
        self.each().zip(other.each()).for_each(|(sum, part)| sum.absorb_tallied(part.settled()));
    }
}

/// The measurements of one worker since its last hand-over.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Counts of each segment.
    pub segments: Vec<Counters>,
    /// Counts of each server over the measured segments; zero with a single server.
    pub servers: Vec<Counters>,
    /// Counts of operations for which no server was chosen.
    pub no_server: Counters,
    /// Counts by server over the other segments; zero with a single server.
    pub unmeasured: ByServer,
    /// Distributions of the measured segments.
    pub times: Times<Tallying>,
    /// Connections opened, connects that failed and connections lost, per server.
    pub connections: Vec<ConnectionCounters>,
    /// The churn of connections, if they are the load.
    pub churn: Option<Box<Churn<u32>>>,
    /// Operations handed to sockets while the measured window lasted by the clock, per kind.
    pub sent_in_window: [u64; KINDS_MAX],
    /// Copies of writes among the operations of `sent_in_window`, beyond the first copy of each.
    pub copies_in_window: [u64; KINDS_MAX],
    /// Measured operations that found the sample queue full and are missing from the samples.
    pub samples_lost: u64,
    /// Wrong values found; at most 1 024 are kept between two hand-overs.
    pub mismatches: Mismatches,
    /// Lost and returned connections; at most 64 absences are kept between two hand-overs.
    pub absences: Absences,
    /// For each number of outstanding operations, the number of sends that found it on their
    /// connection.
    outstanding: Vec<u32>,
    cells: Cells,
}

/// Counts of each server, and of operations for which no server was chosen; zero with a single
/// server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByServer {
    /// Counts of each server.
    pub servers: Vec<Counters>,
    /// Counts of operations for which no server was chosen.
    pub no_server: Counters,
}

impl ByServer {
    fn new(servers: usize) -> Self {
        Self { servers: vec![Counters::default(); servers], no_server: Counters::default() }
    }

    fn clear(&mut self) {
        self.servers.fill(Counters::default());
        self.no_server = Counters::default();
    }
}

impl AddAssign<&Self> for ByServer {
    fn add_assign(&mut self, other: &Self) {
        add_each(&mut self.servers, &other.servers);
        self.no_server += &other.no_server;
    }
}

/// Adds each of `parts` to the sum at its place.
fn add_each<'a, T: AddAssign<&'a T>>(sums: &mut [T], parts: &'a [T]) {
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
}

macro_rules! of_connections {
    ($($(#[doc = $doc:tt])* $counter:ident;)*) => {
        summed! {
            /// Counts of connections by event.
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            ConnectionCounters {
                $($(#[doc = $doc])* $counter;)*
            }
        }
    };
}

crate::connection_counters!(of_connections);

impl Tally {
    /// An empty tally; all its memory is allocated here.
    pub fn new(shape: &Shape) -> Self {
        let times = Times { response: Vec::new(), service: Vec::new(), ..Times::new(shape) };
        Self {
            segments: vec![Counters::default(); shape.segments],
            servers: vec![Counters::default(); shape.servers],
            no_server: Counters::default(),
            unmeasured: ByServer::new(shape.servers),
            times,
            connections: vec![ConnectionCounters::default(); shape.servers],
            churn: shape.churn.then(|| Box::new(Churn::new(shape.segments))),
            sent_in_window: [0; KINDS_MAX],
            copies_in_window: [0; KINDS_MAX],
            samples_lost: 0,
            mismatches: Mismatches::reserved(TALLY_MISMATCHES_MAX),
            absences: Absences::reserved(shape.servers, TALLY_ABSENCES_MAX),
            outstanding: vec![0; shape.depth + 1],
            cells: Cells::new(shape),
        }
    }

    /// The memory of this number of cells, with so many distributions each, in bytes.
    pub const fn cells_bytes(cells: u64, distributions: u64) -> u64 {
        Cells::bytes(cells, distributions)
    }

    /// Counts an operation sent on a connection with `outstanding` operations, itself included; at
    /// most the shape's depth.
    #[inline]
    pub fn sent_with(&mut self, outstanding: usize) {
        self.outstanding[outstanding] += 1;
    }

    /// Counts an operation as intended `since_start` after the measured window's start.
    #[inline]
    pub fn intended(&mut self, since_start: Span) {
        self.cells.intended(since_start);
    }

    /// Counts an answered operation that was intended `since_start`.
    #[inline]
    pub fn answered(&mut self, since_start: Span, answer: Answer) {
        self.cells.answered(since_start, answer);
    }

    /// Counts operations that were intended `since_start` and ended without an answer.
    #[inline]
    pub fn lost(&mut self, since_start: Span, loss: Loss) {
        self.cells.lost(since_start, loss);
    }

    /// Counts operations as intended evenly over a stretch from the window's start, within one row,
    /// and as ended without an answer.
    pub fn unsent(&mut self, stretch: (Span, Span), loss: Loss) {
        self.cells.unsent(stretch, loss);
    }

    /// The end of the row of an operation intended `since_start` after the measured window's start.
    pub fn row_end(&self, since_start: Span) -> Span {
        self.cells.row_end(since_start)
    }

    /// Asserts that its counts agree with each other, and its cells with its distributions.
    fn assert_whole(&mut self) {
        self.segments.iter().for_each(Counters::assert_whole);
        let times = self.times.response_ideal.settled().count();
        assert_eq!(self.cells.count_answered(), times, "each measured answer is in a cell");
        let answered: u64 = self.segments.iter().map(|counters| counters.answered).sum();
        assert!(times <= answered, "each response time is an answer's");
    }

    fn clear(&mut self) {
        self.segments.fill(Counters::default());
        self.servers.fill(Counters::default());
        self.no_server = Counters::default();
        self.unmeasured.clear();
        self.times.each().for_each(Tallying::clear);
        self.connections.fill(ConnectionCounters::default());
        if let Some(churn) = &mut self.churn {
            churn.clear();
        }
        self.sent_in_window = [0; KINDS_MAX];
        self.copies_in_window = [0; KINDS_MAX];
        self.samples_lost = 0;
        self.mismatches.clear();
        self.absences.clear();
        self.outstanding.fill(0);
    }
}

/// All measurements of a run, over all workers.
#[derive(Clone, Debug)]
pub struct TallySum {
    /// Counts of each segment.
    pub segments: Vec<Counters>,
    /// Counts of each server over the measured segments; zero with a single server.
    pub servers: Vec<Counters>,
    /// Counts of operations for which no server was chosen.
    pub no_server: Counters,
    /// Counts by server over the other segments; zero with a single server.
    pub unmeasured: ByServer,
    /// Distributions of the measured segments.
    pub times: Times<Histogram<u64>>,
    /// Connections opened, connects that failed and connections lost, per server.
    pub connections: Vec<ConnectionCounters>,
    /// The churn of connections, if they are the load.
    pub churn: Option<Box<Churn<u64>>>,
    /// Operations handed to sockets while the measured window lasted, per kind.
    pub sent_in_window: [u64; KINDS_MAX],
    /// Copies of writes among the operations of `sent_in_window`, beyond the first copy of each.
    pub copies_in_window: [u64; KINDS_MAX],
    /// Measured operations missing from the samples.
    pub samples_lost: u64,
    /// Wrong values found.
    pub mismatches: Mismatches,
    /// Lost and returned connections.
    pub absences: Absences,
    /// Rows over time.
    pub series: Series,
    /// Slices over time.
    pub slices: Series<SliceSet>,
    row_gets: Vec<usize>,
    outstanding: Vec<u64>,
}

impl TallySum {
    /// Sums without any measurement yet.
    pub fn new(shape: &Shape) -> Self {
        Self {
            segments: vec![Counters::default(); shape.segments],
            servers: vec![Counters::default(); shape.servers],
            no_server: Counters::default(),
            unmeasured: ByServer::new(shape.servers),
            times: Times::new(shape),
            connections: vec![ConnectionCounters::default(); shape.servers],
            churn: shape.churn.then(|| Box::new(Churn::new(shape.segments))),
            sent_in_window: [0; KINDS_MAX],
            copies_in_window: [0; KINDS_MAX],
            samples_lost: 0,
            mismatches: Mismatches::default(),
            absences: Absences::of_run(shape.servers),
            series: Series::new(shape.row_width, shape.rows_max),
            slices: Series::new(shape.slice_width, SLICES_KEPT),
            row_gets: shape.row_gets.clone(),
            outstanding: vec![0; shape.depth + 1],
        }
    }

    /// Counts of connections by event, over all servers.
    pub fn all_connections(&self) -> ConnectionCounters {
        let mut all = ConnectionCounters::default();
        self.connections.iter().for_each(|of_server| all += of_server);
        all
    }

    /// Adds all of `tally` and clears it, ready to be used again.
    pub fn absorb(&mut self, tally: &mut Tally) {
        let has_room = tally.segments.len() <= self.segments.len()
            && tally.servers.len() <= self.servers.len()
            && tally.connections.len() <= self.connections.len()
            && tally.churn.is_some() <= self.churn.is_some();
        assert!(has_room, "merging loses nothing");
        tally.assert_whole();
        for (sum, part) in self.segments.iter_mut().zip(&tally.segments) {
            *sum += part;
            assert!(sum.settled() <= sum.intended, "more operations ended than were intended");
        }
        add_each(&mut self.servers, &tally.servers);
        self.no_server += &tally.no_server;
        self.unmeasured += &tally.unmeasured;
        self.times.absorb(&mut tally.times);
        add_each(&mut self.connections, &tally.connections);
        if let (Some(sum), Some(part)) = (&mut self.churn, &tally.churn) {
            sum.absorb(part);
        }
        add_each(&mut self.sent_in_window, &tally.sent_in_window);
        add_each(&mut self.copies_in_window, &tally.copies_in_window);
        self.samples_lost += tally.samples_lost;
        self.mismatches.absorb(&tally.mismatches);
        self.absences.absorb(&tally.absences);
        for (sum, part) in self.outstanding.iter_mut().zip(&tally.outstanding) {
            *sum += u64::from(*part);
        }
        let Self { times, series, slices, row_gets, .. } = self;
        tally.cells.hand_over(|(row, slice), cell| {
            cell.hand_over(times, (series.row_mut(row), row_gets), slices.row_mut(slice));
        });
        tally.clear();
    }

    /// The number of operations outstanding on a connection at each send, the sent one included.
    pub fn outstanding(&self) -> Histogram<u64> {
        let counted = (0..).zip(self.outstanding.iter().copied()).filter(|&(_, count)| count > 0);
        Histogram::from_recorded(counted)
    }
}

#[cfg(test)]
mod tests;
