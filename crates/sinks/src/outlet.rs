//! A thread and a bounded queue for each sink, so that no sink waits for another and the run waits
//! for none.
//!
//! If a sink does not keep up, recurring events are left out and counted; events that occur only
//! once are kept far longer. A sink whose reader takes nothing for too long is given up at the end.
//! Nothing here knows what a sink does with an event.

use crate::Sink;
use crate::ending::Ending;
use crate::queue::{Next, Queue};
use memtide_base::Span;
use memtide_record::Event;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The most events that wait for a sink before recurring ones are left out.
const REPEATED_MAX: usize = 256;
/// The most events that wait for a sink.
const QUEUE_MAX: usize = 4096;
/// The time without an event after which a sink writes the gathered rows.
const FLUSH_AFTER: Duration = Duration::from_millis(200);
/// The time after which gathered rows of samples are written even if more come.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// The sleep of a thread whose samples have run out for now.
const REST: Duration = Duration::from_millis(2);
/// The time that a sink has for its end if it is dropped without being closed.
const PARTING: Duration = Duration::from_secs(2);
/// The longest time that a run which can wait waits for a sink that takes nothing.
const STALL_MAX: Duration = Duration::from_secs(10);
/// The interval at which a wait checks whether a sink makes progress.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// All sinks of a run.
#[derive(Debug, Default)]
pub struct Outlets {
    all: Vec<Outlet>,
    waits: bool,
    /// Outputs that cannot be written, each as a sentence for the user before the run.
    notes: Vec<String>,
}

/// How long an end waits for a sink.
#[derive(Clone, Debug, Default)]
pub struct StallLimits {
    /// The longest time without progress; none for any time.
    pub(crate) stall_max: Option<Duration>,
    /// The longest time for all that is left, in which the sink's own end may make no progress;
    /// none if the end must make progress as well.
    pub(crate) end_max: Option<Duration>,
    /// Grows with everything that is written.
    pub(crate) written: Arc<AtomicU64>,
}

impl Outlets {
    /// Outlets that wait for room if a sink is slower than the run, instead of leaving events out:
    /// for a run in virtual time, which can be faster than any disk. They do not wait longer than
    /// 10 s for a sink that takes nothing.
    pub fn waiting() -> Self {
        Self { waits: true, ..Self::default() }
    }

    /// Adds a sentence about an output that cannot be written, for the user before the run.
    pub(crate) fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    /// Takes the sentences about outputs that cannot be written, of which the end reports each.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Takes the sinks that write the exit code of the command, for an end after the others.
    #[must_use]
    pub fn split_exit(&mut self) -> Self {
        let (with_exit, others) = self.all.drain(..).partition(|outlet| outlet.has_exit);
        self.all = others;
        Self { all: with_exit, waits: self.waits, notes: Vec::new() }
    }

    /// Adds a sink with its name in messages; its end is waited for as long as it takes.
    ///
    /// # Errors
    /// If its thread cannot be started.
    pub fn add(&mut self, name: &str, sink: impl Sink + 'static) -> io::Result<()> {
        self.add_within(name, Box::new(sink), StallLimits::default())
    }

    /// Adds a sink with its name in messages, which is given up if it outlasts `patience`.
    pub(crate) fn add_within(
        &mut self,
        name: &str,
        sink: Box<dyn Sink>,
        patience: StallLimits,
    ) -> io::Result<()> {
        self.all.push(Outlet::start(name, sink, patience, self.waits)?);
        Ok(())
    }

    /// Passes `event` to every sink that takes it. Waits for a sink only if these outlets are
    /// [`Outlets::waiting`].
    pub fn on(&self, event: &Event) {
        let mut told = self.all.iter().filter(|outlet| (outlet.takes)(event)).peekable();
        if told.peek().is_some() {
            let room = if repeats(event) { REPEATED_MAX } else { QUEUE_MAX };
            let event = Arc::new(event.clone());
            told.for_each(|outlet| outlet.lane.offer(Item::Event(Arc::clone(&event)), 1, room));
        }
    }

    /// Waits until every sink has taken all its events, but not longer than `limit`.
    pub fn settle(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        self.all.iter().for_each(|outlet| outlet.lane.queue.settle(deadline));
    }

    /// True if the reader of the sink `name` has gone away.
    pub fn is_gone(&self, name: &str) -> bool {
        let mut outlets = self.all.iter().filter(|outlet| outlet.name == name);
        outlets.any(|outlet| outlet.lane.failed.get() == Some(&ErrorKind::BrokenPipe))
    }

    /// Lets every sink take its remaining events and end, all at the same time. Waits for that, at
    /// most `limit`; returns the names of the sinks that are still at work.
    pub fn stop(&self, limit: Duration) -> Vec<&str> {
        self.all.iter().for_each(Outlet::stop);
        let deadline = Instant::now() + limit;
        let slow = self.all.iter().filter(|it| it.await_end(deadline) == (false, None));
        slow.map(|outlet| &*outlet.name).collect()
    }

    /// Takes the sinks that have ended, with their results.
    pub fn take_ended(&mut self) -> Vec<Ending> {
        let (ended, others) = self.all.drain(..).partition(Outlet::has_ended);
        self.all = others;
        let ended: Vec<Outlet> = ended;
        ended.into_iter().map(Outlet::join).collect()
    }

    /// Adds the sinks of `others`.
    pub fn append(&mut self, others: Self) {
        self.all.extend(others.all);
    }

    /// Lets every sink take its remaining events and end, all at the same time, and waits until all
    /// have ended or are given up. Returns their results in the order in which they were added.
    pub fn close(&mut self) -> Vec<Ending> {
        self.all.iter().for_each(Outlet::stop);
        self.all.drain(..).map(Outlet::join).collect()
    }
}

/// A stream of samples: adds some events; false once no more will come.
pub(crate) type Stream = Box<dyn FnMut(&mut Vec<Event>) -> bool + Send>;

/// What waits for a sink.
pub(crate) enum Item {
    /// An event.
    Event(Arc<Event>),
    /// Samples.
    Samples(Vec<Event>),
    /// Samples that the sink's thread takes until there are no more.
    Stream(Stream),
    /// Another plan begins, whose samples replace those before.
    Anew,
}

/// The way to a sink, from all sides.
pub(crate) struct Lane {
    queue: Queue<Item>,
    /// Items left out because the sink was too slow.
    lost: AtomicU64,
    /// The kind of the sink's error, if it failed.
    failed: OnceLock<ErrorKind>,
    /// True to wait for room.
    waits: bool,
    /// True once nothing was taken for too long.
    is_stalled: AtomicBool,
    /// True once the sink is carrying out its own end.
    is_ending: AtomicBool,
    /// True if the sink's own end is left out.
    pub(crate) is_dismissed: AtomicBool,
    patience: StallLimits,
    /// The progress seen last, and when.
    seen: Mutex<(u64, Instant)>,
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lane").field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl Lane {
    /// Adds an item of `weight` events, if no more than `room` then wait. Otherwise they are
    /// counted as lost, or waited for.
    pub(crate) fn offer(&self, item: Item, weight: usize, room: usize) {
        if self.waits {
            self.await_room(weight, room);
        }
        if self.queue.offer(item, weight, room).is_err() && !self.queue.has_ended() {
            self.lost.fetch_add(weight as u64, Ordering::Relaxed);
        }
    }

    /// Waits for room, unless nothing is taken for too long. Later items do not wait, then.
    fn await_room(&self, weight: usize, room: usize) {
        let stall_max = self.patience.stall_max.unwrap_or(STALL_MAX);
        self.begin_look();
        while !self.is_stalled.load(Ordering::Relaxed)
            && !self.queue.await_room(weight, room, Instant::now() + LOOK_EVERY)
        {
            self.is_stalled.store(self.stalled_for() > stall_max, Ordering::Relaxed);
        }
    }

    /// Begins to watch the sink's progress.
    fn begin_look(&self) {
        let now = (self.patience.written.load(Ordering::Relaxed), Instant::now());
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// The time since the sink's last progress.
    fn stalled_for(&self) -> Duration {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.patience.written.load(Ordering::Relaxed);
        if written != seen.0 {
            *seen = (written, Instant::now());
        }
        seen.1.elapsed()
    }

    /// The time without progress, or since `closed`, that was too long, if any was.
    fn given_up(&self, closed: Instant) -> Option<Duration> {
        let StallLimits { stall_max: Some(stall_max), end_max, .. } = self.patience else {
            return None;
        };
        if end_max.is_some_and(|most| closed.elapsed() > most) {
            return end_max;
        }
        let is_exempt = end_max.is_some() && self.is_ending.load(Ordering::Relaxed);
        (!is_exempt && self.stalled_for() > stall_max).then_some(stall_max)
    }
}

/// A sink with its queue.
#[derive(Debug)]
pub(crate) struct Outlet {
    name: String,
    takes: fn(&Event) -> bool,
    has_exit: bool,
    pub(crate) lane: Arc<Lane>,
    thread: Option<JoinHandle<io::Result<()>>>,
    closed: OnceLock<Instant>,
}

impl Outlet {
    /// Starts the thread of a sink.
    pub(crate) fn start(
        name: &str,
        mut sink: Box<dyn Sink>,
        patience: StallLimits,
        waits: bool,
    ) -> io::Result<Self> {
        let (takes, has_exit) = (sink.takes(), sink.has_exit());
        let lane = Arc::new(Lane {
            queue: Queue::default(),
            lost: AtomicU64::new(0),
            failed: OnceLock::new(),
            waits,
            is_stalled: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            is_dismissed: AtomicBool::new(false),
            patience,
            seen: Mutex::new((0, Instant::now())),
        });
        let theirs = Arc::clone(&lane);
        let thread = thread::Builder::new().name(format!("sink {name}"));
        let thread = thread.spawn(move || {
            let result = work(&mut *sink, &theirs);
            // A file without content is removed with its sink.
            drop(sink);
            if let Err(error) = &result {
                theirs.failed.get_or_init(|| error.kind());
            }
            theirs.queue.end();
            result
        })?;
        let (name, closed) = (name.to_owned(), OnceLock::new());
        Ok(Self { name, takes, has_exit, lane, thread: Some(thread), closed })
    }

    /// Lets the sink take what waits, and end.
    pub(crate) fn stop(&self) {
        self.closed.get_or_init(|| {
            if !self.lane.is_stalled.load(Ordering::Relaxed) {
                self.lane.begin_look();
            }
            Instant::now()
        });
        self.lane.queue.close(Instant::now());
    }

    /// True if the sink has ended, or its thread has.
    fn has_ended(&self) -> bool {
        let is_over = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        is_over || self.lane.queue.has_ended()
    }

    /// Waits until the sink has ended or is given up, but not beyond `deadline`. Returns whether it
    /// has ended, and the limit for which it is given up.
    fn await_end(&self, deadline: Instant) -> (bool, Option<Duration>) {
        let closed = *self.closed.get_or_init(Instant::now);
        loop {
            let now = Instant::now();
            let ended = self.lane.queue.await_end(deadline.min(now + LOOK_EVERY));
            let given_up = self.lane.given_up(closed);
            if ended || self.has_ended() || given_up.is_some() || now >= deadline {
                return (self.has_ended(), given_up);
            }
        }
    }

    /// Waits for the thread of an outlet, and says how it ended. A thread that is given up stays
    /// where it is.
    pub(crate) fn join(mut self) -> Ending {
        let result = loop {
            match self.await_end(Instant::now() + STALL_MAX) {
                (true, _) => {
                    let thread = self.thread.take().expect("an outlet is joined once");
                    let crashed =
                        Err(io::Error::other("it has crashed; report this with the message above"));
                    break thread.join().unwrap_or(crashed);
                }
                (false, Some(limit)) => break Err(stalled(limit)),
                (false, None) => {}
            }
        };
        self.thread = None;
        let events_lost = self.lane.lost.load(Ordering::Relaxed);
        Ending { name: self.name.clone(), result, events_lost }
    }
}

impl Drop for Outlet {
    /// A sink that is not closed has a little time to take its remaining events.
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.stop();
            self.await_end(Instant::now() + PARTING);
        }
    }
}

/// The error of a sink that was given up.
fn stalled(limit: Duration) -> io::Error {
    let limit = Span::from_s_f64(limit.as_secs_f64());
    let message = format!("the disk or reader accepted nothing for {limit}; rows are missing");
    io::Error::new(ErrorKind::TimedOut, message)
}

/// True if a later event of this kind will say the same and more.
const fn repeats(event: &Event) -> bool {
    matches!(event, Event::Progress(_) | Event::Interval(_) | Event::Times(_) | Event::Note(_))
}

/// Passes items to `sink` until there are no more.
fn work(sink: &mut dyn Sink, lane: &Lane) -> io::Result<()> {
    let mut flush_at = None;
    loop {
        match lane.queue.take(|| flush_at) {
            Next::Item(Item::Event(event)) => sink.on(&event)?,
            Next::Item(Item::Samples(samples)) => pass(sink, samples, lane)?,
            Next::Item(Item::Stream(stream)) => drain(sink, stream, lane)?,
            Next::Item(Item::Anew) => sink.restart()?,
            Next::Idle => {
                sink.flush()?;
                flush_at = None;
                continue;
            }
            Next::End if lane.is_dismissed.load(Ordering::Acquire) => return Ok(()),
            Next::End => break,
        }
        lane.patience.written.fetch_add(1, Ordering::Relaxed);
        flush_at = Some(Instant::now() + FLUSH_AFTER);
    }
    if lane.patience.end_max.is_some() {
        // The rows show whether the reader takes any, so the end may take its time.
        sink.flush()?;
    }
    lane.is_ending.store(true, Ordering::Relaxed);
    sink.finish()
}

/// Passes samples to `sink`.
fn pass(
    sink: &mut dyn Sink,
    samples: impl IntoIterator<Item = Event>,
    lane: &Lane,
) -> io::Result<()> {
    samples.into_iter().try_for_each(|sample| {
        lane.patience.written.fetch_add(1, Ordering::Relaxed);
        sink.on(&sample)
    })
}

/// Passes samples to `sink` until their stream has ended.
fn drain(sink: &mut dyn Sink, mut stream: Stream, lane: &Lane) -> io::Result<()> {
    let (mut gathered, mut flushed, mut is_gathering) = (Vec::new(), Instant::now(), false);
    loop {
        let is_open = stream(&mut gathered);
        let is_idle = gathered.is_empty();
        is_gathering |= !is_idle;
        pass(sink, gathered.drain(..), lane)?;
        if is_gathering && flushed.elapsed() > FLUSH_EVERY {
            sink.flush()?;
            (is_gathering, flushed) = (false, Instant::now());
        }
        match (is_open, is_idle) {
            (false, true) => return Ok(()),
            (true, true) => thread::sleep(REST),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
