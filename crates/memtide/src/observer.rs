//! The real world's part in a run beside its workers: how busy the machine is, and all who are told
//! what happens: the user who watches, and the outputs.

use crate::output::StatusLine;
use memtide_base::Instant;
use memtide_host::machine::{self, Busyness, Machine};
use memtide_report::{progress_line, step_progress_line};
use memtide_run::Observer;
use memtide_schema::record::{MachineCpu, MachineRecord};
use memtide_schema::{Event, StepBegun};
use memtide_sinks::{Outlets, Sink};
use std::io;
use std::time::Duration;

/// The observer of a run on this machine.
pub(crate) struct HostObserver {
    machine: Machine,
    busyness: Busyness,
    /// The line on the terminal, if there is one.
    status: Outlets,
    outlets: Outlets,
}

/// How long a terminal may take to clear the line before a result is written below it.
const CLEARING: Duration = Duration::from_secs(1);
/// How long an output may take between two steps until the next one begins all the same.
const SETTLING: Duration = Duration::from_secs(2);

impl HostObserver {
    /// FormatEvents `outlets` what happens, and the user's terminal unless `quiet`.
    pub(crate) fn new(machine: Machine, quiet: bool, outlets: Outlets) -> Self {
        let mut status = Outlets::default();
        if let Some(line) = StatusLine::new(quiet) {
            // Without a thread for it there is no line, which costs no result.
            drop(status.add("status", Status { line, step: None }));
        }
        Self { machine, busyness: Busyness::default(), status, outlets }
    }

    /// The outputs, when nothing more happens; nothing is left on the terminal.
    pub(crate) fn take_outlets(&mut self) -> Outlets {
        drop(self.status.close());
        std::mem::take(&mut self.outlets)
    }

    /// Whether the reader of the output `flag` has gone away.
    pub(crate) fn is_gone(&self, flag: &str) -> bool {
        self.outlets.settle(SETTLING);
        self.outlets.is_gone(flag)
    }
}

/// The line that says how far a run is.
struct Status {
    line: StatusLine,
    /// The step that runs, of a search or a scan.
    step: Option<StepBegun>,
}

impl Sink for Status {
    fn on(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Progress(progress) => self.line.update(&match &self.step {
                Some(step) => step_progress_line(step, progress),
                None => progress_line(progress),
            }),
            Event::Note(note) => self.line.update(note),
            Event::Done(_) => self.line.clear(),
            Event::StepBegun(step) => self.step = Some(*step),
            _ => {}
        }
        Ok(())
    }

    fn takes(&self) -> fn(&Event) -> bool {
        |event| {
            use Event::{Done, Note, Progress, StepBegun};
            matches!(event, Progress(_) | Note(_) | Done(_) | StepBegun(_))
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.line.clear();
        Ok(())
    }
}

impl Observer for HostObserver {
    fn on(&mut self, event: &Event) {
        if let Event::StepBegun(_) = event {
            // Each step has a window of its own.
            self.busyness = Busyness::default();
        }
        self.status.on(event);
        if let Event::Done(_) = event {
            self.status.settle(CLEARING);
        }
        self.outlets.on(event);
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
            stolen: Some(busy.stolen),
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

/// The observer of a simulated run: what this machine costs it, and what this machine is, says
/// nothing about the run.
pub(crate) struct SimObserver {
    host: HostObserver,
    cpus: u32,
}

impl SimObserver {
    /// The observer of a simulated machine with this many CPUs.
    pub(crate) fn new(cpus: u32, quiet: bool, outlets: Outlets) -> Self {
        Self { host: HostObserver::new(machine::look(), quiet, outlets), cpus }
    }

    /// The outputs, when nothing more happens.
    pub(crate) fn take_outlets(&mut self) -> Outlets {
        self.host.take_outlets()
    }
}

impl Observer for SimObserver {
    fn on(&mut self, event: &Event) {
        self.host.on(event);
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
