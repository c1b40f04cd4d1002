//! A session whose load agents make: as any other, but that it waits for them, and has no fleet of
//! its own.

use super::master::Fleet;
use crate::exit::{INTERRUPTED, Stop};
use crate::session::audience::Audience;
use crate::session::host::HostWorld;
use crate::session::{Came, Ended, Front, Opened, Steps, Task, World, caught};
use memtide_host::machine;
use memtide_host::signal::StopFlag;
use memtide_run::steps::steps;
use memtide_run::{Failure, Observer};
use memtide_schema::{Outputs, Settings};

/// Everything that a run by agents needs to begin.
pub(crate) struct MasterSession {
    /// What the user wants.
    pub(crate) settings: Settings,
    /// What kind of run it is.
    pub(crate) task: Task,
    /// Who speaks with the user.
    pub(crate) front: Box<dyn Front>,
}

impl MasterSession {
    /// Carries it out to its end; returns the exit code.
    pub(crate) fn run(mut self) -> u8 {
        let mut stop = StopFlag::default();
        let ended = self.perform(&mut stop);
        self.front.exit(ended, &stop)
    }

    fn perform(&mut self, stop: &mut StopFlag) -> Result<u8, Stop> {
        let Self { settings, task, front } = self;
        front.preface()?;
        check(settings)?;
        front.check(settings, 0)?;
        machine::hide_process().map_err(Stop::usage)?;
        // Each agent writes its own samples.
        let own = Outputs { samples: None, ..settings.outputs.clone() };
        let Opened { outlets, reader, .. } =
            front.open(&Settings { outputs: own, ..settings.clone() })?;
        *stop = caught(StopFlag::on_signals(i32::from(INTERRUPTED), false))?;
        let mut fleet = Fleet::open(settings, stop)?;
        let gauge = HostWorld::new(None).gauge();
        let mut audience = Audience::new(gauge, settings.outputs.quiet, outlets, reader);
        audience.show(front.screens(settings));
        if let Err(stop) = fleet.gather(&mut audience) {
            drop(audience);
            return Err(stop);
        }
        let came = carry_out(task, &mut fleet, settings, &mut audience);
        fleet.dismiss();
        let came = match came {
            Ok(came) => came,
            Err(failure) => {
                // The line on the terminal is cleared before anything else is said.
                drop(audience);
                return Err(front.fail(&failure));
            }
        };
        let mut trouble = Vec::new();
        let (doubted, is_recorded) = audience.close(&mut trouble);
        front.end(settings, Ended { came, doubted, trouble, is_recorded })
    }
}

fn carry_out(
    task: &mut Task,
    fleet: &mut Fleet,
    settings: &Settings,
    observer: &mut impl Observer,
) -> Result<Came, Failure> {
    Ok(match task {
        Task::Load | Task::Once | Task::Step(_) => {
            let load_only = matches!(task, Task::Load);
            Came::Run(Box::new(fleet.carry_out(load_only, None, observer)?))
        }
        Task::Steps(these) => {
            let plan = these.plan(&settings.scenario);
            let Steps { course, .. } = these;
            Came::Steps(steps(fleet, &plan, &mut **course, observer))
        }
    })
}

/// Refuses what agents cannot do.
///
/// Cause: An output or a server that only one process can have.
fn check(settings: &Settings) -> Result<(), Stop> {
    let Settings { scenario, outputs, placement } = settings;
    let problem = if scenario.servers.is_empty() {
        "a run by agents needs a --server: an embedded server would be each agent's own"
    } else if outputs.plan {
        "--plan shows what this machine would do, but agents carry out the run; remove --plan, or \
         use --shard 0/N instead of --agents"
    } else if outputs.verify_details.is_some() {
        "--verify-details is of one process; remove it, or run without --agents"
    } else if outputs.samples.as_deref().is_some_and(|place| place != "agents") {
        "with --agents, each agent writes its own samples: use --samples agents, and start the \
         agents with --samples DIR"
    } else if placement.agents.which.is_none() {
        "--agents is missing; name their number"
    } else {
        return Ok(());
    };
    Err(Stop::usage(problem))
}
