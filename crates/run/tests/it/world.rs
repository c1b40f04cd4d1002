//! The simulator's fleet for these tests: servers local or remote as a test chooses, with plans and
//! operations kept; and an observer that records events.

use memtide_base::{ConnectionId, Instant, Law, Span};
use memtide_metrics::TallySum;
use memtide_record::{
    Event, Interval as Settled, IntervalRecord, MachineCpu, MachineRecord, Phase, Progress, Record,
};
use memtide_run::{Failure, Observer, RunOutcome, Surroundings, Wanted, lower, run};
use memtide_scenario::{Scenario, Settings, from_toml};
use memtide_server::{ServerProfile, StoreOptions};
use memtide_sim::{Network, Setting, SimFleet, SimServer, Trace};
use memtide_world::driver::Sample;
use memtide_world::fleet::{Fleet, FleetError, Interval, Stage};
use memtide_world::{Address, Plan, ServerPlan};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

pub use memtide_sim::{Script, Stretch};

/// The instant `at` milliseconds after the world's beginning.
pub fn ms(at: u64) -> Instant {
    Instant::ZERO + Span::from_ms(at)
}

/// Closes one connection of each worker at each of these milliseconds.
pub fn closes<const N: usize>(at: [(u64, u32); N]) -> Vec<(Instant, ConnectionId)> {
    at.map(|(at, connection)| (ms(at), ConnectionId(connection))).into()
}

/// Two servers, each with a near and a far address, that answer after 100 µs.
pub fn setting(script: Script) -> Setting {
    let server = |number| SimServer {
        addresses: vec![address(number, true), address(number, false)],
        store: StoreOptions { memory_bytes_max: 64 << 20, item_bytes_max: 1 << 20, shards: 1 },
        profile: ServerProfile::default(),
        dead: Vec::new(),
    };
    Setting {
        seed: 5,
        network: Network { delay: Law::Fixed(50e-6), ..Network::default() },
        servers: (0..2).map(server).collect(),
        filter: None,
        script,
        pauses: Vec::new(),
        work: Span::ZERO,
        interrupt_at: Instant::NEVER,
    }
}

fn address(number: usize, local: bool) -> Address {
    match local {
        true => Address::Unix(format!("server-{number}")),
        false => Address::Tcp(([192, 0, 2, 1], 11_211 + number as u16).into()),
    }
}

/// A fleet of simulated workers that keeps the plans it receives.
pub struct WatchedFleet {
    inner: SimFleet,
    samples: Rc<RefCell<Vec<Sample>>>,
    /// Every plan that was started.
    pub plans: Vec<Plan>,
    /// Time limit for the runs of these tests.
    pub deadline: Instant,
    /// Time that a running worker's report needs to reach the controller.
    pub late: Span,
}

impl WatchedFleet {
    pub fn new(script: Script) -> Self {
        Self::within(setting(script))
    }

    pub fn within(setting: Setting) -> Self {
        let samples = Rc::new(RefCell::new(Vec::new()));
        let keep = Rc::clone(&samples);
        let inner =
            SimFleet::new(setting, Trace::new(), move |sample| keep.borrow_mut().push(*sample));
        Self { inner, samples, plans: Vec::new(), deadline: ms(120_000), late: Span::ZERO }
    }

    /// The value of a counter of the first server.
    pub fn server_says(&self, name: &str) -> u64 {
        self.inner.counter(0, name).expect("the server knows this counter")
    }

    pub fn samples(&self) -> Vec<Sample> {
        self.samples.borrow().clone()
    }
}

impl Fleet for WatchedFleet {
    memtide_world::pass_to_fleet!(
        inner: now, since_unix, command, is_interrupted, ask, watch_servers
    );

    fn start(&mut self, plan: &Plan, workers: Range<u16>) -> Result<(), FleetError> {
        self.plans.push(plan.clone());
        self.inner.start(plan, workers)
    }

    fn collect(&mut self, until: Instant, totals: &mut TallySum) -> Result<Interval, FleetError> {
        assert!(until <= self.deadline, "the run does not come to its end");
        let interval = self.inner.collect(until, totals)?;
        let runs = interval.workers.iter().any(|worker| worker.stage == Stage::Running);
        let late = if runs { self.late } else { Span::ZERO };
        Ok(Interval { at: interval.at + late, ..interval })
    }
}

/// Records the events of a run.
#[derive(Default)]
pub struct Notes {
    pub phases: Vec<Phase>,
    pub progress: Vec<Progress>,
    pub ticks: Vec<Instant>,
    pub started: u64,
    pub done: Vec<Record>,
    pub intervals: Vec<Settled>,
    pub rows: Vec<IntervalRecord>,
}

impl Observer for Notes {
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

/// Four CPUs, and this number of servers of the world, local or remote.
pub fn around(servers: usize, local: bool) -> Surroundings {
    let server = |number| ServerPlan {
        name: format!("server-{number}"),
        addresses: vec![address(number, local)],
    };
    let outputs = Wanted { samples: true, ..Wanted::default() };
    Surroundings { outputs, ..Surroundings::simulated((0..servers).map(server).collect(), 4) }
}

/// A completed run.
pub struct Ran {
    pub fleet: WatchedFleet,
    pub observer: Notes,
    pub result: Result<RunOutcome, Failure>,
}

impl Ran {
    pub fn record(&self) -> &Record {
        let result = self.result.as_ref();
        &result.unwrap_or_else(|failure| panic!("it failed: {}", failure.message())).record
    }

    /// Exit code and sentence of its failure.
    pub fn failure(&self) -> (u8, String) {
        match &self.result {
            Err(failure) => (failure.exit, failure.message()),
            Ok(outcome) => {
                let failure = outcome.failure.as_ref().expect("it fails");
                (failure.exit, failure.message())
            }
        }
    }
}

pub fn run_in(mut fleet: WatchedFleet, around: &Surroundings, scenario: &Scenario) -> Ran {
    let lowered = lower(scenario, around).expect("it can be run");
    let mut observer = Notes::default();
    let result = run(&mut fleet, scenario, &lowered, false, None, &mut observer);
    Ran { fleet, observer, result }
}

/// Runs a scenario against one local server.
pub fn run_toml(script: Script, toml: &str) -> Ran {
    run_in(WatchedFleet::new(script), &around(1, true), &scenario(toml))
}
