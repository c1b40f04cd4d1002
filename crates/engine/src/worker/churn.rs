//! Connection churn, where connections are the load: when each is due, the slot it takes, and how
//! it ends. The loop that makes all operations makes their calls too; a slot has one connection and
//! one client, with the same number.

use super::agenda::Timer;
use super::cutoff::Strides;
use super::sink::sink_of;
use super::{BATCH_MAX, Worker};
use crate::client::{Offer, gives_up};
use crate::connection::State;
use crate::recorder::{ChurnEnd, Opening};
use memtide_base::rng::Stream;
use memtide_base::{ClientId, ConnectionId, Id, Instant, Span, Table};
use memtide_metrics::{ChurnFate, Fate};
use memtide_workload::schedule::Lane;
use memtide_workload::{Schedule, Source};
use memtide_world::driver::{Closed, ConnectError, Driver, PeerError};
use memtide_world::fleet::{Stage, TroubleKind};
use memtide_world::plan::{ChurnPlan, OnFull, Plan};
use std::collections::VecDeque;
use std::mem;

/// The connections that one worker opens and closes as the load.
pub(super) struct Churn {
    openings: Openings,
    /// The number of the first connection that is not offered.
    openings_end: u64,
    calls: u64,
    /// How connections are closed.
    pub(super) linger: Option<Span>,
    /// Free slots, longest free first, so that servers take turns.
    free: VecDeque<ConnectionId>,
    slots: Table<ConnectionId, Slot>,
    /// The instant at which the timer for the next connection fires; never if none is armed.
    armed: Instant,
    /// The instant at which the timer for the waiting connection fires; never if none is armed.
    deadline_armed: Instant,
    /// True while a connection is due and every slot is taken.
    waiting: bool,
    /// A connection intended before this instant is dropped if it has found no free slot.
    skip_to: Instant,
    /// The most connections open at once.
    pub(super) most: u32,
}

/// When connections are due.
enum Openings {
    Open(Schedule),
    /// As soon as a slot is free.
    Closed {
        next: u64,
        stride: u64,
    },
}

/// One slot and its present connection.
#[derive(Clone, Copy)]
struct Slot {
    alive: bool,
    intended: Instant,
    started: Instant,
    /// The instant at which it was established, and that at which it was open.
    established: Instant,
    opened: Instant,
    /// True once it was open and has had no answer.
    awaits_first: bool,
    segment: u16,
    /// The connection's number in the run.
    number: u64,
    /// The instant since which the slot has been free.
    free_since: Instant,
}

/// The client that makes the calls of the connection in `slot_id`; it has the same number.
const fn client_of(slot_id: ConnectionId) -> ClientId {
    ClientId(slot_id.0)
}

/// The slot of the connection whose calls `client` makes, under connection churn.
pub(super) const fn slot_of(client: ClientId) -> ConnectionId {
    ConnectionId(client.0)
}

impl Churn {
    /// The churn of worker `worker` of a plan; `None` if connections are not the load.
    pub(super) fn new(plan: &Plan, worker: u16) -> Option<Box<Self>> {
        let ChurnPlan { openings, openings_max, calls, linger, .. } = plan.churn()?;
        let lane =
            Lane { index: u32::from(worker), count: u32::from(plan.workers), own_stream: false };
        let openings = match openings {
            Some(pace) => {
                let (curve, stream) = (pace.curve.clone(), Stream::OPENING);
                let schedule = Schedule::of_stream(pace.arrival, curve, plan.seed, stream, lane);
                Openings::Open(schedule.with_draws(pace.draws))
            }
            None => Openings::Closed { next: u64::from(worker), stride: u64::from(plan.workers) },
        };
        let slot = Slot {
            alive: false,
            intended: Instant::ZERO,
            started: Instant::ZERO,
            established: Instant::ZERO,
            opened: Instant::ZERO,
            awaits_first: false,
            segment: 0,
            number: 0,
            free_since: Instant::ZERO,
        };
        let slots = plan.connections_of(worker) as usize;
        Some(Box::new(Self {
            openings,
            openings_end: openings_max.unwrap_or(u64::MAX),
            calls: *calls,
            linger: *linger,
            free: (0..slots).map(ConnectionId::at).collect(),
            slots: (0..slots).map(|_| slot).collect(),
            armed: Instant::NEVER,
            deadline_armed: Instant::NEVER,
            waiting: false,
            skip_to: Instant::ZERO,
            most: 0,
        }))
    }

    /// The next connection's number and intended instant; `None` if there are no more. Without a
    /// schedule a connection is intended when its slot became free, and about `now` if no slot is
    /// free.
    pub(super) fn due(&self, offer: &Offer, now: Instant) -> Option<(u64, Instant)> {
        let (number, at) = match &self.openings {
            Openings::Open(schedule) => {
                let due = schedule.due();
                (due.index, offer.start + due.at)
            }
            Openings::Closed { next, .. } => {
                let slot_id = self.free.front();
                let free_since = slot_id.map_or(now, |&at| self.slots[at].free_since);
                (*next, free_since.max(offer.start))
            }
        };
        (number < self.openings_end && at < offer.end).then_some((number, at))
    }

    /// True once every offered connection has been due.
    pub(super) fn is_used_up(&self) -> bool {
        let next = match &self.openings {
            Openings::Open(schedule) => schedule.due().index,
            Openings::Closed { next, .. } => *next,
        };
        next >= self.openings_end
    }

    /// Advances past `count` connections, at least one.
    fn advance(&mut self, count: u64) {
        match &mut self.openings {
            Openings::Open(schedule) if count == 1 => schedule.advance(),
            Openings::Open(schedule) => schedule.skip(count),
            Openings::Closed { next, stride } => *next += *stride * count,
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.openings, Openings::Closed { .. })
    }

    fn is_open(&self, slot_id: ConnectionId) -> bool {
        self.slots[slot_id].alive
    }
}

/// The fate of a connection whose connect failed.
pub(super) fn failed_as(what: TroubleKind) -> ChurnFate {
    match what {
        TroubleKind::Connect(error) => match error {
            ConnectError::Refused => ChurnFate::Refused,
            ConnectError::Unreachable => ChurnFate::Unreachable,
            ConnectError::TimedOut | ConnectError::HandshakeTimedOut => ChurnFate::ConnectTimedOut,
            ConnectError::Unanswered => ChurnFate::ConnectUnanswered,
            ConnectError::Reset => ChurnFate::ConnectReset,
            ConnectError::FilesExhausted => ChurnFate::NoDescriptors,
            ConnectError::FileTableFull => ChurnFate::FileTableFull,
            ConnectError::PortsExhausted => ChurnFate::NoPorts,
            _ => ChurnFate::ConnectOther,
        },
        TroubleKind::Closed(Closed::Reset) => ChurnFate::ConnectReset,
        TroubleKind::Closed(_) => ChurnFate::ConnectOther,
    }
}

/// The fate of an open connection that was lost.
pub(super) fn lost_as(why: Closed) -> ChurnFate {
    match why {
        Closed::ByPeer | Closed::Truncated => ChurnFate::Closed,
        Closed::Reset => ChurnFate::Reset,
        Closed::Broken(PeerError::TooManyConnections) => ChurnFate::TurnedAway,
        Closed::Broken(_) => ChurnFate::Protocol,
        Closed::Unanswered => ChurnFate::LostUnanswered,
        // This ending exists for datagrams only, and UDP opens no connection.
        Closed::Unheard | Closed::Other(_) => ChurnFate::LostOther,
    }
}

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// Opens the connections that are due, as far as slots are free.
    pub(super) fn open_due(&mut self, now: Instant) {
        if self.course.stage != Stage::Running {
            return;
        }
        let has_waited = self.churn.as_mut().is_some_and(|churn| mem::take(&mut churn.waiting));
        for _ in 0..BATCH_MAX {
            let Some(churn) = &mut self.churn else { return };
            let Some((number, at)) = churn.due(&self.course.offer, now) else { return };
            if at > now {
                return self.arm_opening(at);
            }
            let closed = churn.is_closed();
            let late = !closed && at + self.facts.timeout <= now;
            let slot_id = churn.free.front().copied();
            // The slot may have become free too late for one that has waited.
            let may_drop = slot_id.is_none() || has_waited;
            match slot_id {
                _ if late => self.end_unopened(at, ChurnFate::ConnectTimedOut, 1),
                None if closed => return,
                _ if may_drop && self.gives_up_opening(at, now) => {
                    self.end_unopened(at, ChurnFate::Dropped, 1);
                }
                Some(slot_id) => self.start_connection(slot_id, number, at, now),
                None => return self.await_slot(at),
            }
        }
        // More connections may be due, but completions must not wait.
        self.arm_opening(now + Span::from_ns(1));
        if let Some(churn) = &mut self.churn {
            churn.waiting = has_waited;
        }
    }

    /// True if a connection that was due `at` and found no free slot is dropped.
    fn gives_up_opening(&mut self, at: Instant, now: Instant) -> bool {
        let Some(churn) = &mut self.churn else { return false };
        gives_up(self.facts.on_full, &mut churn.skip_to, at, self.course.offer.end, now)
    }

    /// Notes that a connection that was due `at` waits for a slot, until it has timed out or is so
    /// late that it is dropped.
    fn await_slot(&mut self, at: Instant) {
        let Some(churn) = &mut self.churn else { return };
        churn.waiting = true;
        let patience = match self.facts.on_full {
            OnFull::Skip { behind, .. } => self.facts.timeout.min(behind + Span::from_ns(1)),
            OnFull::Queue | OnFull::Drop => self.facts.timeout,
        };
        let deadline = at + patience;
        if deadline < churn.deadline_armed {
            churn.deadline_armed = deadline;
            self.agenda.arm(deadline, Timer::OpeningDeadline);
        }
    }

    fn arm_opening(&mut self, at: Instant) {
        let Some(churn) = &mut self.churn else { return };
        if at < churn.armed {
            churn.armed = at;
            self.agenda.arm(at, Timer::Opening);
        }
    }

    /// Handles the timer of the next connection.
    pub(super) fn opening_due(&mut self, now: Instant) {
        if let Some(churn) = &mut self.churn {
            churn.armed = Instant::NEVER;
        }
        self.open_due(now);
    }

    /// Handles the deadline of a connection that waited for a slot.
    pub(super) fn opening_overdue(&mut self, now: Instant) {
        let Some(churn) = &mut self.churn else { return };
        churn.deadline_armed = Instant::NEVER;
        if churn.waiting {
            self.open_due(now);
        }
    }

    /// Ends `count` connections that were due from `at` on and never got a slot.
    fn end_unopened(&mut self, at: Instant, fate: ChurnFate, count: u64) {
        let Some(churn) = &mut self.churn else { return };
        churn.advance(count);
        let segment = self.recorder.churn_intended(at, count);
        let end = ChurnEnd { count, segment, fate, lifetime: None, calls_unmade: churn.calls };
        self.recorder.churn_ended(end, Instant::ZERO);
    }

    fn start_connection(&mut self, slot_id: ConnectionId, number: u64, at: Instant, now: Instant) {
        let Some(churn) = &mut self.churn else { return };
        churn.advance(1);
        let free = churn.free.pop_front();
        debug_assert_eq!(free, Some(slot_id), "a connection takes the slot that was free longest");
        debug_assert!(!churn.is_open(slot_id), "a free slot has a connection");
        let segment = self.recorder.churn_started(at, now);
        let slot = &mut churn.slots[slot_id];
        *slot = Slot {
            alive: true,
            intended: at,
            started: now,
            established: now,
            awaits_first: false,
            segment,
            number,
            ..*slot
        };
        churn.most = churn.most.max((churn.slots.len() - churn.free.len()) as u32);
        self.connections[slot_id].failures = 0;
        self.connect(slot_id, now);
    }

    /// Handles the opening of the connection in `slot_id` at `at`: its calls are due from now on.
    pub(super) fn connection_opened(&mut self, slot_id: ConnectionId, at: Instant) {
        let Some(churn) = &mut self.churn else { return };
        let slot = &mut churn.slots[slot_id];
        (slot.opened, slot.awaits_first) = (at, true);
        let (number, calls) = (slot.number, churn.calls);
        let opening = Opening {
            response: at.since(slot.intended),
            service: at.since(slot.started),
            handshake: at.since(slot.established),
        };
        self.recorder.churn_opened(slot.segment, opening);
        self.clients[client_of(slot_id)].begin_calls(number, calls, at);
    }

    /// Notes that the connection in `slot_id` was established at `at`, and is not open yet.
    pub(super) fn connection_established(&mut self, slot_id: ConnectionId, at: Instant) {
        if let Some(churn) = &mut self.churn {
            churn.slots[slot_id].established = at;
        }
    }

    /// Closes the connection in `slot_id` if all its calls have ended.
    #[inline]
    pub(super) fn end_if_finished(&mut self, slot_id: ConnectionId, at: Instant) {
        if self.churn.is_some() {
            self.end_finished(slot_id, at);
        }
    }

    fn end_finished(&mut self, slot_id: ConnectionId, at: Instant) {
        let connection = &self.connections[slot_id];
        if let Some(churn) = &mut self.churn
            && connection.has_answered()
            && mem::take(&mut churn.slots[slot_id].awaits_first)
        {
            let slot = &churn.slots[slot_id];
            self.recorder.churn_first_reply(slot.segment, at.since(slot.opened));
        }
        let over = connection.state() == State::Open
            && connection.in_flight() == 0
            && self.clients[client_of(slot_id)].has_made_calls();
        if over && self.churn.as_ref().is_some_and(|churn| churn.is_open(slot_id)) {
            self.flush();
            if self.connections[slot_id].writable {
                self.end_connection(slot_id, at, ChurnFate::Completed);
            }
        }
    }

    /// Ends the connection in `slot_id` and everything in flight on it, and frees the slot for the
    /// next.
    pub(super) fn end_connection(&mut self, slot_id: ConnectionId, at: Instant, fate: ChurnFate) {
        if !self.churn.as_ref().is_some_and(|churn| churn.is_open(slot_id)) {
            return;
        }
        self.flush();
        self.hang_up(
            slot_id,
            if fate == ChurnFate::Abandoned { Fate::Abandoned } else { Fate::Lost },
        );
        let Some(churn) = &mut self.churn else { return };
        let slot = &mut churn.slots[slot_id];
        slot.alive = false;
        slot.free_since = at;
        let left = self.clients[client_of(slot_id)].end_calls();
        let end = ChurnEnd {
            count: 1,
            segment: slot.segment,
            fate,
            lifetime: left.map(|_| at.since(slot.started)),
            calls_unmade: left.unwrap_or(churn.calls),
        };
        self.recorder.churn_ended(end, at);
        debug_assert!(churn.free.len() < churn.slots.len(), "more slots are free than there are");
        churn.free.push_back(slot_id);
        if churn.is_closed() && fate.is_failed() {
            // Connects that fail at once must not starve the rest of the worker.
            self.arm_opening(at + Span::from_ns(1));
        } else if churn.waiting || churn.is_closed() {
            self.open_due(at);
        }
    }

    /// Closes the connection in `slot_id`; operations in flight on it end as `fate`.
    fn hang_up(&mut self, slot_id: ConnectionId, fate: Fate) {
        self.take_leave(slot_id);
        let connection = &mut self.connections[slot_id];
        if connection.state() == State::Open {
            self.presence.open -= 1;
        }
        let carried = connection.in_flight() as u32;
        let number = connection.place.client;
        let client = &mut self.clients[number];
        client.route.set_available(slot_id, false);
        client.route.free(slot_id, carried);
        if mem::replace(&mut client.scheduled, false) {
            // A stale entry would hold back the next connection's calls.
            self.agenda.forget(number);
        }
        let parts = (&mut self.clients, &mut self.recorder, &mut self.verifier);
        let (connection, mut sink) = sink_of(&mut self.connections, parts, slot_id);
        connection.handle_closed(fate, &mut sink);
        if let Some(verifier) = &mut self.verifier {
            verifier.forget(slot_id);
        }
        self.unblock(number);
        self.close(slot_id);
        self.export();
    }

    /// Ends the connections that were due by `now` and got no slot, as abandoned. Open connections
    /// make no more calls.
    pub(super) fn stop_openings(&mut self, now: Instant) {
        let (start, until) = (self.course.offer.start, now + Span::from_ns(1));
        let mut strides = Strides::new(1.0, 1.0);
        while let Some(churn) = &self.churn
            && let Openings::Open(schedule) = &churn.openings
            && let Some((_, at)) = churn.due(&self.course.offer, now)
            && at <= now
        {
            let stretch = until.min(self.course.offer.end).min(self.recorder.row_end(at));
            let left = schedule.left_before(churn.openings_end);
            let count = strides.next(schedule, start, stretch).clamp(1, left.max(1));
            self.end_unopened(at, ChurnFate::Abandoned, count);
        }
    }

    /// Ends all open connections as abandoned.
    pub(super) fn abandon_connections(&mut self, now: Instant) {
        let slots = self.churn.as_ref().map_or(0, |churn| churn.slots.len());
        for slot_id in (0..slots).map(ConnectionId::at) {
            self.end_connection(slot_id, now, ChurnFate::Abandoned);
        }
    }
}
