//! The measurements of one worker in one interval ([`Tally`]), and their sums over a run
//! ([`TallySum`]).
//!
//! A worker owns one tally at a time and hands it over whole; the totals absorb it, clear it and
//! return it. Tallies use 32-bit counts, totals 64-bit counts.

mod cell;

use crate::absence::silence::{ReplyTimes, Silences, SilentStretch};
use crate::absence::{Absence, Absences};
use crate::churn::Churn;
use crate::counter::{Counters, KINDS_MAX, summed};
use crate::histogram::{Histogram, Tallying};
use crate::mismatch::{Mismatch, Mismatches};
use crate::series::Series;
use crate::slices::{SLICES_KEPT, SliceSet};
use crate::times::{Lateness, Shape, Times};
use cell::Cells;
pub use cell::{Answer, UnansweredCount};
use memtide_base::Span;
use std::ops::{AddAssign, Range};

/// The number of wrong values that a worker keeps between two hand-overs.
const TALLY_MISMATCHES_MAX: usize = 1_024;
/// The number of absences that a worker keeps between two hand-overs.
const TALLY_ABSENCES_MAX: usize = 64;

/// The number of silences that a worker keeps between two hand-overs.
const TALLY_SILENCES_MAX: usize = 64;

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
    /// Operations answered while the measured window lasted, whenever they were due.
    pub answered_in_window: u64,
    /// Measured operations that found the sample queue full and are missing from the samples.
    pub samples_lost: u64,
    /// Wrong values found; at most 1 024 are kept between two hand-overs.
    pub mismatches: Mismatches,
    /// Lost and returned connections; at most 64 absences are kept between two hand-overs.
    pub absences: Absences,
    /// Silences of servers; at most 64 are kept between two hand-overs.
    pub silences: Silences,
    /// Lateness towards each server.
    pub late: Vec<Lateness>,
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

/// The memory of the counters of a tally or a run of this shape, in bytes.
fn counters_bytes(shape: &Shape) -> usize {
    let each = 2 * size_of::<Counters>() + size_of::<ConnectionCounters>() + size_of::<Lateness>();
    let each = each + size_of::<ReplyTimes>();
    shape.segments * size_of::<Counters>() + shape.servers * each
}

/// The distributions of the churn of connections, if they are the load.
fn churned(shape: &Shape) -> usize {
    if shape.churn { Churn::<u32>::DISTRIBUTIONS } else { 0 }
}

/// Adds each of `parts` to the sum at its place.
fn add_each<'a, T: AddAssign<&'a T>>(sums: &mut [T], parts: &'a [T]) {
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
}

macro_rules! of_connections {
    ($($(#[doc = $doc:tt])* $(#[missing = default])? $counter:ident;)*) => {
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
            answered_in_window: 0,
            samples_lost: 0,
            mismatches: Mismatches::reserved(TALLY_MISMATCHES_MAX),
            absences: Absences::reserved(shape.servers, TALLY_ABSENCES_MAX),
            silences: Silences::reserved(shape.servers, TALLY_SILENCES_MAX),
            late: vec![Lateness::default(); shape.servers],
            outstanding: vec![0; shape.depth + 1],
            cells: Cells::new(shape),
        }
    }

    /// The memory of a tally of this shape besides its cells, in bytes.
    pub fn bytes(shape: &Shape) -> u64 {
        let kept = TALLY_MISMATCHES_MAX * size_of::<Mismatch>();
        let kept = kept + TALLY_ABSENCES_MAX * size_of::<Absence>();
        let kept = kept + TALLY_SILENCES_MAX * size_of::<SilentStretch>();
        let slots = Times::<()>::slotted(shape) * size_of::<Option<Tallying>>();
        let outstanding = (shape.depth + 1) * size_of::<u32>();
        let own = size_of::<Self>() + counters_bytes(shape) + kept + slots + outstanding;
        let distributions = Times::<()>::new(shape).each().count() + churned(shape);
        own as u64 + distributions as u64 * Histogram::<u32>::bytes()
    }

    /// The memory of the cells of a tally of this shape, in bytes.
    pub fn cells_bytes(shape: &Shape) -> u64 {
        Cells::bytes(shape)
    }

    /// Counts an operation sent on a connection with `outstanding` operations, itself included; at
    /// most the shape's depth.
    #[inline]
    pub fn sent_with(&mut self, outstanding: usize) {
        self.outstanding[outstanding] += 1;
    }

    /// Counts operations as intended `since_start` after the measured window's start.
    #[inline]
    pub fn intended(&mut self, since_start: Span, count: u64) {
        self.cells.intended(since_start, count);
    }

    /// Counts answered operations that were intended `since_start`.
    #[inline]
    pub fn answered(&mut self, since_start: Span, answer: Answer) {
        self.cells.answered(since_start, answer);
    }

    /// Counts operations that were intended `since_start` and ended without an answer.
    #[inline]
    pub fn lost(&mut self, since_start: Span, loss: UnansweredCount) {
        self.cells.lost(since_start, loss);
    }

    /// Counts operations as intended evenly over a stretch from the window's start, within one row,
    /// and as ended without an answer.
    pub fn unsent(&mut self, stretch: Range<Span>, loss: UnansweredCount) {
        self.cells.unsent(stretch, loss);
    }

    /// The end of the row of an operation intended `since_start` after the measured window's start.
    pub fn row_end(&self, since_start: Span) -> Span {
        self.cells.row_end(since_start)
    }

    /// Asserts that its counts agree with each other, and its cells with its distributions.
    fn assert_whole(&mut self) {
        self.segments.iter().for_each(Counters::assert_whole);
        let answered: u64 = self.segments.iter().map(|counters| counters.answered).sum();
        assert!(self.cells.count_answered() <= answered, "each time in a cell is an answer's");
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
        self.answered_in_window = 0;
        self.samples_lost = 0;
        self.mismatches.clear();
        self.absences.clear();
        self.silences.clear();
        self.late.fill(Lateness::default());
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
    /// Operations answered while the measured window lasted, whenever they were due.
    pub answered_in_window: u64,
    /// Measured operations missing from the samples.
    pub samples_lost: u64,
    /// Wrong values found.
    pub mismatches: Mismatches,
    /// Lost and returned connections.
    pub absences: Absences,
    /// Silences of servers.
    pub silences: Silences,
    /// Lateness towards each server.
    pub late: Vec<Lateness>,
    /// Rows over time.
    pub series: Series,
    /// Slices over time.
    pub slices: Series<SliceSet>,
    row_gets: Vec<usize>,
    outstanding: Vec<u64>,
}

impl TallySum {
    /// The memory of a run's sums of this shape besides its rows and slices, in bytes.
    pub fn bytes(shape: &Shape) -> u64 {
        let slots = Times::<()>::slotted(shape) + 2 * shape.slots.len();
        let slots = slots * size_of::<Option<Histogram<u64>>>();
        let outstanding = (shape.depth + 1) * size_of::<u64>();
        let own = size_of::<Self>() + counters_bytes(shape) + slots + outstanding;
        let answered = 2 * shape.slots.iter().filter(|used| **used).count();
        let distributions = Times::<()>::new(shape).each().count() + churned(shape) + answered;
        own as u64 + distributions as u64 * Histogram::<u64>::bytes()
    }

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
            answered_in_window: 0,
            samples_lost: 0,
            mismatches: Mismatches::default(),
            absences: Absences::of_run(shape.servers),
            silences: Silences::of_run(shape.servers),
            late: vec![Lateness::default(); shape.servers],
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
        self.answered_in_window += tally.answered_in_window;
        self.samples_lost += tally.samples_lost;
        self.mismatches.absorb(&tally.mismatches);
        self.absences.absorb(&tally.absences);
        self.silences.absorb(&tally.silences);
        add_each(&mut self.late, &tally.late);
        for (sum, part) in self.outstanding.iter_mut().zip(&tally.outstanding) {
            *sum += u64::from(*part);
        }
        let Self { times, series, slices, row_gets, .. } = self;
        tally.cells.hand_over(|(row, slice), cell| {
            cell.hand_over(times, series.row_mut(row), row_gets, slices.row_mut(slice));
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
