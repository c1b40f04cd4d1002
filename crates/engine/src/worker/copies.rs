//! Operations whose connections follow from their kind, and writes that go to several servers at
//! once. Each copy counts as an operation; for its source a write is one operation, which ends with
//! the last copy.

use super::Worker;
use memtide_base::{ClientId, Instant};
use memtide_metrics::Fate;
use memtide_workload::{Next, Op, OpKind, Outcome, Source};
use memtide_world::driver::Driver;

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// Makes one operation on each connection that `Route::aim` chose. If none of them is open, the
    /// operation is lost and was not sent.
    #[inline(never)]
    pub(super) fn issue_aimed(
        &mut self,
        client: ClientId,
        op: &Op,
        copies: usize,
        at: Instant,
        ready: Instant,
        now: Instant,
    ) {
        if copies == 0 {
            let entry = self.intend(op, at, ready).never_sent();
            self.recorder.settle_unsent(&entry, Fate::Lost);
            return self.clients[client].source.settle(op, Outcome::Lost);
        }
        self.clients[client].source.expect(op.index, copies as u32);
        for nth in 0..copies {
            let connection = self.clients[client].route.aimed(nth);
            let entry = self.intend(op, at, ready);
            if nth > 0 {
                self.recorder.copied(&entry, now);
            }
            self.request(client, connection, entry, now);
        }
    }
}

/// A source that learns an operation's outcome once, when all its copies have ended.
#[derive(Clone, Debug)]
pub(super) struct JoinedSource<S> {
    source: S,
    /// Copies of the present operation that have not ended; 0 unless there are several.
    copies: u32,
    /// The index of the present operation. Other operations may meanwhile end without being sent.
    index: u64,
    /// The worst outcome of the copies that have ended, if any.
    joined: Option<Outcome>,
}

impl<S: Source> JoinedSource<S> {
    pub(super) fn new(source: S) -> Self {
        Self { source, copies: 0, index: 0, joined: None }
    }

    /// Expects `copies` endings of operation `index`, at least 1.
    fn expect(&mut self, index: u64, copies: u32) {
        debug_assert_eq!(self.copies, 0, "a write begins before the last one's copies ended");
        self.index = index;
        self.copies = if copies > 1 { copies } else { 0 };
        self.joined = None;
    }

    /// Records the outcome of a copy. Returns the operation's outcome if it was the last: it is
    /// stored only if every copy is.
    #[cold]
    fn join(&mut self, outcome: Outcome) -> Option<Outcome> {
        debug_assert!(self.copies > 0, "more copies end than were made");
        let joined = match self.joined {
            Some(joined) if joined != Outcome::Stored => joined,
            _ => outcome,
        };
        self.joined = Some(joined);
        self.copies -= 1;
        (self.copies == 0).then_some(joined)
    }
}

impl<S: Source> Source for JoinedSource<S> {
    #[inline]
    fn next(&mut self, index: u64, now: Instant) -> Next {
        self.source.next(index, now)
    }

    #[inline]
    fn skip(&mut self, index: u64, now: Instant) -> Next {
        self.source.skip(index, now)
    }

    /// An operation that is not sent has no copies.
    #[inline]
    fn forgo(&mut self, index: u64, now: Instant, outcome: Outcome) -> Option<(OpKind, u16)> {
        self.source.forgo(index, now, outcome)
    }

    #[inline]
    fn key(&self, op: &Op, nth: u16) -> u64 {
        self.source.key(op, nth)
    }

    #[inline]
    fn settle(&mut self, op: &Op, outcome: Outcome) {
        if self.copies > 0 && op.index == self.index {
            if let Some(joined) = self.join(outcome) {
                self.source.settle(op, joined);
            }
            return;
        }
        self.source.settle(op, outcome);
    }
}
