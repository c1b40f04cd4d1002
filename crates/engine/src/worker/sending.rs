//! The half of a worker that makes operations: those that are due, their connection, and the fate
//! of those that find no room.

use super::agenda::Timer;
use super::churn::slot_of;
use super::sink::sink_of;
use super::{BATCH_MAX, Worker};
use crate::client::gives_up;
use crate::connection::{Ending, InFlight, InFlightStage, Issued};
use crate::recorder::{Asked, OperationPlace};
use memtide_base::{ClientId, ConnectionId, Instant, Link, Span};
use memtide_metrics::Fate;
use memtide_workload::{Next, Op, OpKind, Outcome, Source};
use memtide_world::driver::{Driver, Submitted};
use memtide_world::fleet::Stage;
use memtide_world::plan::Place;

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// Fires timers and serves clients that are due at `now`; true if there were any.
    pub(super) fn run_due(&mut self, now: Instant) -> bool {
        let mut acted = false;
        while let Some(timer) = self.agenda.fire(now) {
            acted = true;
            match timer {
                Timer::Deadline(connection) => self.check_deadlines(connection, now),
                Timer::Opening => self.opening_due(now),
                Timer::OpeningDeadline => self.opening_overdue(now),
                Timer::Reconnect(connection) => self.connect(connection, now),
                Timer::WindowEnd => self.end_window(),
                Timer::Stop => self.stop_now(now),
                Timer::Held(connection) => self.release(connection, now),
                Timer::Rest(connection) => {
                    self.rested(connection, now);
                    self.end_if_finished(connection, now);
                }
                Timer::Queue(client) => {
                    self.clients[client].queue_armed = Instant::NEVER;
                    if self.clients[client].blocked {
                        self.serve(client, now);
                        self.end_if_finished(slot_of(client), now);
                    }
                }
            }
        }
        self.flush();
        acted | self.serve_agenda(now)
    }

    pub(super) fn serve_agenda(&mut self, now: Instant) -> bool {
        // Each client is served at most once, so that a client far behind its schedule cannot keep
        // the worker from its completions.
        let mut turns = self.agenda.clients();
        let mut acted = false;
        while turns > 0
            && let Some(client) = self.agenda.take_due(now)
        {
            self.clients[client].scheduled = false;
            self.serve(client, now);
            self.end_if_finished(slot_of(client), now);
            turns -= 1;
            acted = true;
        }
        if acted {
            self.flush();
        }
        acted
    }

    /// Makes the operations of `client` that are due, as far as there is room.
    pub(super) fn serve(&mut self, client: ClientId, now: Instant) {
        if now >= self.course.offer.stop {
            return;
        }
        let mut left = BATCH_MAX;
        while left > 0 {
            let at_client = &self.clients[client];
            let connection = at_client.route.pick();
            let closed = at_client.is_closed();
            let free_since = match connection {
                Some(connection) => {
                    self.connections[connection].free_since.max(at_client.free_since)
                }
                None if closed => return,
                None => now,
            };
            let Some((index, at)) = at_client.due(&self.course.offer, free_since) else {
                self.unblock(client);
                return;
            };
            if at > now {
                self.unblock(client);
                self.schedule(client, at);
                return;
            }
            let expired = !closed && at + self.facts.timeout <= now;
            if closed
                && self.facts.makes_runs
                && let Some(connection) = connection
            {
                let run = at_client.route.run(connection, left);
                if run > 1 {
                    left -= self.issue_run(client, connection, at, now, run);
                    continue;
                }
            }
            left -= 1;
            match connection {
                _ if expired => self.expire(client, index, at, now),
                Some(connection) => self.issue(client, connection, index, at, now),
                None if self.gives_up(client, at, now) => {
                    self.settle_unsent(client, index, at, Fate::Dropped);
                }
                None => {
                    self.block(client, at);
                    return;
                }
            }
        }
        // More operations may be due, but completions must not wait for them.
        self.unblock(client);
        self.schedule(client, now);
    }

    /// True if an operation of `client` that was due `at` and finds no room is dropped.
    fn gives_up(&mut self, client: ClientId, at: Instant, now: Instant) -> bool {
        let skip_to = &mut self.clients[client].skip_to;
        gives_up(self.facts.on_full, skip_to, at, self.course.offer.end, now)
    }

    /// Makes one operation and appends its request.
    fn issue(
        &mut self,
        client: ClientId,
        connection: ConnectionId,
        index: u64,
        at: Instant,
        now: Instant,
    ) {
        let at_client = &mut self.clients[client];
        let Next::Op(mut op) = at_client.source.next(index, now) else {
            at_client.done = true;
            return;
        };
        op.keys = at_client.advance(&self.course.offer, op.keys);
        debug_assert!(at <= now, "an operation is made before it is due");
        let ready = at.max(at_client.ready_at);
        if let Some(copies) = at_client.route.aim(&op) {
            return self.issue_aimed(client, &op, copies, at, ready, now);
        }
        let entry = self.intend(&op, at, ready);
        self.request(client, connection, entry, now);
    }

    /// Makes up to `run` operations of a closed loop that are due `at` and that take this
    /// connection one after the other. What they have in common is decided and counted once.
    /// Returns their number; none if the client has no more.
    fn issue_run(
        &mut self,
        client: ClientId,
        connection: ConnectionId,
        at: Instant,
        now: Instant,
        run: usize,
    ) -> usize {
        self.gather_for(connection);
        let segment = self.recorder.segment_due(at);
        let at_client = &mut self.clients[client];
        let at_connection = &mut self.connections[connection];
        let Place { server, .. } = at_connection.place;
        self.dialect.turn_to(server);
        // Once its socket is full, other connections come first.
        let run = if at_connection.writable { run } else { 1 };
        let ready = at.max(at_client.ready_at);
        let wait = (ready > at).then(|| self.idle.divide(at, ready));
        let own = wait.map_or(Span::ZERO, |wait| wait.client_busy);
        let before = self.outbox.out.bytes.len();
        let (mut made, mut asked) = (0, Asked::default());
        while made < run && self.outbox.has_room_for(connection) {
            let Some((index, _)) = at_client.due(&self.course.offer, at) else { break };
            let Next::Op(op) = at_client.source.next(index, now) else {
                at_client.done = true;
                break;
            };
            at_client.advance(&self.course.offer, op.keys);
            let stage = InFlightStage::begun(self.dialect.is_cas_alone(op.kind));
            let entry = InFlight { stage, ..InFlight::of(&op, at, ready, own, segment) };
            let (source, out) = (&at_client.source, &mut self.outbox.out);
            at_connection.carry_out(entry, &self.dialect, source, None, out);
            asked.add(counted_as(&entry), op.keys);
            made += 1;
        }
        if made == 0 {
            return 0;
        }
        at_client.route.take_many(connection, made as u32);
        if before > 0 || made > 1 {
            // By the time that several requests are made, the clock reading is no longer fresh.
            self.outbox.fresh = None;
        }
        let (count, bytes) = (made as u64, self.outbox.out.bytes.len() - before);
        self.recorder.intended_many(at, segment, count);
        if let Some(wait) = wait {
            self.recorder.waited(segment, wait, count);
        }
        self.recorder.requested_many(segment, server, asked, bytes);
        self.recorder.in_flight += count;
        self.arm_deadline(connection, at + self.facts.timeout);
        made
    }

    /// Counts `op` as intended at `at`; it could be sent since `ready`. Returns its entry.
    #[inline(always)]
    pub(super) fn intend(&mut self, op: &Op, at: Instant, ready: Instant) -> InFlight {
        let segment = self.recorder.intended(at);
        let mut own = Span::ZERO;
        if ready > at {
            let wait = self.idle.divide(at, ready);
            own = wait.client_busy;
            self.recorder.waited(segment, wait, 1);
        }
        let stage = InFlightStage::begun(self.dialect.is_cas_alone(op.kind));
        InFlight { stage, ..InFlight::of(op, at, ready, own, segment) }
    }

    /// Appends the request of `entry` to those gathered for `connection`.
    #[inline(always)]
    pub(super) fn request(
        &mut self,
        client: ClientId,
        connection: ConnectionId,
        entry: InFlight,
        now: Instant,
    ) {
        self.gather_for(connection);
        if !self.outbox.out.is_empty() {
            // As in a run of operations.
            self.outbox.fresh = None;
        }
        let op = entry.op();
        let at_connection = &mut self.connections[connection];
        let Place { server, .. } = at_connection.place;
        let client = &mut self.clients[client];
        self.dialect.turn_to(server);
        let verifier = self.verifier.as_mut();
        let version =
            verifier.and_then(|v| v.announce(Link { connection, server }, &op, &client.source));
        let (source, out) = (&client.source, &mut self.outbox.out);
        let issued = at_connection.issue(entry, &self.dialect, source, version, out);
        let Ok(Issued { bytes, awaits_reply }) = issued else {
            return self.refuse(connection, &entry, now);
        };
        self.recorder.requested(entry.segment, server, counted_as(&entry), op.keys, bytes);
        self.recorder.in_flight += 1;
        client.route.take(connection);
        if !awaits_reply {
            // It leaves no operation in flight, but the connection has had its turn: its slot is
            // free again from now on.
            at_connection.free_since = at_connection.free_since.max(now);
            if client.route.is_single() {
                client.free_since = client.free_since.max(now);
            }
            client.route.free(connection, 1);
            if self.outbox.out.is_full() {
                self.flush();
            }
            return;
        }
        self.arm_deadline(connection, entry.intended + self.facts.timeout);
    }

    /// Makes room for a request of `connection`: sends what is gathered for another, or is much.
    #[inline(always)]
    fn gather_for(&mut self, connection: ConnectionId) {
        if !self.outbox.has_room_for(connection) {
            self.flush();
            self.outbox.connection = connection;
        }
    }

    /// Ends `entry`, whose request is longer than any that can be sent.
    #[cold]
    pub(super) fn refuse(&mut self, connection: ConnectionId, entry: &InFlight, now: Instant) {
        let at_connection = &self.connections[connection];
        let Place { server, number, client, .. } = at_connection.place;
        if let Some(verifier) = &mut self.verifier {
            verifier.replied(Link { connection, server }, entry, Outcome::Failed, now);
        }
        let entry = entry.never_sent();
        let place = OperationPlace { server, connection: number };
        self.recorder.settle(&entry, Ending::too_long(), Some(place));
        self.clients[client].source.settle(&entry.op(), Outcome::Failed);
    }

    /// Submits the gathered requests.
    #[inline]
    pub(super) fn flush(&mut self) {
        if !self.outbox.out.is_empty() {
            self.transmit();
        }
    }

    /// Submits the bytes of the connection that gathers. The timestamp is read just before, unless
    /// a receive or a wake-up has just read one.
    pub(super) fn transmit(&mut self) {
        let number = self.outbox.connection;
        let parts = (&mut self.clients, &mut self.recorder, &mut self.verifier);
        let (connection, mut sink) = sink_of(&mut self.connections, parts, number);
        if connection.poll_transmit(&mut self.outbox.out.bytes) {
            // Decrypting and encrypting took time since the reply.
            self.outbox.fresh = None;
        }
        if self.outbox.out.is_empty() {
            return;
        }
        let at = self.outbox.fresh.take().unwrap_or_else(|| self.driver.now());
        connection.mark_sent(at, &mut self.outbox.out, &mut sink);
        let submitted = self.driver.send(number, self.outbox.out.bytes.message());
        self.outbox.out.bytes.clear();
        if submitted == Submitted::Pending {
            let connection = &mut self.connections[number];
            connection.writable = false;
            self.clients[connection.place.client].route.set_available(number, false);
        }
        self.export();
    }

    /// Ends an operation that gets no connection as `fate`.
    fn settle_unsent(&mut self, client: ClientId, index: u64, at: Instant, fate: Fate) {
        if let Some(entry) = self.forgo(client, index, at, fate) {
            self.recorder.settle_unsent(&entry, fate);
        }
    }

    /// Ends the due operation of `client` as `fate`: it is counted and gets no connection. `None`
    /// if none is due.
    pub(super) fn forgo(
        &mut self,
        client: ClientId,
        index: u64,
        at: Instant,
        fate: Fate,
    ) -> Option<InFlight> {
        let client = &mut self.clients[client];
        let outcome = Ending::unanswered(fate).outcome;
        let Some((kind, keys)) = client.source.forgo(index, at, outcome) else {
            client.done = true;
            return None;
        };
        let keys = client.advance(&self.course.offer, keys);
        Some(InFlight {
            intended: at,
            ready_or_sent: Instant::NEVER,
            own_max: Span::ZERO,
            index,
            key: 0,
            segment: self.recorder.intended(at),
            keys,
            hits: 0,
            kind,
            stage: InFlightStage::First,
        })
    }

    /// Puts `client` on the agenda.
    pub(super) fn schedule(&mut self, client: ClientId, at: Instant) {
        let at_client = &mut self.clients[client];
        if !at_client.scheduled {
            at_client.scheduled = true;
            self.agenda.schedule(at, client);
        }
    }

    /// Blocks `client`, which has an operation due since `at` and no room for it.
    fn block(&mut self, client: ClientId, at: Instant) {
        let at_client = &mut self.clients[client];
        if !at_client.blocked {
            at_client.blocked = true;
            self.agenda.blocked += 1;
        }
        let deadline = at + self.facts.timeout;
        if deadline < at_client.queue_armed {
            at_client.queue_armed = deadline;
            self.agenda.arm(deadline, Timer::Queue(client));
        }
    }

    pub(super) fn unblock(&mut self, client: ClientId) {
        let client = &mut self.clients[client];
        if client.blocked {
            client.blocked = false;
            debug_assert!(self.agenda.blocked > 0, "more clients left the queue than entered it");
            self.agenda.blocked -= 1;
        }
    }

    /// Handles room on `connection` since `at`: its client continues.
    pub(super) fn made_room(&mut self, connection: ConnectionId, at: Instant) {
        let number = self.connections[connection].place.client;
        let client = &mut self.clients[number];
        if !client.route.has_room(connection) || client.done {
            return;
        }
        if client.route.is_single() {
            client.free_since = at;
        }
        if client.blocked {
            client.ready_at = at;
            self.unblock(number);
            self.serve(number, at);
        } else if client.is_closed()
            && self.course.stage == Stage::Running
            && at >= self.course.offer.start
        {
            self.serve(number, at);
        }
    }

    /// Begins the pause of `connection` after an answer at `at`.
    pub(super) fn rest(&mut self, connection: ConnectionId, at: Instant) {
        let until = at + self.facts.pause;
        let at_connection = &mut self.connections[connection];
        at_connection.rests_until = until;
        self.clients[at_connection.place.client].route.set_available(connection, false);
        if !std::mem::replace(&mut at_connection.rest_armed, true) {
            self.agenda.arm(until, Timer::Rest(connection));
        }
    }

    /// Handles the timer of a pause; a later answer may have begun another one.
    fn rested(&mut self, connection: ConnectionId, now: Instant) {
        let at_connection = &mut self.connections[connection];
        let until = at_connection.rests_until;
        if until > now {
            self.agenda.arm(until, Timer::Rest(connection));
            return;
        }
        at_connection.rest_armed = false;
        if until == Instant::ZERO {
            return; // It was opened anew meanwhile.
        }
        at_connection.rests_until = Instant::ZERO;
        at_connection.free_since = until;
        if at_connection.is_available() {
            let client = at_connection.place.client;
            self.clients[client].route.set_available(connection, true);
            self.made_room(connection, until);
        }
    }

    pub(super) fn arm_deadline(&mut self, connection: ConnectionId, deadline: Instant) {
        let at_connection = &mut self.connections[connection];
        if deadline < at_connection.deadline_armed {
            at_connection.deadline_armed = deadline;
            self.agenda.arm(deadline, Timer::Deadline(connection));
        }
    }
}

/// The kind that the server counts: to it, a cas without a gets is an ordinary store.
#[inline(always)]
fn counted_as(entry: &InFlight) -> OpKind {
    if entry.stage == InFlightStage::Alone { OpKind::Set } else { entry.kind }
}
