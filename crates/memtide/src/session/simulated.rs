//! The simulated world: load in virtual time, against simulated servers.

use super::bounded_writer::BoundedWriter;
use super::front::{Manner, Rows};
use super::outlets::{failed, row, stream};
use super::world::{Gauge, World};
use crate::exit::Stop;
use crate::output::say;
use crate::placement::barrier::Refused;
use memtide_base::Instant;
use memtide_engine::ServerPlan;
use memtide_host::signal::StopFlag;
use memtide_run::{Barrier, CpuPlacement, Doors, Lowered, Surroundings};
use memtide_schema::record::{ClockRecord, MachineCpu, MachineRecord};
use memtide_schema::{Event, Settings, Warning};
use memtide_sim::{Setting, SimFleet, Trace};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

/// Number of CPUs of a simulated machine; constant, so that the number of workers does not depend
/// on this machine.
const CPUS: usize = 2;

/// A simulated machine, network and servers.
pub(crate) struct SimWorld {
    servers: Vec<ServerPlan>,
    /// Setting of the simulation, until its fleet is made.
    setting: Option<Setting>,
    /// Destination of the trace's lines; `-` is stderr.
    trace: Option<String>,
    lines: Rc<RefCell<Lines>>,
    samples: Rc<RefCell<SimSamples>>,
    /// Hash of the trace and its number of events, at the end.
    hash: Option<(u64, u64)>,
}

impl SimWorld {
    /// A world of this setting that contains these servers.
    pub(crate) fn new(servers: Vec<ServerPlan>, setting: Setting, trace: Option<String>) -> Self {
        let (lines, samples) = (Rc::default(), Rc::default());
        Self { servers, setting: Some(setting), trace, lines, samples, hash: None }
    }

    fn trace(&self) -> Result<Trace, Stop> {
        let lines = Rc::clone(&self.lines);
        Ok(match self.trace.as_deref() {
            None => Trace::new(),
            Some("-") => Trace::with_lines(say),
            Some(path) => {
                lines.borrow_mut().out = Some(BoundedWriter::new(stream("--trace", path)?));
                Trace::with_lines(move |line| lines.borrow_mut().write(line))
            }
        })
    }
}

impl World for SimWorld {
    type Fleet = SimFleet;

    fn servers_within(&self, _settings: &Settings) -> u64 {
        self.servers.len() as u64
    }

    fn surroundings(&mut self, settings: &Settings) -> Result<Surroundings, Stop> {
        Ok(Surroundings {
            servers: self.servers.clone(),
            embedded: settings.scenario.servers.is_empty(),
            repeats: false,
            cpus_allowed: (0..CPUS).collect(),
            cores: BTreeMap::new(),
            cpus_online: CPUS,
            cpu_quota: None,
            io: Doors::Simulated,
            outputs: (&settings.outputs).into(),
            share: None,
        })
    }

    fn check(&self, _lowered: &Lowered) -> Result<(), Warning> {
        Ok(())
    }

    fn settle(&self, _placement: &CpuPlacement) -> Result<(), Stop> {
        Ok(())
    }

    /// Signals end a simulation at once: no server is under load, and it can be repeated.
    fn signals(&self, _manner: Manner) -> Result<StopFlag, Stop> {
        Ok(StopFlag::default())
    }

    fn fleet(
        &mut self,
        lowered: &Lowered,
        _stop: &StopFlag,
        rows: Option<Box<dyn Rows>>,
    ) -> Result<SimFleet, Stop> {
        self.samples.borrow_mut().rows = rows;
        let samples = Rc::clone(&self.samples);
        let trace = self.trace()?;
        let contents = lowered.plan.contents();
        let take = move |sample: &_| {
            samples.borrow_mut().take(&Event::Sample(row(&contents, sample)));
        };
        let setting = self.setting.take().expect("a session makes one fleet");
        Ok(SimFleet::new(setting, trace, take))
    }

    fn barrier(&self, _settings: &Settings) -> Result<Option<Box<dyn Barrier>>, Refused> {
        Ok(None)
    }

    fn gauge(&self) -> Box<dyn Gauge> {
        Box::new(SimGauge)
    }

    fn finish_samples(&mut self, _fleet: &mut SimFleet) -> io::Result<()> {
        self.samples.take().finish()
    }

    fn finish(&mut self, fleet: &mut SimFleet) -> Vec<Stop> {
        self.hash = Some(fleet.trace_hash());
        failed("--trace", self.lines.take().finish()).into_iter().collect()
    }

    fn last_word(&self) -> Option<String> {
        let (hash, events) = self.hash?;
        Some(format!("memtide: simulated, trace {hash:016x} over {events} events"))
    }
}

/// Destination of measured operations, with the first error of writing them.
#[derive(Default)]
struct SimSamples {
    rows: Option<Box<dyn Rows>>,
    error: Option<io::Error>,
}

impl SimSamples {
    fn take(&mut self, sample: &Event) {
        if let (Some(rows), None) = (&mut self.rows, &self.error) {
            self.error = rows.on(sample).err();
        }
    }

    fn finish(self) -> io::Result<()> {
        let finished = self.rows.map_or(Ok(()), |mut rows| rows.finish());
        self.error.map_or(finished, Err)
    }
}

/// Destination of a trace's lines, with the first error of writing them.
#[derive(Default)]
struct Lines {
    out: Option<BoundedWriter>,
    error: Option<io::Error>,
}

impl Lines {
    fn write(&mut self, line: &str) {
        if let (Some(out), None) = (&mut self.out, &self.error) {
            self.error = writeln!(out, "{line}").err();
        }
    }

    fn finish(self) -> io::Result<()> {
        let flushed = self.out.map_or(Ok(()), |mut out| out.flush());
        self.error.map_or(flushed, Err)
    }
}

/// A gauge that reports nothing: this machine and its load do not affect a simulation.
struct SimGauge;

impl Gauge for SimGauge {
    fn restart(&mut self) {}

    fn read(&mut self, _at: Instant) {}

    fn cpu(&self) -> Option<MachineCpu> {
        None
    }

    fn rss_max_bytes(&self) -> Option<u64> {
        None
    }

    fn machine(&self) -> MachineRecord {
        MachineRecord {
            os: "simulated".to_owned(),
            cpus: CPUS as u32,
            cpus_allowed: CPUS as u32,
            memtide_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..MachineRecord::default()
        }
    }

    fn clock(&self, _at: Instant) -> Option<ClockRecord> {
        None
    }
}
