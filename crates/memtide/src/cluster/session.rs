//! The session of a run by agents. Like any other, except that it waits for agents and has no fleet
//! of its own.

use super::master::Fleet;
use super::rows::OwnRows;
use crate::exit::{FAILED, INTERRUPTED, Stop};
use crate::session::host::HostWorld;
use crate::session::outlets::failed;
#[cfg(feature = "influx")]
use crate::session::outlets::influx::name_run;
use crate::session::run_observer::RunObserver;
use crate::session::{Came, Ended, Front, Manner, Opened, Steps, Task, World, caught};
use memtide_engine::{Address, ServerPlan};
use memtide_host::machine;
use memtide_host::signal::StopFlag;
use memtide_run::steps::steps;
use memtide_run::{Doors, Failure, Observer, Share, Surroundings};
use memtide_schema::record::{EndedBy, GoalResult};
use memtide_schema::scenario::Target;
use memtide_schema::{OutputKind, Settings};
use std::collections::BTreeMap;

/// Everything that a run by agents needs to begin.
pub(crate) struct MasterSession {
    /// The user's settings.
    pub(crate) settings: Settings,
    /// Kind of run.
    pub(crate) task: Task,
    /// The front, which faces the user.
    pub(crate) front: Box<dyn Front>,
}

impl MasterSession {
    /// Carries out the run; returns the exit code.
    pub(crate) fn run(mut self) -> u8 {
        let mut stop = StopFlag::default();
        let ended = self.perform(&mut stop);
        self.front.exit(ended, &stop)
    }

    fn perform(&mut self, stop: &mut StopFlag) -> Result<u8, Stop> {
        let Self { settings, task, front } = self;
        #[cfg(feature = "influx")]
        name_run(settings);
        front.preface()?;
        check(settings)?;
        front.check(settings, 0)?;
        let around = Surroundings { repeats: front.repeats(), ..surroundings(settings) };
        task.lower(&settings.scenario, &around).map_err(|problem| front.refuse(&problem))?;
        machine::hide_process().map_err(Stop::usage)?;
        // Each agent writes its own samples.
        let own = settings.outputs.without_samples();
        let Opened { samples, outlets, reader } =
            front.open(&Settings { outputs: own, ..settings.clone() })?;
        *stop = caught(match front.manner() {
            Manner::Asks => StopFlag::on_signals(i32::from(INTERRUPTED), false),
            Manner::Kills => StopFlag::on_deadly_signals(),
        })?;
        let rows = samples.map(OwnRows::new);
        if !front.waits(stop) {
            return Ok(INTERRUPTED);
        }
        let mut fleet = Fleet::open(settings, around, &**front, rows.clone(), stop)?;
        let gauge = HostWorld::new(None).gauge();
        let mut audience = RunObserver::new(gauge, settings.outputs.quiet, outlets, reader);
        audience.show(front.screens(settings));
        if let Err(stop) = fleet.gather(&mut audience) {
            drop(audience);
            return Err(stop);
        }
        front.missed(&fleet.missing());
        fleet.divide(front.divide(settings, fleet.shares())?);
        let came = carry_out(task, &mut fleet, settings, &mut audience);
        let came = match came {
            Ok(came) => came,
            Err(failure) => {
                fleet.dismiss(false);
                // Clears the terminal's line before anything else is printed.
                drop(audience);
                return Err(front.fail(&failure));
            }
        };
        let mut trouble = fleet.trouble();
        let (doubted, is_recorded) = audience.close(&mut trouble);
        let lost = fleet.dismiss(is_recorded);
        if let Some(rows) = rows {
            trouble.extend(failed(&rows.flag, rows.close()));
        }
        let is_forgiven = trouble.is_empty() && misses_only_agents(&came);
        if is_forgiven {
            front.missed(&lost);
        }
        let code = front.end(settings, Ended { came, doubted, trouble, is_recorded })?;
        Ok(if is_forgiven && code == FAILED { 0 } else { code })
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

/// True if the only fault of a run is that agents were lost, no more than the user allows.
fn misses_only_agents(came: &Came) -> bool {
    let Came::Run(outcome) = came else { return false };
    let record = &outcome.record;
    outcome.failure.is_none()
        && record.missing.is_some()
        && matches!(record.ended_by, EndedBy::Duration | EndedBy::Operations)
        && record.goals.iter().all(|goal| goal.result == GoalResult::Met)
        && record.phases.verification().wrong() == 0
}

/// Refuses settings that agents cannot carry out.
///
/// Cause: An output or a server that only one process can have.
fn check(settings: &Settings) -> Result<(), Stop> {
    let Settings { scenario, outputs, placement } = settings;
    let problem = if scenario.servers.is_empty() {
        "--agents needs --server, because each agent would start an embedded server of its own"
    } else if outputs.plan {
        "--plan shows what this machine would do, but agents carry out the run; remove --plan, or \
         use --shard 0/N instead of --agents"
    } else if outputs.verify_details.is_some() {
        "--verify-details is written by a single process; remove it, or run without --agents"
    } else if outputs.first(OutputKind::Samples).is_some_and(|it| it.place != "agents") {
        "with --agents, each agent writes its own samples: use --samples agents, and start the \
         agents with --samples DIR"
    } else if placement.agents.master_rate.is_some()
        && (scenario.ops_max.is_some() && scenario.duration.is_none())
    {
        "--master-rate with --ops-max needs --duration, because --ops-max does not limit the \
         master's own load"
    } else if placement.agents.master_rate.is_some() && scenario.churn.calls.is_some() {
        "--master-rate does not work under connection churn; remove --calls, or --master-rate"
    } else if placement.agents.which.is_none() {
        "--agents is missing; add --agents N"
    } else {
        return Ok(());
    };
    Err(Stop::usage(problem))
}

/// Surroundings from which every machine makes the same decisions: only the number of servers is
/// known. Names are resolved where the load is made.
fn surroundings(settings: &Settings) -> Surroundings {
    let nowhere = |target: &Target| match target {
        Target::Tcp { .. } => Address::Tcp(([127, 0, 0, 1], 0).into()),
        Target::Unix { path } => Address::Unix(path.clone()),
    };
    let server =
        |target: &Target| ServerPlan { name: target.to_string(), addresses: vec![nowhere(target)] };
    Surroundings {
        servers: settings.scenario.servers.iter().map(server).collect(),
        embedded: false,
        repeats: false,
        cpus_allowed: vec![0],
        cores: BTreeMap::new(),
        cpus_online: 1,
        cpu_quota: None,
        io: Doors::Simulated,
        outputs: (&settings.outputs).into(),
        share: Some(Share::one(0, 1)),
    }
}
