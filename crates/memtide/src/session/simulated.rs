//! The simulated world: load in virtual time, against simulated servers.

use super::bounded_writer::BoundedWriter;
use super::front::{FrontProfile, Manner, Rows, Samples};
use super::outlets::{failed, row, stream};
use super::world::{Gauge, Prepared, World};
use crate::exit::Stop;
use crate::output::say;
use memtide_base::Instant;
use memtide_engine::ServerPlan;
use memtide_host::signal::StopFlag;
use memtide_record::Event;
use memtide_record::{ClockRecord, MachineCpu, MachineRecord};
use memtide_run::steps::FleetRunner;
use memtide_run::{Doors, Surroundings};
use memtide_scenario::Settings;
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
    /// Destination of the trace's lines.
    lines: Rc<RefCell<Destination<BoundedWriter>>>,
    /// Destination of measured operations.
    samples: Rc<RefCell<Destination<Box<dyn Rows>>>>,
    /// Name of the output of measured operations in messages.
    flag: String,
    /// Hash of the trace and its number of events, at the end.
    hash: Option<(u64, u64)>,
}

impl SimWorld {
    /// A world of this setting that contains these servers.
    pub(crate) fn new(servers: Vec<ServerPlan>, setting: Setting, trace: Option<String>) -> Self {
        let (lines, samples) = (Rc::default(), Rc::default());
        let (setting, flag) = (Some(setting), String::new());
        Self { servers, setting, trace, lines, samples, flag, hash: None }
    }

    fn trace(&self) -> Result<Trace, Stop> {
        let lines = Rc::clone(&self.lines);
        Ok(match self.trace.as_deref() {
            None => Trace::new(),
            Some("-") => Trace::with_lines(say),
            Some(path) => {
                lines.borrow_mut().out = Some(BoundedWriter::new(stream("--trace", path)?));
                Trace::with_lines(move |line| {
                    lines.borrow_mut().write(|out| writeln!(out, "{line}"));
                })
            }
        })
    }
}

impl World for SimWorld {
    type Runner = FleetRunner<SimFleet>;

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

    /// Signals end a simulation at once: no server is under load, and it can be repeated.
    fn signals(&self, _manner: Manner) -> Result<StopFlag, Stop> {
        Ok(StopFlag::default())
    }

    fn runner(
        &mut self,
        Prepared { settings, around, lowered, .. }: Prepared<'_>,
        _profile: &FrontProfile,
        _stop: &StopFlag,
        output: Option<Samples>,
    ) -> Result<FleetRunner<SimFleet>, Stop> {
        if let Some(Samples { flag, rows }) = output {
            self.flag = flag;
            self.samples.borrow_mut().out = Some(rows);
        }
        let samples = Rc::clone(&self.samples);
        let trace = self.trace()?;
        let contents = lowered.plan.contents();
        let take = move |sample: &_| {
            let event = Event::Sample(row(&contents, sample));
            samples.borrow_mut().write(|rows| rows.on(&event));
        };
        let setting = self.setting.take().expect("a session makes one fleet");
        let fleet = SimFleet::new(setting, trace, take);
        let (scenario, barrier) = (settings.scenario.clone(), Ok(None));
        Ok(FleetRunner { fleet, scenario, around, lowered, barrier })
    }

    fn gauge(&self) -> Box<dyn Gauge> {
        Box::new(SimGauge)
    }

    fn finish(&mut self, runner: &mut Self::Runner, keeps_samples: bool) -> Vec<Stop> {
        let written = match keeps_samples {
            true => self.samples.take().finish(|mut rows| rows.finish()),
            false => Ok(()),
        };
        self.hash = Some(runner.fleet.trace_hash());
        let trace = self.lines.take().finish(|mut out| out.flush());
        let trace = failed("--trace", trace);
        failed(&self.flag, written).into_iter().chain(trace).collect()
    }

    fn last_word(&self) -> Option<String> {
        let (hash, events) = self.hash?;
        Some(format!("memtide: simulated, trace {hash:016x} over {events} events"))
    }
}

/// A destination, with the first error of writing to it.
struct Destination<T> {
    out: Option<T>,
    error: Option<io::Error>,
}

impl<T> Default for Destination<T> {
    fn default() -> Self {
        Self { out: None, error: None }
    }
}

impl<T> Destination<T> {
    /// Writes to it, unless that failed before.
    fn write(&mut self, write: impl FnOnce(&mut T) -> io::Result<()>) {
        if let (Some(out), None) = (&mut self.out, &self.error) {
            self.error = write(out).err();
        }
    }

    /// Ends it by `end`; the first error counts.
    fn finish(self, end: impl FnOnce(T) -> io::Result<()>) -> io::Result<()> {
        let ended = self.out.map_or(Ok(()), end);
        self.error.map_or(ended, Err)
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
