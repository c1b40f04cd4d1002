//! One worker: the loop over clients, and the only loop there is.
//!
//! A turn sends due operations, waits for the next instant or event, and takes completions. Room
//! freed by a reply is used before the next reply is handled, so that no operation waits for the
//! end of a batch.

mod peers;
mod sending;
mod copies;
mod cutoff;
mod churn;
mod outbox;
mod sink;
mod verifier;
mod course;
mod presence;
mod agenda;

use crate::client::Client;
use crate::connection::Connection;
use crate::dialect::Dialect;
use crate::pacer::IdleClock;
use crate::recorder::{MeasuredWindow, Recorder};
use agenda::{Agenda, Timer};
use churn::Churn;
use copies::JoinedSource;
use course::Course;
use memtide_base::{ClientId, ConnectionId, Id, Instant, ServerId, Span, Table};
use memtide_metrics::Tally;
use memtide_workload::{Source, TimeLaw};
use memtide_world::driver::{Address, Driver, DriverError, SocketOptions};
use memtide_world::fleet::{Stage, WorkerReport};
use memtide_world::plan::{
    ChurnPlan, Clients, OnFull, Pacing, Place, Plan, RateUnit, Reconnect, Transport,
};
use outbox::Outbox;
use presence::Presence;
use std::net::IpAddr;
use verifier::Verifier;

/// Operations made in a row before completions are looked at again.
const BATCH_MAX: usize = 32;
/// Under connection churn, how long after the window measured connections may end by themselves.
const CHURN_GRACE: Span = Span::from_s(1);

/// A worker in the world of `D`, making load from `S`.
pub struct Worker<D, S> {
    driver: D,
    clients: Table<ClientId, Client<JoinedSource<S>>>,
    connections: Table<ConnectionId, Connection>,
    agenda: Agenda,
    dialect: Dialect,
    outbox: Outbox,
    recorder: Recorder,
    /// The churn of its connections, if they are the load.
    churn: Option<Box<Churn>>,
    presence: Presence,
    verifier: Option<Verifier>,
    idle: IdleClock,
    course: Course,
    facts: Facts,
}

/// A worker's copy of facts from its plan.
struct Facts {
    /// The servers' addresses for streams, and for datagrams.
    addresses: [Table<ServerId, Vec<Address>>; 2],
    sources: Vec<IpAddr>,
    sockets: SocketOptions,
    timeout: Span,
    reconnect: Reconnect,
    seed: u64,
    on_full: OnFull,
    pause: Span,
    recache_time: TimeLaw,
    /// True if operations that take one connection one after the other can be made together.
    makes_runs: bool,
}

impl Facts {
    fn new(plan: &Plan) -> Self {
        let least = plan.least_transport();
        Self {
            addresses: [Transport::Stream, least].map(|transport| {
                let each = plan.servers.iter().map(|server| {
                    server.addresses.iter().map(|address| transport.address(address)).collect()
                });
                each.collect()
            }),
            sources: plan.sources.clone(),
            sockets: plan.sockets,
            timeout: plan.timeout,
            reconnect: plan.reconnect,
            seed: plan.seed,
            on_full: match plan.pacing {
                Pacing::Closed => OnFull::Queue,
                Pacing::Open { on_full, .. } | Pacing::Churn(ChurnPlan { on_full, .. }) => on_full,
            },
            pause: plan.pause,
            recache_time: plan.requests.recache_time,
            makes_runs: plan.depth > 1
                && matches!((&plan.pacing, &plan.clients), (Pacing::Closed, Clients::Workers))
                && (plan.unit, least) == (RateUnit::Operations, Transport::Stream)
                && !(plan.requests.noreply || plan.verify.is_some() || plan.message_sizes),
        }
    }

    /// The addresses of a connection's server, in the order in which they are tried.
    fn addresses(&self, place: &Place) -> &[Address] {
        let [streams, datagrams] = &self.addresses;
        match place.transport {
            Transport::Stream => &streams[place.server],
            Transport::Datagrams { .. } => &datagrams[place.server],
        }
    }
}

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// Worker number `worker` of `plan`. All memory that the run needs is allocated here.
    pub fn new(driver: D, plan: &Plan, worker: u16, source: &S) -> Self {
        assert!(worker < plan.workers, "worker {worker} is one of {}", plan.workers);
        let clients = plan
            .seats(worker)
            .map(|seat| Client::new(plan, &seat, JoinedSource::new(source.of_client(seat.number))));
        let clients: Table<_, _> = clients.collect();
        let places = plan.places(worker);
        let seated: u32 = plan.seats(worker).map(|seat| seat.count).sum();
        assert_eq!(seated as usize, places.len(), "each connection has one client");
        let dialect = Dialect::new(plan);
        let held = if plan.holds() { places.len() * plan.depth as usize } else { 0 };
        let connections = places.iter().map(|place| Connection::new(plan, &dialect, *place));
        Self {
            agenda: Agenda::new(clients.len(), places.len(), held),
            outbox: Outbox::new(plan),
            recorder: Recorder::new(plan),
            churn: Churn::new(plan, worker),
            presence: Presence::new(plan, &places),
            verifier: Verifier::new(plan, places.len()),
            idle: IdleClock::new(plan.timeout),
            course: Course::new(plan),
            facts: Facts::new(plan),
            connections: connections.collect(),
            driver,
            clients,
            dialect,
        }
    }

    /// Begins to open all connections; does nothing under connection churn.
    pub fn open(&mut self) {
        while self.open_more(u32::MAX) {}
    }

    /// Begins to open up to `count` more connections. True while some are left: a world that opens
    /// thousands of them handles events of those that are open in between.
    pub fn open_more(&mut self, count: u32) -> bool {
        if self.churn.is_some() {
            self.course.stage = Stage::Ready;
            return false;
        }
        let now = self.driver.now();
        let next = self.presence.begin(count as usize);
        let begun = next.end;
        next.map(ConnectionId::at).for_each(|connection| self.connect(connection, now));
        begun < self.connections.len()
    }

    /// Starts the schedules at `start`.
    pub fn begin(&mut self, plan: &Plan, start: Instant) {
        self.course.begin(plan, start);
        self.recorder.begin(start);
        self.follow_window(start);
        if self.churn.is_some() {
            self.agenda.arm(start, Timer::Opening);
            return;
        }
        for client in self.clients.ids() {
            self.schedule(client, start);
        }
    }

    /// Ends the offer with the measured window, once the window is known.
    fn follow_window(&mut self, now: Instant) {
        if self.course.knows_window {
            return;
        }
        let window = self.recorder.measured_window(now).filter(|window| window.knows_end);
        let Some(window) = window else { return };
        self.course.ends_with_window(window.end);
        if self.course.offer.stop != Instant::NEVER {
            self.agenda.arm(self.course.offer.stop, Timer::WindowEnd);
        }
    }

    /// The measured window, once its beginning is known.
    pub fn measured_window(&mut self) -> Option<MeasuredWindow> {
        let now = self.driver.now();
        self.recorder.measured_window(now)
    }

    /// Stops at `at`, or at once if that is past: makes no more operations, and waits up to `grace`
    /// for those in flight.
    pub fn stop(&mut self, at: Instant, grace: Span) {
        self.course.grace = grace;
        let now = self.driver.now();
        if at > now {
            return self.agenda.arm(at, Timer::Stop);
        }
        self.stop_now(now);
    }

    /// One turn: sends due operations, waits, and takes completions. Returns the instant at which
    /// the wait ended.
    pub fn turn(&mut self) -> Result<Instant, DriverError> {
        let Some(until) = self.prepare() else { return Ok(self.driver.now()) };
        self.driver.wait(until)?;
        Ok(self.resume(until))
    }

    /// The first half of a turn, up to its wait: sends due operations. Returns the instant until
    /// which to wait; `None` if the worker has finished. A world that cannot wait within a call
    /// waits between the two halves.
    pub fn prepare(&mut self) -> Option<Instant> {
        let now = self.driver.now();
        self.outbox.fresh = Some(now);
        debug_assert!(now >= self.idle.waits_from, "the worker's clock went back");
        self.follow_window(now);
        let acted = self.run_due(now);
        self.outbox.fresh = None;
        let course = &self.course;
        if course.stage == Stage::Draining && (self.is_drained() || now >= course.drain_until) {
            self.finish();
            return None;
        }
        let waits_from = if acted { self.driver.now() } else { now };
        self.idle.waits_from = waits_from;
        self.recorder.looks.wait_begins(&self.driver);
        Some(self.agenda.wake_at(waits_from).min(self.course.drain_until))
    }

    /// The second half of a turn, after a wait that should have ended by `until`: takes
    /// completions. Returns the instant at which the wait ended.
    pub fn resume(&mut self, until: Instant) -> Instant {
        let woken = self.driver.now();
        debug_assert!(woken >= self.idle.waits_from, "the worker's clock went back");
        self.follow_window(woken);
        let waits_from = self.idle.waits_from;
        self.recorder.looks.wait_ends(&self.driver, waits_from, until, woken);
        if self.recorder.silences.is_due(woken) {
            self.recorder.look_for_silence(&self.driver, waits_from, woken);
        }
        let idle_until = woken.min(until);
        self.account_wait(idle_until, woken);
        let completed = self.take_completions(woken);
        if !completed && !self.agenda.is_due(woken) {
            // It woke late, but no operation was due.
            self.idle.credit(woken.since(idle_until), self.is_connected());
            self.recorder.idled(idle_until, woken);
        }
        woken
    }

    /// How far it has come.
    pub fn stage(&self) -> Stage {
        self.course.stage
    }

    /// True if there is nothing more to do.
    pub fn is_finished(&self) -> bool {
        self.course.stage == Stage::Finished
    }

    /// The tally since the last hand-over; a world replaces it by an empty one.
    pub fn tally_mut(&mut self) -> &mut Box<Tally> {
        self.recorder.tally_mut()
    }

    /// The tally since the last hand-over, of a worker that has finished.
    pub fn into_tally(mut self) -> Box<Tally> {
        debug_assert!(self.is_finished(), "nothing more is counted");
        self.recorder.tally_mut();
        self.recorder.tally
    }

    /// The worker's present state.
    pub fn report(&self) -> WorkerReport {
        let now = self.driver.now();
        let due = self.clients.iter().filter_map(|client| client.due(&self.course.offer, now));
        let oldest_due = due.map(|(_, at)| at).min();
        let clients_past = self.clients.iter().all(|client| {
            client.due(&self.course.offer, now).is_none_or(|(_, at)| self.recorder.is_past(at))
        });
        let openings_past = self.churn.as_ref().is_none_or(|churn| {
            churn.due(&self.course.offer, now).is_none_or(|(_, at)| self.recorder.is_past(at))
        });
        let stage = self.course.stage;
        let over = stage >= Stage::Draining || (openings_past && clients_past);
        WorkerReport {
            at: now,
            stage,
            measured_done: stage >= Stage::Running
                && over
                && self.recorder.measured_open == 0
                && (self.recorder.churn_open == 0 || self.recorder.is_past(now - CHURN_GRACE)),
            is_used_up: self.is_used_up(),
            connections_open: self.presence.open,
            in_flight: self.recorder.in_flight,
            oldest_due: oldest_due.filter(|at| stage == Stage::Running && *at < now),
            disconnected_since: self.presence.disconnected_since,
            trouble: self.presence.trouble,
            refusal: self.recorder.refusal,
            last_settled: self.recorder.last_settled,
            last_intended: self.recorder.last_intended,
            concurrent_max: self.churn.as_ref().map_or(0, |churn| churn.most),
            last_started: self.recorder.last_started,
            idle: self.recorder.idle,
            cpu: None,
            run_delay: None,
            stopped: Span::ZERO,
            stopped_longest: Span::ZERO,
        }
    }

    /// True if its load runs and nothing more will be measured: the window is over, or a fixed
    /// number of operations has ended. Cheap before that, so that it can be asked after each turn.
    pub fn is_through(&self) -> bool {
        let past = self.recorder.is_past(self.driver.now());
        let counted = self.recorder.in_flight == 0 && self.course.offer.ops_end != u64::MAX;
        self.course.stage == Stage::Running
            && (past || counted && self.is_used_up())
            && self.report().measured_done
    }

    /// True if a fixed number of operations or connections, and not time, has ended its offer.
    fn is_used_up(&self) -> bool {
        match &self.churn {
            Some(churn) => churn.is_used_up(),
            None => self.clients.iter().all(|client| client.is_used_up(&self.course.offer)),
        }
    }

    /// True if nothing is in flight, not even a request without a reply.
    fn is_drained(&self) -> bool {
        self.recorder.in_flight == 0 && !self.driver.has_unsent()
    }

    /// True if a connection is open. Always true under connection churn, where an operation exists
    /// only once its connection is open.
    fn is_connected(&self) -> bool {
        self.presence.open > 0 || self.churn.is_some()
    }

    /// Records a wait: the worker was idle until `until` at most (it should have been awake later)
    /// and is awake at `woken`.
    fn account_wait(&mut self, until: Instant, woken: Instant) {
        let connected = self.is_connected();
        let from = self.idle.waits_from;
        self.idle.idled(from, until, connected);
        self.idle.busy(woken, connected);
        // An early stop ends the window; nothing counts as busy while the rest drains.
        if self.course.stage == Stage::Running {
            self.recorder.idled(from, until);
            self.recorder.woke(woken);
        }
    }
}
