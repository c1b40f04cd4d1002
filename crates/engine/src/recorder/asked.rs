//! What requests make a server count, of one request or of several that were made together.

use super::Recorder;
use memtide_base::ServerId;
use memtide_metrics::Counters;
use memtide_workload::{Action, OpKind};
use memtide_world::plan::segment;

impl Recorder {
    /// Counts `bytes` of a request of `segment`.
    #[inline(always)]
    pub(crate) fn requested(
        &mut self,
        segment: u16,
        server: ServerId,
        kind: OpKind,
        keys: u16,
        bytes: usize,
    ) {
        self.count(segment, server, |counters| {
            counters.bytes_sent += bytes as u64;
            let Counters { keys_asked, touch_commands, storage_commands, .. } = counters;
            ask(kind, keys, [keys_asked, touch_commands, storage_commands]);
        });
        if segment == segment::MEASURE
            && let Some(sizes) = &mut self.tally.times.request_bytes
        {
            sizes.record(bytes as u64);
        }
    }

    /// Counts `bytes` of requests of `segment`, whose single sizes are not kept.
    #[inline(always)]
    pub(crate) fn requested_many(
        &mut self,
        segment: u16,
        server: ServerId,
        asked: Asked,
        bytes: usize,
    ) {
        self.count(segment, server, |counters| {
            counters.bytes_sent += bytes as u64;
            counters.keys_asked += asked.keys;
            counters.touch_commands += asked.touches;
            counters.storage_commands += asked.stores;
        });
    }
}

/// What requests make a server count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    keys: u64,
    touches: u64,
    stores: u64,
}

impl Asked {
    /// Adds a request of this kind for this number of keys.
    #[inline(always)]
    pub(crate) fn add(&mut self, kind: OpKind, keys: u16) {
        ask(kind, keys, [&mut self.keys, &mut self.touches, &mut self.stores]);
    }
}

/// Adds what a request of this kind makes a server count: keys, touches or stores.
#[inline(always)]
fn ask(kind: OpKind, keys: u16, [asked, touches, stores]: [&mut u64; 3]) {
    match kind.action() {
        Action::Read | Action::CompareAndStore | Action::Recache | Action::Peek => {
            *asked += u64::from(keys);
        }
        Action::ReadAndTouch | Action::Touch => *touches += 1,
        Action::Store => *stores += 1,
        Action::Remove | Action::Count | Action::Invalidate => {}
    }
}
