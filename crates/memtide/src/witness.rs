//! The real world's part in a run beside its workers: the time of day, how busy the machine is,
//! and the user who watches.

use crate::output::StatusLine;
use memtide_base::Instant;
use memtide_host::clock;
use memtide_host::machine::{self, Busyness, Machine};
use memtide_report::{progress_line, step_progress_line};
use memtide_run::Witness;
use memtide_schema::record::{MachineCpu, MachineRecord};
use memtide_schema::{Event, StepBegun};

/// The witness of a run on this machine.
pub(crate) struct HostWitness {
    machine: Machine,
    busyness: Busyness,
    status: StatusLine,
    /// The step that runs, of a search or a scan.
    step: Option<StepBegun>,
}

impl HostWitness {
    pub(crate) fn new(machine: Machine, quiet: bool) -> Self {
        Self { machine, busyness: Busyness::default(), status: StatusLine::new(quiet), step: None }
    }
}

impl Drop for HostWitness {
    fn drop(&mut self) {
        self.status.clear();
    }
}

impl Witness for HostWitness {
    fn on(&mut self, event: &Event) {
        match event {
            Event::Progress(progress) => self.status.update(&match &self.step {
                Some(step) => step_progress_line(step, progress),
                None => progress_line(progress),
            }),
            Event::Note(note) => self.status.update(note),
            Event::Done(_) => self.status.clear(),
            Event::StepBegun(step) => {
                self.step = Some(*step);
                // Each step has a window of its own.
                self.busyness = Busyness::default();
            }
            Event::Started(_) | Event::Phase(_) | Event::Warning(_) | Event::Times(_) => {}
            Event::StepDone(_) | Event::StepsDone(_) => {}
        }
    }

    fn unix_ms(&self) -> u64 {
        self.unix_ns() / 1_000_000
    }

    fn unix_ns(&self) -> u64 {
        clock::since_unix().ns()
    }

    fn tick(&mut self, at: Instant) {
        self.busyness.read(at);
    }

    fn machine_cpu(&self) -> Option<MachineCpu> {
        let busy = self.busyness.summary()?;
        Some(MachineCpu {
            avg: busy.mean,
            min: busy.idlest,
            max: busy.busiest,
            least_of_1s: busy.seconds.map(|(least, _)| least),
            most_of_1s: busy.seconds.map(|(_, most)| most),
        })
    }

    fn rss_max_bytes(&self) -> Option<u64> {
        Some(machine::rss_max_bytes())
    }

    fn machine(&self) -> MachineRecord {
        MachineRecord {
            os: std::env::consts::OS.to_owned(),
            kernel: self.machine.kernel.clone(),
            architecture: std::env::consts::ARCH.to_owned(),
            cpus: self.machine.cpus_online as u32,
            cpus_allowed: self.machine.cpus_allowed.len() as u32,
            cpu_quota: self.machine.cpu_quota,
            cpu_model: Some(self.machine.cpu_model.clone()).filter(|model| !model.is_empty()),
            clock_source: self.machine.clock_source.clone(),
            memory_bytes: Some(self.machine.memory_bytes).filter(|&bytes| bytes > 0),
            memtide_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The witness of a simulated run: what this machine costs it, and what this machine is, says
/// nothing about the run.
pub(crate) struct SimWitness {
    host: HostWitness,
    cpus: u32,
}

impl SimWitness {
    /// The witness of a simulated machine with this many CPUs.
    pub(crate) fn new(cpus: u32, quiet: bool) -> Self {
        Self { host: HostWitness::new(machine::look(), quiet), cpus }
    }
}

impl Witness for SimWitness {
    fn on(&mut self, event: &Event) {
        self.host.on(event);
    }

    fn unix_ms(&self) -> u64 {
        self.host.unix_ms()
    }

    fn unix_ns(&self) -> u64 {
        self.host.unix_ns()
    }

    fn tick(&mut self, _at: Instant) {}

    fn machine_cpu(&self) -> Option<MachineCpu> {
        None
    }

    fn rss_max_bytes(&self) -> Option<u64> {
        None
    }

    fn machine(&self) -> MachineRecord {
        MachineRecord {
            os: "simulated".to_owned(),
            cpus: self.cpus,
            cpus_allowed: self.cpus,
            memtide_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..MachineRecord::default()
        }
    }
}
