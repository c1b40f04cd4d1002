//! One worker: the loop over clients, and the only loop there is.
//!
//! A turn sends what is due, waits for the next instant or event, and takes what completed. What
//! a reply frees is used at once, before the next reply is looked at, so that no operation waits
//! for the end of a batch.

mod peers;
mod sending;
mod copies;
mod cutoff;
mod lives;
mod presence;
mod timers;
mod verifier;

use crate::client::{Calls, Client, Offer, Pace};
use crate::connection::greeting::greeting;
use crate::connection::{Connection, Ending, FollowUp, InFlight, Sink};
use crate::driver::{Driver, DriverError, Refusal, SPLICE_BYTES_MIN, SendBuffer, SocketPlan};
use crate::encoder::Encoder;
use crate::fleet::{Stage, Trouble, WorkerReport};
use crate::pacer::IdleClock;
use crate::plan::{
    Clients, LifePlan, OnFull, Pacing, Plan, Reach, Reconnect, ServerPlan, Sharing, Transport,
};
use crate::recorder::Recorder;
use crate::route::{Groups, Roles, Route};
use copies::Joint;
use lives::Lives;
use memtide_base::{Instant, ServerId, Span};
use memtide_metrics::{DatagramClass, Tally};
use memtide_workload::schedule::Lane;
use memtide_workload::{Arrival, Outcome, RateCurve, Schedule, Source};
use presence::Presence;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;
use timers::{Timer, Timers};
use verifier::Verifier;

/// Operations made in one go before completions are looked at again.
const BATCH_MAX: usize = 32;
/// Bytes gathered for one connection before they are sent.
const OUT_BYTES_MAX: usize = 64 * 1024;
/// References to values that those bytes can have.
const REFERENCES_MAX: usize = OUT_BYTES_MAX / SPLICE_BYTES_MIN + 1;
/// A wait is cut at this, so that a worker that was stopped meanwhile does not count the stop as
/// idleness, and commands are noticed.
const HEARTBEAT: Span = Span::from_ms(10);
/// The same while operations wait for room, when it decides whose fault the wait is.
const HEARTBEAT_BLOCKED: Span = Span::from_ms(1);

/// So long after the window measured connections may end by themselves, where they are the load.
const LIFE_GRACE: Span = Span::from_s(1);

/// A worker in the world of `D`, making load from `S`.
pub struct Worker<D, S> {
    driver: D,
    clients: Vec<Client<Joint<S>>>,
    connections: Vec<Connection>,
    /// Clients by when they have something due.
    agenda: BinaryHeap<Reverse<(Instant, u32)>>,
    timers: Timers,
    encoder: Encoder,
    recorder: Recorder,
    /// The lives of its connections, if these are the load.
    lives: Option<Box<Lives>>,
    presence: Presence,
    verifier: Option<Verifier>,
    idle: IdleClock,
    facts: Facts,
    offer: Offer,
    stage: Stage,
    /// Requests of `out_connection` that are not submitted yet.
    out: SendBuffer,
    out_connection: u32,
    /// Operations in `out` that get no reply.
    quiet: Vec<InFlight>,
    follow_ups: Vec<FollowUp>,
    /// A reading of the clock that no send has used yet.
    fresh: Option<Instant>,
    /// How many clients are blocked.
    blocked: u32,
    /// How many connections were begun to be opened for the first time.
    connections_begun: u32,
    connections_open: u32,
    disconnected_since: Option<Instant>,
    drain_until: Instant,
    waiting_since: Instant,
    trouble: Option<Trouble>,
}

/// What a worker knows from its plan.
struct Facts {
    worker: u16,
    workers: u16,
    /// At the addresses of streams, and of datagrams.
    servers: [Vec<ServerPlan>; 2],
    sources: Vec<IpAddr>,
    sockets: SocketPlan,
    timeout: Span,
    reconnect: Reconnect,
    seed: u64,
    on_full: OnFull,
    pause: Span,
    /// Bytes gathered for one connection before they are sent: none where each request is a
    /// datagram of its own.
    out_bytes_max: usize,
    /// A request that is longer is not sent.
    request_bytes_max: usize,
    /// What every connection says first; nothing for most.
    greeting: Vec<u8>,
    /// How many connections in a row are of one client that is counted; else 1.
    together: u32,
}

impl<D: Driver, S: Source + Clone> Worker<D, S> {
    /// Worker number `worker` of `plan`. All memory that the run needs is allocated here.
    pub fn new(driver: D, plan: &Plan, worker: u16, source: &S) -> Self {
        let count = plan.connections_of(worker);
        let clients = clients(plan, worker, source);
        let each = clients.first().map_or(1, |client| client.route.connections());
        let client_of = |connection| connection / each;
        let connection = |nth| {
            let (server, protocol) = (plan.server_of(worker, nth), plan.requests.protocol);
            let connection = Connection::new(server, client_of(nth), plan.depth, protocol);
            connection.over(plan.transport_of(nth))
        };
        let connections = (0..count).map(connection).collect::<Vec<_>>();
        let least = plan.least_transport();
        let on_full = match plan.pacing {
            Pacing::Closed => OnFull::Queue,
            Pacing::Open { on_full, .. } | Pacing::Lives(LifePlan { on_full, .. }) => on_full,
        };
        Self {
            agenda: BinaryHeap::with_capacity(clients.len() * 2),
            timers: Timers::with_capacity(connections.len() * 4 + clients.len() * 2 + 1),
            encoder: Encoder::new(plan),
            recorder: Recorder::new(plan),
            lives: Lives::new(plan, worker),
            presence: Presence::new(plan, count),
            verifier: Verifier::new(plan, worker),
            idle: IdleClock::new(plan.timeout),
            offer: Offer::new(plan, Instant::NEVER),
            stage: Stage::Opening,
            out: SendBuffer::with_capacity(2 * OUT_BYTES_MAX, REFERENCES_MAX),
            out_connection: 0,
            quiet: Vec::with_capacity(BATCH_MAX),
            follow_ups: Vec::with_capacity(plan.depth as usize),
            fresh: None,
            blocked: 0,
            connections_begun: 0,
            connections_open: 0,
            disconnected_since: None,
            drain_until: Instant::NEVER,
            waiting_since: Instant::ZERO,
            trouble: None,
            facts: Facts {
                worker,
                workers: plan.workers,
                servers: [Transport::Stream, least].map(|transport| servers(plan, transport)),
                sources: plan.sources.clone(),
                sockets: plan.sockets,
                timeout: plan.timeout,
                reconnect: plan.reconnect,
                seed: plan.seed,
                on_full,
                pause: plan.pause,
                out_bytes_max: least.gathered_bytes_max(OUT_BYTES_MAX),
                request_bytes_max: least.request_bytes_max(),
                together: plan.connections_together(),
                greeting: plan.credentials.as_ref().map_or_else(Vec::new, |credentials| {
                    greeting(plan.requests.protocol, credentials)
                }),
            },
            driver,
            clients,
            connections,
        }
    }

    /// Starts to open the connections, unless these are the load.
    pub fn open(&mut self) {
        while self.open_more(u32::MAX) {}
    }

    /// Starts to open up to `count` connections more. True while some are left: a world that opens
    /// thousands of them looks at those that are open in between.
    pub fn open_more(&mut self, count: u32) -> bool {
        if self.lives.is_some() {
            self.stage = Stage::Ready;
            return false;
        }
        let now = self.driver.now();
        let first = self.connections_begun;
        let end = (self.connections.len() as u32).min(first.saturating_add(count));
        for connection in first..end {
            self.connect(connection, now);
        }
        self.connections_begun = end;
        (end as usize) < self.connections.len()
    }

    /// The schedules start at `start`.
    pub fn begin(&mut self, plan: &Plan, start: Instant) {
        self.offer = Offer::new(plan, start);
        self.recorder.begin(start);
        self.stage = Stage::Running;
        if self.lives.is_some() {
            self.timers.arm(start, Timer::Birth);
            return;
        }
        if self.offer.stop != Instant::NEVER {
            self.timers.arm(self.offer.stop, Timer::WindowEnd);
        }
        for client in 0..self.clients.len() as u32 {
            self.schedule(client, start);
        }
    }

    /// Offers nothing more; what is in flight may end until `grace` from now.
    pub fn stop(&mut self, grace: Span) {
        let now = self.driver.now();
        if self.is_cut_off() {
            // What became of the rest is decided.
            self.drain_until = self.drain_until.min(now + grace);
            self.recorder.awaited_until = self.drain_until;
            return;
        }
        self.stop_births(now);
        for client in 0..self.clients.len() {
            self.abandon_backlog(client, now);
            self.clients[client].done = true;
            self.unblock(client as u32);
        }
        self.agenda.clear();
        self.stage = Stage::Draining;
        self.drain_until = now + grace;
    }

    /// One round: send what is due, wait, take what completed. Returns when the wait ended.
    pub fn turn(&mut self) -> Result<Instant, DriverError> {
        let Some(until) = self.prepare() else { return Ok(self.driver.now()) };
        self.driver.wait(until)?;
        Ok(self.resume(until))
    }

    /// The first half of a turn, up to its wait: sends what is due. Returns until when to wait;
    /// `None` when the worker has finished. A world that cannot wait within a call does so
    /// between the halves.
    pub fn prepare(&mut self) -> Option<Instant> {
        let now = self.driver.now();
        self.fresh = Some(now);
        let acted = self.run_due(now);
        self.fresh = None;
        if self.stage == Stage::Draining && (self.is_drained() || now >= self.drain_until) {
            self.finish();
            return None;
        }
        self.waiting_since = if acted { self.driver.now() } else { now };
        Some(self.wake_at(self.waiting_since))
    }

    /// The second half of a turn, after a wait that should have ended by `until`: takes what
    /// completed. Returns when the wait ended.
    pub fn resume(&mut self, until: Instant) -> Instant {
        let woken = self.driver.now();
        let idle_until = woken.min(until);
        self.account_wait(self.waiting_since, idle_until, woken);
        let completed = self.take_completions(woken);
        let due = self.agenda.peek().is_some_and(|Reverse((at, _))| *at <= woken);
        if !completed && !due && self.timers.next() > woken {
            // It woke late, but there was nothing to be late for.
            self.idle.credit(woken.since(idle_until), self.is_connected());
            self.recorder.idled(idle_until, woken);
        }
        woken
    }

    /// Whether there is nothing more to do.
    pub fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// What was recorded since the last hand-over; a world swaps an empty one in.
    pub fn tally_mut(&mut self) -> &mut Box<Tally> {
        &mut self.recorder.tally
    }

    /// How the worker is.
    pub fn report(&self) -> WorkerReport {
        let now = self.driver.now();
        let past = |client: &Client<Joint<S>>| match client.due(&self.offer, now) {
            Some((_, at)) => self.recorder.is_past(at),
            None => true,
        };
        let births_past = self.lives.as_ref().is_none_or(|lives| {
            lives.due(&self.offer, now).is_none_or(|(_, at)| self.recorder.is_past(at))
        });
        let over = self.stage >= Stage::Draining || (births_past && self.clients.iter().all(past));
        WorkerReport {
            stage: self.stage,
            measured_done: self.stage >= Stage::Running
                && over
                && self.recorder.measured_open == 0
                && (self.recorder.lives_open == 0 || self.recorder.is_past(now - LIFE_GRACE)),
            is_used_up: self.is_used_up(),
            connections_open: self.connections_open,
            disconnected_since: self.disconnected_since,
            trouble: self.trouble,
            refusal: self.recorder.refusal,
            last_settled: self.recorder.last_settled,
            last_intended: self.recorder.last_intended,
            lives_most: self.lives.as_ref().map_or(0, |lives| lives.most),
            last_started: self.recorder.last_started,
            idle: self.recorder.idle,
            cpu: None,
            run_delay: None,
        }
    }

    /// Whether a count, not time, keeps it from making more.
    fn is_used_up(&self) -> bool {
        match &self.lives {
            Some(lives) => lives.is_used_up(),
            None => self.clients.iter().all(|client| client.is_used_up(&self.offer)),
        }
    }

    /// Whether nothing is under way, not even a request without a reply.
    fn is_drained(&self) -> bool {
        self.recorder.in_flight == 0 && !self.driver.has_unsent()
    }

    /// Whether there is somebody to send to; what waits for a connection that is the load is not
    /// an operation yet.
    fn is_connected(&self) -> bool {
        self.connections_open > 0 || self.lives.is_some()
    }

    fn wake_at(&self, now: Instant) -> Instant {
        let due = self.agenda.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at);
        let heartbeat = if self.blocked > 0 { HEARTBEAT_BLOCKED } else { HEARTBEAT };
        due.min(self.timers.next()).min(self.drain_until).min(now + heartbeat)
    }

    /// The worker waited from `from`; it was idle to `until` at most (later it should have been
    /// awake) and is awake at `woken`.
    fn account_wait(&mut self, from: Instant, until: Instant, woken: Instant) {
        let connected = self.is_connected();
        self.idle.idled(from, until, connected);
        self.idle.busy(woken, connected);
        // An early stop ends the window, and nobody is busy while the rest drains.
        if self.stage == Stage::Running {
            self.recorder.idled(from, until);
        }
    }
}

/// The servers, at the addresses to which connections over `transport` are made.
fn servers(plan: &Plan, transport: Transport) -> Vec<ServerPlan> {
    let address = |server: &ServerPlan| ServerPlan {
        name: server.name.clone(),
        addresses: server.addresses.iter().map(|address| transport.address(address)).collect(),
    };
    plan.servers.iter().map(address).collect()
}

/// The clients of one worker: one for all its connections, or one for each, or as many as are
/// counted.
fn clients<S: Source + Clone>(plan: &Plan, worker: u16, source: &S) -> Vec<Client<Joint<S>>> {
    let count = plan.connections_of(worker);
    let client = |number, route, pace| Client {
        source: Joint::new(source.of_client(number)),
        route,
        pace,
        scheduled: false,
        blocked: false,
        queue_armed: Instant::NEVER,
        ready_at: Instant::ZERO,
        free_since: Instant::ZERO,
        skip_to: Instant::ZERO,
        done: false,
    };
    let schedule = |arrival: &Arrival, curve: &RateCurve, lane| {
        Pace::Open(Schedule::new(*arrival, curve.clone(), plan.seed, lane))
    };
    let number = u32::from(worker);
    let all = || Route::new(0, count, plan.depth).refilled(plan.refill);
    if let Clients::Counted { count: clients, connections, .. } = plan.clients {
        let pace = |index| match &plan.pacing {
            Pacing::Open { arrival, curve, sharing, .. } => {
                let own_stream = *sharing == Sharing::Connection;
                schedule(arrival, curve, Lane { index, count: clients, own_stream })
            }
            // Clients keep their connections, so no plan has both them and lives.
            Pacing::Closed | Pacing::Lives(_) => {
                Pace::Closed { next: u64::from(index), stride: u64::from(clients) }
            }
        };
        let route = |nth, number| route(plan, nth * connections, number);
        let numbered = |nth| (nth, nth * u32::from(plan.workers) + number);
        let numbers = (0..count / connections).map(numbered);
        return numbers.map(|(nth, index)| client(index, route(nth, index), pace(index))).collect();
    }
    match &plan.pacing {
        Pacing::Closed => {
            let pace = Pace::Closed { next: u64::from(worker), stride: u64::from(plan.workers) };
            vec![client(number, all(), pace)]
        }
        Pacing::Open { arrival, curve, sharing: Sharing::Shared, .. } => {
            let lane = Lane { index: number, count: u32::from(plan.workers), own_stream: false };
            vec![client(number, all(), schedule(arrival, curve, lane))]
        }
        Pacing::Open { arrival, curve, sharing: Sharing::Connection, .. } => (0..count)
            .map(|nth| {
                let lane = Lane {
                    index: plan.connection_number(worker, nth),
                    count: plan.connections,
                    own_stream: true,
                };
                let route = Route::new(nth, 1, plan.depth).refilled(plan.refill);
                client(lane.index, route, schedule(arrival, curve, lane))
            })
            .collect(),
        Pacing::Lives(LifePlan { call_pace, .. }) => {
            let lane = Lane { index: 0, count: 1, own_stream: true };
            let schedule = call_pace.as_ref().map(|pace| {
                let schedule = Schedule::new(pace.arrival, pace.curve.clone(), plan.seed, lane);
                schedule.with_draws(pace.draws)
            });
            let calls = || Pace::Calls(Calls::new(schedule.clone()));
            let place = |nth| Route::new(nth, 1, plan.depth).refilled(plan.refill);
            let number = |nth| plan.connection_number(worker, nth);
            (0..count).map(|nth| client(number(nth), place(nth), calls())).collect()
        }
    }
}

/// The connections from number `first` on of client number `client`, where these are counted.
fn route(plan: &Plan, first: u32, client: u32) -> Route {
    let Clients::Counted { connections, turn, reach, .. } = plan.clients else {
        unreachable!("only clients that are counted have one operation outstanding at most")
    };
    let single = |first, count| Route::single(first, count, turn, (plan.seed, client));
    let (roles, each) = match reach {
        Reach::Server => return single(first, connections),
        Reach::Split { .. } => (Roles::Split, vec![connections - 1, 1]),
        Reach::Servers { writers, copies } => {
            let each = connections / plan.servers.len() as u32;
            let writers = usize::from(writers);
            (Roles::Servers { writers, copies }, vec![each; plan.servers.len()])
        }
    };
    let mut next = first;
    let group = |count| {
        next += count;
        single(next - count, count)
    };
    let groups = each.into_iter().map(group).collect();
    Route::grouped(Groups::new(groups, roles, &plan.source.mix, client))
}

fn connection_number(facts: &Facts, connection: u32) -> u32 {
    let (workers, worker) = (u32::from(facts.workers), u32::from(facts.worker));
    match facts.together {
        1 => connection * workers + worker,
        each => (connection / each * workers + worker) * each + connection % each,
    }
}

/// Where the endings of one connection go: to the books, and to the source they came from.
struct Desk<'a, S> {
    recorder: &'a mut Recorder,
    source: &'a mut S,
    verifier: Option<&'a mut Verifier>,
    /// The connection, counted within the worker.
    connection: u32,
    /// Its server, and its number in the run.
    place: (ServerId, u32),
}

impl<S: Source> Desk<'_, S> {
    /// Apart from runs that verify nothing, whose loop over replies is to stay small.
    #[inline(never)]
    fn verify_head(&mut self, entry: &InFlight, key: &[u8], bytes: usize) {
        let Some(verifier) = &mut self.verifier else { return };
        let at = (self.connection, self.place.0);
        if verifier.is_resized(key, bytes) {
            self.recorder.resized(entry);
        }
        if let Some(expired) = verifier.value(at, entry, (key, bytes), self.source) {
            self.recorder.mistimed(entry, expired);
        }
    }

    /// The same.
    #[inline(never)]
    fn verify_replied(&mut self, entry: &InFlight, outcome: Outcome, now: Instant) {
        let Some(verifier) = &mut self.verifier else { return };
        let at = (self.connection, self.place.0);
        if outcome == Outcome::Miss {
            verifier.missed(at, (entry, now), self.source, self.recorder);
        }
        verifier.replied(at, entry, outcome, now);
    }
}

impl<S: Source> Sink for Desk<'_, S> {
    fn sent(&mut self, entry: &InFlight, late: Span, outstanding: usize) {
        self.recorder.sent(entry, late, outstanding, self.place.0);
    }

    fn refused(&mut self, refusal: Refusal) {
        self.recorder.refused(refusal);
    }

    fn settle(&mut self, entry: &InFlight, ending: Ending) {
        self.recorder.in_flight -= 1;
        self.recorder.settle(entry, ending, Some(self.place));
        self.source.settle(&entry.op(), ending.outcome);
    }

    fn late(&mut self, entry: &InFlight, bytes: u32) {
        self.recorder.late(entry, bytes, self.place.0);
    }

    fn half_way(&mut self, entry: &InFlight, bytes: u32) {
        self.recorder.half_way(entry, bytes, self.place.0);
    }

    #[inline]
    fn value(&mut self, entry: &InFlight, key: &[u8], bytes: usize) {
        if self.verifier.is_some() {
            self.verify_head(entry, key, bytes);
        }
    }

    #[inline]
    fn values(&mut self, entry: &InFlight, bytes: u64) {
        self.recorder.values_read(entry, bytes, self.place.0);
    }

    #[inline]
    fn data(&mut self, entry: &InFlight, bytes: &[u8], ends: bool) {
        let Some(verifier) = &mut self.verifier else { return };
        let at = (self.connection, self.place.0);
        if let Some(verified) = verifier.data(at, entry, (bytes, ends)) {
            self.recorder.verified(entry, self.place.0, verified);
        }
    }

    fn datagrams(&mut self, now: Instant, class: DatagramClass, count: u64) {
        self.recorder.datagrams(now, class, count, self.place.0);
    }

    #[inline]
    fn replied(&mut self, entry: &InFlight, outcome: Outcome, now: Instant) {
        if self.verifier.is_some() {
            self.verify_replied(entry, outcome, now);
        }
    }
}
