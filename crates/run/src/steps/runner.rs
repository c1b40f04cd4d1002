//! Runners, which carry out whole runs and steps: a fleet of this process, or other machines.

use crate::controller::{RunOutcome, run};
use crate::failure::{Failure, Fault};
use crate::lower::{Lowered, Surroundings, lower, lower_step, step_scenario};
use crate::observer::Observer;
use crate::seal::record_not_run;
use crate::share::{Barrier, NotRun};
use memtide_base::Span;
use memtide_metrics::TallySum;
use memtide_record::steps::LostAgent;
use memtide_record::{Event, Record, WrongValues};
use memtide_scenario::{Problem, Scenario};
use memtide_world::Plan;
use memtide_world::fleet::Fleet;
use memtide_world::plan::StepTask;

const LOOK_EVERY: Span = Span::from_ms(100);

/// One run: a whole one, a fill, or a step of a search or scan.
#[derive(Clone, Copy, Debug)]
pub enum RunTask {
    /// Fill the servers, and do nothing else.
    Fill,
    /// The whole scenario.
    Whole,
    /// A step of a search or scan.
    Step(RestedStep),
}

impl RunTask {
    /// The plan of this run of `scenario`.
    ///
    /// # Errors
    /// If the scenario is impossible, or impossible at the step's rate.
    pub fn lower(self, scenario: &Scenario, around: &Surroundings) -> Result<Lowered, Problem> {
        match self {
            Self::Fill | Self::Whole => lower(scenario, around),
            Self::Step(step) => lower_step(scenario, Some(step.task), around),
        }
    }
}

/// Carries out runs one after another, such as the steps of a search or a scan.
pub trait Runner {
    /// Carries out one run.
    ///
    /// # Errors
    /// If there is no record of the run: it is impossible, the servers cannot be reached, or the
    /// user asked to stop before its load.
    fn carry_out(
        &mut self,
        task: RunTask,
        observer: &mut impl Observer,
    ) -> Result<RunOutcome, Failure>;

    /// The agents without which the last run went on, their steps not set; empty if no agents take
    /// part.
    fn lost(&self) -> Vec<LostAgent> {
        Vec::new()
    }
}

/// A runner whose load a fleet makes.
pub struct FleetRunner<F> {
    /// The fleet.
    pub fleet: F,
    /// The scenario of each run; of a step, but for its rate.
    pub scenario: Scenario,
    /// Facts about the world that plans need.
    pub around: Surroundings,
    /// The plan of a run that is no step.
    pub lowered: Lowered,
    /// The barrier before the load of a share, if it waits; or why the share makes no load.
    pub barrier: Result<Option<Box<dyn Barrier>>, NotRun>,
}

impl<F: Fleet> Runner for FleetRunner<F> {
    fn carry_out(
        &mut self,
        task: RunTask,
        observer: &mut impl Observer,
    ) -> Result<RunOutcome, Failure> {
        let is_fill = matches!(task, RunTask::Fill);
        let barrier = match &mut self.barrier {
            Ok(barrier) => barrier.as_mut().map(|it| &mut **it as &mut dyn Barrier),
            Err(why) => {
                let why = why.clone();
                return Ok(self.sat_out(&why, observer));
            }
        };
        let (fleet, scenario) = (&mut self.fleet, &self.scenario);
        let ran = match task {
            RunTask::Step(step) => run_step(fleet, scenario, &self.around, step, barrier, observer),
            _ => run(fleet, scenario, &self.lowered, is_fill, barrier, observer),
        };
        match ran {
            Err(failure)
                if self.around.share.is_some()
                    && !is_fill
                    && failure.exit == Failure::INTERRUPTED =>
            {
                let why = NotRun("it was interrupted before its load began".to_owned());
                Ok(self.sat_out(&why, observer))
            }
            ran => ran,
        }
    }
}

impl<F: Fleet> FleetRunner<F> {
    /// The result of a share that makes no load.
    fn sat_out(&self, why: &NotRun, observer: &mut impl Observer) -> RunOutcome {
        let since_unix = self.fleet.since_unix();
        let record = record_not_run(&self.scenario, &self.lowered, why, since_unix);
        let record = Record { machine: observer.machine(), ..record };
        observer.on(&Event::Done(Box::new(record.clone())));
        RunOutcome { record, failure: None, wrong_values: WrongValues::default() }
    }
}

/// A step, and the time for which the servers are idle before it.
#[derive(Clone, Copy, Debug)]
pub struct RestedStep {
    /// The step.
    pub task: StepTask,
    /// The idle time.
    pub rest: Span,
}

/// Carries out one step of a scenario after a rest; it is a run like any other. With a `barrier`, a
/// share's load begins when the barrier allows.
fn run_step<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    around: &Surroundings,
    RestedStep { task, rest: length }: RestedStep,
    barrier: Option<&mut dyn Barrier>,
    observer: &mut impl Observer,
) -> Result<RunOutcome, Failure> {
    let lowered = lower_step(scenario, Some(task), around)
        .map_err(|it| Failure::from(Fault::Unplannable { why: it.message }))?;
    let scenario = step_scenario(scenario, task);
    rest(fleet, &lowered.plan, length);
    run(fleet, &scenario, &lowered, false, barrier, observer)
}

/// Waits for `length`, unless the user stops it.
fn rest<F: Fleet>(fleet: &mut F, plan: &Plan, length: Span) {
    let until = fleet.now() + length;
    while fleet.now() < until && !fleet.is_interrupted() {
        let look = until.min(fleet.now() + LOOK_EVERY);
        if fleet.collect(look, &mut TallySum::new(&plan.shape())).is_err() {
            return;
        }
    }
}
