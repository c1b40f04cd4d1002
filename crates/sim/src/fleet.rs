//! A fleet of simulated workers: the world advances from event to event, and each worker that has
//! completions or is due takes a turn. A turn takes no time, or as long as the world's work.

use crate::driver::SimDriver;
use crate::meter::{Meter, pauses_of};
use crate::trace::Trace;
use crate::world::{Setting, WorkerPause, World};
use memtide_base::{Instant, ServerId, Span};
use memtide_engine::Worker;
use memtide_engine::probe::ask;
use memtide_metrics::TallySum;
use memtide_server::FaultKind;
use memtide_workload::PlannedSource;
use memtide_world::driver::Sample;
use memtide_world::fleet::{Command, Fleet, FleetError, Interval, ServerAnswer};
use memtide_world::question::{Answer, AskError, Question};
use memtide_world::{Plan, ServerPlan, Wait, WindowCommands};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

/// A fleet of simulated workers.
pub struct SimFleet {
    world: Rc<RefCell<World>>,
    crew: Rc<RefCell<Crew>>,
    /// The plan's workers that this fleet makes.
    own: Range<usize>,
    plan: Option<Plan>,
    /// The instant at which the user interrupts; never if the user does not.
    interrupt_at: Instant,
    watched: Watched,
}

/// The servers that are watched.
struct Watched {
    servers: Vec<ServerId>,
    /// The instant at which they are asked next.
    due: Instant,
    /// Their answers that were not collected yet.
    polled: Vec<ServerAnswer>,
}

impl Watched {
    fn new(servers: &[ServerId]) -> Self {
        Self { servers: servers.to_vec(), due: Instant::NEVER, polled: Vec::new() }
    }
}

/// The interval at which a watched server is asked.
const POLL_EVERY: Span = Span::from_s(1);

/// All workers of a world, from all its fleets: time passes for all of them at once.
struct Crew {
    /// The workers by their number in the plan.
    workers: Vec<Option<Simulated>>,
    pauses: Vec<WorkerPause>,
    work: Span,
    start: Instant,
}

struct Simulated {
    worker: Worker<SimDriver, PlannedSource>,
    /// The instant at which it is to be woken; never once it has finished.
    until: Instant,
    /// The end of its work on the events that it took last, if work takes time.
    works_until: Option<Instant>,
    meter: Meter,
    /// Its run-queue time, for its driver.
    kept: Rc<Cell<Span>>,
}

impl SimFleet {
    /// A fleet in a new world of `setting`; exported operations go to `samples`.
    pub fn new(setting: Setting, trace: Trace, samples: impl FnMut(&Sample) + 'static) -> Self {
        let (pauses, work) = (setting.pauses.clone(), setting.work);
        let interrupt_at = setting.interrupt_at;
        let world = World::new(setting, trace, Box::new(samples));
        let crew = Crew { workers: Vec::new(), pauses, work, start: Instant::NEVER };
        Self {
            world: Rc::new(RefCell::new(world)),
            crew: Rc::new(RefCell::new(crew)),
            own: 0..0,
            plan: None,
            interrupt_at,
            watched: Watched::new(&[]),
        }
    }

    /// Another fleet in the same world, with which it can share a plan.
    pub fn beside(&self) -> Self {
        let (world, crew) = (Rc::clone(&self.world), Rc::clone(&self.crew));
        let watched = Watched::new(&[]);
        Self { world, crew, own: 0..0, plan: None, interrupt_at: self.interrupt_at, watched }
    }

    /// The hash of the world's trace so far, and its number of events.
    pub fn trace_hash(&self) -> (u64, u64) {
        let world = self.world.borrow();
        (world.trace().hash(), world.trace().events())
    }

    /// A driver of its own in the fleet's world, for a worker that no fleet drives or for a probe.
    /// While it waits, time passes for the whole world, but no worker of a fleet runs.
    pub fn driver(&self) -> SimDriver {
        let worker = self.world.borrow_mut().stranger();
        SimDriver::new(Rc::clone(&self.world), worker)
    }

    /// The server's counter with this name of memcached's statistics; `None` for an unknown name.
    pub fn counter(&self, server: usize, name: &str) -> Option<u64> {
        self.world.borrow().counter(server, name)
    }

    /// The number of faults of this kind that a server has made.
    pub fn fault_count(&self, server: usize, kind: FaultKind) -> u64 {
        self.world.borrow().fault_count(server, kind)
    }
}

impl Crew {
    /// The end of the pause that `worker` is in at `now`, or `now`.
    fn awake_at(&self, worker: usize, world: &World, now: Instant) -> Instant {
        let mut at = world.awake_at(now);
        for (_, pause) in pauses_of(&self.pauses, worker, self.start) {
            if pause.holds(at) {
                at = pause.to;
            }
        }
        at
    }

    /// Lets every worker that is due or has completions take its turn. A turn can cause completions
    /// for others only through the world, so one round is enough.
    fn wake(&mut self, world: &RefCell<World>, now: Instant) {
        for number in 0..self.workers.len() {
            let awake = self.awake_at(number, &world.borrow(), now) <= now;
            let Some(at_worker) = &mut self.workers[number] else { continue };
            let mail = world.borrow().mail_count(number as u16);
            let due = match at_worker.works_until {
                Some(end) => end <= now,
                None => at_worker.until <= now || (mail > 0 && at_worker.until != Instant::NEVER),
            };
            if !due {
                continue;
            }
            at_worker.meter.ready(now.min(at_worker.works_until.unwrap_or(at_worker.until)));
            if !awake {
                continue;
            }
            let pauses = pauses_of(&self.pauses, number, self.start);
            let kept = at_worker.meter.runs(now, pauses);
            at_worker.kept.set(at_worker.kept.get() + kept);
            let mut work = Span::ZERO;
            if at_worker.works_until.take().is_none() {
                at_worker.worker.resume(at_worker.until);
                work = self.work * mail;
            }
            at_worker.meter.works(now, now + work);
            if work.is_zero() {
                at_worker.until = at_worker.worker.prepare().unwrap_or(Instant::NEVER);
            } else {
                at_worker.works_until = Some(now + work);
            }
        }
    }

    /// The next instant at which a worker acts without a completion, after its pauses.
    fn next_wake(&self, world: &World) -> Instant {
        let now = world.now();
        let wakes = self.workers.iter().enumerate().map(|(number, worker)| {
            let until = worker.as_ref().map_or(Instant::NEVER, |worker| worker.until);
            if until == Instant::NEVER {
                return Instant::NEVER;
            }
            let wanted = match worker.as_ref().and_then(|worker| worker.works_until) {
                Some(end) => end,
                None if world.has_mail(number as u16) => now,
                None => until,
            };
            self.awake_at(number, world, wanted.max(now))
        });
        wakes.min().unwrap_or(Instant::NEVER)
    }

    /// True if the world plants what the kernel of its machine would say of its workers' CPUs.
    fn states_cpu(&self) -> bool {
        !self.pauses.is_empty() || !self.work.is_zero()
    }

    fn is_over(&self) -> bool {
        self.workers.iter().flatten().all(|worker| worker.worker.is_finished())
    }

    /// The workers in `range`.
    fn range(&mut self, range: &Range<usize>) -> impl Iterator<Item = &mut Simulated> {
        self.workers[range.clone()].iter_mut().flatten()
    }
}

impl Fleet for SimFleet {
    fn now(&self) -> Instant {
        self.world.borrow().now()
    }

    fn since_unix(&self) -> Span {
        self.world.borrow().since_unix()
    }

    /// The first fleet that makes new workers ends the plan before, for all fleets of the world.
    fn start(&mut self, plan: &Plan, workers: Range<u16>) -> Result<(), FleetError> {
        let mut crew = self.crew.borrow_mut();
        let (count, own) =
            (usize::from(plan.workers), usize::from(workers.start)..usize::from(workers.end));
        let is_new = crew.workers.len() != count || crew.range(&own).next().is_some();
        if is_new {
            crew.start = Instant::NEVER;
            crew.workers = (0..count).map(|_| None).collect();
            self.world.borrow_mut().forget_workers(plan.workers);
        }
        assert!(own.end <= crew.workers.len(), "a fleet makes workers of the plan");
        // The commands to an earlier plan are past.
        let plan = Plan { commands: WindowCommands::default(), ..plan.clone() };
        let source = PlannedSource::new(&plan.source);
        for number in workers {
            let driver = SimDriver::new(Rc::clone(&self.world), number);
            let kept = driver.kept_time();
            let mut worker = Worker::new(driver, &plan, number, &source);
            worker.open();
            let until = worker.prepare().unwrap_or(Instant::NEVER);
            let simulated =
                Simulated { worker, until, works_until: None, meter: Meter::new(), kept };
            crew.workers[usize::from(number)] = Some(simulated);
        }
        self.own = own;
        self.plan = Some(plan);
        Ok(())
    }

    fn command(&mut self, at: Instant, command: Command) -> Result<(), FleetError> {
        let plan = self.plan.as_ref().expect("a command follows a start");
        let now = self.world.borrow().now();
        let mut crew = self.crew.borrow_mut();
        if command == Command::Begin {
            crew.start = at;
            self.watched.due = now;
            self.watched.poll(&self.world.borrow(), at);
        }
        match command {
            Command::Open => plan.commands.open(at),
            Command::Close => plan.commands.close(at),
            Command::Begin | Command::Stop { .. } => {}
        }
        for simulated in crew.range(&self.own) {
            if simulated.worker.is_finished() {
                continue;
            }
            match command {
                Command::Begin => {
                    simulated
                        .meter
                        .begin(plan.window.measure_start(at), plan.window.measure_end(at));
                    simulated.worker.begin(plan, at);
                }
                Command::Open => {
                    simulated.meter.begin(at, at + plan.window.duration);
                    // The workers share the plan's commands, and need not wake for them.
                    continue;
                }
                Command::Close => {
                    simulated.meter.end(at);
                    continue;
                }
                Command::Stop { grace } => simulated.worker.stop(at, grace),
            }
            // The next turn, which is now, carries the command out.
            simulated.until = now;
        }
        Ok(())
    }

    fn collect(&mut self, until: Instant, totals: &mut TallySum) -> Result<Interval, FleetError> {
        let until = match self.interrupt_at {
            at if at > self.now() => until.min(at),
            _ => until,
        };
        let mut crew = self.crew.borrow_mut();
        loop {
            let next_event = self.world.borrow().next_event();
            let next = next_event.min(crew.next_wake(&self.world.borrow()));
            if next > until || crew.is_over() {
                break;
            }
            debug_assert!(next >= self.now(), "a worker is woken in the past");
            self.world.borrow_mut().pass_to(next);
            crew.wake(&self.world, next);
        }
        let now = self.now();
        self.world.borrow_mut().pass_to(until.max(now));
        for simulated in crew.range(&self.own) {
            totals.absorb(simulated.worker.tally_mut());
        }
        let wait = self.plan.as_ref().map_or(Wait::Sleep, |plan| plan.wait);
        let reports = self.own.clone().filter_map(|number| {
            let simulated = crew.workers[number].as_ref()?;
            let report = simulated.worker.report();
            let pauses = pauses_of(&crew.pauses, number, crew.start);
            Some(match crew.states_cpu() {
                true => simulated.meter.complete(report, wait, until.max(now), pauses),
                false => report,
            })
        });
        let reports = reports.collect();
        self.watched.poll(&self.world.borrow(), crew.start);
        Ok(Interval {
            at: self.now(),
            workers: reports,
            polled: std::mem::take(&mut self.watched.polled),
            interrupted: self.interrupt_at <= self.now(),
        })
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt_at <= self.now()
    }

    fn ask(
        &mut self,
        plan: &Plan,
        server: &ServerPlan,
        question: Question<'_>,
    ) -> Result<Answer, AskError> {
        ask(&mut self.driver(), plan, server, question)
    }

    /// The answers are read from the servers themselves: a question over the network would be an
    /// event and change every trace.
    fn watch_servers(&mut self, _plan: &Plan, servers: &[ServerId]) {
        self.watched = Watched::new(servers);
    }
}

impl Watched {
    /// Asks if the load, which begins at `start`, is about to begin, or if another second of it is
    /// over.
    fn poll(&mut self, world: &World, start: Instant) {
        let now = world.now();
        if now < self.due {
            return;
        }
        self.due = match now < start {
            true => start + POLL_EVERY,
            false => start + POLL_EVERY * (now.since(start).ns() / POLL_EVERY.ns() + 1),
        };
        self.polled.extend(self.servers.iter().map(|server| ServerAnswer {
            server: *server,
            at: now,
            connections: 0,
            answer: Ok(world.figures(server.index())),
        }));
    }
}
