//! The outputs of measured operations, which share one thread: it takes samples from where they are
//! made, and passes them to each output. The failure of one does not affect the others.

use crate::ending::OutputStop;
use crate::outlet::{Item, Lane, Outlet, StallLimits};
use crate::{SampleOrigin, Sink};
use memtide_record::Event;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The most samples, and streams of them, that wait for their outputs.
const WAITING_MAX: usize = 1 << 16;
/// Longest wait for outputs of measured operations that make no progress.
const STALL_MAX: Duration = Duration::from_secs(2);
/// Longest wait for the end of outputs that make progress. A file may have to reach the disk first.
const END_MAX: Duration = Duration::from_secs(60);

/// The outputs of a run's measured operations, before the run.
#[derive(Default)]
pub struct Samples {
    all: Vec<Member>,
    patience: StallLimits,
}

struct Member {
    name: String,
    sink: Box<dyn Sink>,
    failed: Option<io::Error>,
}

impl Samples {
    /// Adds an output with its name in messages.
    pub fn add(&mut self, name: &str, sink: Box<dyn Sink>) {
        self.all.push(Member { name: name.to_owned(), sink, failed: None });
    }

    /// Adds the outputs of `others`.
    pub fn append(&mut self, others: Self) {
        self.all.extend(others.all);
    }

    /// True if no output takes measured operations.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Name of the first output.
    pub fn name(&self) -> &str {
        self.all.first().map_or("", |member| &member.name)
    }

    /// The counter of what is written.
    pub(crate) fn patience(&self) -> &StallLimits {
        &self.patience
    }

    /// Starts the thread that passes samples to the outputs; with `waits`, its feed waits for room.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(self, waits: bool) -> io::Result<SampleOutlet> {
        let (stall_max, end_max) = (Some(STALL_MAX), Some(END_MAX));
        let patience = StallLimits { stall_max, end_max, ..self.patience.clone() };
        let name = self.name().to_owned();
        Outlet::start(&name, Box::new(self), patience, waits).map(|it| SampleOutlet(Some(it)))
    }

    /// Calls `act` on each output that has not failed.
    fn each(&mut self, act: impl Fn(&mut dyn Sink) -> io::Result<()>) {
        for member in self.all.iter_mut().filter(|member| member.failed.is_none()) {
            member.failed = act(&mut *member.sink).err();
        }
    }
}

impl Sink for Samples {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        self.each(|sink| sink.on(event));
        Ok(())
    }

    fn set_origin(&mut self, origin: &SampleOrigin) {
        self.all.iter_mut().for_each(|member| member.sink.set_origin(origin));
    }

    fn restart(&mut self) -> io::Result<()> {
        self.each(|sink| sink.restart());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.each(|sink| sink.flush());
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.each(|sink| sink.finish());
        if let [only] = &mut *self.all {
            return only.failed.take().map_or(Ok(()), Err);
        }
        let outcome =
            |it: &mut Member| OutputStop::of(&it.name, it.failed.take().map_or(Ok(()), Err));
        let failed: Vec<String> =
            self.all.iter_mut().filter_map(outcome).map(|stop| stop.message).collect();
        match failed.is_empty() {
            true => Ok(()),
            false => Err(OutputStop::failed(failed.join("; ")).into()),
        }
    }
}

/// The outputs of a run's measured operations, and their thread. Dropped, it ends without their
/// ends: an incomplete file stays away.
#[derive(Debug)]
pub struct SampleOutlet(Option<Outlet>);

impl SampleOutlet {
    /// A way in for samples.
    pub fn feed(&self) -> SampleFeed {
        SampleFeed(Arc::clone(&self.0.as_ref().expect("it has not ended").lane))
    }

    /// Ends the outputs, once all samples are passed on; waits for that, but not for a reader that
    /// takes nothing. Without `keeps`, what was not written is left out.
    pub fn finish(mut self, keeps: bool) -> Option<OutputStop> {
        let outlet = if keeps { self.0.take()? } else { return None };
        outlet.stop();
        outlet.join().stop()
    }
}

impl Drop for SampleOutlet {
    fn drop(&mut self) {
        if let Some(outlet) = &self.0 {
            outlet.lane.is_dismissed.store(true, Ordering::Release);
        }
    }
}

/// A way in for samples.
#[derive(Clone, Debug)]
pub struct SampleFeed(Arc<Lane>);

impl SampleFeed {
    /// Passes a stream of samples on. It adds some of them as events, and returns false once no
    /// more will come.
    pub fn pass(&self, stream: impl FnMut(&mut Vec<Event>) -> bool + Send + 'static) {
        self.0.offer(Item::Stream(Box::new(stream)), 1, WAITING_MAX);
    }

    /// Passes these samples on.
    pub fn add(&self, samples: Vec<Event>) {
        let count = samples.len();
        self.0.offer(Item::Samples(samples), count, WAITING_MAX);
    }

    /// Begins another plan, whose samples may replace those before.
    pub fn restart(&self) {
        self.0.offer(Item::Anew, 1, WAITING_MAX);
    }
}
