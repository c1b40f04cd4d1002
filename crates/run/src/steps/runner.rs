//! Runners, which carry out steps: a fleet of this process, or other machines.

use crate::controller::{RunOutcome, run};
use crate::failure::{Failure, Fault};
use crate::lower::{Lowered, Surroundings, lower_step, step_scenario};
use crate::observer::Observer;
use crate::share::Barrier;
use memtide_base::Span;
use memtide_engine::Plan;
use memtide_engine::fleet::Fleet;
use memtide_engine::plan::StepTask;
use memtide_metrics::TallySum;
use memtide_schema::Scenario;
use memtide_schema::scenario::Problem;

const LOOK_EVERY: Span = Span::from_ms(100);

/// Carries out the steps of a search or a scan, each as a whole run.
pub trait Runner {
    /// Carries out one step, after the servers were idle for `rest`.
    ///
    /// # Errors
    /// If there is no record of the step: it is impossible, the servers cannot be reached, or the
    /// user asked to stop before its load.
    fn carry_out(
        &mut self,
        task: StepTask,
        rest: Span,
        observer: &mut impl Observer,
    ) -> Result<RunOutcome, Failure>;
}

/// A runner whose load a fleet makes.
#[derive(Debug)]
pub struct FleetRunner<'a, F> {
    /// The fleet.
    pub fleet: &'a mut F,
    /// The scenario of each step, but for its rate.
    pub scenario: &'a Scenario,
    /// Facts about the world that plans need.
    pub around: &'a Surroundings,
}

impl<F: Fleet> Runner for FleetRunner<'_, F> {
    fn carry_out(
        &mut self,
        task: StepTask,
        rest: Span,
        observer: &mut impl Observer,
    ) -> Result<RunOutcome, Failure> {
        let asked = (self.scenario, self.around);
        run_step(self.fleet, asked, RestedStep { task, rest }, None, observer)
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

/// The plan of one step of `scenario`, as [`run_step`] carries it out.
///
/// # Errors
/// If the scenario is impossible at the step's rate.
pub fn plan_step(
    scenario: &Scenario,
    task: StepTask,
    around: &Surroundings,
) -> Result<Lowered, Problem> {
    lower_step(scenario, Some(task), around)
}

/// Carries out one step of a scenario after a rest; it is a run like any other. With a `barrier`, a
/// share's load begins when the barrier allows.
///
/// # Errors
/// If there is no record of the step, as for [`run`].
pub fn run_step<F: Fleet>(
    fleet: &mut F,
    (scenario, around): (&Scenario, &Surroundings),
    RestedStep { task, rest: length }: RestedStep,
    barrier: Option<&mut dyn Barrier>,
    observer: &mut impl Observer,
) -> Result<RunOutcome, Failure> {
    let lowered = plan_step(scenario, task, around)
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
