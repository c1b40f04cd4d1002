//! What a run needs from its world besides a fleet: facts about the machine, and an observer to
//! pass events to.

use memtide_base::{Instant, Span};
use memtide_record::{
    ClockRecord, Event, FloorRecord, HostSecond, MachineCpu, MachineRecord, PlanRecord,
};

/// Receives a run's events, and reports what the machine was doing.
pub trait Observer {
    /// Takes the next event.
    fn on(&mut self, event: &Event);
    /// True if the reader of the results has gone away, so that a search or scan can stop. Asked
    /// between its steps.
    fn has_gone(&self) -> bool {
        false
    }
    /// Period at which to report the times so far, from the beginning of the measured window;
    /// `None` for never.
    fn looks_every(&self) -> Option<Span> {
        None
    }
    /// What memtide, the kernel and the way to the server contribute to the times of a load like
    /// `plan`; `None` if that is not known. Called before the servers are asked anything, and may
    /// make a load of its own.
    fn floor(&mut self, _plan: &PlanRecord) -> Option<FloorRecord> {
        None
    }
    /// Called at `at` (the run's clock) when the measured window begins, about once a second during
    /// it, and when it ends.
    fn tick(&mut self, at: Instant);
    /// The machine that makes the load, since the last call; `None` the first time, and if it is
    /// unknown. Called when the load begins, and when each second of it ends.
    fn host_second(&mut self) -> Option<HostSecond> {
        None
    }
    /// CPU load of the machine between the ticks; `None` if unknown.
    fn machine_cpu(&self) -> Option<MachineCpu>;
    /// Peak memory of this process in bytes; `None` if another process makes the load.
    fn rss_max_bytes(&self) -> Option<u64>;
    /// The machine that makes the load.
    fn machine(&self) -> MachineRecord;
    /// The clock of the load, whose measured window began at `start`; `None` if unknown.
    fn clock(&self, _start: Instant) -> Option<ClockRecord> {
        None
    }
}
