//! The sink of one connection's operations: passes their events to the recorder, to the operation's
//! source and to the verifier. It decides nothing.

use super::copies::JoinedSource;
use super::verifier::Verifier;
use crate::client::Client;
use crate::connection::{Connection, ConnectionEvents, Ending, InFlight};
use crate::dialect::Marks;
use crate::recorder::{OperationPlace, Recorder};
use memtide_base::{ClientId, ConnectionId, Instant, Link, Span, Table};
use memtide_metrics::DatagramClass;
use memtide_workload::{Outcome, Source};
use memtide_world::driver::Refusal;
use memtide_world::plan::Place;

/// Passes the events of one connection's operations to the recorder, their source and the verifier.
pub(super) struct OperationSink<'a, S> {
    recorder: &'a mut Recorder,
    source: &'a mut S,
    verifier: Option<&'a mut Verifier>,
    link: Link,
    /// The connection's number among all connections of the run.
    number: u32,
}

/// The parts of a worker that a sink borrows.
pub(super) type SinkParts<'a, S> =
    (&'a mut Table<ClientId, Client<JoinedSource<S>>>, &'a mut Recorder, &'a mut Option<Verifier>);

/// A connection, and the sink of its operations.
#[inline(always)]
pub(super) fn sink_of<'a, S: Source>(
    connections: &'a mut Table<ConnectionId, Connection>,
    (clients, recorder, verifier): SinkParts<'a, S>,
    connection: ConnectionId,
) -> (&'a mut Connection, OperationSink<'a, JoinedSource<S>>) {
    let at_connection = &mut connections[connection];
    let Place { server, number, client, .. } = at_connection.place;
    let source = &mut clients[client].source;
    let verifier = verifier.as_mut();
    let link = Link { connection, server };
    (at_connection, OperationSink { recorder, source, verifier, link, number })
}

impl<S: Source> OperationSink<'_, S> {
    #[inline(always)]
    fn place(&self) -> OperationPlace {
        OperationPlace { server: self.link.server, connection: self.number }
    }

    /// A separate function, so that the loop over replies stays small in runs without verification.
    #[inline(never)]
    fn verify_head(&mut self, entry: &InFlight, key: &[u8], bytes: usize) {
        let Some(verifier) = &mut self.verifier else { return };
        if verifier.is_resized(key, bytes) {
            self.recorder.resized(entry);
        }
        if let Some(expired) = verifier.value(self.link, entry, key, bytes, self.source) {
            self.recorder.mistimed(entry, expired);
        }
    }

    /// A separate function for the reason given at `verify_head`.
    #[inline(never)]
    fn verify_replied(&mut self, entry: &InFlight, outcome: Outcome, now: Instant) {
        let Some(verifier) = &mut self.verifier else { return };
        if outcome == Outcome::Miss {
            verifier.missed(self.link, entry, now, self.source, self.recorder);
        }
        verifier.replied(self.link, entry, outcome, now);
    }
}

impl<S: Source> ConnectionEvents for OperationSink<'_, S> {
    #[inline(always)]
    fn sent(&mut self, entry: &mut InFlight, late: Span, outstanding: usize) {
        self.recorder.sent(entry, late, outstanding, self.link.server);
    }

    #[inline(always)]
    fn all_sent(&mut self) {
        self.recorder.all_sent(self.link.server);
    }

    #[inline(always)]
    fn answered(&mut self, entry: &InFlight, ending: &Ending, value_bytes: u64) {
        self.recorder.answered(entry, ending, value_bytes, self.place());
        self.source.settle(&entry.op(), ending.outcome);
    }

    #[inline(always)]
    fn all_answered(&mut self) {
        self.recorder.all_answered(self.place());
    }

    fn refused(&mut self, refusal: Refusal) {
        self.recorder.refused(refusal);
    }

    fn settle(&mut self, entry: &InFlight, ending: Ending) {
        debug_assert!(self.recorder.in_flight > 0, "an operation ends that was not in flight");
        self.recorder.in_flight -= 1;
        self.recorder.settle(entry, ending, Some(self.place()));
        self.source.settle(&entry.op(), ending.outcome);
    }

    fn late(&mut self, entry: &InFlight, bytes: u32) {
        self.recorder.late(entry, bytes, self.link.server);
    }

    fn forgotten(&mut self) {
        self.recorder.left(self.link.server, 1, Instant::NEVER);
    }

    fn half_way(&mut self, entry: &InFlight, bytes: u32) {
        self.recorder.half_way(entry, bytes, self.link.server);
    }

    #[inline]
    fn value(&mut self, entry: &InFlight, key: &[u8], bytes: usize) {
        if self.verifier.is_some() {
            self.verify_head(entry, key, bytes);
        }
    }

    #[inline(always)]
    fn reads_values(&self) -> bool {
        self.verifier.is_some()
    }

    #[inline]
    fn values(&mut self, entry: &InFlight, bytes: u64) {
        let values = u64::from(entry.hits);
        self.recorder.values_read(entry.segment, values, bytes, self.link.server);
    }

    #[inline]
    fn data(&mut self, entry: &InFlight, bytes: &[u8], ends: bool) {
        let Some(verifier) = &mut self.verifier else { return };
        if let Some(verified) = verifier.data(self.link, entry, bytes, ends) {
            self.recorder.verified(entry, self.link.server, verified);
        }
    }

    fn marked(&mut self, entry: &InFlight, marks: &Marks, is_placeholder: bool) {
        self.recorder.marked(entry, marks, is_placeholder, self.link.server);
    }

    fn datagrams(&mut self, now: Instant, class: DatagramClass, count: u64) {
        self.recorder.datagrams(now, class, count, self.link.server);
    }

    #[inline]
    fn replied(&mut self, entry: &InFlight, outcome: Outcome, now: Instant) {
        if self.verifier.is_some() {
            self.verify_replied(entry, outcome, now);
        }
    }
}
