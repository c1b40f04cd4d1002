//! Connections that are the load: when one is due, which place it takes, and how it ends. Calls
//! are made by the same loop as all operations; a place has one connection and one client, both of
//! the same number.

use super::agenda::Timer;
use super::sink::sink_of;
use super::{BATCH_MAX, Worker};
use crate::client::{Offer, gives_up};
use crate::connection::State;
use crate::driver::{Closed, ConnectError, Driver, PeerError};
use crate::fleet::{Stage, TroubleKind};
use crate::plan::{LifePlan, Plan};
use crate::recorder::LifeEnd;
use memtide_base::rng::Stream;
use memtide_base::{ClientId, ConnectionId, Id, Instant, Span, Table};
use memtide_metrics::{Fate, LifeFate};
use memtide_workload::schedule::Lane;
use memtide_workload::{Schedule, Source};
use std::collections::VecDeque;

/// The connections that one worker gives birth to.
pub(super) struct Lives {
    births: Births,
    /// The first that is not offered.
    births_end: u64,
    calls: u64,
    /// How connections are closed.
    pub(super) linger: Option<Span>,
    /// Places that nobody lives in, the one that has waited longest first, so that servers take
    /// turns.
    free: VecDeque<ConnectionId>,
    places: Table<ConnectionId, Life>,
    /// When the timer of the next birth goes off; never when none is armed.
    armed: Instant,
    /// When the timer for the birth that waits goes off; never when none is armed.
    deadline_armed: Instant,
    /// A birth is due and finds every place taken.
    waiting: bool,
    /// What was intended before this and finds no place is dropped.
    skip_to: Instant,
    /// The most that lived at once.
    pub(super) most: u32,
}

/// When births are due.
enum Births {
    Open(Schedule),
    /// When a place is free.
    Closed {
        next: u64,
        stride: u64,
    },
}

/// One place, and who lives there.
struct Life {
    alive: bool,
    intended: Instant,
    started: Instant,
    segment: u16,
    /// The connection's position among all of the run.
    number: u64,
    /// Since when nobody has lived here.
    free_since: Instant,
}

/// Who makes the calls of the connection in `place`: the client of the same number.
const fn client_of(place: ConnectionId) -> ClientId {
    ClientId(place.0)
}

/// The place whose calls `client` makes, where connections are the load.
pub(super) const fn place_of(client: ClientId) -> ConnectionId {
    ConnectionId(client.0)
}

impl Lives {
    /// Those of worker `worker` of a plan; `None` if connections are not its load.
    pub(super) fn new(plan: &Plan, worker: u16) -> Option<Box<Self>> {
        let LifePlan { births, births_max, calls, linger, .. } = plan.life()?;
        let lane =
            Lane { index: u32::from(worker), count: u32::from(plan.workers), own_stream: false };
        let births = match births {
            Some(pace) => {
                let draws = (plan.seed, Stream::BIRTH);
                let curve = pace.curve.clone();
                let schedule = Schedule::of_stream(pace.arrival, curve, draws, lane);
                Births::Open(schedule.with_draws(pace.draws))
            }
            None => Births::Closed { next: u64::from(worker), stride: u64::from(plan.workers) },
        };
        let place = |_| Life {
            alive: false,
            intended: Instant::ZERO,
            started: Instant::ZERO,
            segment: 0,
            number: 0,
            free_since: Instant::ZERO,
        };
        let places = plan.connections_of(worker) as usize;
        Some(Box::new(Self {
            births,
            births_end: births_max.unwrap_or(u64::MAX),
            calls: *calls,
            linger: *linger,
            free: (0..places).map(ConnectionId::at).collect(),
            places: (0..places).map(place).collect(),
            armed: Instant::NEVER,
            deadline_armed: Instant::NEVER,
            waiting: false,
            skip_to: Instant::ZERO,
            most: 0,
        }))
    }

    /// The next connection's number and intended instant, which without a schedule is when its
    /// place became free, and is about `now` while there is none. `None` when there are no more.
    pub(super) fn due(&self, offer: &Offer, now: Instant) -> Option<(u64, Instant)> {
        let (number, at) = match &self.births {
            Births::Open(schedule) => {
                let due = schedule.due();
                (due.index, offer.start + due.at)
            }
            Births::Closed { next, .. } => {
                let place = self.free.front();
                let free_since = place.map_or(now, |&at| self.places[at].free_since);
                (*next, free_since.max(offer.start))
            }
        };
        (number < self.births_end && at < offer.end).then_some((number, at))
    }

    /// Whether all connections that are offered were due.
    pub(super) fn is_used_up(&self) -> bool {
        let next = match &self.births {
            Births::Open(schedule) => schedule.due().index,
            Births::Closed { next, .. } => *next,
        };
        next >= self.births_end
    }

    fn advance(&mut self) {
        match &mut self.births {
            Births::Open(schedule) => schedule.advance(),
            Births::Closed { next, stride } => *next += *stride,
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.births, Births::Closed { .. })
    }

    fn lives_in(&self, place: ConnectionId) -> bool {
        self.places[place].alive
    }
}

/// What a failed connect means for the life that it should have begun.
fn failed_as(what: TroubleKind) -> LifeFate {
    match what {
        TroubleKind::Connect(error) => match error {
            ConnectError::Refused => LifeFate::Refused,
            ConnectError::Unreachable => LifeFate::Unreachable,
            ConnectError::TimedOut => LifeFate::ConnectTimedOut,
            ConnectError::Unanswered => LifeFate::ConnectUnanswered,
            ConnectError::Reset => LifeFate::ConnectReset,
            ConnectError::FilesExhausted => LifeFate::NoDescriptors,
            ConnectError::FileTableFull => LifeFate::FileTableFull,
            ConnectError::PortsExhausted => LifeFate::NoPorts,
            _ => LifeFate::ConnectOther,
        },
        TroubleKind::Closed(Closed::Reset) => LifeFate::ConnectReset,
        TroubleKind::Closed(_) => LifeFate::ConnectOther,
    }
}

/// What the end of an open connection means for its life.
pub(super) fn lost_as(why: Closed) -> LifeFate {
    match why {
        Closed::ByPeer => LifeFate::Closed,
        Closed::Reset => LifeFate::Reset,
        Closed::Broken(PeerError::TooManyConnections) => LifeFate::TurnedAway,
        Closed::Broken(_) => LifeFate::Protocol,
        Closed::Unanswered => LifeFate::LostUnanswered,
        // Only datagrams go unheard, and they open no connection.
        Closed::Unheard | Closed::Other(_) => LifeFate::LostOther,
    }
}

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// Gives birth to the connections that are due, as far as there are places.
    pub(super) fn give_birth(&mut self, now: Instant) {
        if self.course.stage != Stage::Running {
            return;
        }
        for _ in 0..BATCH_MAX {
            let Some(lives) = &mut self.lives else { return };
            lives.waiting = false;
            let Some((number, at)) = lives.due(&self.course.offer, now) else { return };
            if at > now {
                return self.arm_birth(at);
            }
            let closed = lives.is_closed();
            let late = !closed && at + self.facts.timeout <= now;
            let place = lives.free.front().copied();
            match place {
                _ if late => self.stillborn(at, LifeFate::ConnectTimedOut),
                Some(place) => self.begin_life(place, (number, at), now),
                None if closed => return,
                None => {
                    let mut skip_to = lives.skip_to;
                    let on_full = self.facts.on_full;
                    let is_dropped = gives_up(on_full, &mut skip_to, at, Instant::NEVER, now);
                    lives.skip_to = skip_to;
                    if !is_dropped {
                        lives.waiting = true;
                        let deadline = at + self.facts.timeout;
                        if deadline < lives.deadline_armed {
                            lives.deadline_armed = deadline;
                            self.agenda.arm(deadline, Timer::BirthDeadline);
                        }
                        return;
                    }
                    self.stillborn(at, LifeFate::Dropped);
                }
            }
        }
        // More may be due, but completions must not wait for it.
        self.arm_birth(now + Span::from_ns(1));
    }

    fn arm_birth(&mut self, at: Instant) {
        let Some(lives) = &mut self.lives else { return };
        if at < lives.armed {
            lives.armed = at;
            self.agenda.arm(at, Timer::Birth);
        }
    }

    /// The timer of a birth went off.
    pub(super) fn birth_due(&mut self, now: Instant) {
        if let Some(lives) = &mut self.lives {
            lives.armed = Instant::NEVER;
        }
        self.give_birth(now);
    }

    /// The deadline of a birth that waited is over.
    pub(super) fn birth_overdue(&mut self, now: Instant) {
        let Some(lives) = &mut self.lives else { return };
        lives.deadline_armed = Instant::NEVER;
        if lives.waiting {
            self.give_birth(now);
        }
    }

    /// A connection that was due ends without ever having had a place.
    fn stillborn(&mut self, at: Instant, fate: LifeFate) {
        let Some(lives) = &mut self.lives else { return };
        lives.advance();
        let segment = self.recorder.life_intended(at);
        let end = LifeEnd { segment, fate, lifetime: None, calls_unmade: lives.calls };
        self.recorder.life_ended(end, Instant::ZERO);
    }

    fn begin_life(&mut self, place: ConnectionId, (number, at): (u64, Instant), now: Instant) {
        let Some(lives) = &mut self.lives else { return };
        lives.advance();
        lives.free.pop_front();
        let segment = self.recorder.life_started(at, now);
        let life = &mut lives.places[place];
        *life = Life { alive: true, intended: at, started: now, segment, number, ..*life };
        lives.most = lives.most.max((lives.places.len() - lives.free.len()) as u32);
        self.connections[place].failures = 0;
        self.connect(place, now);
    }

    /// The connection in `place` has opened at `at`: its calls are due from now on.
    pub(super) fn opened_life(&mut self, place: ConnectionId, at: Instant) {
        let Some(lives) = &self.lives else { return };
        let life = &lives.places[place];
        let (number, calls) = (life.number, lives.calls);
        self.recorder.life_opened(life.segment, at.since(life.intended), at.since(life.started));
        self.clients[client_of(place)].begin_calls(number, calls, at);
    }

    /// The connect in `place` has failed, at every address.
    pub(super) fn failed_life(&mut self, place: ConnectionId, at: Instant, what: TroubleKind) {
        self.end_life(place, at, failed_as(what));
    }

    /// Ends the life in `place` if all its calls have ended; nothing where nobody lives.
    #[inline]
    pub(super) fn look_at_life(&mut self, place: ConnectionId, at: Instant) {
        if self.lives.is_some() {
            self.end_if_over(place, at);
        }
    }

    fn end_if_over(&mut self, place: ConnectionId, at: Instant) {
        let connection = &self.connections[place];
        let over = connection.state() == State::Open
            && connection.in_flight() == 0
            && self.clients[client_of(place)].has_made_calls();
        if over && self.lives.as_ref().is_some_and(|lives| lives.lives_in(place)) {
            self.flush();
            if self.connections[place].writable {
                self.end_life(place, at, LifeFate::Lived);
            }
        }
    }

    /// A call of the connection in `place` had no answer in time: whoever asks would hang up.
    pub(super) fn give_up_life(&mut self, place: ConnectionId, at: Instant) {
        self.end_life(place, at, LifeFate::CallTimedOut);
    }

    /// Ends the life in `place`, with everything that is under way on it, and lets the next one in.
    pub(super) fn end_life(&mut self, place: ConnectionId, at: Instant, fate: LifeFate) {
        if !self.lives.as_ref().is_some_and(|lives| lives.lives_in(place)) {
            return;
        }
        self.flush();
        self.hang_up(place, if fate == LifeFate::Abandoned { Fate::Abandoned } else { Fate::Lost });
        let Some(lives) = &mut self.lives else { return };
        let life = &mut lives.places[place];
        life.alive = false;
        life.free_since = at;
        let left = self.clients[client_of(place)].end_calls();
        let end = LifeEnd {
            segment: life.segment,
            fate,
            lifetime: left.map(|_| at.since(life.started)),
            calls_unmade: left.unwrap_or(lives.calls),
        };
        self.recorder.life_ended(end, at);
        lives.free.push_back(place);
        if lives.is_closed() && fate.is_failed() {
            // Connects that fail at once must not keep the worker from everything else.
            self.arm_birth(at + Span::from_ns(1));
        } else if lives.waiting || lives.is_closed() {
            self.give_birth(at);
        }
    }

    /// Closes the connection in `place`; what is under way on it ends as `fate`.
    fn hang_up(&mut self, place: ConnectionId, fate: Fate) {
        let connection = &mut self.connections[place];
        if connection.state() == State::Open {
            self.presence.open -= 1;
        }
        let carried = connection.in_flight() as u32;
        let number = connection.place.client;
        let client = &mut self.clients[number];
        client.route.set_available(place, false);
        client.route.free(place, carried);
        if std::mem::replace(&mut client.scheduled, false) {
            // An entry that stays would keep the next life's calls from their own.
            self.agenda.forget(number);
        }
        let offices = (&mut self.clients, &mut self.recorder, &mut self.verifier);
        let (connection, mut sink) = sink_of(&mut self.connections, offices, place);
        connection.handle_closed(fate, &mut sink);
        if let Some(verifier) = &mut self.verifier {
            verifier.forget(place);
        }
        self.unblock(number);
        self.close(place);
        self.export();
    }

    /// Connections that were due by `now` and got no place end with the run, and those that live
    /// make no more calls.
    pub(super) fn stop_births(&mut self, now: Instant) {
        while let Some(lives) = &self.lives
            && !lives.is_closed()
            && let Some((_, at)) = lives.due(&self.course.offer, now)
            && at <= now
        {
            self.stillborn(at, LifeFate::Abandoned);
        }
    }

    /// Lives that are not over end with the run.
    pub(super) fn abandon_lives(&mut self, now: Instant) {
        let places = self.lives.as_ref().map_or(0, |lives| lives.places.len());
        for place in (0..places).map(ConnectionId::at) {
            self.end_life(place, now, LifeFate::Abandoned);
        }
    }
}
