//! Runs a scenario in a world and keeps all results.

use memtide_base::{Instant, Span};
use memtide_record::steps::{Conclusion, Step};
use memtide_record::{Event, MachineCpu, MachineRecord, Record, ServerCpu};
use memtide_run::steps::{Aim, Course, Data, FleetRunner, StepsPlan, steps};
use memtide_run::{
    Barrier, Failure, Lowered, Observer, RunOutcome, Share, Surroundings, Wanted, lower, run,
};
use memtide_scenario::{Layer, Origin, Resume, Scenario, Settings, field};
use memtide_server::{FaultKind, ServerProfile, StoreOptions};
use memtide_sim::{
    Network, PauseKind, Script, Setting, SimFleet, SimServer, Trace, WorkerPause, WorldClock,
    WorldFilter,
};
use memtide_tls::{SimulatedOptions, simulated};
use memtide_world::driver::{Address, Sample};
use memtide_world::{FilterPlan, Fleet, Plan, ServerPlan};
use std::cell::RefCell;
use std::rc::Rc;

/// The parameters of a rehearsal, with defaults.
pub struct World {
    /// The scenario's fields and words.
    pub words: Vec<(&'static str, String)>,
    /// One profile per server.
    pub servers: Vec<ServerProfile>,
    pub network: Network,
    pub pauses: Vec<WorkerPause>,
    /// The CPU time that a worker takes for each event.
    pub work: Span,
    /// What the kernel says of the servers' CPUs; none if they run elsewhere.
    pub server_cpu: Option<ServerCpu>,
    /// The servers that die, each with the start and end of its death.
    pub deaths: Vec<(usize, Instant, Instant)>,
    /// The scripted events.
    pub script: Script,
    /// Changes the filter of the servers' ends, in a world with TLS.
    pub breaks: Option<Box<dyn Fn(FilterPlan) -> FilterPlan>>,
    pub interrupt_at: Instant,
    pub seed: u64,
    /// True to keep measured operations one by one.
    pub keeps_samples: bool,
    /// The share of the run that is made in this world; `None` for the whole run.
    pub share: Option<Share>,
    /// The barrier at which this share waits for the others before its load.
    pub barrier: Option<Box<dyn Barrier>>,
}

/// The fields and words of a text such as `rate=2k keys=1000`.
pub fn fields(text: &'static str) -> Vec<(&'static str, &'static str)> {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('='));
    pairs.map(|pair| pair.expect("a field and its word")).collect()
}

/// The results of a rehearsal.
pub struct Rehearsal {
    pub plan: Plan,
    /// True if a worker stalled.
    pub pauses: bool,
    pub record: Record,
    pub failure: Option<Failure>,
    pub samples: Vec<Sample>,
    pub hash: u64,
    pub events: u64,
    /// The count of each kind of fault, over all servers.
    pub faults: Vec<(FaultKind, u64)>,
}

impl World {
    pub fn new(words: &[(&'static str, &str)]) -> Self {
        Self {
            words: words.iter().map(|&(name, word)| (name, word.to_owned())).collect(),
            servers: vec![ServerProfile::default()],
            network: Network::default(),
            pauses: Vec::new(),
            work: Span::ZERO,
            server_cpu: None,
            deaths: Vec::new(),
            script: Script::default(),
            breaks: None,
            interrupt_at: Instant::NEVER,
            seed: 1,
            keeps_samples: true,
            share: None,
            barrier: None,
        }
    }

    /// The world of a text such as `rate=2k keys=1000`.
    pub fn of(text: &str) -> Self {
        let pairs = text.split_whitespace().map(|pair| pair.split_once('='));
        let name = |name| field::find(name).unwrap_or_else(|| panic!("no field {name}")).name;
        let words = pairs.map(|pair| pair.expect("a field and its word"));
        let words: Vec<_> = words.map(|(field, word)| (name(field), word)).collect();
        Self::new(&words)
    }

    /// Adds fields and words; of two words for a field the last one counts.
    pub fn with(mut self, words: &[(&'static str, &str)]) -> Self {
        self.words.retain(|(name, _)| !words.iter().any(|(other, _)| other == name));
        self.words.extend(words.iter().map(|&(name, word)| (name, word.to_owned())));
        self
    }

    pub fn behaviour(mut self, word: &str) -> Self {
        for profile in &mut self.servers {
            profile.behaviour = word.parse().unwrap_or_else(|error| panic!("{word}: {error}"));
        }
        self
    }

    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        for profile in &mut self.servers {
            profile.seed = seed;
        }
        self.words.push(("seed", seed.to_string()));
        self
    }

    pub fn scenario(&self) -> Scenario {
        let mut layer = Layer::new();
        for (name, word) in &self.words {
            let field = field::find(name).unwrap_or_else(|| panic!("no field {name}"));
            layer.push(field, vec![word.clone()], Origin::Flag);
        }
        let mut settings = Settings::default();
        settings.apply(&layer).unwrap_or_else(|error| panic!("{error}"));
        settings.scenario
    }

    pub fn rehearse(self) -> Rehearsal {
        self.try_rehearse().unwrap_or_else(|failure| panic!("{}", failure.message()))
    }

    pub fn try_rehearse(self) -> Result<Rehearsal, Failure> {
        self.try_rehearse_with(|fleet| fleet)
    }

    /// Rehearses with the fleet that `make` makes from a simulated one.
    pub fn try_rehearse_with<F: Fleet>(
        mut self,
        make: impl FnOnce(SimFleet) -> F,
    ) -> Result<Rehearsal, Failure> {
        let (plans, pauses) = (self.servers.len(), !self.pauses.is_empty());
        let mut barrier = self.barrier.take();
        let mut observer =
            RehearsalObserver { cpu: self.machine_cpu(), ..RehearsalObserver::default() };
        let (scenario, surroundings, setting) = self.stage();
        let lowered =
            lower(&scenario, &surroundings).unwrap_or_else(|problem| panic!("{}", problem.message));
        let samples = Rc::new(RefCell::new(Vec::new()));
        let keep = Rc::clone(&samples);
        let whole =
            SimFleet::new(setting, Trace::new(), move |sample| keep.borrow_mut().push(*sample));
        let world = whole.beside();
        let mut fleet = make(whole);
        let barrier = barrier.as_deref_mut().map(|barrier| barrier as &mut dyn Barrier);
        let outcome = run(&mut fleet, &scenario, &lowered, false, barrier, &mut observer)?;
        let RunOutcome { record, failure, .. } = outcome;
        let mut plan = lowered.plan;
        // A command may have opened the window earlier.
        if plan.window.opened_by_command {
            plan.window.warmup = Span::from_s_f64(record.plan.warmup_s);
        }
        let (hash, events) = world.trace_hash();
        let count = |kind| (0..plans).map(|server| world.fault_count(server, kind)).sum();
        let faults = FaultKind::ALL.iter().map(|&kind| (kind, count(kind))).collect();
        drop((fleet, world));
        let samples = Rc::into_inner(samples).expect("the fleet is gone").into_inner();
        Ok(Rehearsal { plan, pauses, record, failure, samples, hash, events, faults })
    }

    /// The scenario of a share, lowered.
    pub fn part(&self, share: Option<Share>) -> (Scenario, Lowered) {
        let scenario = self.scenario();
        let around = Surroundings { share, ..self.around() };
        let lowered =
            lower(&scenario, &around).unwrap_or_else(|problem| panic!("{}", problem.message));
        (scenario, lowered)
    }

    /// Carries out a share with this fleet.
    pub fn carry_out(
        fleet: &mut impl Fleet,
        (scenario, lowered): &(Scenario, Lowered),
        barrier: &mut dyn Barrier,
    ) -> Result<RunOutcome, Failure> {
        run(fleet, scenario, lowered, false, Some(barrier), &mut RehearsalObserver::default())
    }

    /// The fleet of the world, the plan, and the operations that it will have measured.
    pub fn fleet(self) -> (SimFleet, Plan, Rc<RefCell<Vec<Sample>>>) {
        let (scenario, surroundings, setting) = self.stage();
        let lowered =
            lower(&scenario, &surroundings).unwrap_or_else(|problem| panic!("{}", problem.message));
        let samples = Rc::new(RefCell::new(Vec::new()));
        let keep = Rc::clone(&samples);
        let fleet =
            SimFleet::new(setting, Trace::new(), move |sample| keep.borrow_mut().push(*sample));
        (fleet, lowered.plan, samples)
    }

    /// A search or a scan: the events of each step, and the end.
    pub fn rehearse_steps(self, course: &mut impl Course, data: Data) -> Performed {
        self.rehearse_towards(Aim::Goals, course, data)
    }

    /// Rehearses a search or scan whose steps are judged by `aim`.
    pub fn rehearse_towards(self, aim: Aim, course: &mut impl Course, data: Data) -> Performed {
        self.rehearse_steps_with(course, (aim, data), |_, fleet| fleet)
    }

    /// Rehearses with the fleet that `make` makes from a simulated one.
    pub fn rehearse_steps_with<C: Course, F: Fleet>(
        mut self,
        course: &mut C,
        (aim, data): (Aim, Data),
        make: impl FnOnce((&StepsPlan<'_>, &mut C), SimFleet) -> F,
    ) -> Performed {
        self.keeps_samples = false;
        let (scenario, around, setting) = self.stage();
        let whole = SimFleet::new(setting, Trace::new(), |_| {});
        let world = whole.beside();
        let plan = StepsPlan {
            scenario: &scenario,
            aim,
            data,
            steps_max: Some(60),
            counts_own: false,
            command: String::new(),
        };
        let lowered = plan.first(course, &around).expect("it can be run");
        let fleet = make((&plan, course), whole);
        let mut observer = RehearsalObserver::default();
        let (scenario, barrier) = (scenario.clone(), Ok(None));
        let mut runner = FleetRunner { fleet, scenario, around, lowered, barrier };
        let conclusion = steps(&mut runner, &plan, course, &mut observer).conclusion;
        Performed { steps: observer.steps, conclusion, hash: world.trace_hash().0 }
    }

    /// What the kernel of this world's machine, which has two CPUs, says of them.
    fn machine_cpu(&mut self) -> Option<MachineCpu> {
        let scenario = self.scenario();
        let server = self.server_cpu.take();
        let length = scenario.warmup.longest(scenario.duration) + scenario.duration?;
        // A stop by a quota is counted once it has ended.
        let is_counted =
            |it: &WorkerPause| it.kind != PauseKind::Throttled || it.from + it.length < length;
        let part = |kind| {
            let of_kind = self.pauses.iter().filter(|it| it.kind == kind && is_counted(it));
            of_kind.map(|pause| pause.length.as_s_f64()).sum::<f64>() / length.as_s_f64()
        };
        let stolen = Some(part(PauseKind::Steal) / 2.0);
        let throttled = Some(part(PauseKind::Throttled)).filter(|part| *part > 0.0);
        let is_told = server.is_some() || !self.pauses.is_empty();
        is_told.then(|| MachineCpu { stolen, throttled, server, ..MachineCpu::default() })
    }

    /// The surroundings of the world that lowering knows.
    pub fn around(&self) -> Surroundings {
        let server = |number: usize| ServerPlan {
            name: format!("sim{number}"),
            addresses: vec![address(number)],
        };
        Surroundings {
            outputs: Wanted { samples: self.keeps_samples, ..Wanted::default() },
            share: self.share,
            ..Surroundings::simulated((0..self.servers.len()).map(server).collect(), 2)
        }
    }

    /// The filters of the load's connections and of the servers' ends, if TLS is spoken.
    fn filters(
        &self,
        scenario: &Scenario,
        servers: &[ServerPlan],
    ) -> Option<(FilterPlan, WorldFilter)> {
        let tls = &scenario.tls;
        let (seed, least) = (self.seed, tls.min);
        let options = SimulatedOptions { seed, least, resumes: tls.resume == Resume::On };
        let clock = WorldClock::default();
        let read = clock.clone();
        let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
        let ends = tls.on.then(|| simulated(&options, move || read.since_unix(), &names))?;
        let (client, server) = ends.expect("the certificate in the tree is right");
        let filters =
            self.breaks.as_ref().map_or_else(|| server.clone(), |breaks| breaks(server.clone()));
        Some((client, WorldFilter { filters, clock }))
    }

    /// The scenario, its surroundings for lowering, and the setting of the world.
    fn stage(self) -> (Scenario, Surroundings, Setting) {
        let (scenario, mut surroundings) = (self.scenario(), self.around());
        let (filter, of_servers) = self.filters(&scenario, &surroundings.servers).unzip();
        surroundings.filter = filter;
        let servers = self.servers.into_iter().enumerate().map(|(number, profile)| SimServer {
            addresses: vec![address(number)],
            store: StoreOptions { memory_bytes_max: 1 << 30, item_bytes_max: 1 << 20, shards: 1 },
            profile,
            dead: self
                .deaths
                .iter()
                .filter(|(of, ..)| *of == number)
                .map(|&(_, from, to)| (from, to))
                .collect(),
        });
        let setting = Setting {
            seed: self.seed,
            network: self.network,
            servers: servers.collect(),
            filter: of_servers,
            script: self.script,
            pauses: self.pauses,
            work: self.work,
            interrupt_at: self.interrupt_at,
        };
        (scenario, surroundings, setting)
    }
}

/// The address of a server of the world.
fn address(number: usize) -> Address {
    Address::Tcp(([127, 0, 0, 1], 11_211 + number as u16).into())
}

/// The results of a search or a scan.
pub struct Performed {
    pub steps: Vec<Step>,
    pub conclusion: Conclusion,
    pub hash: u64,
}

/// An observer that remembers the steps, in a world without dates.
#[derive(Default)]
struct RehearsalObserver {
    steps: Vec<Step>,
    /// What the kernel says of the machine's CPUs.
    cpu: Option<MachineCpu>,
}

impl Observer for RehearsalObserver {
    fn on(&mut self, event: &Event) {
        if let Event::StepDone(step) = event {
            self.steps.push((**step).clone());
        }
    }

    fn tick(&mut self, _at: Instant) {}

    fn machine_cpu(&self) -> Option<MachineCpu> {
        self.cpu.clone()
    }

    fn rss_max_bytes(&self) -> Option<u64> {
        None
    }

    fn machine(&self) -> MachineRecord {
        MachineRecord::default()
    }
}

/// The mean of replications and its standard error.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}
