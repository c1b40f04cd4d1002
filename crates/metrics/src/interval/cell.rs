//! The open cells of a worker. A cell is a stretch of intended time within one row and one slice.
//!
//! A worker records each answer once, in its cell. At the hand-over each cell in use is added to
//! the totals, to its row and to its slice. Cells are reserved; what finds none, because a worker
//! stood still or answers took long, is listed one by one and loses nothing.

use crate::counter::KINDS_MAX;
use crate::histogram::{COARSE_BUCKETS, Histogram, Tallying, coarse};
use crate::series::{Row, add_counts};
use crate::slices::{self, SERVERS_MAX, Slice, SliceSet};
use crate::times::{Shape, Times};
use memtide_base::Span;
use std::ops::Range;

/// The listed endings for which memory is reserved.
const DISPLACED: usize = 4_096;

/// Answered operations that are alike, by the places of their kind in the tables.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Their number.
    pub count: u32,
    /// The slot of their response times.
    pub slot: u8,
    /// The slot of their service times.
    pub kind: u8,
    /// The number of their server.
    pub server: u16,
    /// received − intended.
    pub response: Span,
    /// received − sent.
    pub service: Span,
    /// Keys that each found.
    pub hits: u32,
    /// Keys that each did not find.
    pub misses: u32,
}

/// Operations of one kind that ended without an answer.
#[derive(Clone, Copy, Debug)]
pub struct UnansweredCount {
    /// The slot of their kind.
    pub kind: u8,
    /// The number of their server; `None` if none was chosen.
    pub server: Option<u16>,
    /// True if they were sent.
    pub is_sent: bool,
    /// Keys that the first of two answers to each found.
    pub hits: u16,
    /// Keys that the first of two answers to each did not find.
    pub misses: u16,
    /// The number of operations.
    pub count: u64,
}

/// What a worker records in a cell.
#[derive(Clone, Copy, Debug)]
enum Noted {
    Intended(u64),
    Answered(Answer),
    Lost(UnansweredCount),
}

/// An entry of the list of what found no cell, with its intended instant since the window's start.
type Displaced = (u64, Noted);
const _: () = assert!(size_of::<Displaced>() <= 48, "thousands may be listed");

/// The measurements of one worker in one cell since its last hand-over.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    from_ns: u64,
    intended: u64,
    unanswered: u64,
    hits: u64,
    misses: u64,
    /// Operations without an answer, by kind: all, and those that were sent.
    lost: [(u64, u64); KINDS_MAX],
    response: Vec<Option<Tallying>>,
    service: Vec<Option<Tallying>>,
    /// Response per server; empty unless slices keep it.
    servers: Vec<Coarse>,
}

/// Times in coarse buckets.
#[derive(Clone, Debug)]
struct Coarse {
    counts: Box<[u32]>,
    answered: u64,
    unanswered: u64,
    sum_ns: u128,
}

impl Coarse {
    fn new() -> Self {
        Self { counts: vec![0; COARSE_BUCKETS].into(), answered: 0, unanswered: 0, sum_ns: 0 }
    }

    fn record(&mut self, value: Span, times: u32) {
        let count = &mut self.counts[usize::from(coarse(value.ns()))];
        *count = count.saturating_add(times);
        self.answered += u64::from(times);
        self.sum_ns += u128::from(value.ns()) * u128::from(times);
    }

    fn hand_over(&self, to: &mut Slice) {
        for (at, &count) in (0..).zip(&self.counts).filter(|(_, count)| **count > 0) {
            *to.buckets.entry(at).or_default() += u64::from(count);
        }
        to.answered += self.answered;
        to.unanswered += self.unanswered;
        to.sum_ns += self.sum_ns;
    }

    fn clear(&mut self) {
        if self.answered > 0 {
            self.counts.fill(0);
        }
        (self.answered, self.unanswered, self.sum_ns) = (0, 0, 0);
    }
}

impl Cell {
    fn new(shape: &Shape) -> Self {
        Self {
            from_ns: 0,
            intended: 0,
            unanswered: 0,
            hits: 0,
            misses: 0,
            lost: [(0, 0); KINDS_MAX],
            response: shape.response.iter().map(|used| used.then(Tallying::default)).collect(),
            service: shape.service.iter().map(|used| used.then(Tallying::default)).collect(),
            servers: (0..shape.sliced_servers()).map(|_| Coarse::new()).collect(),
        }
    }

    #[inline(always)]
    fn note(&mut self, noted: Noted) {
        match noted {
            Noted::Intended(count) => self.intended += count,
            Noted::Answered(answer) => {
                let count = u64::from(answer.count);
                if let Some(times) = &mut self.response[usize::from(answer.slot)] {
                    times.record_many(answer.response.ns(), count);
                }
                if let Some(times) = &mut self.service[usize::from(answer.kind)] {
                    times.record_many(answer.service.ns(), count);
                }
                if let Some(server) = self.servers.get_mut(usize::from(answer.server)) {
                    server.record(answer.response, answer.count);
                }
                self.hits += u64::from(answer.hits) * count;
                self.misses += u64::from(answer.misses) * count;
            }
            Noted::Lost(loss) => {
                self.unanswered += loss.count;
                self.hits += u64::from(loss.hits) * loss.count;
                self.misses += u64::from(loss.misses) * loss.count;
                let (all, sent) = &mut self.lost[usize::from(loss.kind)];
                *all += loss.count;
                *sent += if loss.is_sent { loss.count } else { 0 };
                let server = loss.server.and_then(|at| self.servers.get_mut(usize::from(at)));
                if let Some(server) = server {
                    server.unanswered += loss.count;
                }
            }
        }
    }

    fn answered(&self) -> u64 {
        self.response.iter().flatten().map(Tallying::count).sum()
    }

    fn is_empty(&self) -> bool {
        self.intended + self.unanswered + self.answered() == 0
    }

    /// Adds all that it holds to the totals, to its row and to its slice. Rows keep the times of
    /// the slots `row_slots` apart.
    pub(crate) fn hand_over(
        &mut self,
        times: &mut Times<Histogram<u64>>,
        row: &mut Row,
        row_slots: &[usize],
        slice: &mut SliceSet,
    ) {
        row.intended += self.intended;
        row.answered += self.answered();
        row.unanswered += self.unanswered;
        row.hits += self.hits;
        row.misses += self.misses;
        let mut apart = match row_slots {
            [] => None,
            _ => Some(row.gets.get_or_insert_default()),
        };
        let channels = [
            (&mut self.response, &mut times.response, &mut slice.response),
            (&mut self.service, &mut times.service, &mut slice.service),
        ];
        for (nth, (parts, sums, slices)) in channels.into_iter().enumerate() {
            let used = parts.iter_mut().zip(sums).enumerate();
            for (at, part, sum) in used.filter_map(|(at, (part, sum))| {
                let part = part.as_mut().filter(|part| part.count() > 0)?;
                Some((at, part.settled(), sum.as_mut().expect("sums have what cells have")))
            }) {
                sum.absorb_tallied(part);
                SliceSet::of(slices, at).absorb_times(part);
                if nth == 0 {
                    add_counts(&mut row.response, part.tallied());
                }
                if let Some(apart) = apart.as_mut().filter(|_| row_slots.contains(&at)) {
                    let times = if nth == 0 { &mut apart.response } else { &mut apart.service };
                    times.absorb_times(part);
                }
            }
        }
        for (at, (all, sent)) in self.lost.iter().enumerate().filter(|(_, (all, _))| *all > 0) {
            SliceSet::of(&mut slice.response, at).unanswered += all;
            SliceSet::of(&mut slice.service, at).unanswered += sent;
        }
        for (at, server) in self.servers.iter().enumerate() {
            server.hand_over(SliceSet::of(&mut slice.servers, at));
        }
    }

    /// Removes all that it holds; keeps the memory.
    fn clear(&mut self) {
        (self.intended, self.unanswered, self.hits, self.misses) = (0, 0, 0, 0);
        self.lost = [(0, 0); KINDS_MAX];
        self.response.iter_mut().chain(&mut self.service).flatten().for_each(Tallying::clear);
        self.servers.iter_mut().for_each(Coarse::clear);
    }
}

/// The cells of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    cells: Vec<Cell>,
    /// The cells in use are the first.
    used: usize,
    /// What found no cell.
    displaced: Vec<Displaced>,
    row_width_ns: u64,
    slice_width_ns: u64,
    /// The cell that was found last: its place, its start and its length.
    at: usize,
    from_ns: u64,
    length_ns: u64,
}

impl Cells {
    pub(crate) fn new(shape: &Shape) -> Self {
        assert!(shape.cells > 0, "there is a cell to record in");
        Self {
            cells: (0..shape.cells).map(|_| Cell::new(shape)).collect(),
            used: 0,
            displaced: Vec::with_capacity(DISPLACED),
            row_width_ns: shape.row_width.ns(),
            slice_width_ns: shape.slice_width.ns(),
            at: 0,
            from_ns: 0,
            length_ns: 0,
        }
    }

    #[inline]
    pub(crate) fn intended(&mut self, since_start: Span, count: u64) {
        self.note(since_start.ns(), Noted::Intended(count));
    }

    #[inline]
    pub(crate) fn answered(&mut self, since_start: Span, answer: Answer) {
        self.note(since_start.ns(), Noted::Answered(answer));
    }

    #[inline]
    pub(crate) fn lost(&mut self, since_start: Span, loss: UnansweredCount) {
        self.note(since_start.ns(), Noted::Lost(loss));
    }

    /// Counts operations as intended evenly over a stretch within one row, and as ended without an
    /// answer.
    pub(crate) fn unsent(&mut self, stretch: Range<Span>, loss: UnansweredCount) {
        let Range { start, end: until } = stretch;
        let (mut at, mut left) = (start.ns(), loss.count);
        let length = u128::from(until.saturating_sub(start).ns().max(1));
        while left > 0 {
            let (_, end) = self.bounds(at);
            let part = u128::from(loss.count) * u128::from(end - at) / length;
            let count = if end >= until.ns() { left } else { left.min(part as u64) };
            if count > 0 {
                self.note(at, Noted::Intended(count));
                self.note(at, Noted::Lost(UnansweredCount { count, ..loss }));
            }
            (at, left) = (end, left - count);
        }
    }

    #[inline(always)]
    fn note(&mut self, since_ns: u64, noted: Noted) {
        // Nearly always the cell of the previous call.
        if since_ns.wrapping_sub(self.from_ns) >= self.length_ns && !self.find(since_ns) {
            return self.displaced.push((since_ns, noted));
        }
        self.cells[self.at].note(noted);
    }

    /// Finds the cell of an instant, or takes a free one; false if there is none.
    #[cold]
    fn find(&mut self, since_ns: u64) -> bool {
        let (from, end) = self.bounds(since_ns);
        let at = (0..self.used).rev().find(|&at| self.cells[at].from_ns == from);
        if at.is_none() && self.used == self.cells.len() {
            return false;
        }
        self.at = at.unwrap_or(self.used);
        self.used = self.used.max(self.at + 1);
        self.cells[self.at].from_ns = from;
        (self.from_ns, self.length_ns) = (from, end - from);
        true
    }

    pub(crate) fn row_end(&self, since_start: Span) -> Span {
        Span::from_ns((since_start.ns() / self.row_width_ns + 1) * self.row_width_ns)
    }

    /// The start and the end of the cell of an instant.
    fn bounds(&self, since_ns: u64) -> (u64, u64) {
        let row = since_ns / self.row_width_ns * self.row_width_ns;
        let (slice, slice_end) = slices::bounds(since_ns, self.slice_width_ns);
        (row.max(slice), row.saturating_add(self.row_width_ns).min(slice_end))
    }

    /// Operations answered.
    pub(crate) fn count_answered(&self) -> u64 {
        let listed = self.displaced.iter().map(|(_, noted)| match noted {
            Noted::Answered(answer) => u64::from(answer.count),
            Noted::Intended(_) | Noted::Lost(_) => 0,
        });
        self.cells[..self.used].iter().map(Cell::answered).sum::<u64>() + listed.sum::<u64>()
    }

    /// Passes each cell that holds something to `take`, with the numbers of its row and of its
    /// slice, and clears it.
    pub(crate) fn hand_over(&mut self, mut take: impl FnMut((u64, u64), &mut Cell)) {
        self.hand_over_cells(&mut take);
        let mut displaced = std::mem::take(&mut self.displaced);
        displaced.sort_unstable_by_key(|(since_ns, _)| *since_ns);
        for &(since_ns, noted) in &displaced {
            if self.used == self.cells.len() && !self.find(since_ns) {
                self.hand_over_cells(&mut take);
            }
            self.note(since_ns, noted);
        }
        assert!(self.displaced.is_empty(), "each finds a cell once the others are handed over");
        displaced.clear();
        displaced.shrink_to(DISPLACED);
        self.displaced = displaced;
        self.hand_over_cells(&mut take);
    }

    fn hand_over_cells(&mut self, take: &mut impl FnMut((u64, u64), &mut Cell)) {
        for cell in &mut self.cells[..self.used] {
            if !cell.is_empty() {
                take((cell.from_ns / self.row_width_ns, cell.from_ns / self.slice_width_ns), cell);
            }
            cell.clear();
        }
        (self.used, self.length_ns) = (0, 0);
    }

    /// The memory of the cells of a tally of this shape, and of the list of what finds none, in
    /// bytes.
    pub(crate) fn bytes(shape: &Shape) -> u64 {
        let slots = shape.response.iter().chain(&shape.service);
        let used = slots.clone().filter(|used| **used).count() as u64;
        let server = size_of::<Coarse>() + COARSE_BUCKETS * size_of::<u32>();
        let each = size_of::<Cell>()
            + slots.count() * size_of::<Option<Tallying>>()
            + shape.sliced_servers() * server;
        let cell = each as u64 + used * Histogram::<u32>::bytes();
        shape.cells as u64 * cell + (DISPLACED * size_of::<Displaced>()) as u64
    }
}

impl Shape {
    /// The number of servers of which slices are kept.
    pub(crate) fn sliced_servers(&self) -> usize {
        if (2..=SERVERS_MAX).contains(&self.servers) { self.servers } else { 0 }
    }
}
