//! The measurements of one worker in one interval ([`Tally`]), and their sums over a run
//! ([`TallySum`]).
//!
//! A worker owns one tally at a time and hands it over whole; the totals absorb it, clear it and
//! return it. Tallies use 32-bit counts, totals 64-bit counts.

use crate::absence::Absences;
use crate::churn::Churn;
use crate::counter::{Counters, KINDS_MAX, summed};
use crate::histogram::{Histogram, Tallying};
use crate::mismatch::Mismatches;
use crate::series::Series;
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
    /// The number of segments of the run.
    pub segments: usize,
    /// The number of servers. With several servers, each has a histogram of its own.
    pub servers: usize,
    /// The width of a row.
    pub row_width: Span,
    /// The number of rows open at once: an operation ends at most this many rows after its intended
    /// row.
    pub rows_open: usize,
    /// The number of rows kept before neighbours are merged.
    pub rows_max: usize,
    /// True if rows keep the times of gets.
    pub rows_get_times: bool,
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
    /// received − intended, per slot.
    pub response: Vec<Option<H>>,
    /// received − sent, per slot.
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

impl Times<Tallying> {
    fn clear(&mut self) {
        for slots in [&mut self.response, &mut self.service, &mut self.lag, &mut self.bounds] {
            slots.iter_mut().flatten().for_each(Tallying::clear);
        }
        self.response_ideal.clear();
        self.lag_generator.clear();
        self.lag_client_busy.clear();
        self.lag_server.clear();
        self.lag_disconnected.clear();
        self.client_delay.clear();
        self.in_flight_at_send.clear();
        self.servers.iter_mut().for_each(Tallying::clear);
        self.server_bounds.iter_mut().for_each(Tallying::clear);
        let sizes = [&mut self.request_bytes, &mut self.reply_bytes];
        sizes.into_iter().flatten().for_each(Tallying::clear);
    }
}

impl Times<Histogram<u64>> {
    fn absorb(&mut self, other: &mut Times<Tallying>) {
        absorb_slots(&mut self.response, &mut other.response);
        absorb_slots(&mut self.service, &mut other.service);
        absorb_slots(&mut self.lag, &mut other.lag);
        absorb_slots(&mut self.bounds, &mut other.bounds);
        self.response_ideal.absorb(other.response_ideal.settled());
        self.lag_generator.absorb(other.lag_generator.settled());
        self.lag_client_busy.absorb(other.lag_client_busy.settled());
        self.lag_server.absorb(other.lag_server.settled());
        self.lag_disconnected.absorb(other.lag_disconnected.settled());
        self.client_delay.absorb(other.client_delay.settled());
        self.in_flight_at_send.absorb(other.in_flight_at_send.settled());
        let servers = self.servers.iter_mut().zip(&mut other.servers);
        let bounds = self.server_bounds.iter_mut().zip(&mut other.server_bounds);
        servers.chain(bounds).for_each(|(sum, part)| sum.absorb(part.settled()));
        absorb_slot(&mut self.request_bytes, &mut other.request_bytes);
        absorb_slot(&mut self.reply_bytes, &mut other.reply_bytes);
    }
}

fn absorb_slots(sums: &mut [Option<Histogram<u64>>], parts: &mut [Option<Tallying>]) {
    for (sum, part) in sums.iter_mut().zip(parts) {
        absorb_slot(sum, part);
    }
}

fn absorb_slot(sum: &mut Option<Histogram<u64>>, part: &mut Option<Tallying>) {
    if let (Some(sum), Some(part)) = (sum, part) {
        sum.absorb(part.settled());
    }
}

/// One open row of a worker.
#[derive(Clone, Debug)]
struct OpenRow {
    number: u64,
    intended: u64,
    unanswered: u64,
    hits: u64,
    misses: u64,
    response: Tallying,
    gets: Option<Box<OpenGets>>,
}

impl OpenRow {
    fn new(number: u64, gets: bool) -> Self {
        Self {
            number,
            intended: 0,
            unanswered: 0,
            hits: 0,
            misses: 0,
            response: Tallying::default(),
            gets: gets.then(Box::default),
        }
    }

    fn is_empty(&mut self) -> bool {
        self.intended + self.unanswered + self.response.settled().count() == 0
    }
}

/// The times of the gets of an open row.
#[derive(Clone, Debug, Default)]
struct OpenGets {
    response: Tallying,
    service: Tallying,
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
    /// The open rows, each at its number modulo their count.
    rows: Vec<OpenRow>,
    /// Rows whose place another one needed: those of a worker that stood still for longer than
    /// open rows last. Only these are allocated while a load runs.
    displaced: Vec<OpenRow>,
    row_width_ns: u64,
    /// The row that was found last: its place, and the start of its time.
    row_at: usize,
    row_from_ns: u64,
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
}

impl AddAssign<&Self> for ByServer {
    fn add_assign(&mut self, other: &Self) {
        for (sum, part) in self.servers.iter_mut().zip(&other.servers) {
            *sum += part;
        }
        self.no_server += &other.no_server;
    }
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
        let row = |_| OpenRow::new(0, shape.rows_get_times);
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
            mismatches: Mismatches::reserved(TALLY_MISMATCHES_MAX),
            absences: Absences::reserved(shape.servers, TALLY_ABSENCES_MAX),
            outstanding: vec![0; shape.depth + 1],
            rows: (0..shape.rows_open).map(row).collect(),
            displaced: Vec::new(),
            row_width_ns: shape.row_width.ns(),
            row_at: 0,
            row_from_ns: 0,
        }
    }

    /// Counts an operation sent on a connection with `outstanding` operations, itself included; at
    /// most the shape's depth.
    #[inline]
    pub fn sent_with(&mut self, outstanding: usize) {
        self.outstanding[outstanding] += 1;
    }

    /// Counts an operation as intended `since_start` after the measured window's start.
    #[inline]
    pub fn row_intended(&mut self, since_start: Span) {
        self.row(since_start).intended += 1;
    }

    /// Counts an answered operation with its response time and the keys it found and missed.
    #[inline]
    pub fn row_answered(&mut self, since_start: Span, response: Span, hits: u64, misses: u64) {
        let row = self.row(since_start);
        row.response.record(response.ns());
        row.hits += hits;
        row.misses += misses;
    }

    /// Adds the times of an answered get, in a shape whose rows keep them.
    pub fn row_get(&mut self, since_start: Span, response: Span, service: Span) {
        if let Some(gets) = &mut self.row(since_start).gets {
            gets.response.record(response.ns());
            gets.service.record(service.ns());
        }
    }

    /// Counts an operation that ended without an answer.
    #[inline]
    pub fn row_unanswered(&mut self, since_start: Span) {
        self.row(since_start).unanswered += 1;
    }

    /// Counts `count` operations as intended `since_start` after the measured window's start and as
    /// ended without an answer.
    pub fn row_unsent(&mut self, since_start: Span, count: u64) {
        let row = self.row(since_start);
        row.intended += count;
        row.unanswered += count;
    }

    /// The end of the row of an operation intended `since_start` after the measured window's start.
    pub fn row_end(&self, since_start: Span) -> Span {
        Span::from_ns((since_start.ns() / self.row_width_ns + 1) * self.row_width_ns)
    }

    #[inline]
    fn row(&mut self, since_start: Span) -> &mut OpenRow {
        // Nearly always the row of the previous call.
        if since_start.ns().wrapping_sub(self.row_from_ns) >= self.row_width_ns {
            self.find_row(since_start);
        }
        &mut self.rows[self.row_at]
    }

    #[cold]
    fn find_row(&mut self, since_start: Span) {
        let number = since_start.ns() / self.row_width_ns;
        self.row_from_ns = number * self.row_width_ns;
        self.row_at = (number % self.rows.len() as u64) as usize;
        let row = &mut self.rows[self.row_at];
        if row.number == number {
            return;
        }
        if row.is_empty() {
            row.number = number;
            return;
        }
        let known = self.displaced.iter().position(|row| row.number == number);
        let next = match known {
            Some(at) => self.displaced.swap_remove(at),
            None => OpenRow::new(number, row.gets.is_some()),
        };
        self.displaced.push(std::mem::replace(row, next));
    }

    fn all_rows(&mut self) -> impl Iterator<Item = &mut OpenRow> {
        self.rows.iter_mut().chain(&mut self.displaced)
    }

    /// Asserts that its counts agree with each other, and its rows with its distributions.
    fn assert_whole(&mut self) {
        self.segments.iter().for_each(Counters::assert_whole);
        let in_rows: u64 = self.all_rows().map(|row| row.response.settled().count()).sum();
        let times = self.times.response_ideal.settled().count();
        assert_eq!(in_rows, times, "each measured answer is in a row");
        let answered: u64 = self.segments.iter().map(|counters| counters.answered).sum();
        assert!(times <= answered, "each response time is an answer's");
    }

    fn clear(&mut self) {
        self.segments.fill(Counters::default());
        self.servers.fill(Counters::default());
        self.no_server = Counters::default();
        self.unmeasured.servers.fill(Counters::default());
        self.unmeasured.no_server = Counters::default();
        self.times.clear();
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
        self.displaced.clear();
        for row in &mut self.rows {
            row.intended = 0;
            row.unanswered = 0;
            row.hits = 0;
            row.misses = 0;
            row.response.clear();
            if let Some(gets) = &mut row.gets {
                gets.response.clear();
                gets.service.clear();
            }
        }
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
        for (sum, part) in self.servers.iter_mut().zip(&tally.servers) {
            *sum += part;
        }
        self.no_server += &tally.no_server;
        self.unmeasured += &tally.unmeasured;
        self.times.absorb(&mut tally.times);
        for (sum, part) in self.connections.iter_mut().zip(&tally.connections) {
            *sum += part;
        }
        if let (Some(sum), Some(part)) = (&mut self.churn, &tally.churn) {
            sum.absorb(part);
        }
        for (sum, part) in self.sent_in_window.iter_mut().zip(tally.sent_in_window) {
            *sum += part;
        }
        for (sum, part) in self.copies_in_window.iter_mut().zip(tally.copies_in_window) {
            *sum += part;
        }
        self.samples_lost += tally.samples_lost;
        self.mismatches.absorb(&tally.mismatches);
        self.absences.absorb(&tally.absences);
        for (sum, part) in self.outstanding.iter_mut().zip(&tally.outstanding) {
            *sum += u64::from(*part);
        }
        for open in tally.all_rows() {
            if open.is_empty() {
                continue;
            }
            let response = open.response.settled();
            self.series.absorb_times(open.number, response);
            let row = self.series.row_mut(open.number);
            row.intended += open.intended;
            row.answered += response.count();
            row.unanswered += open.unanswered;
            row.hits += open.hits;
            row.misses += open.misses;
            if let Some(gets) = &mut open.gets {
                let sums = row.gets.get_or_insert_default();
                sums.response.absorb_times(gets.response.settled());
                sums.service.absorb_times(gets.service.settled());
            }
        }
        tally.clear();
    }

    /// The number of operations outstanding on a connection at each send, the sent one included.
    pub fn outstanding(&self) -> Histogram<u64> {
        let counted = (0..).zip(self.outstanding.iter().copied()).filter(|&(_, count)| count > 0);
        Histogram::from_recorded(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Fate;

    fn shape() -> Shape {
        Shape {
            slots: vec![true, false, true],
            segments: 3,
            servers: 1,
            row_width: Span::from_s(1),
            rows_open: 3,
            rows_max: 1024,
            rows_get_times: true,
            depth: 4,
            churn: false,
            message_sizes: true,
            bounds: true,
        }
    }

    #[test]
    fn rows_of_a_worker_that_stood_still_keep_their_own_counts() {
        let mut tally = Tally::new(&shape());
        let width = shape().row_width;
        let mut totals = TallySum::new(&shape());
        // Three rows are open; the fourth needs the place of the first, which is needed again.
        for number in [0, 3, 1, 0, 6, 3, 0] {
            tally.row_intended(width * number);
            tally.row_unanswered(width * number);
        }
        totals.absorb(&mut tally);
        let intended: Vec<u64> = totals.series.rows().iter().map(|row| row.intended).collect();
        assert_eq!(intended, [3, 1, 0, 2, 0, 0, 1]);
        let unanswered = totals.series.rows().iter().map(|row| row.unanswered);
        assert_eq!(unanswered.collect::<Vec<_>>(), intended);
        totals.absorb(&mut tally);
        assert_eq!(totals.series.rows()[3].intended, 2, "nothing is kept twice");
    }

    #[test]
    fn totals_hold_what_tallies_held_and_tallies_come_back_empty() {
        let (mut tally, mut totals) = (Tally::new(&shape()), TallySum::new(&shape()));
        for second in 0..10u64 {
            let at = Span::from_ms(second * 1000 + 500);
            for _ in 0..100 {
                tally.segments[1].intended += 1;
                tally.row_intended(at);
                tally.segments[1].settle(0, Fate::Answered);
                tally.times.response[0].as_mut().unwrap().record(1_000);
                tally.times.response_ideal.record(1_000);
                tally.row_answered(at, Span::from_us(1), 1, 0);
                tally.row_get(at, Span::from_us(1), Span::from_ns(900));
                tally.sent_with(1 + second as usize % 4);
            }
            tally.row_intended(at);
            tally.row_unanswered(at);
            totals.absorb(&mut tally);
        }
        assert_eq!(totals.segments[1].answered, 1000);
        assert_eq!(totals.segments[1].settled(), totals.segments[1].intended);
        assert_eq!(totals.times.response[0].as_ref().unwrap().count(), 1000);
        let outstanding = totals.outstanding();
        assert_eq!((outstanding.moments().sum, outstanding.count()), (2_300, 1_000));
        assert_eq!((outstanding.moments().min, outstanding.moments().max), (1, 4));
        assert_eq!(totals.series.rows().len(), 10);
        assert!(totals.series.rows().iter().all(|row| {
            (row.intended, row.answered, row.unanswered, row.hits) == (101, 100, 1, 100)
        }));
        let gets = totals.series.rows().iter().map(|row| row.gets.as_ref().unwrap());
        assert!(gets.clone().all(|gets| gets.response.histogram().moments().sum == 100_000));
        assert!(gets.clone().all(|gets| gets.service.histogram().moments().sum == 90_000));
        assert_eq!(tally.segments[1], Counters::default());
    }
}
