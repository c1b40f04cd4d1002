//! The ends of what a worker offers: it is told to stop, or the window after which nothing is
//! sent is over. What is in flight is awaited for a while; in the second case what is behind its
//! schedule is counted from the schedule, for no operation that waits is stored. Nothing here is
//! on the path of an operation that is sent.

use super::Worker;
use crate::driver::Driver;
use crate::fleet::Stage;
use memtide_base::{Instant, Span};
use memtide_metrics::Fate;
use memtide_workload::Source;

/// So long what is in flight at the window's end is awaited.
const CUTOFF_GRACE: Span = Span::from_s(1);

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// It was told to offer nothing more.
    pub(super) fn stop_now(&mut self, now: Instant) {
        let drain_until = now + self.course.grace;
        if self.course.stage >= Stage::Draining {
            self.course.drain_until = self.course.drain_until.min(drain_until);
            if self.course.is_cut_off() {
                // What became of the rest is decided.
                self.recorder.awaited_until = self.course.drain_until;
            }
            return;
        }
        self.stop_openings(now);
        for client in self.clients.ids() {
            self.abandon_backlog(client, now);
            self.clients[client].done = true;
            self.unblock(client);
        }
        self.agenda.forget_all();
        self.course.drain(drain_until);
    }

    /// The window is over, and nothing is sent any more.
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
        // Whatever a completion says of when it came.
        self.course.offer.stop = Instant::ZERO;
    }

    /// What was due before the window's end and is not sent is dropped. Those come last, so that
    /// no answer waits until they are counted.
    pub(super) fn drop_unsent(&mut self) {
        let end = self.course.offer.end;
        for client in self.clients.ids() {
            while let Some((index, at)) =
                self.clients[client].due(&self.course.offer, Instant::NEVER)
            {
                // Its deadline may have gone by without being noticed.
                let fate = match at + self.facts.timeout <= end {
                    true => Fate::TimedOut,
                    false => Fate::Dropped,
                };
                let Some(entry) = self.forgo(client, index, at, fate) else { break };
                match fate {
                    Fate::Dropped => self.recorder.settle_cut_off(&entry, end),
                    _ => self.recorder.settle_unsent(&entry, fate),
                }
                self.export();
            }
        }
    }
}
