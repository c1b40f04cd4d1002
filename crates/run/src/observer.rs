//! What a run needs of its world beside a fleet: the machine, and somebody who is told what
//! happens.

use memtide_base::{Instant, Span};
use memtide_schema::Event;
use memtide_schema::record::{MachineCpu, MachineRecord};

/// What a run needs of its world beside a fleet.
pub trait Observer {
    /// Something happened.
    fn on(&mut self, event: &Event);
    /// Whether whoever is told has gone away, so that nothing more need be done for them. It is
    /// asked between the steps of a search or a scan.
    fn has_gone(&self) -> bool {
        false
    }
    /// How often whoever is told wants to see the times so far, counted from the beginning of the
    /// measured window; not at all without one.
    fn looks_every(&self) -> Option<Span> {
        None
    }
    /// It is `at` by the run's clock: the measured window begins, or about another second of it has
    /// passed, or it is over.
    fn tick(&mut self, at: Instant);
    /// How busy the machine was between the ticks; none where that cannot be told.
    fn machine_cpu(&self) -> Option<MachineCpu>;
    /// The most memory this process has had, in bytes; none where that is not the load's.
    fn rss_max_bytes(&self) -> Option<u64>;
    /// The machine that makes the load.
    fn machine(&self) -> MachineRecord;
}
