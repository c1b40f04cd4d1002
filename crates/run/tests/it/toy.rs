//! A fleet of the engine's workers in the test world, and an observer that remembers.

use crate::world::{Script, World, WorldDriver};
use memtide_base::{Instant, Span};
use memtide_engine::driver::Sample;
use memtide_engine::fleet::{Command, Fleet, FleetError, Interval};
use memtide_engine::probe::{Answer, AskError, Question, ask};
use memtide_engine::{Address, Plan, ServerPlan, Worker};
use memtide_metrics::Totals;
use memtide_run::{Doors, Failure, Observer, Outcome, Surroundings, Wanted, lower, run};
use memtide_schema::record::{IntervalRecord, MachineCpu, MachineRecord, Phase};
use memtide_schema::{Event, Interval as Settled, Progress, Record, Scenario, Settings, from_toml};
use memtide_workload::PlannedSource;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Workers in virtual time, one turn after the other.
pub struct ToyFleet {
    pub world: World,
    now: Instant,
    plan: Option<Arc<Plan>>,
    workers: Vec<(Worker<WorldDriver, PlannedSource>, Instant)>,
    /// The user asks to stop at this instant.
    pub interrupt_at: Instant,
    /// Every plan that was started.
    pub plans: Vec<Plan>,
    pub questions: u64,
    /// No run of these tests takes longer.
    pub deadline: Instant,
}

impl ToyFleet {
    pub fn new(script: Script) -> Self {
        Self {
            world: World::new(script),
            now: Instant::ZERO,
            plan: None,
            workers: Vec::new(),
            interrupt_at: Instant::NEVER,
            plans: Vec::new(),
            questions: 0,
            deadline: Instant::ZERO + Span::from_s(120),
        }
    }

    /// A counter of the server's.
    pub fn server_says(&self, name: &str) -> i64 {
        let mut session = memtide_server::Session::new(1 << 20);
        let clock = memtide_server::Clock { now: self.now, unix_s: 1_700_000_000 };
        let mut out = Vec::new();
        session.handle_bytes(clock, b"stats\r\n", &self.world.store, &mut out);
        let text = String::from_utf8(out).expect("statistics are text");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.and_then(|value| value.parse().ok()).expect("the server knows this counter")
    }

    pub fn samples(&self) -> Vec<Sample> {
        self.world.seen.borrow().samples.clone()
    }
}

impl Fleet for ToyFleet {
    fn now(&self) -> Instant {
        self.now
    }

    fn since_unix(&self) -> Span {
        Span::from_ms(1_700_000_000_000)
    }

    fn start(&mut self, plan: &Plan, workers: Range<u16>) -> Result<(), FleetError> {
        assert!(self.workers.iter().all(|(worker, _)| worker.is_finished()), "one at a time");
        let source = PlannedSource::new(&plan.source);
        self.workers.clear();
        for number in workers {
            let mut worker = Worker::new(self.world.driver(self.now), plan, number, &source);
            worker.open();
            self.workers.push((worker, self.now));
        }
        self.plans.push(plan.clone());
        self.plan = Some(Arc::new(plan.clone()));
        Ok(())
    }

    fn command(&mut self, at: Instant, command: Command) -> Result<(), FleetError> {
        let plan = self.plan.clone().expect("a plan was started");
        for (worker, _) in &mut self.workers {
            match command {
                Command::Begin => worker.begin(&plan, at),
                Command::Stop { grace } => worker.stop(at, grace),
            }
        }
        Ok(())
    }

    fn collect(&mut self, until: Instant, totals: &mut Totals) -> Result<Interval, FleetError> {
        assert!(until <= self.deadline, "the run does not come to its end");
        self.now = self.now.max(until);
        for (worker, at) in &mut self.workers {
            while *at < until && !worker.is_finished() {
                *at = worker.turn().map_err(|error| FleetError::Worker { worker: 0, error })?;
            }
            totals.absorb(worker.tally_mut());
        }
        Ok(Interval {
            at: self.now,
            workers: self.workers.iter().map(|(worker, _)| worker.report()).collect(),
            interrupted: self.now >= self.interrupt_at,
        })
    }

    fn ask(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError> {
        self.questions += 1;
        let mut driver = self.world.driver(self.now);
        let answer = ask(&mut driver, plan, server, question);
        self.now = memtide_engine::Driver::now(&driver);
        answer
    }
}

/// Remembers what happened.
#[derive(Default)]
pub struct ToyObserver {
    pub phases: Vec<Phase>,
    pub progress: Vec<Progress>,
    pub ticks: Vec<Instant>,
    pub started: u64,
    pub done: Vec<Record>,
    pub intervals: Vec<Settled>,
    pub rows: Vec<IntervalRecord>,
}

impl Observer for ToyObserver {
    fn on(&mut self, event: &Event) {
        match event {
            Event::Started(_) => self.started += 1,
            Event::Phase(phase) => self.phases.push(*phase),
            Event::Progress(progress) => self.progress.push(progress.clone()),
            Event::Interval(interval) => self.intervals.push((**interval).clone()),
            Event::Row(row) => self.rows.push((**row).clone()),
            Event::Done(record) => self.done.push((**record).clone()),
            _ => {}
        }
    }

    fn tick(&mut self, at: Instant) {
        self.ticks.push(at);
    }

    fn machine_cpu(&self) -> Option<MachineCpu> {
        None
    }

    fn rss_max_bytes(&self) -> Option<u64> {
        Some(1 << 20)
    }

    fn machine(&self) -> MachineRecord {
        MachineRecord::default()
    }
}

/// A scenario against one server, from its TOML.
pub fn scenario(toml: &str) -> Scenario {
    let mut settings = Settings::default();
    let layer = from_toml(toml, "a test").expect("it is a scenario");
    settings.apply(&layer).expect("its words are allowed");
    settings.scenario
}

/// Four CPUs, and as many servers of the test world, which is on this machine or not.
pub fn around(servers: usize, local: bool) -> Surroundings {
    let address = |number: usize| match local {
        true => Address::Unix(format!("server-{number}")),
        false => Address::Tcp(([192, 0, 2, 1], 11_211 + number as u16).into()),
    };
    let server =
        |number| ServerPlan { name: format!("server-{number}"), addresses: vec![address(number)] };
    Surroundings {
        servers: (0..servers).map(server).collect(),
        embedded: false,
        repeats: false,
        cpus_allowed: vec![0, 1, 2, 3],
        cores: BTreeMap::new(),
        cpus_online: 4,
        cpu_quota: None,
        io: Doors::Simulated,
        outputs: Wanted { samples: true, ..Wanted::default() },
    }
}

/// A run that was carried out.
pub struct Ran {
    pub fleet: ToyFleet,
    pub observer: ToyObserver,
    pub result: Result<Outcome, Failure>,
}

impl Ran {
    pub fn record(&self) -> &Record {
        let result = self.result.as_ref();
        &result.unwrap_or_else(|failure| panic!("it failed: {}", failure.message)).record
    }

    /// The sentence with which it failed, and the exit code.
    pub fn failure(&self) -> (u8, &str) {
        match &self.result {
            Err(failure) => (failure.exit, &failure.message),
            Ok(outcome) => {
                let failure = outcome.failure.as_ref().expect("it fails");
                (failure.exit, &failure.message)
            }
        }
    }
}

pub fn run_in(mut fleet: ToyFleet, around: &Surroundings, scenario: &Scenario) -> Ran {
    let lowered = lower(scenario, around).expect("it can be run");
    let mut observer = ToyObserver::default();
    let result = run(&mut fleet, scenario, &lowered, false, &mut observer);
    Ran { fleet, observer, result }
}

/// Runs a scenario against one local server.
pub fn run_toml(script: Script, toml: &str) -> Ran {
    run_in(ToyFleet::new(script), &around(1, true), &scenario(toml))
}
