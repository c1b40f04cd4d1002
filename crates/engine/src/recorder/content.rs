//! Counts what replies held: values, their verification, and datagrams. Times are not counted here.

use super::Recorder;
use crate::connection::InFlight;
use memtide_base::{Instant, ServerId};
use memtide_metrics::{DatagramClass, Mismatch};

impl Recorder {
    /// Counts `count` unusual datagrams, noticed at `now`.
    pub(crate) fn datagrams(
        &mut self,
        now: Instant,
        class: DatagramClass,
        count: u64,
        server: ServerId,
    ) {
        let segment = self.segment_of(now);
        self.count(segment, server, |counters| counters.datagrams[class as usize] += count);
    }

    /// Counts values of `bytes` bytes together in complete answers to operations of `segment`.
    #[inline]
    pub(crate) fn values_read(&mut self, segment: u16, values: u64, bytes: u64, server: ServerId) {
        self.count(segment, server, |counters| {
            counters.values += values;
            counters.value_bytes += bytes;
        });
    }

    /// Counts a value in the answer to `entry` whose length is not the plan's.
    pub(crate) fn resized(&mut self, entry: &InFlight) {
        self.tally.segments[usize::from(entry.segment)].resized += 1;
    }

    /// Records the verification of a value in the answer to `entry`.
    pub(crate) fn verified(
        &mut self,
        entry: &InFlight,
        server: ServerId,
        verified: Result<(), Mismatch>,
    ) {
        self.count(entry.segment, server, |counters| {
            counters.verified += 1;
            if let Err(mismatch) = verified {
                counters.wrong[mismatch.class as usize] += 1;
            }
        });
        if let Err(mismatch) = verified {
            self.tally.mismatches.push(mismatch);
        }
    }

    /// Counts a value that should have been verified and is not in the answer to `entry`.
    pub(crate) fn verify_missed(&mut self, entry: &InFlight, server: ServerId) {
        self.count(entry.segment, server, |counters| counters.verify_misses += 1);
    }

    /// Records a value in the answer to `entry` that was found after its expiry, or not found
    /// before it.
    pub(crate) fn mistimed(&mut self, entry: &InFlight, mismatch: Mismatch) {
        let class = mismatch.class as usize;
        self.count(entry.segment, mismatch.server, |counters| counters.wrong[class] += 1);
        self.tally.mismatches.push(mismatch);
    }
}
