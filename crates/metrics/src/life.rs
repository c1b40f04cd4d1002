//! Connections that are themselves the load: what became of each, how long connecting and living
//! took. Their calls are operations and counted as such.

use crate::counter::{classes, summed};
use crate::histogram::{Count, Histogram};
use std::ops::AddAssign;

classes! {
    /// Where the life of an intended connection ends: each ends in exactly one.
    LifeFate {
        /// All its calls were made and ended, and it was closed.
        Lived = "lived";
        /// Never opened: nobody listens there.
        Refused = "refused";
        /// Never opened: there is no way there.
        Unreachable = "unreachable";
        /// Never opened: not in time, be it for want of an answer or of a place.
        ConnectTimedOut = "connect_timed_out";
        /// Never opened: the system gave up on it, for want of an answer.
        ConnectUnanswered = "connect_unanswered";
        /// Never opened: reset on the way.
        ConnectReset = "connect_reset";
        /// Never opened: this process may have no more files open.
        NoDescriptors = "no_descriptors";
        /// Never opened: the system may have no more files open.
        FileTableFull = "file_table_full";
        /// Never opened: no local port was left.
        NoPorts = "no_ports";
        /// Never opened, for another reason.
        ConnectOther = "connect_other";
        /// Opened, and closed by the server before its end.
        Closed = "closed";
        /// Opened, and reset before its end.
        Reset = "reset";
        /// Opened, and closed because the server broke the protocol.
        Protocol = "protocol";
        /// Opened, and sent away because the server has too many.
        TurnedAway = "turned_away";
        /// Opened, and given up because a call had no answer in time.
        CallTimedOut = "call_timed_out";
        /// Opened, and given up by the system, for want of an answer.
        LostUnanswered = "lost_unanswered";
        /// Opened, and gone for another reason.
        LostOther = "lost_other";
        /// Every place was taken, and the scenario says to drop.
        Dropped = "dropped";
        /// The run ended first.
        Abandoned = "abandoned";
    }
}

impl LifeFate {
    /// Whether the connect failed.
    pub const fn is_failed(self) -> bool {
        matches!(
            self,
            Self::Refused
                | Self::Unreachable
                | Self::ConnectTimedOut
                | Self::ConnectUnanswered
                | Self::ConnectReset
                | Self::NoDescriptors
                | Self::FileTableFull
                | Self::NoPorts
                | Self::ConnectOther
        )
    }

    /// Whether the connection was open and came to an early end.
    pub const fn is_lost(self) -> bool {
        matches!(
            self,
            Self::Closed
                | Self::Reset
                | Self::Protocol
                | Self::TurnedAway
                | Self::CallTimedOut
                | Self::LostUnanswered
                | Self::LostOther
        )
    }
}

summed! {
    /// Counts of the lives of one phase.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    LifeCounters {
        /// Connections that their schedule (or the end of another) called for.
        intended;
        /// Of these, the ones for which a connect was begun.
        started;
        /// Of these, the ones that opened.
        opened;
        /// Calls that these never made, because they did not open or came to an early end.
        calls_unmade;
    }
    each {
        /// Ends, in the order of [`LifeFate::ALL`].
        fates: [u64; LifeFate::COUNT];
    }
}

impl LifeCounters {
    /// How many ended, in whatever way. In a phase that is over it equals `intended`.
    pub fn ended(&self) -> u64 {
        self.fates.iter().sum()
    }

    /// How many ended in a way for which `which` holds.
    pub fn of(&self, which: impl Fn(LifeFate) -> bool) -> u64 {
        let chosen = LifeFate::ALL.into_iter().filter(|fate| which(*fate));
        chosen.map(|fate| self.fates[fate as usize]).sum()
    }
}

/// What is recorded of connections that are the load; times are of the measured ones.
#[derive(Clone, Debug)]
pub struct Lives<C: Count> {
    /// Counts of each segment.
    pub segments: Vec<LifeCounters>,
    /// From a connection's intended instant to its being open.
    pub connect_response: Histogram<C>,
    /// From the connect to its being open.
    pub connect_service: Histogram<C>,
    /// From the connect to the end, of those that opened.
    pub lifetime: Histogram<C>,
}

impl<C: Count> Lives<C> {
    pub(crate) fn new(segments: usize) -> Self {
        Self {
            segments: vec![LifeCounters::default(); segments],
            connect_response: Histogram::new(),
            connect_service: Histogram::new(),
            lifetime: Histogram::new(),
        }
    }
}

impl Lives<u32> {
    pub(crate) fn clear(&mut self) {
        self.segments.fill(LifeCounters::default());
        self.connect_response.clear();
        self.connect_service.clear();
        self.lifetime.clear();
    }
}

impl Lives<u64> {
    pub(crate) fn absorb(&mut self, other: &Lives<u32>) {
        for (sum, part) in self.segments.iter_mut().zip(&other.segments) {
            *sum += part;
        }
        self.connect_response.absorb(&other.connect_response);
        self.connect_service.absorb(&other.connect_service);
        self.lifetime.absorb(&other.lifetime);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_has_its_own_counter_and_name() {
        for (place, fate) in LifeFate::ALL.into_iter().enumerate() {
            assert_eq!(fate as usize, place);
            assert!(LifeFate::ALL[..place].iter().all(|other| other.name() != fate.name()));
            assert!(!(fate.is_failed() && fate.is_lost()));
        }
    }

    #[test]
    fn what_one_worker_counted_is_added_and_gone() {
        let (mut part, mut sum) = (Lives::<u32>::new(3), Lives::<u64>::new(3));
        for _ in 0..2 {
            part.segments[1].intended += 2;
            part.segments[1].started += 1;
            part.segments[1].fates[LifeFate::Refused as usize] += 1;
            part.segments[1].fates[LifeFate::Dropped as usize] += 1;
            part.lifetime.record(5);
            sum.absorb(&part);
            part.clear();
        }
        let counted = sum.segments[1];
        assert_eq!((counted.intended, counted.started, counted.ended()), (4, 2, 4));
        assert_eq!(counted.of(LifeFate::is_failed), 2);
        assert_eq!((sum.lifetime.count(), part.lifetime.count()), (2, 0));
    }
}
