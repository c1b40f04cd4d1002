//! Where a session's load is made: on this machine, in a simulation, or elsewhere.

use super::front::{Manner, Rows};
use crate::exit::Stop;
use memtide_base::Instant;
use memtide_engine::Fleet;
use memtide_host::signal::StopFlag;
use memtide_run::{CpuPlacement, Lowered, Surroundings};
use memtide_schema::record::{MachineCpu, MachineRecord};
use memtide_schema::{Settings, Warning};
use std::io;

/// What a session needs of the place where its load is made. It is asked in the order in which its
/// methods stand here.
pub(crate) trait World {
    /// Who makes the load.
    type Fleet: Fleet;

    /// How many of the servers are in this process, and take memory of it.
    fn servers_within(&self, settings: &Settings) -> u64;

    /// What plans need to know of it. A server of its own is started here, if it brings one.
    fn surroundings(&mut self, settings: &Settings) -> Result<Surroundings, Stop>;

    /// Whether a plan can be carried out; the warning says what is missing.
    fn check(&self, lowered: &Lowered) -> Result<(), Warning>;

    /// Leaves the workers' processors to them.
    fn settle(&self, placement: &CpuPlacement) -> Result<(), Stop>;

    /// What signals raise from now on.
    fn signals(&self, manner: Manner) -> Result<StopFlag, Stop>;

    /// The fleet that makes the load; measured operations go to `rows`.
    fn fleet(
        &mut self,
        lowered: &Lowered,
        stop: &StopFlag,
        rows: Option<Box<dyn Rows>>,
    ) -> Result<Self::Fleet, Stop>;

    /// What tells how busy the machine is.
    fn gauge(&self) -> Box<dyn Gauge>;

    /// Writes what is left of the measured operations; what went wrong with them.
    fn finish_samples(&mut self, fleet: &mut Self::Fleet) -> io::Result<()>;

    /// No load is made any more: ends what was made for it, and says what went wrong with that.
    fn finish(&mut self, fleet: &mut Self::Fleet) -> Vec<Stop>;

    /// What is said below the result.
    fn last_word(&self) -> Option<String>;
}

/// The machine that makes the load, and how busy it is.
pub(crate) trait Gauge {
    /// Another window begins.
    fn restart(&mut self);
    /// It is `at` by the run's clock.
    fn read(&mut self, at: Instant);
    /// How busy it was between the readings, where that can be told.
    fn cpu(&self) -> Option<MachineCpu>;
    /// The most memory this process has had, in bytes, where it is the load's.
    fn rss_max_bytes(&self) -> Option<u64>;
    /// The machine.
    fn machine(&self) -> MachineRecord;
}
