//! A thread and a bounded queue for each sink, so that no sink waits for another and the run waits
//! for none.
//!
//! If a sink does not keep up, recurring events are left out and counted; events that occur only
//! once are kept far longer. Nothing here knows what a sink does with an event.

use crate::Sink;
use memtide_record::Event;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The most events that wait for a sink before recurring ones are left out.
const REPEATED_MAX: usize = 256;
/// The most events that wait for a sink.
const QUEUE_MAX: usize = 4096;
/// The time without an event after which a sink writes the gathered rows.
const FLUSH_AFTER: Duration = Duration::from_millis(200);

/// The time that a sink has for its end if it is dropped without being closed.
const PARTING: Duration = Duration::from_secs(2);
/// The longest time that a run which can wait waits for a sink that takes nothing.
const STALL_MAX: Duration = Duration::from_secs(10);

/// All sinks of a run.
#[derive(Debug, Default)]
pub struct Outlets {
    all: Vec<Outlet>,
    waits: bool,
}

/// The result of a sink.
#[derive(Debug)]
pub struct Ending {
    /// The sink's name in messages: its flag.
    pub name: String,
    /// The error that ended it, if any.
    pub result: io::Result<()>,
    /// Events left out because the sink was too slow.
    pub events_lost: u64,
}

impl Outlets {
    /// Outlets that wait for room if a sink is slower than the run, instead of leaving events out:
    /// for a run in virtual time, which can be faster than any disk. They do not wait longer than
    /// 10 s for a sink that takes nothing.
    pub fn waiting() -> Self {
        Self { all: Vec::new(), waits: true }
    }

    /// Adds a sink with its name in messages.
    ///
    /// # Errors
    /// If its thread cannot be started.
    pub fn add(&mut self, name: &str, sink: impl Sink + 'static) -> io::Result<()> {
        self.all.push(Outlet::new(name, sink)?);
        Ok(())
    }

    /// Passes `event` to every sink that takes it. Waits for a sink only if these outlets are
    /// [`Outlets::waiting`].
    pub fn on(&self, event: &Event) {
        let mut told = self.all.iter().filter(|outlet| (outlet.takes)(event)).peekable();
        if told.peek().is_some() {
            let event = Arc::new(event.clone());
            told.for_each(|outlet| outlet.on(&event, self.waits));
        }
    }

    /// Waits until every sink has taken all its events, but not longer than `limit`.
    pub fn settle(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        self.all.iter().for_each(|outlet| outlet.settle(deadline));
    }

    /// True if the reader of the sink `name` has gone away.
    pub fn is_gone(&self, name: &str) -> bool {
        self.all.iter().any(|outlet| outlet.name == name && outlet.is_gone())
    }

    /// Lets every sink take its remaining events and end, all at the same time. Waits for that, at
    /// most `limit`; returns the names of the sinks that are still at work.
    pub fn stop(&self, limit: Duration) -> Vec<&str> {
        self.all.iter().for_each(Outlet::stop);
        let deadline = Instant::now() + limit;
        self.all.iter().for_each(|outlet| outlet.await_end(deadline));
        self.all.iter().filter(|outlet| !outlet.has_ended()).map(|outlet| &*outlet.name).collect()
    }

    /// Lets every sink take its remaining events and end, all at the same time, and waits without a
    /// limit. Returns their results in the order in which they were added.
    pub fn close(&mut self) -> Vec<Ending> {
        self.all.iter().for_each(Outlet::stop);
        self.all.drain(..).map(Outlet::join).collect()
    }
}

/// A sink with its queue.
#[derive(Debug)]
struct Outlet {
    name: String,
    takes: fn(&Event) -> bool,
    queue: Arc<Queue>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Outlet {
    fn new(name: &str, mut sink: impl Sink + 'static) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let takes = sink.takes();
        let taken = Arc::clone(&queue);
        let thread = thread::Builder::new().name(format!("sink {name}"));
        let thread = thread.spawn(move || {
            let result = work(&mut sink, &taken);
            // A file without content is removed with its sink.
            drop(sink);
            taken.end(result.as_ref().err());
            result
        })?;
        Ok(Self { name: name.to_owned(), takes, queue, thread: Some(thread) })
    }

    fn on(&self, event: &Arc<Event>, waits: bool) {
        let mut state = self.queue.lock();
        let room = if repeats(event) { REPEATED_MAX } else { QUEUE_MAX };
        if waits && state.waiting.len() >= room {
            state = self.wait_for_room(state, room);
        }
        if state.has_ended {
            return;
        }
        if state.waiting.len() >= room {
            state.lost += 1;
            return;
        }
        state.waiting.push_back(Arc::clone(event));
        assert!(state.waiting.len() <= QUEUE_MAX, "an event without room is left out");
        self.queue.changed.notify_all();
    }

    /// Waits until fewer than `room` events wait, or until none is taken for too long.
    fn wait_for_room<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        room: usize,
    ) -> MutexGuard<'a, State> {
        let (mut waiting, mut since) = (state.waiting.len(), Instant::now());
        while !state.has_ended && !state.is_stalled && state.waiting.len() >= room {
            let left = (since + STALL_MAX).saturating_duration_since(Instant::now());
            if left.is_zero() {
                // From now on the load continues without waiting for this sink.
                state.is_stalled = true;
                return state;
            }
            state = self.queue.wait(state, left);
            if state.waiting.len() != waiting {
                (waiting, since) = (state.waiting.len(), Instant::now());
            }
        }
        state
    }

    fn settle(&self, deadline: Instant) {
        let mut state = self.queue.lock();
        while !state.has_ended && (state.is_busy || !state.waiting.is_empty()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.queue.wait(state, left);
        }
    }

    fn is_gone(&self) -> bool {
        self.queue.lock().failed == Some(io::ErrorKind::BrokenPipe)
    }

    fn has_ended(&self) -> bool {
        self.queue.lock().has_ended
    }

    /// Waits until the sink has ended, but not beyond `deadline`.
    fn await_end(&self, deadline: Instant) {
        let mut state = self.queue.lock();
        while !state.has_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.queue.wait(state, left);
        }
    }

    fn stop(&self) {
        self.queue.lock().is_closing = true;
        self.queue.changed.notify_all();
    }

    /// Waits for the thread of an outlet, and says how it ended.
    ///
    /// Cause: The thread of an output ended with a panic, which is a fault of memtide.
    ///
    /// To do: Report it with the lines before it on stderr.
    fn join(mut self) -> Ending {
        let thread = self.thread.take().expect("an outlet is joined once");
        let result = thread.join().unwrap_or_else(|_| Err(io::Error::other("it has crashed")));
        let events_lost = self.queue.lock().lost;
        Ending { name: self.name.clone(), result, events_lost }
    }
}

impl Drop for Outlet {
    /// A sink that is not closed has a little time to take its remaining events.
    fn drop(&mut self) {
        self.stop();
        self.await_end(Instant::now() + PARTING);
    }
}

/// True if a later event of this kind will say the same and more.
const fn repeats(event: &Event) -> bool {
    matches!(event, Event::Progress(_) | Event::Interval(_) | Event::Times(_) | Event::Note(_))
}

/// Passes events to `sink` until there are no more.
fn work(sink: &mut impl Sink, queue: &Queue) -> io::Result<()> {
    let mut is_flushed = true;
    loop {
        let event = match queue.take(is_flushed) {
            Taken::Event(event) => event,
            Taken::Nothing => {
                sink.flush()?;
                is_flushed = true;
                continue;
            }
            Taken::End => return sink.finish(),
        };
        sink.on(&event)?;
        is_flushed = false;
    }
}

/// The events that wait for a sink.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Arc<Event>>,
    /// True while the sink handles an event.
    is_busy: bool,
    /// True once no more events will come.
    is_closing: bool,
    /// True once the sink takes no more events.
    has_ended: bool,
    /// True if it took nothing for too long.
    is_stalled: bool,
    /// The kind of its error, if it failed.
    failed: Option<io::ErrorKind>,
    lost: u64,
}

/// The result of waiting for an event.
enum Taken {
    Event(Arc<Event>),
    /// No event came for a while.
    Nothing,
    End,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, limit: Duration) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, limit);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits for the next event; without limit if everything is flushed.
    fn take(&self, is_flushed: bool) -> Taken {
        let mut state = self.lock();
        state.is_busy = false;
        self.changed.notify_all();
        let deadline = (!is_flushed).then(|| Instant::now() + FLUSH_AFTER);
        loop {
            if let Some(event) = state.waiting.pop_front() {
                state.is_busy = true;
                return Taken::Event(event);
            }
            if state.is_closing {
                return Taken::End;
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            match left {
                Some(left) if left.is_zero() => return Taken::Nothing,
                Some(left) => state = self.wait(state, left),
                None => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Records that the sink has ended, and wakes its waiters.
    fn end(&self, error: Option<&io::Error>) {
        let mut state = self.lock();
        state.has_ended = true;
        state.is_busy = false;
        state.failed = error.map(io::Error::kind);
        state.waiting.clear();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sink that takes events more slowly than they come.
    struct Slow(Arc<Mutex<u64>>);

    impl Sink for Slow {
        fn on(&mut self, _event: &Event) -> io::Result<()> {
            thread::sleep(Duration::from_micros(100));
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            Ok(())
        }
    }

    #[test]
    fn a_run_that_can_wait_loses_no_event_to_a_slow_sink() {
        let taken = Arc::default();
        let mut outlets = Outlets::waiting();
        outlets.add("slow", Slow(Arc::clone(&taken))).unwrap();
        let count = 4 * REPEATED_MAX as u64;
        (0..count).for_each(|_| outlets.on(&Event::Interval(Box::default())));
        assert_eq!(outlets.stop(Duration::ZERO), ["slow"]);
        assert_eq!(outlets.stop(Duration::from_secs(60)), [""; 0]);
        let endings = outlets.close();
        assert!(endings.iter().all(|ending| ending.events_lost == 0 && ending.result.is_ok()));
        assert_eq!(*taken.lock().unwrap(), count);
    }
}
