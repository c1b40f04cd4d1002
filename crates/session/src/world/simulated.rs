//! The simulated world: load in virtual time, against simulated servers.

use super::host::started;
use super::{Gauge, Prepared, World, tls};
use crate::console::say;
use crate::exit::{Stop, caught};
use crate::front::{FrontProfile, Manner};
use crate::outlets::{close, event};
use memtide_base::Instant;
use memtide_host::signal::StopFlag;
use memtide_record::{ClockRecord, Event, MachineCpu, MachineRecord};
use memtide_run::Surroundings;
use memtide_run::steps::FleetRunner;
use memtide_scenario::{Scenario, Settings};
use memtide_sim::{Setting, SimFleet, Trace};
use memtide_sinks::{Outlets, SampleOutlet, Samples, open_notes};
use memtide_world::{FilterPlan, ServerPlan};
use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

/// Number of CPUs of a simulated machine; constant, so that the number of workers does not depend
/// on this machine.
const CPUS: usize = 2;

/// Most measured operations that are gathered before they are passed on.
const SAMPLES_GATHERED: usize = 1024;
/// Most bytes of the trace that are gathered before they are passed on.
const TRACE_BYTES_GATHERED: usize = 64 * 1024;

/// A simulated machine, network and servers.
pub struct SimWorld {
    servers: Vec<ServerPlan>,
    /// Filter of the load's connections.
    filter: Option<FilterPlan>,
    /// Setting of the simulation, until its fleet is made.
    setting: Option<Setting>,
    /// Destination of the trace's lines; `-` is stderr.
    trace: Option<String>,
    /// The trace's lines on their way to its file.
    lines: Rc<RefCell<Lines>>,
    /// Measured operations on their way to their outputs.
    rows: Rc<RefCell<Vec<Event>>>,
    samples: Option<SampleOutlet>,
    /// Hash of the trace and its number of events, at the end.
    hash: Option<(u64, u64)>,
}

impl SimWorld {
    /// A world of this setting that contains these servers, which `scenario` loads; its filters
    /// are made here. The lines of a trace go to `trace`.
    ///
    /// # Errors
    /// If the scenario wants TLS, and this program was built without it.
    pub fn new(
        scenario: &Scenario,
        servers: Vec<ServerPlan>,
        setting: Setting,
        trace: Option<String>,
    ) -> Result<Self, Stop> {
        let (filter, of_servers) = tls::simulated(scenario, &servers)?.unzip();
        let (lines, rows) = (Rc::default(), Rc::default());
        let (setting, samples) = (Some(Setting { filter: of_servers, ..setting }), None);
        Ok(Self { servers, filter, setting, trace, lines, rows, samples, hash: None })
    }

    fn trace(&self) -> Result<Trace, Stop> {
        Ok(match self.trace.as_deref() {
            None => Trace::new(),
            Some("-") => Trace::with_lines(say),
            Some(path) => {
                open_notes(&mut self.lines.borrow_mut().outlets, "--trace", path)?;
                let lines = Rc::clone(&self.lines);
                Trace::with_lines(move |line| lines.borrow_mut().add(line))
            }
        })
    }
}

/// The lines of a trace on their way to its file.
struct Lines {
    text: String,
    outlets: Outlets,
}

impl Default for Lines {
    fn default() -> Self {
        Self { text: String::new(), outlets: Outlets::waiting() }
    }
}

impl Lines {
    fn add(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
        if self.text.len() >= TRACE_BYTES_GATHERED {
            self.pass();
        }
    }

    fn pass(&mut self) {
        self.outlets.on(&Event::Note(mem::take(&mut self.text)));
    }
}

impl World for SimWorld {
    const CATCHES: bool = false;
    type Runner = FleetRunner<SimFleet>;

    fn servers_within(&self, _settings: &Settings) -> u64 {
        self.servers.len() as u64
    }

    fn surroundings(&mut self, settings: &Settings) -> Result<Surroundings, Stop> {
        Ok(Surroundings {
            embedded: settings.scenario.servers.is_empty(),
            outputs: (&settings.outputs).into(),
            filter: self.filter.clone(),
            ..Surroundings::simulated(self.servers.clone(), CPUS)
        })
    }

    /// Signals end a simulation at once: no server is under load, and it can be repeated.
    fn signals(&self, _manner: Manner) -> Result<StopFlag, Stop> {
        caught(StopFlag::on_no_signal())
    }

    fn runner(
        &mut self,
        Prepared { settings, around, lowered, .. }: Prepared<'_>,
        _profile: &FrontProfile,
        _stop: &StopFlag,
        samples: Samples,
    ) -> Result<FleetRunner<SimFleet>, Stop> {
        let feed = match samples.is_empty() {
            true => None,
            false => Some(self.samples.insert(started(samples, true)?).feed()),
        };
        let (trace, rows) = (self.trace()?, Rc::clone(&self.rows));
        let contents = lowered.plan.contents();
        let setting = self.setting.take().expect("a session makes one fleet");
        let fleet = SimFleet::new(setting, trace, move |sample| {
            let Some(feed) = &feed else { return };
            let mut rows = rows.borrow_mut();
            rows.push(event(&contents, sample));
            if rows.len() >= SAMPLES_GATHERED {
                feed.add(mem::take(&mut *rows));
            }
        });
        let (scenario, barrier) = (settings.scenario.clone(), Ok(None));
        Ok(FleetRunner { fleet, scenario, around, lowered, barrier })
    }

    fn gauge(&self) -> Box<dyn Gauge> {
        Box::new(SimGauge)
    }

    fn finish(&mut self, runner: &mut Self::Runner, keeps_samples: bool) -> Vec<Stop> {
        let samples = self.samples.take();
        samples.iter().for_each(|it| it.feed().add(self.rows.take()));
        let samples = samples.and_then(|samples| samples.finish(keeps_samples)).map(Stop::from);
        self.hash = Some(runner.fleet.trace_hash());
        let mut lines = self.lines.take();
        lines.pass();
        samples.into_iter().chain(close(lines.outlets)).collect()
    }

    fn last_word(&self) -> Option<String> {
        let (hash, events) = self.hash?;
        Some(format!("memtide: simulated, trace {hash:016x} over {events} events"))
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
