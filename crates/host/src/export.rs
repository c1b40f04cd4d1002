//! The export of single operations: a thread takes them from the workers' queues and writes them. A
//! writer that stalls delays nothing: samples that find no room are lost and counted.

use memtide_base::Span;
use memtide_engine::driver::Sample;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The most samples taken from a worker's queue in a row.
const BITE: usize = 1 << 10;
/// The sleep of the writer when there is nothing to write.
const REST: Duration = Duration::from_millis(2);
/// The interval at which gathered rows are written even if more would fit.
const PAUSE_EVERY: Duration = Duration::from_secs(1);
/// The longest wait for a writer that makes no progress.
const STALL_MAX: Duration = Duration::from_secs(2);
/// The longest wait for a writer that makes progress, and for the end of its file, which may have
/// to reach the disk first.
const DRAIN_MAX: Duration = Duration::from_secs(60);

/// An event for a [`SampleSink`].
#[derive(Clone, Copy, Debug)]
pub enum Sampled<'a> {
    /// An operation was exported.
    One(&'a Sample),
    /// No more samples for now: those so far should be readable.
    Pause,
    /// Another plan begins; its operations replace all earlier ones.
    Anew,
    /// There are no more samples.
    End,
}

/// Takes exported operations, on a thread of its own.
pub type SampleSink = Box<dyn FnMut(Sampled<'_>) -> io::Result<()> + Send>;

/// The exported samples of a fleet on their way to the sink.
#[derive(Default)]
pub(crate) struct Export {
    /// The sink, while no thread writes to it.
    sink: Option<SampleSink>,
    writer: Option<Writer>,
    /// The error of a writer that was abandoned together with its sink.
    stalled: Option<io::Error>,
}

impl Export {
    pub(crate) fn new(sink: Option<SampleSink>) -> Self {
        Self { sink, ..Self::default() }
    }

    /// Begins to write the samples of these queues in place of an earlier plan's. If the earlier
    /// writer makes no progress, the queues are closed and their samples are lost.
    pub(crate) fn begin(&mut self, receivers: Vec<Receiver<Sample>>) {
        let (mut sink, is_again) = match self.writer.take().map(Writer::wait) {
            // Samples not written by then would be lost.
            Some(Ok((sink, _))) => (sink, true),
            Some(Err(stall)) => {
                self.stalled = Some(stall);
                return;
            }
            None => match self.sink.take() {
                Some(sink) => (sink, false),
                None => return,
            },
        };
        let queues = Arc::new(Queues { receivers: Mutex::new(receivers), ..Queues::default() });
        self.writer = Some(Writer::start(queues, move |queues| {
            let begun = if is_again { sink(Sampled::Anew) } else { Ok(()) };
            let outcome = write_samples(queues, &mut sink, begun);
            (sink, outcome)
        }));
    }

    /// Waits until all samples are written, but not for a reader that takes none. Returns the first
    /// error.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if let Some(stall) = self.stalled.take() {
            return Err(stall);
        }
        let (mut sink, outcome) = match (self.writer.take(), self.sink.take()) {
            (Some(writer), _) => writer.wait()?,
            (None, Some(sink)) => (sink, Ok(())),
            (None, None) => return Ok(()),
        };
        outcome?;
        // The rows have shown whether the reader takes any, so the end may take its time.
        let rows = Writer::start(Arc::default(), move |_| {
            let outcome = sink(Sampled::Pause);
            (sink, outcome)
        });
        let (mut sink, outcome) = rows.wait()?;
        outcome?;
        let end = Writer::start(Arc::default(), move |_| {
            let outcome = sink(Sampled::End);
            (sink, outcome)
        });
        end.wait_within(DRAIN_MAX)?.1
    }
}

/// The queues of exported samples.
#[derive(Default)]
struct Queues {
    receivers: Mutex<Vec<Receiver<Sample>>>,
    /// Samples that were taken from the queues.
    taken: AtomicU64,
    /// Samples that the sink has taken.
    written: AtomicU64,
}

impl Queues {
    /// Takes some samples from each queue, so that all are drained evenly; false if every queue has
    /// ended.
    fn take(&self, bite: &mut Vec<Sample>) -> bool {
        let mut receivers = self.receivers.lock().unwrap_or_else(PoisonError::into_inner);
        receivers.retain(|receiver| {
            for _ in 0..BITE {
                match receiver.try_recv() {
                    Ok(sample) => bite.push(sample),
                    Err(TryRecvError::Empty) => return true,
                    Err(TryRecvError::Disconnected) => return false,
                }
            }
            true
        });
        self.taken.fetch_add(bite.len() as u64, Ordering::Relaxed);
        !receivers.is_empty()
    }

    /// The number of samples that the sink did not get. Drains the queues.
    fn lost(&self) -> u64 {
        let mut receivers = self.receivers.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting: usize = receivers.drain(..).map(|queue| queue.try_iter().count()).sum();
        let taken = self.taken.load(Ordering::Relaxed);
        waiting as u64 + taken.saturating_sub(self.written.load(Ordering::Relaxed))
    }
}

/// A thread with a sink.
struct Writer {
    queues: Arc<Queues>,
    thread: JoinHandle<(SampleSink, io::Result<()>)>,
}

impl Writer {
    fn start(
        queues: Arc<Queues>,
        job: impl FnOnce(&Queues) -> (SampleSink, io::Result<()>) + Send + 'static,
    ) -> Self {
        let theirs = Arc::clone(&queues);
        Self { queues, thread: thread::spawn(move || job(&theirs)) }
    }

    /// Waits for the thread's end while it makes progress. A writer without progress is abandoned.
    fn wait(self) -> io::Result<(SampleSink, io::Result<()>)> {
        self.wait_within(STALL_MAX)
    }

    /// Waits for the thread's end. A writer without progress for `stall_max` is abandoned.
    fn wait_within(self, stall_max: Duration) -> io::Result<(SampleSink, io::Result<()>)> {
        let started = Instant::now();
        let mut last = (0, started);
        while !self.thread.is_finished() {
            let written = self.queues.written.load(Ordering::Relaxed);
            if written != last.0 {
                last = (written, Instant::now());
            }
            if last.1.elapsed() > stall_max || started.elapsed() > DRAIN_MAX {
                let message = format!(
                    "the disk or reader accepted nothing for {}, and at least {} rows are missing",
                    Span::from_s_f64(stall_max.as_secs_f64()),
                    self.queues.lost()
                );
                return Err(io::Error::new(ErrorKind::TimedOut, message));
            }
            thread::sleep(REST);
        }
        Ok(self.thread.join().expect("the writer does not panic"))
    }
}

/// Writes until every worker has ended and all samples are written, but not the sink's end, because
/// a run that could not start has none. After an error the remaining samples are discarded, so that
/// workers never find their queue full because of it.
fn write_samples(
    queues: &Queues,
    sink: &mut SampleSink,
    mut outcome: io::Result<()>,
) -> io::Result<()> {
    let mut bite = Vec::new();
    let mut paused = Instant::now();
    let mut is_gathering = false;
    while queues.take(&mut bite) || !bite.is_empty() {
        let is_idle = bite.is_empty();
        for sample in bite.drain(..) {
            if outcome.is_ok() {
                outcome = sink(Sampled::One(&sample));
                is_gathering = true;
            }
            queues.written.fetch_add(1, Ordering::Relaxed);
        }
        if is_gathering && outcome.is_ok() && paused.elapsed() > PAUSE_EVERY {
            outcome = sink(Sampled::Pause);
            (is_gathering, paused) = (false, Instant::now());
        }
        if is_idle {
            thread::sleep(REST);
        }
    }
    outcome
}
