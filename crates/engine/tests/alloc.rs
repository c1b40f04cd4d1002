//! In steady state a worker's turns allocate nothing. Allocations of the test world itself are not
//! counted.
#![expect(unsafe_code, clippy::print_stdout, reason = "it counts allocations, for people too")]

#[path = "rig/mod.rs"]
#[allow(dead_code, unused_imports, reason = "a part of the rig is wanted here")]
mod rig;
#[path = "rig/encrypted.rs"]
mod encrypted;

use encrypted::encrypted;
use memtide_base::{ConnectionId, Full, Instant, Span};
use memtide_engine::Worker;
use memtide_metrics::TallySum;
use memtide_workload::{
    Arrival, Draws, Oracle, PlannedSource, RateCurve, SizeLaw, ValueSpace, Wave,
};
use memtide_world::driver::DriverError;
use memtide_world::{
    Address, ChurnPlan, Clients, Completion, ConnectionTurn, Cooldown, Driver, Filter, FilterPlan,
    Matching, Message, OnFull, Pace, Pacing, PeerError, Plan, Protocol, Reach, Replicate, Sample,
    SendBuffer, ServerPlan, Sharing, SocketOptions, Submitted, Transport, Verify, Window,
};
use rig::{Change, DELAY, Script, Stretch, Watched, World, ms};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;

thread_local! {
    static COUNTING: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static APART: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTING.get() {
            COUNT.set(COUNT.get() + 1);
        }
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `act` with counting switched on or off, and restores the setting.
fn counting<T>(on: bool, act: impl FnOnce() -> T) -> T {
    let before = COUNTING.replace(on);
    let result = act();
    COUNTING.set(before);
    result
}

/// A driver whose own allocations are not counted.
struct Uncounted(Watched);

impl Driver for Uncounted {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn connect(
        &mut self,
        connection: ConnectionId,
        address: &Address,
        source: Option<IpAddr>,
        sockets: SocketOptions,
    ) {
        counting(false, || self.0.connect(connection, address, source, sockets));
    }

    fn send(&mut self, connection: ConnectionId, message: Message<'_>) -> Submitted {
        counting(false, || self.0.send(connection, message))
    }

    fn close(&mut self, connection: ConnectionId, linger: Option<Span>) {
        counting(false, || self.0.close(connection, linger));
    }

    fn has_unsent(&self) -> bool {
        self.0.has_unsent()
    }

    fn wait(&mut self, until: Instant) -> Result<(), DriverError> {
        counting(false, || self.0.wait(until))
    }

    fn completion(&mut self) -> Option<Completion<'_>> {
        counting(false, || self.0.completion())
    }

    fn kept(&self) -> Option<Span> {
        counting(false, || self.0.kept())
    }

    fn export(&mut self, sample: Sample) -> Result<(), Full> {
        counting(false, || self.0.export(sample))
    }
}

/// How often a tally is handed over, as a world does.
const HANDOVER_EVERY: Span = Span::from_ms(100);

/// Returns the number of allocations in a worker's turns from 100 ms into the load on, and the
/// number of operations that ended.
fn allocations(plan: &Plan, (delay, script): (Span, Script)) -> (u64, u64) {
    allocations_in(plan, &World::far(plan, delay, script))
}

fn allocations_in(plan: &Plan, world: &World) -> (u64, u64) {
    let driver = Uncounted(world.driver());
    let source = PlannedSource::new(&plan.source);
    let mut worker = Worker::new(driver, plan, 0, &source);
    worker.open();
    worker.begin(plan, ms(10));
    while worker.turn().expect("the world does not fail") < ms(110) {}
    COUNT.set(0);
    let mut totals = TallySum::new(&plan.shape());
    let mut handed_over = ms(110);
    counting(true, || {
        while let now = worker.turn().expect("the world does not fail")
            && now < ms(600)
            && !worker.is_finished()
        {
            if now >= handed_over {
                handed_over = now + HANDOVER_EVERY;
                counting(false, || totals.absorb(worker.tally_mut()));
            }
        }
    });
    totals.absorb(worker.tally_mut());
    let settled = totals.segments.iter().map(|segment| segment.settled()).sum();
    (COUNT.get(), settled)
}

/// A filter whose allocations are counted apart.
#[derive(Debug)]
struct Apart(Box<dyn Filter>);

/// Runs `act`, and counts its allocations apart.
fn apart<T>(act: impl FnOnce() -> T) -> T {
    let before = COUNT.get();
    let result = act();
    APART.set(APART.get() + COUNT.replace(before) - before);
    result
}

impl Filter for Apart {
    fn handle_bytes(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), PeerError> {
        apart(|| self.0.handle_bytes(wire, plain))
    }

    fn poll_transmit(&mut self, out: &mut SendBuffer) {
        apart(|| self.0.poll_transmit(out));
    }

    fn is_open(&self) -> bool {
        self.0.is_open()
    }
}

/// Over TLS, memtide itself allocates nothing for an operation. What rustls does is counted apart.
#[test]
fn turns_over_tls_allocate_nothing_of_memtides_own() {
    let wide = rig::plan().mixing("get=9,set=2,incr=1");
    let closed = Plan { connections: 2, depth: 4, ..wide.clone() }.closed();
    for (name, plan) in [("open", wide), ("closed", closed)] {
        let (mut plan, world) = encrypted(&plan);
        let client = plan.filter.take().expect("it is over TLS");
        plan.filter = Some(FilterPlan::new(move |server| Box::new(Apart(client.make(server)))));
        let world = World::filtered(&plan, DELAY, Script::default(), world);
        APART.set(0);
        let (allocations, settled) = allocations_in(&plan, &world);
        let each = APART.get() as f64 / settled as f64;
        let own = allocations as f64 / settled as f64;
        println!("{name} loop: allocations per operation: memtide {own:.2}, rustls {each:.2}");
        assert_eq!(allocations, 0, "{name}");
        assert!(settled > 500, "{name}: {settled} operations ended");
        assert!(each > 0.0 && each < 20.0, "{name}: rustls allocates {each:.2} times");
    }
}

/// Adds connection churn to `plan`: 500 connections a second, with ten calls each.
fn living(plan: &Plan) -> Plan {
    let pace = |rate| {
        let curve = RateCurve::new(&Wave::Constant, rate, Span::ZERO, Span::MAX, rig::SEED);
        Pace { arrival: Arrival::Poisson, draws: Draws::Seed, curve }
    };
    let churn = ChurnPlan {
        openings: Some(pace(500.0)),
        openings_max: None,
        calls: 10,
        call_pace: Some(pace(5_000.0)),
        linger: Some(Span::ZERO),
        on_full: OnFull::Queue,
    };
    Plan { connections: 64, pacing: Pacing::Churn(churn), ..plan.clone() }
}

/// Gives each client of `plan` four connections, over two servers.
fn reaching(plan: &Plan, reach: Reach) -> Plan {
    let turn = ConnectionTurn::RoundRobin;
    let clients = Clients::Counted { count: 4, connections: 4, turn, reach };
    let address = |host| vec![Address::Tcp(([127, 0, 0, host], 11_211).into())];
    let server = |host: u8| ServerPlan { name: host.to_string(), addresses: address(host) };
    let servers = vec![server(1), server(2)];
    Plan { servers, clients, connections: 16, depth: 1, ..plan.clone() }
}

#[test]
fn the_count_is_a_count() {
    COUNT.set(0);
    let held = counting(true, || vec![Box::new(1), Box::new(2)]);
    assert_eq!(COUNT.get(), 1 + held.len() as u64);
}

#[test]
fn turns_over_meta_allocate_nothing() {
    let mut plan = rig::plan().mixing("get=9,gets=1,set=2,cas=1,delete=1,incr=1,touch=1,gat=1");
    plan.requests.protocol = Protocol::Meta;
    for (matching, multiget) in [(Matching::Order, 3), (Matching::Opaque, 1)] {
        plan.requests.matching = matching;
        plan.source.multiget = multiget;
        let (allocations, settled) = allocations(&plan, (DELAY, Script::default()));
        assert_eq!(allocations, 0, "{matching}");
        assert!(settled > 500, "{matching}: {settled} operations ended");
    }
}

/// `plan` with pauses, whose keys are walked.
fn walking(plan: &Plan) -> Plan {
    let mut walking = plan.clone();
    walking.pause = Span::from_us(50);
    walking.source.popularity = "walk:50,1,10%@uniform:0,99".parse().expect("a popularity");
    walking
}

#[test]
fn turns_allocate_nothing() {
    let wide = rig::plan().mixing("get=9,gets=1,set=2,cas=1,delete=1,incr=1,touch=1,gat=1");
    let closed = Plan { connections: 2, depth: 4, ..wide.clone() }.closed();
    let own = wide.clone().open(5_000.0, Arrival::Poisson, Sharing::Connection);
    let mut quiet = wide.clone().open(5_000.0, Arrival::Fixed, Sharing::Shared);
    quiet.requests.noreply = true;
    let stops = vec![Stretch::ms(200, 300)];
    let stopped = (DELAY, Script { server_stops: stops, ..Script::default() });
    let usual = || (DELAY, Script::default());
    let backlog = Plan { connections: 2, depth: 4, ..wide.clone() };
    let overdue = Plan { timeout: Span::from_ms(20), ..backlog.clone() };
    let mut cut_off = Plan { connections: 1, depth: 4, ..wide.clone() };
    cut_off.window = Window {
        warmup: Span::ZERO,
        opened_by_command: false,
        closed_by_command: false,
        duration: Span::from_ms(500),
        cooldown: Cooldown::Stop,
        ..cut_off.window
    };
    let cut_off = cut_off.open(4_000.0, Arrival::Poisson, Sharing::Shared);
    let slow = (Span::from_ms(5), Script::default());
    let oracles = vec![Arc::new(Oracle::new(100, 100, rig::SEED))];
    let walking = walking(&own);
    let mut verified = wide.clone();
    verified.verify =
        Some(Verify { fraction: 1.0, writer: 1, oracles, lifetimes: None, lengths: false });
    let mut frames = wide.clone();
    frames.requests.protocol = Protocol::Binary;
    frames.source.multiget = 3;
    let sizes = "uniform:1,300000".parse::<SizeLaw>().expect("a size law");
    let values = ValueSpace::new(sizes, 1 << 20, rig::SEED);
    let large = Plan { values, ..wide.clone() };
    let large_closed = Plan { values: large.values.clone(), ..closed.clone() };
    let mut datagrams = Plan { depth: 1, connections: 8, ..wide.clone() };
    datagrams.servers[0].addresses = vec![Address::Tcp(([127, 0, 0, 1], 11_211).into())];
    datagrams.requests.transport = Transport::Datagrams { reply_bytes_max: 8_000 };
    let mut late = Plan { timeout: Span::from_ms(20), ..datagrams.clone() };
    late.values = ValueSpace::new("uniform:1,5000".parse().expect("a law"), 1 << 20, rig::SEED);
    let churn = living(&wide);
    let copied = reaching(&closed, Reach::Servers { writers: 2, copies: Replicate::All });
    let split = reaching(&wide, Reach::Split { reply_bytes_max: 8_000 });
    let short = Plan { connections: 2, timeout: Span::from_ms(20), ..living(&wide) };
    for samples in [false, true] {
        let cases = [
            ("open", &wide, usual()),
            ("closed", &closed, usual()),
            ("own schedules", &own, usual()),
            ("noreply", &quiet, usual()),
            ("backlog", &backlog, stopped.clone()),
            ("timeouts", &overdue, stopped.clone()),
            ("cut off", &cut_off, slow.clone()),
            ("walks and pauses", &walking, usual()),
            ("verified", &verified, usual()),
            ("frames", &frames, usual()),
            ("datagrams", &datagrams, usual()),
            ("late datagrams and long requests", &late, stopped.clone()),
            ("large values", &large, usual()),
            ("large values, closed", &large_closed, usual()),
            ("connections as load", &churn, usual()),
            ("connections without a place", &short, stopped.clone()),
            ("copies", &copied, usual()),
            ("streams and datagrams", &split, usual()),
        ];
        for (name, plan, world) in cases {
            let (allocations, settled) = allocations(&Plan { samples, ..plan.clone() }, world);
            assert_eq!(allocations, 0, "{name}, samples {samples}");
            assert!(settled > 500, "{name}: {settled} operations ended");
        }
    }
}
