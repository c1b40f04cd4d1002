//! The half of a worker that handles events of connections: replies, openings, failures, losses and
//! deadlines.

use super::Worker;
use super::agenda::Timer;
use super::churn::{failed_as, lost_as};
use super::cutoff::BacklogEnd;
use super::sink::sink_of;
use crate::connection::{ConnectionEvents, Ending, FollowUp, Heard, State};
use crate::dialect::Rejection;
use memtide_base::rng::{Stream, hash, unit};
use memtide_base::{ClientId, ConnectionId, Instant, Link, Random, Span};
use memtide_metrics::{ChurnFate, Fate};
use memtide_workload::{Action, Source, TimeLaw};
use memtide_world::driver::{Closed, ConnectError, Driver, Event};
use memtide_world::fleet::{Stage, Trouble, TroubleKind};
use memtide_world::plan::{Backoff, Place, Reconnect};

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// Handles all completions; true if there was one.
    pub(super) fn take_completions(&mut self, woken: Instant) -> bool {
        let mut completed = false;
        while let Some(completion) = self.driver.completion() {
            let at = completion.at;
            let number = completion.connection;
            match completion.event {
                Event::Received(bytes) => {
                    let parts = (&mut self.clients, &mut self.recorder, &mut self.verifier);
                    let (connection, mut sink) = sink_of(&mut self.connections, parts, number);
                    let before = connection.in_flight();
                    let follow_ups = &mut self.outbox.follow_ups;
                    let heard = connection.handle_bytes(at, bytes, follow_ups, &mut sink);
                    self.outbox.fresh = Some(at);
                    match heard {
                        Ok(Heard::Replies) => self.received(number, before, at, woken),
                        Ok(Heard::Filtered) => self.filtered(number, before, at, woken),
                        Ok(Heard::Rejected(rejection)) => self.rejected(number, at, rejection),
                        Ok(Heard::NotYet) => self.speak(number),
                        Ok(Heard::Welcome) => self.welcomed(number, at),
                        Err(error) => self.broken(number, before, at, Closed::Broken(error)),
                    }
                }
                Event::Connected => self.reached(number, at),
                Event::ConnectFailed(error) => {
                    self.connect_failed(number, at, TroubleKind::Connect(error));
                }
                Event::Writable => self.writable(number, at),
                Event::Closed(closed) => {
                    let why = self.connections[number].link().handle_end(closed);
                    self.lost(number, at, why);
                }
            }
            self.flush();
            self.outbox.fresh = None;
            self.end_if_finished(number, at);
            // Operations that became due meanwhile must not wait for the rest of the batch.
            self.serve_agenda(at);
            completed = true;
        }
        completed
    }

    /// Handles bytes of `connection` after its filter: uses the room they made, and sends the
    /// filter's own bytes at once. Never inlined, so that loads without a filter stay compact.
    #[inline(never)]
    fn filtered(
        &mut self,
        connection: ConnectionId,
        in_flight_before: usize,
        at: Instant,
        woken: Instant,
    ) {
        self.received(connection, in_flight_before, at, woken);
        self.speak(connection);
    }

    fn writable(&mut self, connection: ConnectionId, at: Instant) {
        let at_connection = &mut self.connections[connection];
        at_connection.writable = true;
        if at_connection.is_available() {
            at_connection.free_since = at;
            let client = at_connection.place.client;
            self.clients[client].route.set_available(connection, true);
            self.made_room(connection, at);
        }
    }

    /// Uses the room that bytes read from `connection` made.
    #[inline(always)]
    fn received(
        &mut self,
        connection: ConnectionId,
        in_flight_before: usize,
        at: Instant,
        woken: Instant,
    ) {
        self.recorder.received(at, woken);
        let at_connection = &self.connections[connection];
        let Place { server, client, .. } = at_connection.place;
        self.recorder.silences.heard(server, at);
        let answered = in_flight_before - at_connection.in_flight();
        let follow_ups = self.outbox.follow_ups.len();
        debug_assert!(follow_ups <= answered, "a second request follows no answer");
        if answered > 0 {
            // Only an answer shows that the server serves this connection. A connection that is
            // accepted and dropped again counts as a failure, so that the back-off spares the
            // server.
            let at_connection = &mut self.connections[connection];
            if std::mem::take(&mut at_connection.failures) > 0 {
                let link = Link { connection, server };
                self.presence.returned(link, at, &mut self.recorder.tally.absences);
            }
            self.presence.disconnected_since = None;
        }
        self.outbox.connection = connection;
        let mut freed = answered;
        for nth in 0..self.outbox.follow_ups.len() {
            let follow_up = self.outbox.follow_ups[nth];
            // An operation that continues keeps its place.
            freed -= usize::from(self.follow_up(connection, &follow_up, at));
        }
        self.outbox.follow_ups.clear();
        if answered > 0 {
            self.clients[client].route.free(connection, freed as u32);
            if !self.facts.pause.is_zero() {
                self.rest(connection, at);
            }
            self.made_room(connection, at);
        }
        self.export();
    }

    /// Does what follows an answer; true if the operation continues.
    fn follow_up(&mut self, connection: ConnectionId, follow_up: &FollowUp, at: Instant) -> bool {
        let entry = &follow_up.entry;
        match entry.kind.action() {
            Action::Peek => {
                let server = self.connections[connection].place.server;
                self.dialect.remember(server, entry.key, follow_up.unique);
                false
            }
            Action::Recache if self.facts.recache_time != TimeLaw::ZERO => {
                let seed = hash(self.facts.seed, Stream::RECACHE, entry.index);
                let due = at + self.facts.recache_time.at(unit(seed));
                self.connections[connection].hold(due, *follow_up);
                // Under churn its deadline ends the connection; a timer behind that would stay.
                if self.churn.is_none() || due < entry.intended + self.facts.timeout {
                    self.agenda.arm(due, Timer::Held(connection));
                }
                self.arm_deadline(connection, entry.intended + self.facts.timeout);
                true
            }
            _ => self.second_request(connection, follow_up, at),
        }
    }

    /// Gathers the second request of an operation for the outbox's connection; false if it is too
    /// long to be sent, which ends the operation.
    fn second_request(
        &mut self,
        connection: ConnectionId,
        follow_up: &FollowUp,
        at: Instant,
    ) -> bool {
        let entry = follow_up.entry;
        let at_connection = &mut self.connections[connection];
        let Place { server, .. } = at_connection.place;
        let verifier = self.verifier.as_ref();
        let version = verifier.and_then(|v| v.announce_write(server, entry.kind, entry.key));
        let out = &mut self.outbox.out;
        let Ok(bytes) = at_connection.follow_up(follow_up, &self.dialect, version, out) else {
            self.recorder.in_flight -= 1;
            self.refuse(connection, &entry, at);
            return false;
        };
        self.recorder.followed_up(entry.segment, server, bytes);
        true
    }

    /// Sends the second requests of operations that `connection` held until `now`. One that has
    /// timed out meanwhile leaves.
    #[cold]
    pub(super) fn release(&mut self, connection: ConnectionId, now: Instant) {
        self.flush();
        self.outbox.connection = connection;
        let mut freed = 0;
        while let Some(follow_up) = self.connections[connection].release(now) {
            if follow_up.entry.stage.is_expired() {
                let server = self.connections[connection].place.server;
                self.recorder.left(server, 1, Instant::NEVER);
                freed += 1;
            } else if !self.second_request(connection, &follow_up, now) {
                freed += 1;
            } else {
                self.arm_deadline(connection, follow_up.entry.intended + self.facts.timeout);
            }
        }
        self.flush();
        if freed > 0 {
            let at_connection = &mut self.connections[connection];
            at_connection.free_since = now;
            self.clients[at_connection.place.client].route.free(connection, freed);
            self.made_room(connection, now);
        }
    }

    /// Closes `connection`, on which the server broke the protocol: later replies could not be
    /// matched to operations.
    fn broken(
        &mut self,
        connection: ConnectionId,
        in_flight_before: usize,
        at: Instant,
        why: Closed,
    ) {
        let at_connection = &self.connections[connection];
        let freed = (in_flight_before - at_connection.in_flight()) as u32;
        self.clients[at_connection.place.client].route.free(connection, freed);
        let parts = (&mut self.clients, &mut self.recorder, &mut self.verifier);
        let (_, mut sink) = sink_of(&mut self.connections, parts, connection);
        for follow_up in self.outbox.follow_ups.drain(..) {
            if follow_up.entry.kind.does(Action::Peek) {
                continue; // It has ended.
            }
            sink.settle(&follow_up.entry, Ending::unanswered(Fate::Lost));
        }
        self.close(connection);
        self.lost(connection, at, why);
    }

    pub(super) fn export(&mut self) {
        for sample in self.recorder.samples.drain(..) {
            if self.driver.export(sample).is_err() {
                self.recorder.tally.samples_lost += 1;
            }
        }
    }

    pub(super) fn connect(&mut self, connection: ConnectionId, now: Instant) {
        if self.course.stage >= Stage::Draining {
            return;
        }
        let at_connection = &mut self.connections[connection];
        let addresses = self.facts.addresses(&at_connection.place);
        let address = &addresses[at_connection.failures as usize % addresses.len()];
        let sources = &self.facts.sources;
        let source = match sources.len() {
            0 => None,
            count => Some(sources[at_connection.place.number as usize % count]),
        };
        at_connection.open(now);
        let sockets = self.facts.sockets;
        self.driver.connect(connection, address, source, sockets);
        self.arm_deadline(connection, now + self.facts.timeout);
    }

    /// Handles an established connection, which is open unless it authenticates first.
    fn reached(&mut self, connection: ConnectionId, at: Instant) {
        self.connection_established(connection, at);
        self.outbox.connection = connection;
        let at_connection = &mut self.connections[connection];
        if at_connection.handle_connected(at, &self.dialect, &mut self.outbox.out) {
            return self.connected(connection, at);
        }
        self.speak(connection);
        self.arm_deadline(connection, at + self.facts.timeout);
    }

    /// Sends a connection's own bytes, such as its authentication, and the requests gathered for
    /// it.
    fn speak(&mut self, connection: ConnectionId) {
        if self.outbox.connection != connection {
            self.flush();
            self.outbox.connection = connection;
        }
        self.transmit();
    }

    /// Handles the end of a greeting. The last bytes of a handshake go with the first requests, in
    /// one call.
    fn welcomed(&mut self, connection: ConnectionId, at: Instant) {
        self.connected(connection, at);
        self.speak(connection);
    }

    fn rejected(&mut self, connection: ConnectionId, at: Instant, rejection: Rejection) {
        let what = match rejection {
            Rejection::Credentials(error) => TroubleKind::Connect(error),
            Rejection::Broken(closed) => TroubleKind::Closed(closed),
        };
        self.close(connection);
        self.connect_failed(connection, at, what);
    }

    fn connected(&mut self, connection: ConnectionId, at: Instant) {
        let at_connection = &mut self.connections[connection];
        at_connection.opened(at);
        let Place { server, client, .. } = at_connection.place;
        let handshake = at_connection.link().handshake();
        self.recorder.connected(server, handshake);
        let over_datagrams = self.connections[connection].is_over_datagrams();
        let absences = self.churn.is_none().then_some(&mut self.recorder.tally.absences);
        self.presence.opened(Link { connection, server }, at, over_datagrams, absences);
        let all = self.presence.open as usize == self.connections.len();
        if self.course.stage == Stage::Opening && all {
            self.course.stage = Stage::Ready;
        }
        self.clients[client].route.opened(connection);
        if self.churn.is_some() {
            self.connection_opened(connection, at);
            return self.serve(client, at);
        }
        self.made_room(connection, at);
    }

    fn connect_failed(&mut self, connection: ConnectionId, at: Instant, what: TroubleKind) {
        let at_connection = &mut self.connections[connection];
        at_connection.reset();
        at_connection.failures += 1;
        let server = at_connection.place.server;
        let addresses = self.facts.addresses(&at_connection.place).len();
        let tried_all = at_connection.failures as usize >= addresses;
        self.recorder.connect_failed(server, at);
        if tried_all {
            self.presence.trouble = Some(Trouble { server, at, what });
            if self.churn.is_some() {
                return self.end_connection(connection, at, failed_as(what));
            }
            self.retry(connection, at);
        } else {
            self.connect(connection, at);
        }
    }

    /// Handles the loss of an open connection and of the operations on it.
    fn lost(&mut self, connection: ConnectionId, at: Instant, why: Closed) {
        let at_connection = &mut self.connections[connection];
        match at_connection.state() {
            State::Open => {}
            State::Greeting(_) => {
                return self.connect_failed(connection, at, TroubleKind::Closed(why));
            }
            State::Opening(_) | State::Closed => {
                let what = TroubleKind::Connect(ConnectError::Refused);
                return self.connect_failed(connection, at, what);
            }
        }
        let Place { server, client, .. } = at_connection.place;
        if self.churn.is_some() {
            self.recorder.connection_lost(server, at, why);
            self.presence.trouble = Some(Trouble { server, at, what: TroubleKind::Closed(why) });
            return self.end_connection(connection, at, lost_as(why));
        }
        let carried = at_connection.in_flight() as u32;
        let route = &mut self.clients[client].route;
        route.gone(connection);
        route.free(connection, carried);
        let parts = (&mut self.clients, &mut self.recorder, &mut self.verifier);
        let (at_connection, mut sink) = sink_of(&mut self.connections, parts, connection);
        at_connection.handle_closed(Fate::Lost, &mut sink);
        at_connection.failures += 1;
        // A UDP socket opens even if no server listens.
        let unheard = at_connection.is_over_datagrams();
        if let Some(verifier) = &mut self.verifier {
            verifier.forget(connection);
        }
        assert!(self.outbox.out.is_empty(), "nothing is gathered while completions are taken");
        self.recorder.connection_lost(server, at, why);
        self.presence.lost(
            Link { connection, server },
            at,
            unheard,
            &mut self.recorder.tally.absences,
        );
        self.presence.trouble = Some(Trouble { server, at, what: TroubleKind::Closed(why) });
        self.export();
        self.made_room_elsewhere(client, at);
        self.retry(connection, at);
    }

    /// If a client with several connections has nothing outstanding, lets another connection take
    /// its next operation when the last one is lost or cannot be written to.
    fn made_room_elsewhere(&mut self, client: ClientId, at: Instant) {
        let route = &self.clients[client].route;
        if route.is_single()
            && let Some(other) = route.pick()
        {
            self.made_room(other, at);
        }
    }

    /// Schedules the next connect, if the plan reconnects: the wait doubles, with jitter so that
    /// connections lost together do not reconnect together.
    fn retry(&mut self, connection: ConnectionId, at: Instant) {
        let Reconnect::After(Backoff { first, longest }) = self.facts.reconnect else { return };
        let failures = self.connections[connection].failures;
        let doubled = (first * (1u64 << failures.saturating_sub(1).min(20))).min(longest);
        let lane = u64::from(self.connections[connection].place.number);
        let jitter = Random::at(self.facts.seed, Stream::RECONNECT.of_lane(lane), at.ns()).unit();
        let delay = Span::from_s_f64(doubled.as_s_f64() * (0.5 + jitter / 2.0));
        self.agenda.arm(at + delay, Timer::Reconnect(connection));
    }

    pub(super) fn close(&mut self, connection: ConnectionId) {
        self.take_leave(connection);
        self.driver.close(connection, self.linger());
    }

    fn linger(&self) -> Option<Span> {
        self.churn.as_ref().and_then(|churn| churn.linger)
    }

    /// Sends the last bytes of a filter, whose connection is about to be closed, before the
    /// connection forgets its state.
    pub(super) fn take_leave(&mut self, connection: ConnectionId) {
        if self.linger() == Some(Span::ZERO) {
            return; // A reset has no last words.
        }
        let out = &mut self.outbox.out.bytes;
        let before = out.len();
        self.connections[connection].link().poll_close(out);
        if out.len() > before {
            assert_eq!(before, 0, "nothing is gathered while a connection is closed");
            self.driver.send(connection, out.message());
            out.clear();
        }
    }

    /// Abandons all operations in flight and closes all connections.
    pub(super) fn finish(&mut self) {
        self.recorder.end_silences(&self.driver, self.driver.now());
        if self.churn.is_some() {
            self.abandon_connections(self.driver.now());
        }
        for number in self.connections.ids() {
            self.take_leave(number);
            let parts = (&mut self.clients, &mut self.recorder, &mut self.verifier);
            let (connection, mut sink) = sink_of(&mut self.connections, parts, number);
            connection.handle_closed(Fate::Abandoned, &mut sink);
            self.close(number);
            self.export();
        }
        if self.course.is_cut_off() {
            let until = self.course.offer.end;
            self.end_backlog(BacklogEnd { until, is_cut_off: true });
        }
        debug_assert_eq!(self.agenda.blocked, 0, "a client waits for room after the end");
        self.presence.finish(&mut self.recorder.tally.absences);
        self.course.stage = Stage::Finished;
        let open = (self.recorder.in_flight, self.recorder.measured_open);
        assert_eq!(open, (0, 0), "every operation ends once (in flight, measured)");
    }

    /// Handles operations on `connection` that timed out and whose answers are not awaited any
    /// more.
    #[cold]
    fn gave_up(&mut self, connection: ConnectionId, freed: u32, now: Instant) {
        if let Some(verifier) = &mut self.verifier {
            verifier.forget(connection);
        }
        let client = self.connections[connection].place.client;
        self.clients[client].route.free(connection, freed);
        self.made_room(connection, now);
        self.made_room_elsewhere(client, now);
    }

    /// Times out overdue operations, or the connect, of `connection`.
    pub(super) fn check_deadlines(&mut self, connection: ConnectionId, now: Instant) {
        // After a pause of the worker, a request can be made and overdue in one turn: it is sent,
        // and counts as sent, before it times out.
        self.flush();
        let at_connection = &mut self.connections[connection];
        at_connection.deadline_armed = Instant::NEVER;
        match at_connection.state() {
            State::Closed => {}
            State::Opening(since) | State::Greeting(since) if since + self.facts.timeout <= now => {
                let why = at_connection.link().handle_timeout();
                self.close(connection);
                let what = TroubleKind::Connect(why);
                self.connect_failed(connection, now, what);
            }
            State::Opening(since) | State::Greeting(since) => {
                self.arm_deadline(connection, since + self.facts.timeout)
            }
            State::Open => {
                let parts = (&mut self.clients, &mut self.recorder, &mut self.verifier);
                let (at_connection, mut sink) = sink_of(&mut self.connections, parts, connection);
                let before = at_connection.in_flight();
                let next = at_connection.handle_timeout(now, self.facts.timeout, &mut sink);
                let freed = (before - at_connection.in_flight()) as u32;
                let expired = self.churn.is_some() && at_connection.has_expired();
                self.arm_deadline(connection, next);
                self.export();
                if expired {
                    // As an impatient client would.
                    self.end_connection(connection, now, ChurnFate::CallTimedOut);
                } else if freed > 0 {
                    self.gave_up(connection, freed, now);
                }
            }
        }
    }
}
