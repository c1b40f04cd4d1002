//! The export of single operations: the workers' queues, from which their reader takes them on a
//! thread of its own. A reader that stalls delays nothing: samples that find no room are lost and
//! counted.

use memtide_world::driver::Sample;
use std::sync::mpsc::{Receiver, TryRecvError};

/// The most samples taken from a worker's queue in a row.
const BITE: usize = 1 << 10;

/// Takes the queues of each plan that exports operations, when it begins.
pub type SampleSink = Box<dyn FnMut(SampleQueues) + Send>;

/// The queues of the samples that the workers of a plan export.
#[derive(Debug)]
pub struct SampleQueues(pub(crate) Vec<Receiver<Sample>>);

impl SampleQueues {
    /// Passes some samples of each queue to `take`, so that all are drained evenly; false if every
    /// queue has ended.
    pub fn take(&mut self, mut take: impl FnMut(&Sample)) -> bool {
        self.0.retain(|receiver| {
            for _ in 0..BITE {
                match receiver.try_recv() {
                    Ok(sample) => take(&sample),
                    Err(TryRecvError::Empty) => return true,
                    Err(TryRecvError::Disconnected) => return false,
                }
            }
            true
        });
        !self.0.is_empty()
    }
}
