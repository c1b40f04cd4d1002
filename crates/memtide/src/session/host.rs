//! The real world: this machine makes the load with its threads, against servers anywhere.

use super::caught;
use super::embedded::{embed, keep_on};
use super::front::{Manner, Origin, Rows};
use super::outlets::row;
use super::world::{Gauge, World};
use crate::exit::{INTERRUPTED, Stop, UNREACHABLE};
use crate::placement::barrier::{Refused, barrier};
use crate::placement::{Division, variable};
use memtide_base::{Instant, Span};
use memtide_engine::ServerPlan;
use memtide_host::clock::{self, ClockState};
use memtide_host::driver::check_uring;
use memtide_host::machine::{self, Busyness, Machine};
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, ConnectGuard, HostFleet, SampleSink, Sampled, Serving, resolve};
use memtide_run::{Barrier, CpuPlacement, Doors, Lowered, Surroundings};
use memtide_schema::record::{ClockRecord, MachineCpu, MachineRecord, Wide};
use memtide_schema::scenario::Target;
use memtide_schema::{Event, Settings, Warning};
use std::io;

/// Number of files that the program needs besides its connections.
const FILES_BESIDE: u64 = 64;

/// This machine.
pub(crate) struct HostWorld {
    files_max: u64,
    machine: Machine,
    /// The embedded server, if there is one.
    embedded: Option<Serving>,
    /// The share of the run that is carried out here; none if the run is not divided.
    division: Option<Division>,
    /// The clock of the fleet.
    clock: Clock,
    /// Guard that decides to which addresses connections may be made.
    guard: ConnectGuard,
}

impl HostWorld {
    /// This machine, which carries out this share of a run, or all of it. Raises the limit of open
    /// files as far as allowed.
    pub(crate) fn new(division: Option<Division>) -> Self {
        let files_max = machine::raise_file_limit();
        let (machine, clock) = (machine::look(), Clock::start());
        let guard = ConnectGuard::default();
        Self { files_max, machine, embedded: None, division, clock, guard }
    }

    /// This machine, limited to the addresses that `guard` permits.
    #[cfg(feature = "cluster")]
    pub(crate) fn within(self, guard: ConnectGuard) -> Self {
        Self { guard, ..self }
    }

    /// Meaning of the numbers in samples.
    fn origin(&self, lowered: &Lowered) -> Origin {
        let now = self.clock.now().since(Instant::ZERO);
        let leads = lowered.plan.own_leads().into_iter();
        Origin {
            unix_ns: clock::since_unix().ns().saturating_sub(now.ns()),
            servers: lowered.plan.servers.iter().map(|server| server.name.clone()).collect(),
            leads: leads.map(|(number, server)| (number, usize::from(server.0))).collect(),
        }
    }

    /// The clock of the fleet.
    #[cfg(feature = "cluster")]
    pub(crate) const fn clock(&self) -> Clock {
        self.clock
    }
}

impl World for HostWorld {
    type Fleet = HostFleet;

    fn servers_within(&self, settings: &Settings) -> u64 {
        u64::from(settings.scenario.servers.is_empty())
    }

    fn surroundings(&mut self, settings: &Settings) -> Result<Surroundings, Stop> {
        let scenario = &settings.scenario;
        let servers = if scenario.servers.is_empty() {
            let serving = self.embedded.insert(embed(settings)?);
            let address = serving.address();
            vec![resolved(&address.to_string(), &address.ip().to_string(), address.port())?]
        } else {
            scenario.servers.iter().map(server).collect::<Result<Vec<_>, _>>()?
        };
        Ok(Surroundings {
            servers,
            embedded: self.embedded.is_some(),
            repeats: false,
            cpus_allowed: self.machine.cpus_allowed.clone(),
            cores: self.machine.cores.clone(),
            cpus_online: self.machine.cpus_online,
            cpu_quota: self.machine.cpu_quota,
            io: Doors::Kernel { uring: check_uring() },
            outputs: (&settings.outputs).into(),
            share: self.division.as_ref().map(|division| division.share),
        })
    }

    fn check(&self, lowered: &Lowered) -> Result<(), Warning> {
        if lowered.plan.churn().is_some() {
            // Under connection churn the number of open connections is unknown; a connect without a
            // descriptor is counted.
            return Ok(());
        }
        let sides = if self.embedded.is_some() { 2 } else { 1 };
        let needed = u64::from(lowered.plan.own_connections()) * sides + FILES_BESIDE;
        if needed <= self.files_max {
            return Ok(());
        }
        Err(Warning::FileLimit { needed, allowed: self.files_max })
    }

    fn settle(&self, placement: &CpuPlacement) -> Result<(), Stop> {
        self.embedded.as_ref().map_or(Ok(()), |serving| keep_on(serving, placement))
    }

    fn signals(&self, manner: Manner) -> Result<StopFlag, Stop> {
        caught(match manner {
            Manner::Asks => StopFlag::on_signals(i32::from(INTERRUPTED), self.division.is_some()),
            Manner::Kills => StopFlag::on_deadly_signals(),
        })
    }

    fn fleet(
        &mut self,
        lowered: &Lowered,
        stop: &StopFlag,
        rows: Option<Box<dyn Rows>>,
    ) -> Result<HostFleet, Stop> {
        let contents = lowered.plan.contents();
        self.clock = Clock::start();
        let origin = self.origin(lowered);
        let sink = rows.map(|mut rows| {
            rows.begin(&origin);
            Box::new(move |sampled: Sampled<'_>| match sampled {
                Sampled::One(sample) => rows.on(&Event::Sample(row(&contents, sample))),
                Sampled::Anew => rows.restart(),
                Sampled::Pause => rows.flush(),
                Sampled::End => rows.finish(),
            }) as SampleSink
        });
        let cpus = &lowered.placement.workers;
        Ok(HostFleet::new(self.clock, stop.clone(), cpus, sink, self.guard.clone()))
    }

    fn barrier(&self, settings: &Settings) -> Result<Option<Box<dyn Barrier>>, Refused> {
        let Some(division) = &self.division else { return Ok(None) };
        division.check_first().map_err(Refused::NotRun)?;
        let now = (self.clock, clock::since_unix());
        barrier(&settings.placement, division, now, &variable)
    }

    fn gauge(&self) -> Box<dyn Gauge> {
        let machine = machine_record(&self.machine);
        Box::new(HostGauge { machine, busyness: Busyness::default(), clock: self.clock })
    }

    fn finish_samples(&mut self, fleet: &mut HostFleet) -> io::Result<()> {
        fleet.finish_samples()
    }

    fn finish(&mut self, _fleet: &mut HostFleet) -> Vec<Stop> {
        self.embedded = None;
        Vec::new()
    }

    fn last_word(&self) -> Option<String> {
        None
    }
}

fn server(target: &Target) -> Result<ServerPlan, Stop> {
    let name = target.to_string();
    match target {
        Target::Tcp { host, port } => resolved(&name, host, *port),
        Target::Unix { path } => Ok(resolve::unix(&name, path)),
    }
}

fn resolved(name: &str, host: &str, port: u16) -> Result<ServerPlan, Stop> {
    resolve::tcp(name, host, port).map_err(|message| Stop { code: UNREACHABLE, message })
}

/// CPU load of this machine.
struct HostGauge {
    machine: MachineRecord,
    busyness: Busyness,
    /// The run's clock.
    clock: Clock,
}

impl Gauge for HostGauge {
    fn restart(&mut self) {
        self.busyness = Busyness::default();
    }

    fn read(&mut self, at: Instant) {
        self.busyness.read(at);
    }

    fn cpu(&self) -> Option<MachineCpu> {
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
        self.machine.clone()
    }

    fn clock(&self, at: Instant) -> Option<ClockRecord> {
        let ClockState { boot_id, time_namespace, synchronised, error_max } = clock::state();
        Some(ClockRecord {
            window_start_monotonic_ns: Some(Wide(self.clock.monotonic_at(at).into())),
            boot_id,
            time_namespace,
            synchronised,
            error_max_ns: error_max.map(Span::ns),
            reference: None,
        })
    }
}

fn machine_record(machine: &Machine) -> MachineRecord {
    MachineRecord {
        os: std::env::consts::OS.to_owned(),
        kernel: machine.kernel.clone(),
        architecture: std::env::consts::ARCH.to_owned(),
        cpus: machine.cpus_online as u32,
        cpus_allowed: machine.cpus_allowed.len() as u32,
        cpu_quota: machine.cpu_quota,
        cpu_model: Some(machine.cpu_model.clone()).filter(|model| !model.is_empty()),
        clock_source: machine.clock_source.clone(),
        memory_bytes: Some(machine.memory_bytes).filter(|&bytes| bytes > 0),
        memtide_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
