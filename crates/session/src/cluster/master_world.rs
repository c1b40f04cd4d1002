//! The world of a run by agents: other machines make the load.

use super::master_runner::MasterRunner;
use super::own_outputs::OwnRows;
use crate::exit::{INTERRUPTED, Stop, caught};
use crate::front::{Front, FrontProfile, LostAgents, Manner};
use crate::world::{Gauge, HostWorld, Prepared, World};
use memtide_host::machine;
use memtide_host::signal::StopFlag;
use memtide_run::{CpuPlacement, Observer, Share, Surroundings};
use memtide_scenario::{OutputKind, Outputs, Settings, Target};
use memtide_sinks::Samples;
use memtide_world::{Address, ServerPlan};

/// The agents of a master.
pub struct MasterWorld;

impl World for MasterWorld {
    type Runner = MasterRunner;

    fn prepare(&mut self, settings: &mut Settings) -> Result<(), Stop> {
        check(settings)
    }

    fn servers_within(&self, _settings: &Settings) -> u64 {
        0
    }

    fn surroundings(&mut self, settings: &Settings) -> Result<Surroundings, Stop> {
        Ok(surroundings(settings))
    }

    fn settle(&self, _placement: &CpuPlacement) -> Result<(), Stop> {
        // A core dump would contain the token.
        machine::hide_process().map_err(Stop::usage)
    }

    /// Each agent writes its own samples.
    fn own_outputs(&self, outputs: &Outputs) -> Outputs {
        outputs.without_samples()
    }

    fn signals(&self, manner: Manner) -> Result<StopFlag, Stop> {
        caught(match manner {
            Manner::Asks => StopFlag::on_signals(i32::from(INTERRUPTED)),
            Manner::Kills => StopFlag::on_deadly_signals(false),
            Manner::KillsButInterrupts => StopFlag::on_deadly_signals(true),
        })
    }

    fn runner(
        &mut self,
        Prepared { settings, around, .. }: Prepared<'_>,
        profile: &FrontProfile,
        stop: &StopFlag,
        samples: Samples,
    ) -> Result<MasterRunner, Stop> {
        MasterRunner::open(
            settings,
            around,
            profile,
            (!samples.is_empty()).then(|| OwnRows::new(samples)),
            stop,
        )
    }

    fn gauge(&self) -> Box<dyn Gauge> {
        HostWorld::new(None).gauge()
    }

    fn gather(
        runner: &mut MasterRunner,
        settings: &Settings,
        front: &dyn Front,
        observer: &mut impl Observer,
    ) -> Result<(), Stop> {
        runner.gather(settings, front, observer)
    }

    fn finish(&mut self, runner: &mut MasterRunner, _keeps_samples: bool) -> Vec<Stop> {
        runner.finish()
    }

    fn dismiss(runner: MasterRunner, is_written: bool) -> LostAgents {
        runner.dismiss(is_written)
    }
}

/// Refuses settings that agents cannot carry out.
fn check(settings: &Settings) -> Result<(), Stop> {
    let Settings { scenario, outputs, placement, .. } = settings;
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
    let servers = settings.scenario.servers.iter().map(nowhere).collect();
    Surroundings {
        outputs: (&settings.outputs).into(),
        share: Some(Share::one(0, 1)),
        ..Surroundings::simulated(servers, 1)
    }
}

/// A server of that name whose address is not used.
fn nowhere(target: &Target) -> ServerPlan {
    let address = match target {
        Target::Tcp { .. } => Address::Tcp(([127, 0, 0, 1], 0).into()),
        Target::Unix { path } => Address::Unix(path.clone()),
    };
    ServerPlan { name: target.to_string(), addresses: vec![address] }
}
