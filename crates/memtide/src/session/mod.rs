//! A session: a run from the settings to the exit code, for every front end and every world:
//! checks, outputs, signals, fleet, load, observers, and the end.
//!
//! A [`Front`] faces the user: a command of memtide's own, or the face of an older load generator.
//! A [`World`] makes the load. Nothing here depends on which.

pub(crate) mod host;
pub(crate) mod simulated;
pub(crate) mod embedded;
pub(crate) mod room;
pub(crate) mod outlets;
pub(crate) mod run_observer;
pub(crate) mod world;
pub(crate) mod front;
#[cfg(feature = "plot")]
pub(crate) mod plot;
pub(crate) mod pending_file;
mod bounded_writer;

#[cfg(feature = "cluster")]
pub(crate) use front::LostAgents;
pub(crate) use front::{Came, Ended, Front, InStep, Manner, Opened, Rows, Samples, Screen};
pub(crate) use world::World;

use crate::exit::{INTERRUPTED, Stop, unwritable};
use crate::output::{columns, say, show};
use crate::placement::barrier::Refused;
use memtide_base::{Remedy, Words};
use memtide_engine::Fleet;
use memtide_host::signal::StopFlag;
use memtide_report::plan_text;
use memtide_run::steps::{Aim, Course, Data, FleetRunner, StepsPlan, steps};
#[cfg(feature = "cluster")]
use memtide_run::steps::{RestedStep, plan_step, run_step};
use memtide_run::{
    Barrier, Failure, Lowered, NotRun, Observer, RunOutcome, Share, Surroundings, Wanted, lower,
    record_not_run,
};
use memtide_schema::scenario::Problem;
use memtide_schema::{Event, Record, Scenario, Settings, Warning, WrongValues};
use outlets::failed;
use run_observer::RunObserver;
use std::io;

/// Everything that a run needs to begin.
pub(crate) struct Session<W> {
    /// The user's settings.
    pub(crate) settings: Settings,
    /// Kind of run.
    pub(crate) task: Task,
    /// The front, which faces the user.
    pub(crate) front: Box<dyn Front>,
    /// The world that makes the load.
    pub(crate) world: W,
}

/// Task of a session.
pub(crate) enum Task {
    /// Fill the servers, and nothing else.
    Load,
    /// One run.
    Once,
    /// Runs at one rate after another.
    Steps(Steps),
    /// One step of a search or scan that another process directs.
    #[cfg(feature = "cluster")]
    Step(RestedStep),
}

/// Runs at one rate after another.
pub(crate) struct Steps {
    /// The course, which chooses the rates.
    pub(crate) course: Box<dyn Course>,
    /// Criterion by which each step is judged.
    pub(crate) aim: Aim,
    /// State of the servers' data before each later step.
    pub(crate) data: Data,
    /// Largest number of steps.
    pub(crate) steps_max: Option<u32>,
    /// True if a step's rate is that of the whole load, including the master's own load beside its
    /// agents.
    pub(crate) counts_own: bool,
}

impl Steps {
    /// Settings that all steps have in common.
    pub(crate) fn plan<'a>(&self, scenario: &'a Scenario) -> StepsPlan<'a> {
        let Self { aim, data, steps_max, counts_own, .. } = self;
        let (data, steps_max, counts_own) = (*data, *steps_max, *counts_own);
        StepsPlan { scenario, aim: aim.clone(), data, steps_max, counts_own }
    }
}

impl Task {
    /// True if a share of the task waits for the other shares before its load.
    fn waits(&self) -> bool {
        match self {
            Self::Once => true,
            #[cfg(feature = "cluster")]
            Self::Step(_) => true,
            Self::Load | Self::Steps(_) => false,
        }
    }

    /// The plan; for steps, that of the first.
    pub(crate) fn lower(
        &mut self,
        scenario: &Scenario,
        around: &Surroundings,
    ) -> Result<Lowered, Problem> {
        match self {
            Self::Load | Self::Once => lower(scenario, around),
            Self::Steps(steps) => steps.plan(scenario).first(&mut *steps.course, around),
            #[cfg(feature = "cluster")]
            Self::Step(step) => plan_step(scenario, step.task, around),
        }
    }

    fn carry_out(
        &mut self,
        fleet: &mut impl Fleet,
        (scenario, around): (&Scenario, &Surroundings),
        (lowered, meeting): (&Lowered, Meeting),
        observer: &mut impl Observer,
    ) -> Result<Came, Failure> {
        Ok(match self {
            Self::Steps(these) => {
                let plan = these.plan(scenario);
                let mut runner = FleetRunner { fleet, scenario, around };
                Came::Steps(steps(&mut runner, &plan, &mut *these.course, observer))
            }
            _ => {
                let load_only = matches!(self, Self::Load);
                let ran = match meeting {
                    Ok(mut barrier) => {
                        let barrier = barrier.as_mut().map(|it| &mut **it as &mut dyn Barrier);
                        self.run(fleet, (scenario, around), lowered, barrier, observer)
                    }
                    Err(why) => Ok(sat_out(fleet, (scenario, lowered), &why, observer)),
                };
                let ran = ran.or_else(|failure| match around.share {
                    Some(_) if !load_only && failure.exit == INTERRUPTED => {
                        let why = NotRun("it was interrupted before its load began".to_owned());
                        Ok(sat_out(fleet, (scenario, lowered), &why, observer))
                    }
                    _ => Err(failure),
                });
                Came::Run(Box::new(ran?))
            }
        })
    }
}

impl Task {
    /// Carries out a task that is a single run.
    fn run(
        &self,
        fleet: &mut impl Fleet,
        (scenario, around): (&Scenario, &Surroundings),
        lowered: &Lowered,
        barrier: Option<&mut dyn Barrier>,
        observer: &mut impl Observer,
    ) -> Result<RunOutcome, Failure> {
        #[cfg(feature = "cluster")]
        if let Self::Step(step) = self {
            return run_step(fleet, (scenario, around), *step, barrier, observer);
        }
        #[cfg(not(feature = "cluster"))]
        let _ = around;
        let load_only = matches!(self, Self::Load);
        memtide_run::run(fleet, scenario, lowered, load_only, barrier, observer)
    }
}

/// The barrier of a share before its load, if it waits; or why it makes no load.
type Meeting = Result<Option<Box<dyn Barrier>>, NotRun>;

/// The result of a share that makes no load.
fn sat_out(
    fleet: &impl Fleet,
    (scenario, lowered): (&Scenario, &Lowered),
    why: &NotRun,
    observer: &mut impl Observer,
) -> RunOutcome {
    let record = record_not_run(scenario, lowered, why, fleet.since_unix());
    let record = Record { machine: observer.machine(), ..record };
    observer.on(&Event::Done(Box::new(record.clone())));
    RunOutcome { record, failure: None, wrong_values: WrongValues::default() }
}

impl<W: World> Session<W> {
    /// Carries out the session; returns the exit code.
    pub(crate) fn run(mut self) -> u8 {
        let mut stop = StopFlag::default();
        let ended = self.perform(&mut stop);
        self.front.exit(ended, &stop)
    }

    fn perform(&mut self, stop: &mut StopFlag) -> Result<u8, Stop> {
        let Self { settings, task, front, world } = self;
        let Settings { scenario, outputs, .. } = &*settings;
        front.preface()?;
        front.check(settings, world.servers_within(settings))?;
        let around = world.surroundings(settings)?;
        let wanted = Wanted { server_reports: front.watches_servers(), ..around.outputs };
        let around = Surroundings { repeats: front.repeats(), outputs: wanted, ..around };
        let lowered = task.lower(scenario, &around).map_err(|problem| front.refuse(&problem))?;
        let lowered = Lowered { looks_unfilled: front.looks_unfilled(scenario), ..lowered };
        if outputs.plan {
            let shown =
                show(&(plan_text(&lowered.record, columns()) + &lanes_text(&around, &lowered)));
            return shown.map(|()| 0).map_err(|error| unwritable("stdout", &error));
        }
        world.check(&lowered).map_err(|warning| front.unfit(&warning))?;
        // Threads of outputs inherit the CPUs of this thread.
        world.settle(&lowered.placement)?;
        let Opened { samples, outlets, reader } = front.open(settings)?;
        *stop = world.signals(front.manner())?;
        if !front.waits(stop) {
            return Ok(INTERRUPTED);
        }
        let (flag, rows) = samples.map_or((String::new(), None), |it| (it.flag, Some(it.rows)));
        let mut fleet = world.fleet(&lowered, stop, rows)?;
        let meeting = meeting(task, world, settings)?;
        let mut audience = RunObserver::new(world.gauge(), outputs.quiet, outlets, reader);
        audience.show(front.screens(settings));
        let asked = (scenario, &around);
        let came = task.carry_out(&mut fleet, asked, (&lowered, meeting), &mut audience);
        let came = match came {
            Ok(came) => came,
            Err(failure) => {
                // Clears the terminal's line before anything else is printed.
                drop(audience);
                return Err(front.fail(&failure));
            }
        };
        let mut trouble = Vec::new();
        if front.keeps_partial() || !came.has_failed() {
            trouble.extend(failed(&flag, world.finish_samples(&mut fleet)));
        }
        trouble.extend(world.finish(&mut fleet));
        let (doubted, is_recorded) = audience.close(&mut trouble);
        let code = front.end(settings, Ended { came, doubted, trouble, is_recorded })?;
        world.last_word().into_iter().for_each(|word| say(&word));
        Ok(code)
    }
}

/// The barrier of the share that `task` is. A fill does not wait, because it measures nothing.
fn meeting(task: &Task, world: &impl World, settings: &Settings) -> Result<Meeting, Stop> {
    if !task.waits() {
        return Ok(Ok(None));
    }
    match world.barrier(settings) {
        Ok(barrier) => Ok(Ok(barrier)),
        Err(Refused::NotRun(why)) => Ok(Err(why)),
        Err(Refused::Stop(stop)) => Err(stop),
    }
}

/// The lanes of this process, for a plan; empty if the run is not divided.
fn lanes_text(around: &Surroundings, lowered: &Lowered) -> String {
    let Some(Share { number, of, .. }) = around.share else { return String::new() };
    let lanes = lowered.plan.own_workers();
    let (first, last) = (lanes.start, lanes.end - 1);
    let total = lowered.plan.workers;
    format!("shard        {number}/{of}, lanes {first} to {last} of {total}\n")
}

/// The flag raised by signals.
///
/// Cause: The system refused a handler for signals such as Ctrl-C.
///
/// To do: Run memtide without the sandbox that forbids it.
pub(crate) fn caught(signals: io::Result<StopFlag>) -> Result<StopFlag, Stop> {
    signals.map_err(|error| Stop::usage(format!("signals cannot be caught: {error}")))
}

/// The failure of a plan that this machine does not allow, in memtide's own words.
pub(crate) fn unfit_natively(warning: &Warning) -> Stop {
    Stop::usage(format!("{}; {}", warning.message(), warning.remedy()))
}

/// The failure of a plan that this machine does not allow, in a face's words.
///
/// Cause: The limit of open files is below what the connections need.
pub(crate) fn unfit(warning: &Warning, words: &dyn Words) -> Stop {
    let fewer = words.remedy(Remedy::OrFewerConnections);
    Stop::usage(format!("{}; raise the hard limit (ulimit -Hn){fewer}", warning.message()))
}

/// The failure of a run, in a face's words.
pub(crate) fn failed_in(words: &dyn Words, failure: &Failure) -> Stop {
    Stop { code: failure.exit, message: failure.sentence.in_words(words) }
}
