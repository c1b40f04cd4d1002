//! The ends of a worker's offer: a stop command, or the end of a window after which nothing is
//! sent. Operations in flight are awaited for a while. Operations behind their schedule are counted
//! from the schedule, because waiting operations are not stored. Nothing here is on the path of an
//! operation that is sent.

use super::Worker;
use crate::connection::InFlight;
use memtide_base::{ClientId, Instant, Span};
use memtide_metrics::Fate;
use memtide_workload::{Schedule, Source};
use memtide_world::driver::Driver;
use memtide_world::fleet::Stage;

/// How long operations in flight at the window's end are awaited.
const CUTOFF_GRACE: Span = Span::from_s(1);
/// About the number of operations of a backlog that are counted one by one. Of a longer backlog,
/// several are counted at once, so that counting it takes less than a second.
const COUNTED_MAX: f64 = 262_144.0;

/// The least number of parts of a stretch: a part of a random sequence must not end beyond the
/// stretch.
const PARTS_MIN: f64 = 16.0;

/// The end of a backlog of a worker.
#[derive(Clone, Copy)]
pub(super) struct BacklogEnd {
    /// The first instant for which nothing was due.
    pub(super) until: Instant,
    /// True if it is the end of a window after which nothing is sent; else a stop command.
    pub(super) is_cut_off: bool,
}

/// How many operations of a backlog are counted at once: a part of those that have one fate and
/// belong to one row over time. The part becomes smaller towards the end of the row, where each is
/// counted by itself, so that all counts are exact. Only the kinds of a long backlog are a sample.
pub(super) struct Strides {
    /// The part of a stretch that is counted at once is 1 over this.
    parts: f64,
    /// The end of the present stretch, as an instant and as a position in the run's sequence.
    end: (Instant, f64),
}

impl Strides {
    /// Strides for this number of stretches together. An operation counts as up to `keys_max` of
    /// the schedule.
    pub(super) fn new(stretches: f64, keys_max: f64) -> Self {
        Self {
            parts: (COUNTED_MAX / stretches).max(PARTS_MIN) * keys_max,
            end: (Instant::ZERO, 0.0),
        }
    }

    /// The number of operations of `schedule`, which starts at `start`, to count at once. They are
    /// due before `end`.
    pub(super) fn next(&mut self, schedule: &Schedule, start: Instant, end: Instant) -> u64 {
        if self.end.0 != end {
            self.end = (end, schedule.position(end.since(start)));
        }
        (schedule.expected_before(self.end.1) / self.parts) as u64
    }
}

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// Handles the stop command.
    pub(super) fn stop_now(&mut self, now: Instant) {
        let drain_until = now + self.course.grace;
        if self.course.stage >= Stage::Draining {
            self.course.drain_until = self.course.drain_until.min(drain_until);
            if self.course.is_cut_off() {
                // The fate of the remaining operations is decided.
                self.recorder.awaited_until = self.course.drain_until;
            }
            return;
        }
        self.stop_openings(now);
        self.end_backlog(BacklogEnd { until: now + Span::from_ns(1), is_cut_off: false });
        for client in self.clients.ids() {
            self.clients[client].done = true;
            self.unblock(client);
        }
        self.agenda.forget_all();
        self.course.drain(drain_until);
    }

    /// Handles the end of the window, after which nothing is sent.
    pub(super) fn end_window(&mut self) {
        if self.course.stage != Stage::Running {
            return;
        }
        for client in self.clients.ids() {
            self.unblock(client);
        }
        self.agenda.forget_all();
        self.course.drain(self.course.offer.end + CUTOFF_GRACE);
        self.recorder.awaited_until = self.course.drain_until;
        // From here on nothing is sent, whatever instant a completion carries.
        self.course.offer.stop = Instant::ZERO;
    }

    /// Ends the operations that were due before the end and were not sent: they are abandoned by a
    /// stop command, and dropped at the end of a window. The latter are counted last, so that no
    /// answer waits for the counting.
    pub(super) fn end_backlog(&mut self, end: BacklogEnd) {
        let behind = self.clients.iter().filter_map(|client| {
            let due = client.due(&self.course.offer, end.until).map(|(_, at)| at);
            due.filter(|at| *at < end.until && !client.is_closed())
        });
        let (count, first) =
            behind.fold((0, end.until), |(count, first), at| (count + 1, first.min(at)));
        let rows = self.recorder.rows_between(first, end.until);
        let keys_max = f64::from(self.course.offer.keys_max);
        let mut strides = Strides::new(f64::from(count) * rows, keys_max);
        for client in self.clients.ids() {
            if !self.clients[client].is_closed() {
                self.end_backlog_of(client, end, &mut strides);
            }
        }
    }

    /// Times out an operation of `client` that was due at `at`, too long ago to be sent, and with
    /// it a part of a long backlog that is as old: a worker that is far behind its schedule catches
    /// up with it.
    pub(super) fn expire(&mut self, client: ClientId, index: u64, at: Instant, now: Instant) {
        let fate = Fate::TimedOut;
        let Some(entry) = self.forgo(client, index, at, fate) else { return };
        self.recorder.settle_unsent(&entry, fate);
        let until = now - self.facts.timeout + Span::from_ns(1);
        let rows = self.recorder.rows_between(at, until);
        let mut strides = Strides::new(rows, f64::from(self.course.offer.keys_max));
        let stretch = until.min(self.recorder.row_end(at));
        self.end_alike(client, &entry, fate, stretch, until, &mut strides);
    }

    /// Ends, as `entry` ended, a part of the operations of `client` that are due before `stretch`.
    fn end_alike(
        &mut self,
        client: ClientId,
        entry: &InFlight,
        fate: Fate,
        stretch: Instant,
        until: Instant,
        strides: &mut Strides,
    ) {
        let at_client = &mut self.clients[client];
        let start = self.course.offer.start;
        let most = at_client.schedule().map_or(0, |it| strides.next(it, start, stretch));
        if most > 0 {
            let (count, next) = at_client.skip(&self.course.offer, entry.keys, most);
            self.recorder.repeat_unsent(entry, fate, count, next.min(stretch), until);
        }
    }

    fn end_backlog_of(&mut self, client: ClientId, end: BacklogEnd, strides: &mut Strides) {
        let BacklogEnd { until, is_cut_off } = end;
        while let Some((index, at)) = self.clients[client].due(&self.course.offer, until)
            && at < until
        {
            let stretch = until.min(self.recorder.row_end(at));
            // The deadline may have passed unnoticed.
            let overdue = until - self.facts.timeout + Span::from_ns(1);
            let (fate, stretch) = match is_cut_off {
                false => (Fate::Abandoned, stretch),
                true if at < overdue => (Fate::TimedOut, stretch.min(overdue)),
                true => (Fate::Dropped, stretch),
            };
            let Some(entry) = self.forgo(client, index, at, fate) else { break };
            match fate {
                Fate::Dropped => self.recorder.settle_cut_off(&entry, until),
                _ => self.recorder.settle_unsent(&entry, fate),
            }
            self.end_alike(client, &entry, fate, stretch, until, strides);
            self.export();
        }
    }
}
