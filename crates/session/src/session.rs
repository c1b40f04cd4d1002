//! A session: a run from the settings to the exit code, for every front end and every world:
//! checks, outputs, signals, fleet, load, observers, and the end.
//!
//! A [`Front`] faces the user: a command of memtide's own, or the face of an older load generator.
//! A [`World`] makes the load. Nothing here depends on which.

use crate::console::{columns, say, say_part, show};
use crate::exit::{FAILED, INTERRUPTED, Stop, unwritable};
use crate::front::{Came, Ended, Front, LostAgents, Opened, failed_in};
use crate::outlets::name_run;
use crate::run_observer::RunObserver;
use crate::watching::Watching;
use crate::world::{Prepared, World};
use memtide_base::Span;
use memtide_host::memory;
use memtide_host::signal::StopFlag;
use memtide_record::steps::LostAgent;
use memtide_record::{EndedBy, GoalResult};
use memtide_report::plan_text;
use memtide_run::steps::{Aim, Course, Data, RunTask, Runner, StepsPlan, steps};
use memtide_run::{Failure, Lowered, Observer, Share, Surroundings, Wanted};
use memtide_scenario::{Problem, Scenario, Settings};
use std::time::Duration;

/// Period at which a wait before the load checks for an interrupt.
const LOOK_EVERY: Span = Span::from_ms(20);

/// Everything that a run needs to begin.
pub struct Session<W> {
    /// The user's settings.
    pub settings: Settings,
    /// Kind of run.
    pub task: Task,
    /// The front, which faces the user.
    pub front: Box<dyn Front>,
    /// The world that makes the load.
    pub world: W,
}

/// Task of a session.
pub enum Task {
    /// One run.
    Run(RunTask),
    /// Runs at one rate after another.
    Steps(Steps),
}

/// Runs at one rate after another.
pub struct Steps {
    /// The course, which chooses the rates.
    pub course: Box<dyn Course>,
    /// Criterion by which each step is judged.
    pub aim: Aim,
    /// State of the servers' data before each later step.
    pub data: Data,
    /// Largest number of steps.
    pub steps_max: Option<u32>,
    /// True if a step's rate is that of the whole load, including the master's own load beside its
    /// agents.
    pub counts_own: bool,
    /// The command that carries the same steps out again; empty for that of another program.
    pub command: String,
}

impl Steps {
    /// Settings that all steps have in common.
    pub(crate) fn plan<'a>(&self, scenario: &'a Scenario) -> StepsPlan<'a> {
        let Self { aim, data, steps_max, counts_own, command, .. } = self;
        let (data, steps_max, counts_own) = (*data, *steps_max, *counts_own);
        let (aim, command) = (aim.clone(), command.clone());
        StepsPlan { scenario, aim, data, steps_max, counts_own, command }
    }
}

impl Task {
    /// True if a share of the task waits for the other shares before its load. A fill does not
    /// wait, because it measures nothing.
    const fn waits(&self) -> bool {
        matches!(self, Self::Run(RunTask::Whole | RunTask::Step(_)))
    }

    /// The plan; for steps, that of the first.
    fn lower(&mut self, scenario: &Scenario, around: &Surroundings) -> Result<Lowered, Problem> {
        match self {
            Self::Run(task) => task.lower(scenario, around),
            Self::Steps(steps) => steps.plan(scenario).first(&mut *steps.course, around),
        }
    }

    fn carry_out(
        &mut self,
        runner: &mut impl Runner,
        scenario: &Scenario,
        observer: &mut impl Observer,
    ) -> Result<Came, Failure> {
        Ok(match self {
            Self::Run(task) => Came::Run(Box::new(runner.carry_out(*task, observer)?)),
            Self::Steps(these) => {
                let plan = these.plan(scenario);
                Came::Steps(steps(runner, &plan, &mut *these.course, observer))
            }
        })
    }
}

impl<W: World> Session<W> {
    /// Carries out the session; returns the exit code.
    pub fn run(mut self) -> u8 {
        let mut stop = StopFlag::default();
        let ended = self.perform(&mut stop);
        self.front.exit(ended, &stop)
    }

    fn perform(&mut self, stop: &mut StopFlag) -> Result<u8, Stop> {
        let Self { settings, task, front, world } = self;
        front.preface()?;
        name_run(settings);
        world.prepare(settings)?;
        let settings = &*settings;
        let profile = front.profile(settings);
        front.check(settings, world.servers_within(settings))?;
        let around = world.surroundings(settings)?;
        memory::release();
        let wanted = Wanted { server_reports: profile.watches_servers, ..around.outputs };
        let mut around = Surroundings { repeats: profile.repeats, outputs: wanted, ..around };
        let scenario = &settings.scenario;
        let lowered = task.lower(scenario, &around).map_err(|problem| front.refuse(&problem))?;
        let mut lowered = Lowered { sampled: profile.sampled, ..lowered };
        let outputs = world.own_outputs(&settings.outputs);
        front.check_outputs(&outputs)?;
        if settings.outputs.plan {
            let shown =
                show(&(plan_text(&lowered.record, columns()) + &lanes_text(&around, &lowered)));
            return shown.map(|()| 0).map_err(|error| unwritable("stdout", &error));
        }
        world.check(&lowered).map_err(|warning| profile.unfit(&warning))?;
        let (chosen, tried) = world.try_out(settings, &lowered).unzip();
        if chosen.is_some() {
            around.chosen = chosen;
            let again = task.lower(scenario, &around).map_err(|problem| front.refuse(&problem))?;
            lowered = Lowered { sampled: lowered.sampled, ..again };
        }
        memory::release();
        // Threads of outputs inherit the CPUs of this thread.
        world.settle(&lowered.placement)?;
        let opened = front.open(&Settings { outputs, ..settings.clone() })?;
        tried.filter(|_| !settings.outputs.quiet).into_iter().for_each(|line| say(&line));
        let Opened { samples, outlets, reader } = opened;
        *stop = world.signals(profile.manner)?;
        if !profile.wait.as_ref().is_none_or(|(text, length)| waited(text, *length, stop)) {
            return Ok(INTERRUPTED);
        }
        let prepared = Prepared { settings, around, lowered, waits: task.waits() };
        let mut runner = world.runner(prepared, &profile, stop, samples)?;
        let watching = Watching::open(settings, stop, W::CATCHES)?;
        let is_quiet = settings.outputs.quiet;
        let mut observer = RunObserver::new(world.gauge(), watching, is_quiet, outlets, reader);
        observer.show(front.screens(settings));
        W::gather(&mut runner, settings, &**front, &mut observer)?;
        memory::release();
        let came = match task.carry_out(&mut runner, scenario, &mut observer) {
            Ok(came) => came,
            Err(failure) => {
                drop(W::dismiss(runner, false));
                // Clears the terminal's line before anything else is printed.
                drop(observer);
                return Err(failed_in(profile.words, &failure));
            }
        };
        let is_kept = profile.keeps_partial || !came.has_failed();
        let mut trouble = world.finish(&mut runner, is_kept);
        let (doubted, is_recorded) = observer.close(&mut trouble);
        let lost = came.lost(W::dismiss(runner, is_recorded));
        let is_forgiven = trouble.is_empty() && came.misses_only_agents();
        if is_forgiven || matches!(came, Came::Steps(_)) {
            front.missed(&lost);
        }
        let code = front.end(settings, Ended { came, doubted, trouble, is_recorded })?;
        world.last_word().into_iter().for_each(|word| say(&word));
        Ok(if is_forgiven && code == FAILED { 0 } else { code })
    }
}

impl Came {
    /// True if the only fault of a run is that agents were lost, no more than the user allows.
    pub fn misses_only_agents(&self) -> bool {
        let Self::Run(outcome) = self else { return false };
        let record = &outcome.record;
        outcome.failure.is_none()
            && record.missing.is_some()
            // What is worse than missing shares has another code.
            && record.exit == FAILED
            && matches!(record.ended_by, EndedBy::Duration | EndedBy::Operations)
            && record.goals.iter().all(|goal| goal.result == GoalResult::Met)
            && record.phases.verification().wrong() == 0
            && record.own.as_deref().is_none_or(|own| own.exit == 0)
    }

    /// The agents `lost`; in a search or scan with the step in which each was lost.
    fn lost(&self, lost: LostAgents) -> LostAgents {
        let Self::Steps(outcome) = self else { return lost };
        let sentences = outcome.conclusion.lost.iter().map(LostAgent::sentence).collect();
        LostAgents { sentences, ..lost }
    }
}

/// Waits before the load; returns false if that was interrupted.
fn waited(text: &str, length: Span, stop: &StopFlag) -> bool {
    say_part(text);
    let mut left = length;
    while !left.is_zero() && !stop.is_raised() {
        let step = left.min(LOOK_EVERY);
        std::thread::sleep(Duration::from_nanos(step.ns()));
        left = left.saturating_sub(step);
    }
    !stop.is_raised()
}

/// The lanes of this process, for a plan; empty if the run is not divided.
fn lanes_text(around: &Surroundings, lowered: &Lowered) -> String {
    let Some(Share { number, of, .. }) = around.share else { return String::new() };
    let lanes = lowered.plan.own_workers();
    let (first, last) = (lanes.start, lanes.end - 1);
    let total = lowered.plan.workers;
    format!("shard        {number}/{of}, lanes {first} to {last} of {total}\n")
}
