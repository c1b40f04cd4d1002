//! The half of a worker that makes operations: what is due, on which connection, and what becomes
//! of an operation that finds no room.

use super::timers::Timer;
use super::{BATCH_MAX, Desk, Worker, connection_number};
use crate::client::gives_up;
use crate::connection::{Ending, InFlight, InFlightStage, Sink};
use crate::driver::{Driver, Submission, Submitted};
use crate::fleet::Stage;
use memtide_base::{ConnectionId, Instant, Span};
use memtide_metrics::Fate;
use memtide_workload::{Next, Op, OpKind, Outcome, Source};
use std::cmp::Reverse;

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// Fires timers and serves clients that are due at `now`; says whether there were any.
    pub(super) fn run_due(&mut self, now: Instant) -> bool {
        let mut acted = false;
        while let Some(timer) = self.timers.fire(now) {
            acted = true;
            match timer {
                Timer::Deadline(connection) => self.check_deadlines(connection, now),
                Timer::Birth => self.birth_due(now),
                Timer::BirthDeadline => self.birth_overdue(now),
                Timer::Reconnect(connection) => self.connect(connection, now),
                Timer::WindowEnd => self.end_window(),
                Timer::Rest(connection) => {
                    self.rested(connection, now);
                    self.look_at_life(connection, now);
                }
                Timer::Queue(client) => {
                    self.clients[client as usize].queue_armed = Instant::NEVER;
                    if self.clients[client as usize].blocked {
                        self.serve(client, now);
                        self.look_at_life(client, now);
                    }
                }
            }
        }
        self.flush();
        acted | self.serve_agenda(now)
    }

    pub(super) fn serve_agenda(&mut self, now: Instant) -> bool {
        // Each client is served at most once, so that one that is far behind cannot keep the
        // worker from its completions.
        let mut turns = self.agenda.len();
        let mut acted = false;
        while turns > 0 && self.agenda.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            let Reverse((_, client)) = self.agenda.pop().expect("it was peeked at");
            self.clients[client as usize].scheduled = false;
            self.serve(client, now);
            self.look_at_life(client, now);
            turns -= 1;
            acted = true;
        }
        if acted {
            self.flush();
        }
        acted
    }

    /// Makes operations of `client` that are due, as far as there is room.
    pub(super) fn serve(&mut self, client: u32, now: Instant) {
        if now >= self.offer.stop {
            return;
        }
        for _ in 0..BATCH_MAX {
            let at_client = &self.clients[client as usize];
            let connection = at_client.route.pick();
            let closed = at_client.is_closed();
            let free_since = match connection {
                Some(connection) => {
                    self.connections[connection as usize].free_since.max(at_client.free_since)
                }
                None if closed => return,
                None => now,
            };
            let Some((index, at)) = at_client.due(&self.offer, free_since) else {
                self.unblock(client);
                return;
            };
            if at > now {
                self.unblock(client);
                self.schedule(client, at);
                return;
            }
            let expired = !closed && at + self.facts.timeout <= now;
            match connection {
                _ if expired => self.settle_unsent(client, index, at, Fate::TimedOut),
                Some(connection) => self.issue(client, connection, (index, at), now),
                None if self.gives_up(client, at, now) => {
                    self.settle_unsent(client, index, at, Fate::Dropped);
                }
                None => {
                    self.block(client, at);
                    return;
                }
            }
        }
        // More may be due, but completions must not wait for it.
        self.unblock(client);
        self.schedule(client, now);
    }

    /// Whether an operation of `client` that was due `at` and finds no room is dropped.
    fn gives_up(&mut self, client: u32, at: Instant, now: Instant) -> bool {
        let skip_to = &mut self.clients[client as usize].skip_to;
        gives_up(self.facts.on_full, skip_to, at, self.offer.end, now)
    }

    /// Makes one operation and appends its request.
    fn issue(&mut self, client: u32, connection: u32, due: (u64, Instant), now: Instant) {
        let (index, at) = due;
        let at_client = &mut self.clients[client as usize];
        let Next::Op(mut op) = at_client.source.next(index, now) else {
            at_client.done = true;
            return;
        };
        op.keys = at_client.advance(&self.offer, op.keys);
        let ready = at.max(at_client.ready_at);
        if at_client.route.is_grouped() {
            return self.issue_aimed(client, &op, (at, ready), now);
        }
        let entry = self.intend(&op, at, ready);
        self.request(client, connection, entry, now);
    }

    /// `op` is intended at `at` and can be sent since `ready`.
    #[inline(always)]
    pub(super) fn intend(&mut self, op: &Op, at: Instant, ready: Instant) -> InFlight {
        let segment = self.recorder.intended(at);
        let mut generator = Span::ZERO;
        if ready > at {
            let wait = self.idle.divide(at, ready);
            generator = wait.client_busy;
            self.recorder.waited(segment, wait);
        }
        InFlight {
            intended: at,
            sent: ready,
            generator,
            index: op.index,
            key: op.key,
            segment,
            keys: op.keys,
            hits: 0,
            kind: op.kind,
            stage: InFlightStage::begun(self.encoder.is_cas_alone(op.kind)),
        }
    }

    /// Appends the request of `entry` to what goes to `connection`.
    #[inline(always)]
    pub(super) fn request(&mut self, client: u32, connection: u32, entry: InFlight, now: Instant) {
        if self.out_connection != connection || self.out.len() > self.facts.out_bytes_max {
            self.flush();
            self.out_connection = connection;
        }
        let op = entry.op();
        let before = self.out.len();
        if before > 0 {
            // By the time that several requests are made the reading is no longer fresh.
            self.fresh = None;
        }
        let source = &self.clients[client as usize].source;
        let server = self.connections[connection as usize].server;
        let verifier = self.verifier.as_mut();
        let version = verifier.and_then(|v| v.announce((connection, server), &op, source));
        let at_connection = &mut self.connections[connection as usize];
        at_connection.begin_request(&mut self.out);
        let opaque = at_connection.next_opaque();
        self.encoder.request(&op, source, (version, opaque), &mut self.out);
        let bytes = self.out.len() - before;
        if bytes > self.facts.request_bytes_max && self.is_over_datagrams(connection) {
            return self.refuse(connection, &entry, now);
        }
        let at_connection = &mut self.connections[connection as usize];
        // To the server such a cas is a store like any other.
        let is_store = entry.stage == InFlightStage::Alone;
        let kind = if is_store { OpKind::Set } else { op.kind };
        self.recorder.requested(entry.segment, at_connection.server, kind, op.keys, bytes);
        self.recorder.in_flight += 1;
        if self.encoder.is_noreply(op.kind) {
            // It leaves no load behind, but the connection has had its turn.
            let route = &mut self.clients[client as usize].route;
            route.take(connection);
            route.free(connection, 1);
            self.quiet.push(entry);
            if self.quiet.len() == self.quiet.capacity() {
                self.flush();
            }
            return;
        }
        at_connection.issue(entry);
        self.clients[client as usize].route.take(connection);
        self.arm_deadline(connection, entry.intended + self.facts.timeout);
    }

    /// The request of `entry`, which is all that is gathered, is longer than a datagram: it is not
    /// sent.
    #[cold]
    pub(super) fn refuse(&mut self, connection: u32, entry: &InFlight, now: Instant) {
        self.out.clear();
        let at_connection = &self.connections[connection as usize];
        if let Some(verifier) = &mut self.verifier {
            verifier.replied((connection, at_connection.server), entry, Outcome::Failed, now);
        }
        let entry = InFlight { sent: Instant::NEVER, ..*entry };
        let place = (at_connection.server, connection_number(&self.facts, connection));
        self.recorder.settle(&entry, Ending::too_long(), Some(place));
        self.clients[at_connection.client as usize].source.settle(&entry.op(), Outcome::Failed);
    }

    /// Submits what is gathered. The stamp is read just before, unless a receive or a wake-up
    /// has just brought one.
    pub(super) fn flush(&mut self) {
        if self.out.is_empty() {
            return;
        }
        let at = self.fresh.take().unwrap_or_else(|| self.driver.now());
        let number = self.out_connection;
        let connection = &mut self.connections[number as usize];
        let place = (connection.server, connection_number(&self.facts, number));
        let source = &mut self.clients[connection.client as usize].source;
        let verifier = self.verifier.as_mut();
        let mut desk =
            Desk { recorder: &mut self.recorder, source, verifier, connection: number, place };
        connection.mark_sent(at, &mut desk);
        for entry in &mut self.quiet {
            let late = entry.hand_over(at);
            desk.sent(entry, late, 0);
            desk.settle(entry, Ending::unanswered(Fate::Unacknowledged));
        }
        self.quiet.clear();
        let message = self.out.message();
        let send = Submission::Send { connection: ConnectionId(number), message };
        let submitted = self.driver.submit(send).expect("a driver has room for every connection");
        self.out.clear();
        if submitted == Submitted::Pending {
            let connection = &mut self.connections[number as usize];
            connection.writable = false;
            self.clients[connection.client as usize].route.set_available(number, false);
        }
        self.export();
    }

    /// An operation that gets no connection ends as `fate`.
    fn settle_unsent(&mut self, client: u32, index: u64, at: Instant, fate: Fate) {
        if let Some(entry) = self.forgo(client, index, at, fate) {
            self.recorder.settle_unsent(&entry, fate);
        }
    }

    /// The operation of `client` that is due, of which nothing more is made than its entry in the
    /// books: it gets no connection, and ends as `fate`. None if there is none after all.
    pub(super) fn forgo(
        &mut self,
        client: u32,
        index: u64,
        at: Instant,
        fate: Fate,
    ) -> Option<InFlight> {
        let client = &mut self.clients[client as usize];
        let outcome = Ending::unanswered(fate).outcome;
        let Some((kind, keys)) = client.source.forgo(index, at, outcome) else {
            client.done = true;
            return None;
        };
        let keys = client.advance(&self.offer, keys);
        Some(InFlight {
            intended: at,
            sent: Instant::NEVER,
            generator: Span::ZERO,
            index,
            key: 0,
            segment: self.recorder.intended(at),
            keys,
            hits: 0,
            kind,
            stage: InFlightStage::First,
        })
    }

    /// What was due by `now` and was never sent ends as abandoned.
    pub(super) fn abandon_backlog(&mut self, client: usize, now: Instant) {
        if self.clients[client].is_closed() {
            return;
        }
        while let Some((index, at)) = self.clients[client].due(&self.offer, now)
            && at <= now
        {
            self.settle_unsent(client as u32, index, at, Fate::Abandoned);
        }
    }

    /// Puts `client` on the agenda.
    pub(super) fn schedule(&mut self, client: u32, at: Instant) {
        let at_client = &mut self.clients[client as usize];
        if !at_client.scheduled {
            at_client.scheduled = true;
            self.agenda.push(Reverse((at, client)));
        }
    }

    /// `client` has an operation due since `at` and no room for it.
    fn block(&mut self, client: u32, at: Instant) {
        let at_client = &mut self.clients[client as usize];
        if !at_client.blocked {
            at_client.blocked = true;
            self.blocked += 1;
        }
        let deadline = at + self.facts.timeout;
        if deadline < at_client.queue_armed {
            at_client.queue_armed = deadline;
            self.timers.arm(deadline, Timer::Queue(client));
        }
    }

    pub(super) fn unblock(&mut self, client: u32) {
        let client = &mut self.clients[client as usize];
        if client.blocked {
            client.blocked = false;
            self.blocked -= 1;
        }
    }

    /// `connection` has room since `at`: its client may go on.
    pub(super) fn made_room(&mut self, connection: u32, at: Instant) {
        let number = self.connections[connection as usize].client;
        let client = &mut self.clients[number as usize];
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
        } else if client.is_closed() && self.stage == Stage::Running && at >= self.offer.start {
            self.serve(number, at);
        }
    }

    /// An answer came on `connection` at `at`: it is not used until its pause is over.
    pub(super) fn rest(&mut self, connection: u32, at: Instant) {
        let until = at + self.facts.pause;
        let at_connection = &mut self.connections[connection as usize];
        at_connection.rests_until = until;
        self.clients[at_connection.client as usize].route.set_available(connection, false);
        if !std::mem::replace(&mut at_connection.rest_armed, true) {
            self.timers.arm(until, Timer::Rest(connection));
        }
    }

    /// The timer of a pause went off; a later answer may have begun another one.
    fn rested(&mut self, connection: u32, now: Instant) {
        let at_connection = &mut self.connections[connection as usize];
        let until = at_connection.rests_until;
        if until > now {
            self.timers.arm(until, Timer::Rest(connection));
            return;
        }
        at_connection.rest_armed = false;
        if until == Instant::ZERO {
            return; // It was opened anew meanwhile.
        }
        at_connection.rests_until = Instant::ZERO;
        at_connection.free_since = until;
        if at_connection.is_available() {
            let client = at_connection.client;
            self.clients[client as usize].route.set_available(connection, true);
            self.made_room(connection, until);
        }
    }

    pub(super) fn arm_deadline(&mut self, connection: u32, deadline: Instant) {
        let at_connection = &mut self.connections[connection as usize];
        if deadline < at_connection.deadline_armed {
            at_connection.deadline_armed = deadline;
            self.timers.arm(deadline, Timer::Deadline(connection));
        }
    }
}
