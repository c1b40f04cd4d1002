//! The world in which a session's load is made: this machine, a simulation, or agents.

mod simulated;
mod host;
pub mod embedded;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(not(feature = "tls"))]
#[path = "world/no_tls.rs"]
pub mod tls;

use crate::exit::Stop;
use crate::front::{Front, FrontProfile, LostAgents, Manner};
pub use host::HostWorld;
#[cfg(feature = "cluster")]
pub(crate) use host::Supervisor;
use memtide_base::Instant;
use memtide_host::signal::StopFlag;
use memtide_record::{
    ClockRecord, FloorRecord, HostSecond, MachineCpu, MachineRecord, PlanRecord, Warning,
};
use memtide_run::steps::Runner;
use memtide_run::{CpuChoice, CpuPlacement, Lowered, Observer, Surroundings};
use memtide_scenario::{Outputs, Settings};
use memtide_sinks::Samples;
pub use simulated::SimWorld;

/// The interface of a session to its world. A session calls the methods in the order of their
/// declaration.
pub trait World {
    /// True if signals ask the run to end; false if they end the program at once.
    const CATCHES: bool = true;

    /// Carries out the session's runs.
    type Runner: Runner;

    /// Refuses settings that this world cannot carry out, and completes the others.
    fn prepare(&mut self, _settings: &mut Settings) -> Result<(), Stop> {
        Ok(())
    }

    /// Number of servers in this process, which take its memory.
    fn servers_within(&self, settings: &Settings) -> u64;

    /// Facts that plans need. Starts the world's own server, if it has one.
    fn surroundings(&mut self, settings: &Settings) -> Result<Surroundings, Stop>;

    /// Checks whether a plan can be carried out; a warning says what is missing.
    fn check(&self, _lowered: &Lowered) -> Result<(), Warning> {
        Ok(())
    }

    /// Tries how workers wait best, and where they and the server run best; returns that with a
    /// line about it, or none if it is not worth it.
    fn try_out(&mut self, _settings: &Settings, _lowered: &Lowered) -> Option<(CpuChoice, String)> {
        None
    }

    /// Keeps other threads off the workers' CPUs, and other users out of this process.
    fn settle(&self, _placement: &CpuPlacement) -> Result<(), Stop> {
        Ok(())
    }

    /// The outputs that this process writes.
    fn own_outputs(&self, outputs: &Outputs) -> Outputs {
        outputs.clone()
    }

    /// Installs the handlers of signals.
    fn signals(&self, manner: Manner) -> Result<StopFlag, Stop>;

    /// The runner; measured operations go to `samples`.
    fn runner(
        &mut self,
        prepared: Prepared<'_>,
        profile: &FrontProfile,
        stop: &StopFlag,
        samples: Samples,
    ) -> Result<Self::Runner, Stop>;

    /// The gauge of the machine's CPU load.
    fn gauge(&self) -> Box<dyn Gauge>;

    /// Waits until all who make the load are there, and divides it between them.
    fn gather(
        _runner: &mut Self::Runner,
        _settings: &Settings,
        _front: &dyn Front,
        _observer: &mut impl Observer,
    ) -> Result<(), Stop> {
        Ok(())
    }

    /// Ends everything that was made for the load; returns its errors. The rest of the measured
    /// operations is written if `keeps_samples`.
    fn finish(&mut self, runner: &mut Self::Runner, keeps_samples: bool) -> Vec<Stop>;

    /// Ends the runner, once the outputs are closed. If the result `is_written`, no one else need
    /// keep a part of it. Returns the agents that were lost.
    fn dismiss(runner: Self::Runner, _is_written: bool) -> LostAgents {
        drop(runner);
        LostAgents::default()
    }

    /// Notes below the result.
    fn last_word(&self) -> Option<String> {
        None
    }
}

/// A task as it was decided.
pub struct Prepared<'a> {
    /// The user's settings.
    pub settings: &'a Settings,
    /// Facts about the world.
    pub around: Surroundings,
    /// The plan; for steps, that of the first.
    pub lowered: Lowered,
    /// True if a share waits for the others before its load.
    pub waits: bool,
}

/// A gauge of the machine that makes the load: its identity and its CPU load.
pub trait Gauge {
    /// Begins a new window.
    fn restart(&mut self);
    /// Takes a reading at `at` of the run's clock.
    fn read(&mut self, at: Instant);
    /// The machine since the last call; none the first time, and if it does not make the load.
    fn second(&mut self) -> Option<HostSecond> {
        None
    }
    /// What memtide, the kernel and the way to the server contribute to the times of a load like
    /// `plan`; none unless it is to be measured.
    fn floor(&mut self, _plan: &PlanRecord) -> Option<FloorRecord> {
        None
    }
    /// CPU load between the readings; none if unknown.
    fn cpu(&self) -> Option<MachineCpu>;
    /// Peak memory of this process in bytes; none if it does not make the load.
    fn rss_max_bytes(&self) -> Option<u64>;
    /// The machine.
    fn machine(&self) -> MachineRecord;
    /// The clock by which `at` is an instant of the run, with its present state; none without a
    /// clock.
    fn clock(&self, at: Instant) -> Option<ClockRecord>;
}
