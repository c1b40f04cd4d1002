//! Workers carried through a whole plan in the test world, one after the other, and what they
//! recorded put together.

use crate::world::{Script, World, WorldDriver};
use memtide_base::{Instant, Span};
use memtide_engine::plan::{Backoff, Reconnect, RequestPlan, RowPlan, segment};
use memtide_engine::{
    Address, Clients, Cooldown, Driver, Io, OnFull, Pacing, Plan, RateUnit, Refill, ServerPlan,
    Sharing, SocketOptions, Stage, Wait, Window, Worker, WorkerReport,
};
use memtide_metrics::{Counters, Histogram, Totals};
use memtide_workload::{
    Arrival, KeySpace, MixOrder, Next, Op, Outcome, PlannedSource, Popularity, RateCurve, SizeLaw,
    Source, SourcePlan, ValueSpace, Wave,
};
use std::cell::RefCell;
use std::rc::Rc;

pub const SEED: u64 = 7;
pub const WARMUP: Span = Span::from_ms(100);

/// One server, one worker, four connections; a second of a thousand operations at equal gaps.
pub fn plan() -> Plan {
    let window = Window {
        warmup: WARMUP,
        duration: Span::from_s(1),
        ops_max: None,
        cooldown: Cooldown::Load,
    };
    Plan {
        servers: vec![ServerPlan {
            name: "one".to_owned(),
            addresses: vec![Address::Unix("one".to_owned())],
        }],
        workers: 1,
        connections: 4,
        depth: 64,
        refill: Refill::Each,
        clients: Clients::Workers,
        unit: RateUnit::Operations,
        pacing: Pacing::Closed,
        pause: Span::ZERO,
        window,
        source: SourcePlan {
            seed: SEED,
            mix: "get=9,set=1".parse().expect("a mix"),
            order: MixOrder::Drawn,
            popularity: Popularity::Uniform,
            keys: 100,
            walkers: 1,
            multiget: 1,
            multiget_share: 1.0,
            numeric_keys: 100,
            window: None,
        },
        keys: KeySpace::new(200, SizeLaw::fixed(30), SEED).expect("room for 200 keys"),
        values: ValueSpace::new(SizeLaw::fixed(200), 1 << 20, SEED),
        numeric_from: 100,
        requests: RequestPlan::default(),
        timeout: Span::from_s(5),
        reconnect: Reconnect::After(Backoff { first: Span::from_ms(10), longest: Span::from_s(1) }),
        seed: SEED,
        wait: Wait::Sleep,
        io: Io::Simulated,
        samples: true,
        message_sizes: false,
        rows: RowPlan::default(),
        verify: None,
        sources: Vec::new(),
        sockets: SocketOptions::default(),
        credentials: None,
        filter: None,
    }
    .open(1_000.0, Arrival::Fixed, Sharing::Shared)
}

/// Changes of a plan that tests ask for by name.
pub trait Change {
    fn open(self, rate: f64, arrival: Arrival, sharing: Sharing) -> Plan;
    fn closed(self) -> Plan;
    fn lasting(self, duration: Span) -> Plan;
    fn mixing(self, mix: &str) -> Plan;
}

impl Change for Plan {
    fn open(self, rate: f64, arrival: Arrival, sharing: Sharing) -> Plan {
        let Window { warmup, duration, .. } = self.window;
        let curve = RateCurve::new(&Wave::Constant, rate, warmup, duration, SEED);
        let pacing = Pacing::Open { arrival, curve, sharing, on_full: OnFull::Queue };
        Plan { pacing, ..self }
    }

    fn closed(self) -> Plan {
        Plan { pacing: Pacing::Closed, ..self }
    }

    fn lasting(mut self, duration: Span) -> Plan {
        self.window.duration = duration;
        self
    }

    fn mixing(mut self, mix: &str) -> Plan {
        self.source.mix = mix.parse().expect("a mix");
        self
    }
}

/// A source that writes down what it was asked and told.
#[derive(Clone)]
pub struct Spy {
    inner: PlannedSource,
    pub asked: Rc<RefCell<Vec<u64>>>,
    pub told: Rc<RefCell<Vec<u64>>>,
}

impl Source for Spy {
    fn next(&mut self, index: u64, now: Instant) -> Next {
        self.asked.borrow_mut().push(index);
        self.inner.next(index, now)
    }

    fn key(&self, op: &Op, nth: u16) -> u64 {
        self.inner.key(op, nth)
    }

    fn settle(&mut self, op: &Op, outcome: Outcome) {
        self.told.borrow_mut().push(op.index);
        self.inner.settle(op, outcome);
    }
}

/// A plan that was carried out.
pub struct Ran {
    pub world: World,
    pub totals: Totals,
    pub reports: Vec<WorkerReport>,
    pub asked: Vec<u64>,
    pub told: Vec<u64>,
    pub start: Instant,
    /// When the last worker had nothing more to do.
    pub ended: Instant,
}

/// When every run of the rig starts, and when its window does.
pub const START: Instant = Instant::from_ns(50_000_000);

/// Carries out `plan` in a world with `script`. It is stopped when everything measured has
/// ended, as a controller does, or at `stop_at` with `grace`.
pub fn run_until(plan: &Plan, script: Script, stop_at: Instant, grace: Span) -> Ran {
    run_through(plan, script, (stop_at, grace), |driver| driver)
}

/// The same with drivers that `through` makes of the world's.
pub fn run_through<D: Driver>(
    plan: &Plan,
    script: Script,
    (stop_at, grace): (Instant, Span),
    through: impl Fn(WorldDriver) -> D,
) -> Ran {
    let world = World::new(script);
    let spy =
        Spy { inner: PlannedSource::new(&plan.source), asked: Rc::default(), told: Rc::default() };
    let mut totals = Totals::new(&plan.shape());
    let mut reports = Vec::new();
    let mut ended = Instant::ZERO;
    for number in 0..plan.workers {
        let driver = through(world.driver(Instant::ZERO));
        let mut worker = Worker::new(driver, plan, number, &spy);
        ended = ended.max(carry_out(&mut worker, plan, &mut totals, (stop_at, grace)));
        reports.push(worker.report());
    }
    let (asked, told) = (spy.asked.take(), spy.told.take());
    let ran = Ran { world, totals, reports, asked, told, start: START, ended };
    ran.check();
    ran
}

pub fn run(plan: &Plan, script: Script) -> Ran {
    run_until(plan, script, Instant::NEVER, plan.timeout)
}

fn carry_out<D: Driver>(
    worker: &mut Worker<D, Spy>,
    plan: &Plan,
    totals: &mut Totals,
    (stop_at, grace): (Instant, Span),
) -> Instant {
    worker.open();
    let mut now = Instant::ZERO;
    while worker.report().stage == Stage::Opening {
        now = worker.turn().expect("the world does not fail");
        assert!(now < START, "connections open before the start");
    }
    worker.begin(plan, START);
    let mut stopped = false;
    let mut handed_over = now;
    while !worker.is_finished() {
        now = worker.turn().expect("the world does not fail");
        if now.since(handed_over) >= Span::from_ms(100) {
            handed_over = now;
            totals.absorb(worker.tally_mut());
        }
        if !stopped && (worker.report().measured_done || now >= stop_at) {
            stopped = true;
            worker.stop(now, grace);
        }
        assert!(now < Instant::from_ns(200_000_000_000), "the run comes to its end");
    }
    totals.absorb(worker.tally_mut());
    now
}

impl Ran {
    /// What must hold of every run.
    fn check(&self) {
        for (number, counters) in self.totals.segments.iter().enumerate() {
            assert_eq!(counters.settled(), counters.intended, "in segment {number}");
            let kinds: u64 = counters.kinds.iter().map(|kind| kind.sent).sum();
            assert_eq!(kinds, counters.sent, "in segment {number}");
        }
        let (mut asked, mut told) = (self.asked.clone(), self.told.clone());
        asked.sort_unstable();
        told.sort_unstable();
        assert_eq!(asked, told, "a source hears of every operation once");
        asked.dedup();
        assert_eq!(asked.len(), told.len(), "an operation is made once");
        let rows = self.totals.series.rows();
        let of = |field: fn(&memtide_metrics::Row) -> u64| rows.iter().map(field).sum::<u64>();
        let measured = self.measured();
        assert_eq!(of(|row| row.intended), measured.intended);
        assert_eq!(of(|row| row.answered), measured.answered);
        assert_eq!(of(|row| row.unanswered), measured.unanswered());
        assert_eq!(self.response().count(), measured.answered);
    }

    pub fn segment(&self, segment: u16) -> &Counters {
        &self.totals.segments[usize::from(segment)]
    }

    pub fn measured(&self) -> &Counters {
        self.segment(segment::MEASURE)
    }

    /// The sum over all segments.
    pub fn all(&self) -> Counters {
        let mut all = Counters::default();
        for counters in &self.totals.segments {
            all += counters;
        }
        all
    }

    /// Every response time of the window.
    pub fn response(&self) -> Histogram<u64> {
        let mut sum = Histogram::new();
        for part in self.totals.times.response.iter().flatten() {
            sum.absorb(part);
        }
        sum
    }

    /// A counter of the server's.
    pub fn server_says(&self, name: &str) -> u64 {
        let mut session = memtide_server::Session::new(1 << 20);
        let clock = memtide_server::Clock { now: self.ended, unix_s: 1_700_000_000 };
        let mut out = Vec::new();
        session.handle_bytes(clock, b"stats\r\n", &self.world.store, &mut out);
        let text = String::from_utf8(out).expect("statistics are text");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.and_then(|value| value.parse().ok()).expect("the server knows this counter")
    }

    /// Intended instants of the measured operations, ascending, from the start.
    pub fn intended(&self) -> Vec<Span> {
        let seen = self.world.seen.borrow();
        let mut at: Vec<_> = seen.samples.iter().map(|s| s.intended.since(self.start)).collect();
        at.sort_unstable();
        at
    }

    /// How many of the window's operations took longer than `span` to be answered.
    pub fn slower_than(&self, span: Span) -> usize {
        let seen = self.world.seen.borrow();
        let answered = seen.samples.iter().filter(|s| s.received != Instant::NEVER);
        answered.filter(|s| s.received.since(s.intended) > span).count()
    }
}
