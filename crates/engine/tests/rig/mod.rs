//! Workers that carry out a whole plan, one after the other, each in a simulated world of its own,
//! and the sum of their measurements.

mod plan;
mod world;

pub use memtide_sim::{Script, Stretch};
pub use plan::{SEED, WARMUP, closed_plan};
pub use world::{DELAY, Seen, Watched, World, ms};

use memtide_base::{ConnectionId, Instant, Span};
use memtide_engine::Worker;
use memtide_metrics::{Counters, Histogram, Slice, SliceSet, TallySum};
use memtide_workload::{Arrival, Next, Op, Outcome, PlannedSource, RateCurve, Source, Wave};
use memtide_world::plan::segment;
use memtide_world::{Driver, OnFull, Pacing, Plan, Sharing, Stage, Window, WorkerReport};
use std::cell::RefCell;
use std::rc::Rc;

/// One server, one worker, four connections; a second of a thousand operations at equal gaps.
pub fn plan() -> Plan {
    closed_plan().open(1_000.0, Arrival::Fixed, Sharing::Shared)
}

/// Named changes of a plan.
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

/// A source that records the calls it receives.
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
    /// One for each worker.
    worlds: Vec<World>,
    /// The calls that all drivers received.
    pub seen: Rc<RefCell<Seen>>,
    pub totals: TallySum,
    pub reports: Vec<WorkerReport>,
    pub asked: Vec<u64>,
    pub told: Vec<u64>,
    pub start: Instant,
    /// The instant at which the last worker finished.
    pub ended: Instant,
}

/// The start of every run of the rig; its window starts there, too.
pub const START: Instant = Instant::from_ns(50_000_000);

/// Carries out `plan` in a world with `script` whose servers answer after `delay`. The run is
/// stopped when all measured operations have ended, as a controller does, or at the instant in
/// `ends` with the grace there.
pub fn run_until(plan: &Plan, (delay, script): (Span, Script), ends: (Instant, Span)) -> Ran {
    carry_through(plan, |plan| World::far(plan, delay, script.clone()), ends, |driver| driver)
}

/// Runs the plan in a world with this delay and script, to the end.
pub fn run_far(plan: &Plan, delay: Span, script: Script) -> Ran {
    run_until(plan, (delay, script), (Instant::NEVER, plan.timeout))
}

/// Runs the plan with drivers that `through` makes from the world's.
pub fn run_through<D: Driver>(plan: &Plan, through: impl Fn(Watched) -> D) -> Ran {
    let ends = (Instant::NEVER, plan.timeout);
    carry_through(plan, |plan| World::new(plan, Script::default()), ends, through)
}

fn carry_through<D: Driver>(
    plan: &Plan,
    world: impl Fn(&Plan) -> World,
    ends: (Instant, Span),
    through: impl Fn(Watched) -> D,
) -> Ran {
    let spy =
        Spy { inner: PlannedSource::new(&plan.source), asked: Rc::default(), told: Rc::default() };
    let mut totals = TallySum::new(&plan.shape());
    let (mut reports, mut worlds) = (Vec::new(), Vec::new());
    let seen = Rc::new(RefCell::new(Seen::default()));
    let mut ended = Instant::ZERO;
    for number in 0..plan.workers {
        let world = world(plan).seen_by(&seen);
        let mut worker = Worker::new(through(world.driver()), plan, number, &spy);
        ended = ended.max(carry_out(&mut worker, plan, &mut totals, ends));
        reports.push(worker.report());
        worlds.push(world);
    }
    let (asked, told) = (spy.asked.take(), spy.told.take());
    let ran = Ran { worlds, seen, totals, reports, asked, told, start: START, ended };
    ran.check();
    ran
}

/// Closes a connection of each worker at these milliseconds.
pub fn closes<const N: usize>(at: [(u64, u32); N]) -> Vec<(Instant, ConnectionId)> {
    at.map(|(at, connection)| (ms(at), ConnectionId(connection))).into()
}

pub fn run(plan: &Plan, script: Script) -> Ran {
    run_far(plan, DELAY, script)
}

fn carry_out<D: Driver>(
    worker: &mut Worker<D, Spy>,
    plan: &Plan,
    totals: &mut TallySum,
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
    /// Checks the invariants of every run.
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
        let mut divided = self.totals.no_server.clone();
        self.totals.servers.iter().for_each(|server| divided += server);
        let counts = |of: &Counters| [of.intended, of.sent, of.settled(), of.timed_out_queued];
        let several = self.totals.servers.len() > 1;
        assert!(!several || counts(&divided) == counts(measured), "{divided:?} of {measured:?}");
        assert_eq!(of(|row| row.intended), measured.intended);
        assert_eq!(of(|row| row.answered), measured.answered);
        assert_eq!(of(|row| row.unanswered), measured.unanswered());
        assert_eq!(self.response().count(), measured.answered);
        let sets = self.totals.slices.rows().iter();
        let of = |channel: fn(&SliceSet) -> &[Slice], count: fn(&Slice) -> u64| {
            sets.clone().flat_map(channel).map(count).sum::<u64>()
        };
        assert_eq!(of(|set| &set.response, |slice| slice.answered), measured.answered);
        assert_eq!(of(|set| &set.response, |slice| slice.unanswered), measured.unanswered());
        let sent = of(|set| &set.service, |slice| slice.answered + slice.unanswered);
        assert_eq!(sent, measured.sent - measured.unacknowledged, "slices hold what was sent");
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

    /// A counter summed over all servers.
    pub fn server_says(&self, name: &str) -> u64 {
        self.worlds.iter().map(|world| world.counter(name)).sum()
    }

    /// Intended instants of the measured operations, ascending, from the start.
    pub fn intended(&self) -> Vec<Span> {
        let seen = self.seen.borrow();
        let mut at: Vec<_> = seen.samples.iter().map(|s| s.intended.since(self.start)).collect();
        at.sort_unstable();
        at
    }

    /// The number of the window's operations whose answer took longer than `span`.
    pub fn slower_than(&self, span: Span) -> usize {
        let seen = self.seen.borrow();
        let answered = seen.samples.iter().filter(|s| s.received != Instant::NEVER);
        answered.filter(|s| s.received.since(s.intended) > span).count()
    }
}
