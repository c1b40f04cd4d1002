//! The ends of a worker's offer: a stop command, or the end of a window after which nothing is
//! sent. Operations in flight are awaited for a while. In the second case operations behind their
//! schedule are counted from the schedule, because waiting operations are not stored. Nothing here
//! is on the path of an operation that is sent.

use super::Worker;
use crate::driver::Driver;
use crate::fleet::Stage;
use memtide_base::{Instant, Span};
use memtide_metrics::Fate;
use memtide_workload::Source;

/// How long operations in flight at the window's end are awaited.
const CUTOFF_GRACE: Span = Span::from_s(1);

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
        for client in self.clients.ids() {
            self.abandon_backlog(client, now);
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

    /// Drops operations that were due before the window's end and were not sent. They are counted
    /// last, so that no answer waits for the counting.
    pub(super) fn drop_unsent(&mut self) {
        let end = self.course.offer.end;
        for client in self.clients.ids() {
            while let Some((index, at)) =
                self.clients[client].due(&self.course.offer, Instant::NEVER)
            {
                // Its deadline may have passed unnoticed.
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
