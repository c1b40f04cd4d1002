//! What is recorded of connections under connection churn.

use super::Recorder;
use memtide_base::{Instant, Span};
use memtide_metrics::ChurnFate;
use memtide_world::plan::segment;

/// The opening of a connection, under connection churn.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    /// The time since it was due.
    pub(crate) response: Span,
    /// The time since its connect.
    pub(crate) service: Span,
    /// The time since it was established.
    pub(crate) handshake: Span,
}

/// The end of a connection under connection churn, or of several that never opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChurnEnd {
    /// The number of connections.
    pub(crate) count: u64,
    /// The segment of its intended instant.
    pub(crate) segment: u16,
    pub(crate) fate: ChurnFate,
    /// The time from its connect to its end; none if it never opened.
    pub(crate) lifetime: Option<Span>,
    /// Calls that each of them did not make.
    pub(crate) calls_unmade: u64,
}

impl Recorder {
    /// Counts `count` intended connections of connection churn, due from `at` on; returns
    /// their segment.
    pub(crate) fn churn_intended(&mut self, at: Instant, count: u64) -> u16 {
        let segment = self.segment_of(at);
        if segment == segment::MEASURE {
            self.measured_open += count;
            self.last_intended = self.last_intended.max(at);
        }
        if let Some(churn) = &mut self.tally.churn {
            churn.segments[usize::from(segment)].intended += count;
        }
        segment
    }

    /// Counts a scheduled connection whose connect starts at `now`; returns its segment.
    pub(crate) fn churn_started(&mut self, at: Instant, now: Instant) -> u16 {
        let segment = self.churn_intended(at, 1);
        if segment == segment::MEASURE {
            self.last_started = self.last_started.max(now);
        }
        if let Some(churn) = &mut self.tally.churn {
            churn.segments[usize::from(segment)].started += 1;
        }
        segment
    }

    /// Records the opening of a connection of `segment`.
    pub(crate) fn churn_opened(&mut self, segment: u16, opening: Opening) {
        let Opening { response, service, handshake } = opening;
        let Some(churn) = &mut self.tally.churn else { return };
        churn.segments[usize::from(segment)].opened += 1;
        if segment == segment::MEASURE {
            debug_assert!(self.measured_open > 0, "a measured connection opens twice");
            self.measured_open -= 1;
            self.churn_open += 1;
            churn.connect_response.record(response.ns());
            churn.connect_service.record(service.ns());
            churn.connect_tcp.record(service.ns() - handshake.ns());
            churn.handshake.record(handshake.ns());
        }
    }

    /// Records the time from the opening of a connection of `segment` to its first answer.
    pub(crate) fn churn_first_reply(&mut self, segment: u16, after: Span) {
        if let Some(churn) = &mut self.tally.churn
            && segment == segment::MEASURE
        {
            churn.first_reply.record(after.ns());
        }
    }

    /// Records the end of connections at `at`.
    pub(crate) fn churn_ended(&mut self, end: ChurnEnd, at: Instant) {
        let Some(churn) = &mut self.tally.churn else { return };
        let counters = &mut churn.segments[usize::from(end.segment)];
        counters.fates[end.fate as usize] += end.count;
        counters.calls_unmade += end.calls_unmade * end.count;
        if end.segment != segment::MEASURE {
            return;
        }
        self.last_settled = self.last_settled.max(at);
        match end.lifetime {
            Some(lifetime) => {
                debug_assert!(self.churn_open > 0, "a measured connection ends twice");
                self.churn_open -= 1;
                churn.lifetime.record(lifetime.ns());
            }
            None => self.measured_open -= end.count,
        }
    }
}
