//! The world in which a session's load is made: this machine, or a simulation.

use super::front::{Manner, Rows};
use crate::exit::Stop;
use crate::placement::barrier::Refused;
use memtide_base::Instant;
use memtide_engine::Fleet;
use memtide_host::signal::StopFlag;
use memtide_run::{Barrier, CpuPlacement, Lowered, Surroundings};
use memtide_schema::record::{ClockRecord, MachineCpu, MachineRecord};
use memtide_schema::{Settings, Warning};
use std::io;

/// The interface of a session to its world. A session calls the methods in the order of their
/// declaration.
pub(crate) trait World {
    /// Type of the fleet that makes the load.
    type Fleet: Fleet;

    /// Number of servers in this process, which take its memory.
    fn servers_within(&self, settings: &Settings) -> u64;

    /// Facts that plans need. Starts the world's own server, if it has one.
    fn surroundings(&mut self, settings: &Settings) -> Result<Surroundings, Stop>;

    /// Checks whether a plan can be carried out; a warning says what is missing.
    fn check(&self, lowered: &Lowered) -> Result<(), Warning>;

    /// Keeps other threads off the workers' CPUs.
    fn settle(&self, placement: &CpuPlacement) -> Result<(), Stop>;

    /// Installs the handlers of signals.
    fn signals(&self, manner: Manner) -> Result<StopFlag, Stop>;

    /// The fleet that makes the load; measured operations go to `rows`.
    fn fleet(
        &mut self,
        lowered: &Lowered,
        stop: &StopFlag,
        rows: Option<Box<dyn Rows>>,
    ) -> Result<Self::Fleet, Stop>;

    /// The barrier of this share of a run before its load; none if it does not wait.
    fn barrier(&self, settings: &Settings) -> Result<Option<Box<dyn Barrier>>, Refused>;

    /// The gauge of the machine's CPU load.
    fn gauge(&self) -> Box<dyn Gauge>;

    /// Writes the rest of the measured operations; returns the error of their output, if any.
    fn finish_samples(&mut self, fleet: &mut Self::Fleet) -> io::Result<()>;

    /// Ends everything that was made for the load; returns its errors.
    fn finish(&mut self, fleet: &mut Self::Fleet) -> Vec<Stop>;

    /// Notes below the result.
    fn last_word(&self) -> Option<String>;
}

/// A gauge of the machine that makes the load: its identity and its CPU load.
pub(crate) trait Gauge {
    /// Begins a new window.
    fn restart(&mut self);
    /// Takes a reading at `at` of the run's clock.
    fn read(&mut self, at: Instant);
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
