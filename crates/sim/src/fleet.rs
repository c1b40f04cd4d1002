//! A fleet of simulated workers: the world goes from event to event, and whoever has mail or is
//! due takes a turn. Turns take no time.

use crate::driver::SimDriver;
use crate::trace::Trace;
use crate::world::{Setting, WorkerPause, World};
use memtide_base::Instant;
use memtide_engine::driver::Sample;
use memtide_engine::fleet::{Command, Fleet, FleetError, Interval};
use memtide_engine::probe::{Answer, AskError, Question, ask};
use memtide_engine::{Plan, ServerPlan, Worker};
use memtide_metrics::Totals;
use memtide_server::FaultKind;
use memtide_workload::PlannedSource;
use std::cell::RefCell;
use std::rc::Rc;

/// Simulated workers.
pub struct SimFleet {
    world: Rc<RefCell<World>>,
    pauses: Vec<WorkerPause>,
    workers: Vec<Simulated>,
    plan: Option<Plan>,
    start: Instant,
    /// When the user interrupts, if he does.
    interrupt_at: Instant,
}

struct Simulated {
    worker: Worker<SimDriver, PlannedSource>,
    /// When it wants to be woken; never once it has finished.
    until: Instant,
}

impl SimFleet {
    /// A fleet in a world of this setting; measured operations of plans that export them go to
    /// `samples`.
    pub fn new(setting: Setting, trace: Trace, samples: impl FnMut(&Sample) + 'static) -> Self {
        let pauses = setting.pauses.clone();
        let interrupt_at = setting.interrupt_at;
        let world = World::new(setting, trace, Box::new(samples));
        Self {
            world: Rc::new(RefCell::new(world)),
            pauses,
            workers: Vec::new(),
            plan: None,
            start: Instant::NEVER,
            interrupt_at,
        }
    }

    /// The hash of the world's trace so far, and how many events it has seen.
    pub fn trace_hash(&self) -> (u64, u64) {
        let world = self.world.borrow();
        (world.trace().hash(), world.trace().events())
    }

    /// How often a server has done this kind of fault.
    pub fn fault_count(&self, server: usize, kind: FaultKind) -> u64 {
        self.world.borrow().fault_count(server, kind)
    }

    /// When the pause that `worker` is in at `now` ends, or now.
    fn awake_at(&self, worker: usize, now: Instant) -> Instant {
        let mut at = now;
        for pause in &self.pauses {
            let from = self.start + pause.from;
            let to = from + pause.length;
            if usize::from(pause.worker) == worker && (from..to).contains(&at) {
                at = to;
            }
        }
        at
    }

    /// Lets every worker that is due or has mail take its turn; turns can make mail for others
    /// only through the world, so one round is enough.
    fn wake(&mut self, now: Instant) {
        for number in 0..self.workers.len() {
            let at_worker = &self.workers[number];
            let mail = self.world.borrow().has_mail(number as u16);
            let due = at_worker.until <= now || (mail && at_worker.until != Instant::NEVER);
            if !due || self.awake_at(number, now) > now {
                continue;
            }
            let at_worker = &mut self.workers[number];
            at_worker.worker.resume(at_worker.until);
            at_worker.until = at_worker.worker.prepare().unwrap_or(Instant::NEVER);
        }
    }

    /// The next instant at which a worker acts without mail, pauses considered.
    fn next_wake(&self) -> Instant {
        let wakes = self.workers.iter().enumerate().map(|(number, worker)| {
            if worker.until == Instant::NEVER {
                return Instant::NEVER;
            }
            let mail = self.world.borrow().has_mail(number as u16);
            let wanted = if mail { self.now() } else { worker.until };
            self.awake_at(number, wanted.max(self.now()))
        });
        wakes.min().unwrap_or(Instant::NEVER)
    }
}

impl Fleet for SimFleet {
    fn now(&self) -> Instant {
        self.world.borrow().now()
    }

    fn start(&mut self, plan: &Plan) -> Result<(), FleetError> {
        self.start = Instant::NEVER;
        self.world.borrow_mut().forget_workers(plan.workers);
        let source = PlannedSource::new(&plan.source);
        self.workers = (0..plan.workers)
            .map(|number| {
                let driver = SimDriver::new(Rc::clone(&self.world), number);
                let mut worker = Worker::new(driver, plan, number, &source);
                worker.open();
                let until = worker.prepare().unwrap_or(Instant::NEVER);
                Simulated { worker, until }
            })
            .collect();
        self.plan = Some(plan.clone());
        Ok(())
    }

    fn command(&mut self, at: Instant, command: Command) -> Result<(), FleetError> {
        let plan = self.plan.as_ref().expect("a command follows a start");
        let now = self.world.borrow().now();
        for simulated in &mut self.workers {
            if simulated.worker.is_finished() {
                continue;
            }
            match command {
                Command::Begin => {
                    self.start = at;
                    simulated.worker.begin(plan, at);
                }
                Command::Stop { grace } => simulated.worker.stop(grace),
            }
            // What was said is acted upon in the next turn, which is now.
            simulated.until = now;
        }
        Ok(())
    }

    fn collect(&mut self, until: Instant, totals: &mut Totals) -> Result<Interval, FleetError> {
        let until = match self.interrupt_at {
            at if at > self.now() => until.min(at),
            _ => until,
        };
        loop {
            let next = self.world.borrow().next_event().min(self.next_wake());
            let over = self.workers.iter().all(|worker| worker.worker.is_finished());
            if next > until || over {
                break;
            }
            self.world.borrow_mut().pass_to(next);
            self.wake(next);
        }
        let now = self.now();
        self.world.borrow_mut().pass_to(until.max(now));
        for simulated in &mut self.workers {
            totals.absorb(simulated.worker.tally_mut());
        }
        let reports = self.workers.iter().map(|simulated| simulated.worker.report());
        Ok(Interval {
            at: self.now(),
            workers: reports.collect(),
            missing: Vec::new(),
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
        let worker = self.world.borrow_mut().stranger();
        let mut driver = SimDriver::new(Rc::clone(&self.world), worker);
        ask(&mut driver, plan, server, question)
    }
}
