//! The one bounded queue to a thread that works for an output: events for a sink, samples for their
//! outputs, batches of points for a database.
//!
//! It knows nothing of what waits in it; who offers says how much room there is.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Things that wait for a thread, each with its weight.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<(T, usize)>,
    /// The sum of their weights.
    weight: usize,
    /// True while the thread handles one of them.
    is_busy: bool,
    /// The instant until which the rest may be handled, once nothing more comes.
    closing: Option<Instant>,
    /// True once the thread takes nothing more.
    has_ended: bool,
}

/// The next job of a queue's thread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    /// Handle this.
    Item(T),
    /// Nothing waits; there is time for other work.
    Idle,
    /// Nothing waits, and nothing more comes.
    End,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let (waiting, weight, is_busy) = (VecDeque::new(), 0, false);
        let state = State { waiting, weight, is_busy, closing: None, has_ended: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code that holds the lock can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change until `until`, if there is such an instant; none if it has come.
    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, State<T>>,
        until: Option<Instant>,
    ) -> Option<MutexGuard<'a, State<T>>> {
        let Some(until) = until else {
            return Some(self.changed.wait(state).unwrap_or_else(PoisonError::into_inner));
        };
        let left = until.saturating_duration_since(Instant::now());
        let waited = (!left.is_zero()).then(|| self.changed.wait_timeout(state, left));
        waited.map(|waited| waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Waits until `until` for a state for which `is_so` is true; false if none came.
    fn await_state(&self, until: Instant, is_so: impl Fn(&State<T>) -> bool) -> bool {
        let mut state = self.lock();
        while !is_so(&state) {
            match self.wait(state, Some(until)) {
                Some(changed) => state = changed,
                None => return false,
            }
        }
        true
    }

    /// Adds an item, or returns it if the weights would exceed `weight_max`, or none is taken any
    /// more.
    pub(crate) fn offer(&self, item: T, weight: usize, weight_max: usize) -> Result<(), T> {
        let mut state = self.lock();
        if state.weight + weight > weight_max || state.closing.is_some() || state.has_ended {
            return Err(item);
        }
        state.weight += weight;
        assert!(state.weight <= weight_max, "what finds no room is given back");
        state.waiting.push_back((item, weight));
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until `until` for room for an item; true if there is some, or if nothing is taken any
    /// more.
    pub(crate) fn await_room(&self, weight: usize, weight_max: usize, until: Instant) -> bool {
        self.await_state(until, |state| state.has_ended || state.weight + weight <= weight_max)
    }

    /// Waits for the next job, which ends the previous one. If nothing waits at the instant that
    /// `idle` returns, there is time for other work.
    pub(crate) fn take(&self, idle: impl Fn() -> Option<Instant>) -> Next<T> {
        let mut state = self.lock();
        state.is_busy = false;
        self.changed.notify_all();
        loop {
            if let Some((item, weight)) = state.waiting.pop_front() {
                assert!(weight <= state.weight, "more leaves the queue than came");
                state.weight -= weight;
                state.is_busy = true;
                return Next::Item(item);
            }
            if state.closing.is_some() {
                return Next::End;
            }
            match self.wait(state, idle()) {
                Some(changed) => state = changed,
                None => return Next::Idle,
            }
        }
    }

    /// Lets [`Queue::take`] ask again when it is idle.
    pub(crate) fn wake(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Refuses further items; those that wait can be handled until `deadline`.
    pub(crate) fn close(&self, deadline: Instant) {
        self.lock().closing.get_or_insert(deadline);
        self.changed.notify_all();
    }

    /// Records that the thread takes nothing more. What waits is dropped.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        (state.has_ended, state.is_busy, state.weight) = (true, false, 0);
        let dropped = std::mem::take(&mut state.waiting);
        drop(state);
        drop(dropped);
        self.changed.notify_all();
    }

    /// True once the thread takes nothing more.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    /// Waits until everything is handled, at most until `until`.
    pub(crate) fn settle(&self, until: Instant) {
        self.await_state(until, |state| {
            state.has_ended || !state.is_busy && state.waiting.is_empty()
        });
    }

    /// Waits until the thread takes nothing more, at most until `until`; true if so.
    pub(crate) fn await_end(&self, until: Instant) -> bool {
        self.await_state(until, |state| state.has_ended)
    }

    /// Pauses the thread; shorter if the queue closes meanwhile, and never beyond its deadline.
    pub(crate) fn pause(&self, span: Duration) {
        let closing = self.lock().closing;
        let until = Instant::now() + span;
        let until = closing.map_or(until, |deadline| deadline.min(until));
        self.await_state(until, |state| state.closing.is_some() != closing.is_some());
    }

    /// The time for one try: `most`, or the time until the deadline if that is less; none after it.
    pub(crate) fn left(&self, most: Duration) -> Option<Duration> {
        let Some(deadline) = self.lock().closing else { return Some(most) };
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| left.min(most))
    }
}

#[cfg(test)]
mod tests;
