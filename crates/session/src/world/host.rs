//! The real world: this machine makes the load with its threads, against servers anywhere.

use super::embedded::{embed, keep_on, tried};
use super::tls;
use super::{Gauge, Prepared, World};
use crate::exit::{FAILED, INTERRUPTED, Stop, UNREACHABLE, caught};
use crate::floor::Floors;
use crate::front::{FrontProfile, Manner};
use crate::outlets::{event, unix_ns};
use crate::placement::barrier::{Refused, barrier};
use crate::placement::{Division, variable};
use memtide_base::{Instant, Span};
use memtide_belief::machine::{KEPT_MAX, files_needed};
use memtide_host::clock::{self, ClockState};
use memtide_host::driver::check_uring;
use memtide_host::machine::{
    self, Busyness, ControlGroups, LocalServer, Machine, Program, Programs, SecondReader, cpus_of,
};
use memtide_host::memory;
use memtide_host::signal::StopFlag;
use memtide_host::{Clock, ConnectGuard, HostFleet, SampleQueues, SampleSink, Serving, resolve};
use memtide_record::{
    ClockRecord, FloorRecord, HostSecond, MachineCpu, MachineRecord, PlanRecord, ProgramCpu,
    ReferenceClock, ServerCpu, Warning, Wide,
};
use memtide_run::steps::FleetRunner;
use memtide_run::{Barrier, CpuChoice, CpuPlacement, Doors, Lowered, NotRun, Surroundings};
use memtide_scenario::{Settings, Target};
use memtide_sinks::{SampleOrigin, SampleOutlet, Samples, Sink};
use memtide_world::ServerPlan;
use memtide_world::driver::Address;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What directs a share on this machine in place of its user: an agent, with its operator's limits.
pub(crate) trait Supervisor {
    /// The addresses of a server whose name this machine does not know; none if they are unknown to
    /// the supervisor, too.
    fn server(&self, target: &Target) -> Option<ServerPlan>;
    /// Refuses settings beyond the limits, before anything is resolved or allocated.
    fn permit(&self) -> Result<(), Stop>;
    /// Refuses a plan beyond the limits, before any connection is made; leaves out what the run
    /// does not need.
    fn obey(&self, lowered: &mut Lowered) -> Result<(), Stop>;
    /// Keeps the agent's own threads off the workers' CPUs.
    fn settle(&self, placement: &CpuPlacement);
    /// The flag that ends the load. Signals are for the agent.
    fn stop(&self) -> StopFlag;
    /// The barrier before the load, on the fleet's clock.
    fn barrier(&self, clock: Clock) -> Box<dyn Barrier>;
    /// The reference clock at an instant of the kernel's monotonic clock, in nanoseconds; none if
    /// unknown.
    fn reference(&self, monotonic_ns: u64) -> Option<ReferenceClock>;
}

/// This machine.
pub struct HostWorld {
    files_max: u64,
    machine: Machine,
    /// The embedded server, if there is one.
    embedded: Option<Serving>,
    /// The servers on this machine, each with its name; none for the embedded one.
    local: Vec<(Option<String>, LocalServer)>,
    /// The CPUs of the workers; empty if they may use any.
    worker_cpus: Vec<usize>,
    /// The share of the run that is carried out here; none if the run is not divided.
    division: Option<Division>,
    /// The clock of the fleet.
    clock: Clock,
    /// Guard that decides to which addresses connections may be made.
    guard: ConnectGuard,
    /// What directs this share, if it is not the user.
    supervisor: Option<Rc<dyn Supervisor>>,
    /// The outputs of measured operations.
    samples: Option<SampleOutlet>,
    /// The floors of the load, if they are wanted.
    floors: Option<Floors>,
    /// The flag that ends the run.
    stop: StopFlag,
}

impl HostWorld {
    /// This machine, which carries out this share of a run, or all of it. Raises the limit of open
    /// files as far as allowed.
    pub fn new(division: Option<Division>) -> Self {
        let files_max = machine::raise_file_limit();
        let (machine, clock) = (machine::look(), Clock::start());
        let guard = ConnectGuard::default();
        Self {
            files_max,
            machine,
            embedded: None,
            local: Vec::new(),
            worker_cpus: Vec::new(),
            division,
            clock,
            guard,
            supervisor: None,
            samples: None,
            floors: None,
            stop: StopFlag::default(),
        }
    }

    /// This machine, which measures the floors of its loads first, if there are any to measure.
    pub fn with(self, floors: Option<Floors>) -> Self {
        Self { floors, ..self }
    }

    /// This machine, limited to the addresses that `guard` permits and directed by `supervisor`.
    #[cfg(feature = "cluster")]
    pub(crate) fn under(self, guard: ConnectGuard, supervisor: Rc<dyn Supervisor>) -> Self {
        Self { guard, supervisor: Some(supervisor), ..self }
    }

    /// The addresses of a server: by this machine's resolver, or by the supervisor's knowledge.
    fn server(&self, target: &Target) -> Result<ServerPlan, Stop> {
        server(target).or_else(|stop| {
            let known = self.supervisor.as_ref().and_then(|it| it.server(target));
            known.ok_or(stop)
        })
    }

    /// The CPUs that the servers of the user on this machine may use. Empty if there are none, or
    /// one of them is not found: it belongs to another user, or listens at a path.
    fn server_cpus(&self, servers: &[ServerPlan]) -> BTreeSet<usize> {
        let mut here = servers.iter().filter(|it| it.addresses.iter().any(Address::is_local));
        if self.embedded.is_some() || !here.all(|server| self.has_cpus_of(server)) {
            return BTreeSet::new();
        }
        self.local.iter().flat_map(|(_, server)| server.cpus()).collect()
    }

    /// True if the process of this server on this machine is found, with its CPUs.
    fn has_cpus_of(&self, server: &ServerPlan) -> bool {
        let found = self.local.iter().find(|(name, _)| name.as_ref() == Some(&server.name));
        found.is_some_and(|(_, it)| !it.cpus().is_empty())
    }

    /// Meaning of the numbers in samples.
    fn origin(&self, lowered: &Lowered) -> SampleOrigin {
        let now = self.clock.now().since(Instant::ZERO);
        let leads = lowered.plan.own_leads().into_iter();
        SampleOrigin {
            unix_ns: unix_ns().saturating_sub(now.ns()),
            servers: lowered.plan.servers.iter().map(|server| server.name.clone()).collect(),
            leads: leads.map(|(number, server)| (number, usize::from(server.0))).collect(),
        }
    }

    /// Starts the outputs of measured operations; the workers' queues of each plan go to them.
    fn export(&mut self, lowered: &Lowered, samples: Samples) -> Result<SampleSink, Stop> {
        let samples = started(samples, false)?;
        let (feed, contents) = (samples.feed(), lowered.plan.contents());
        self.samples = Some(samples);
        let mut is_again = false;
        Ok(Box::new(move |mut queues: SampleQueues| {
            if std::mem::replace(&mut is_again, true) {
                feed.restart();
            }
            let contents = contents.clone();
            feed.pass(move |out| queues.take(|sample| out.push(event(&contents, sample))));
        }))
    }

    /// The barrier of this share of a run before its load, if it waits; or why it makes no load.
    fn barrier(
        &self,
        settings: &Settings,
    ) -> Result<Result<Option<Box<dyn Barrier>>, NotRun>, Stop> {
        if let Some(supervisor) = &self.supervisor {
            return Ok(Ok(Some(supervisor.barrier(self.clock))));
        }
        let Some(division) = &self.division else { return Ok(Ok(None)) };
        let (placement, since_unix) = (&settings.placement, clock::since_unix());
        let found = division.check_first().map_err(Refused::NotRun);
        match found.and_then(|()| barrier(placement, division, self.clock, since_unix, &variable)) {
            Ok(barrier) => Ok(Ok(barrier)),
            Err(Refused::NotRun(why)) => Ok(Err(why)),
            Err(Refused::Stop(stop)) => Err(stop),
        }
    }
}

impl World for HostWorld {
    type Runner = FleetRunner<HostFleet>;

    fn prepare(&mut self, _settings: &mut Settings) -> Result<(), Stop> {
        self.supervisor.as_ref().map_or(Ok(()), |supervisor| supervisor.permit())
    }

    fn servers_within(&self, settings: &Settings) -> u64 {
        u64::from(settings.scenario.servers.is_empty())
    }

    fn surroundings(&mut self, settings: &Settings) -> Result<Surroundings, Stop> {
        let scenario = &settings.scenario;
        let mut made = None;
        // An embedded server takes and frees the memory of values too often for that, and TLS that
        // of records.
        if !scenario.servers.is_empty() && !scenario.tls.on {
            memory::map_blocks();
        }
        let servers = if scenario.servers.is_empty() {
            let name = scenario.tls.server_name.as_deref();
            made = scenario.tls.on.then(|| tls::own(name)).transpose()?;
            let serving = self.embedded.insert(embed(settings, made.as_ref())?);
            let address = serving.address();
            vec![resolved(&address.to_string(), &address.ip().to_string(), address.port())?]
        } else {
            scenario.servers.iter().map(|it| self.server(it)).collect::<Result<Vec<_>, _>>()?
        };
        let filter = tls::filter(scenario, &servers, made.as_ref())?;
        self.local = match &self.embedded {
            Some(serving) => vec![(None, LocalServer::within(serving.threads()))],
            None => servers.iter().filter_map(local).collect(),
        };
        let server_cpus = self.server_cpus(&servers);
        let mut cores = self.machine.cores.clone();
        cores.extend(memtide_host::cores(&server_cpus.iter().copied().collect::<Vec<_>>()));
        Ok(Surroundings {
            servers,
            embedded: self.embedded.is_some(),
            repeats: false,
            cpus_allowed: self.machine.cpus_allowed.clone(),
            cores,
            cpus_online: self.machine.cpus_online,
            cpu_quota: self.machine.cpu_quota,
            server_cpus,
            chosen: None,
            io: Doors::Kernel { uring: check_uring() },
            outputs: (&settings.outputs).into(),
            share: self.division.as_ref().map(|division| division.share),
            filter,
        })
    }

    fn check(&self, lowered: &Lowered) -> Result<(), Warning> {
        if lowered.plan.churn().is_some() {
            // Under connection churn the number of open connections is unknown; a connect without a
            // descriptor is counted.
            return Ok(());
        }
        let connections = u64::from(lowered.plan.own_connections());
        let needed = files_needed(connections, self.embedded.is_some());
        if needed <= self.files_max {
            return Ok(());
        }
        Err(Warning::FileLimit { needed, allowed: self.files_max })
    }

    fn try_out(&mut self, settings: &Settings, lowered: &Lowered) -> Option<(CpuChoice, String)> {
        let serving = self.embedded.as_ref()?;
        let is_plain = self.supervisor.is_none() && self.division.is_none();
        let is_brief = settings.scenario.is_brief(false) || settings.scenario.ops_max.is_some();
        if !is_plain || is_brief {
            return None;
        }
        tried(serving, &self.guard, settings, lowered)
    }

    fn settle(&self, placement: &CpuPlacement) -> Result<(), Stop> {
        self.supervisor.iter().for_each(|supervisor| supervisor.settle(placement));
        self.embedded.as_ref().map_or(Ok(()), |serving| keep_on(serving, placement))
    }

    fn signals(&self, manner: Manner) -> Result<StopFlag, Stop> {
        if let Some(supervisor) = &self.supervisor {
            return Ok(supervisor.stop());
        }
        caught(match manner {
            Manner::Asks => StopFlag::on_signals(i32::from(INTERRUPTED)),
            Manner::Kills => StopFlag::on_deadly_signals(false),
            Manner::KillsButInterrupts => StopFlag::on_deadly_signals(true),
        })
    }

    fn runner(
        &mut self,
        Prepared { settings, around, mut lowered, waits }: Prepared<'_>,
        _profile: &FrontProfile,
        stop: &StopFlag,
        mut samples: Samples,
    ) -> Result<FleetRunner<HostFleet>, Stop> {
        self.supervisor.as_ref().map_or(Ok(()), |supervisor| supervisor.obey(&mut lowered))?;
        self.clock = Clock::start();
        let sink = match samples.is_empty() {
            true => None,
            false => {
                samples.set_origin(&self.origin(&lowered));
                Some(self.export(&lowered, samples)?)
            }
        };
        let cpus = &lowered.placement.workers;
        self.worker_cpus.clone_from(cpus);
        self.stop = stop.clone();
        let fleet = HostFleet::new(self.clock, stop.clone(), cpus, sink, self.guard.clone());
        let barrier = if waits { self.barrier(settings)? } else { Ok(None) };
        Ok(FleetRunner { fleet, scenario: settings.scenario.clone(), around, lowered, barrier })
    }

    fn gauge(&self) -> Box<dyn Gauge> {
        let machine = machine_record(&self.machine);
        let (busyness, supervisor) = (Busyness::default(), self.supervisor.clone());
        let (clock, groups, local) = (self.clock, ControlGroups::own(), self.local.clone());
        Box::new(HostGauge {
            machine,
            busyness,
            first: None,
            groups,
            throttled: None,
            local,
            seconds: SecondReader::default(),
            clock,
            supervisor,
            // A share's connections do not carry the rate of the whole run.
            floors: self.floors.clone().filter(|_| self.division.is_none()),
            stop: self.stop.clone(),
            cpus: self.machine.cpus_allowed.clone(),
            worker_cpus: match &self.worker_cpus[..] {
                [] => self.machine.cpus_allowed.clone(),
                pinned => pinned.to_vec(),
            },
        })
    }

    fn finish(&mut self, _runner: &mut Self::Runner, keeps_samples: bool) -> Vec<Stop> {
        let stop = self.samples.take().and_then(|samples| samples.finish(keeps_samples));
        self.embedded = None;
        stop.into_iter().map(Stop::from).collect()
    }
}

/// Starts the thread of the outputs of measured operations; with `waits`, whatever makes them waits
/// for it.
pub(super) fn started(samples: Samples, waits: bool) -> Result<SampleOutlet, Stop> {
    let flag = samples.name().to_owned();
    samples.start(waits).map_err(|error| Stop {
        code: FAILED,
        message: format!("{flag}: the system started no thread to write it: {error}"),
    })
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

/// The process of a server that runs on this machine, and the server's name.
fn local(server: &ServerPlan) -> Option<(Option<String>, LocalServer)> {
    let found = server.addresses.iter().find_map(|address| match address {
        Address::Tcp(address) => LocalServer::at(*address),
        _ => None,
    });
    Some((Some(server.name.clone()), found?))
}

/// CPU load of this machine.
struct HostGauge {
    machine: MachineRecord,
    busyness: Busyness,
    first: Option<FirstReading>,
    /// The control groups of this process.
    groups: ControlGroups,
    /// For how long they had stopped it by the latest reading, and when that was.
    throttled: Option<(Instant, Span)>,
    /// The servers on this machine.
    local: Vec<(Option<String>, LocalServer)>,
    seconds: SecondReader,
    /// The run's clock.
    clock: Clock,
    /// What knows the reference clock, if there is one.
    supervisor: Option<Rc<dyn Supervisor>>,
    floors: Option<Floors>,
    stop: StopFlag,
    /// The CPUs of this process when it started, and those of its workers.
    cpus: Vec<usize>,
    worker_cpus: Vec<usize>,
}

/// Counters at the beginning of the measured window.
struct FirstReading {
    at: Instant,
    /// The CPU times of all programs.
    programs: Programs,
    /// For how long the control group had stopped this process; none without a quota.
    throttled: Option<Span>,
    /// The waits of each local server's threads.
    waits: Vec<BTreeMap<u32, Span>>,
}

impl HostGauge {
    /// The program that was busiest since `first`, if it was busy, of those that may use one of
    /// `cpus`: another one cannot have taken them. With `is_foreign` servers are left out.
    fn beside(
        &self,
        now: &Programs,
        first: &FirstReading,
        cpus: &[usize],
        is_foreign: bool,
    ) -> Option<ProgramCpu> {
        let busiest = now.busiest_since(&first.programs, |id| {
            let is_left_out = is_foreign && self.is_server(id);
            !is_left_out && cpus_of(id).iter().any(|cpu| cpus.contains(cpu))
        });
        let Program { id, name, used, .. } = busiest?;
        let (cpus, allowed, is_server) = (self.part(first, used), cpus_of(id), self.is_server(id));
        (cpus >= KEPT_MAX).then_some(ProgramCpu { name, id, cpus, allowed, is_server })
    }

    /// True if a server on this machine is the process `id`.
    fn is_server(&self, id: u32) -> bool {
        self.local.iter().any(|(_, server)| server.process == id)
    }

    /// A time as a part of that since `first`.
    fn part(&self, first: &FirstReading, time: Span) -> f64 {
        let length = self.clock.now().since(first.at);
        time.as_s_f64() / length.as_s_f64().max(f64::MIN_POSITIVE)
    }

    /// The server on this machine that waited longest for a CPU.
    fn server(&self, now: &Programs, first: &FirstReading) -> Option<ServerCpu> {
        let each = self.local.iter().zip(&first.waits);
        // The kernel counts stops of the embedded server by the quota among its waits.
        let stops = self.groups.throttled().zip(first.throttled);
        let stops = stops.map_or(Span::ZERO, |(now, before)| now.saturating_sub(before));
        let waited = each.filter_map(|((name, of), before)| {
            let stops = if name.is_none() { stops } else { Span::ZERO };
            Some((name, of, of.longest_since(before)?.saturating_sub(stops)))
        });
        let (name, server, waited) = waited.max_by_key(|(.., waited)| *waited)?;
        let beside = self.beside(now, first, &server.cpus(), true);
        let waited = self.part(first, waited).min(1.0);
        Some(ServerCpu { name: name.clone(), waited, beside })
    }
}

impl Gauge for HostGauge {
    fn restart(&mut self) {
        (self.busyness, self.first, self.throttled) = (Busyness::default(), None, None);
    }

    fn read(&mut self, at: Instant) {
        self.busyness.read(at);
        let (now, throttled) = (self.clock.now(), self.groups.throttled());
        self.throttled = throttled.map(|stopped| (now, stopped));
        if self.first.is_none() {
            self.first = Some(FirstReading {
                at: now,
                programs: Programs::read(),
                throttled,
                waits: self.local.iter().map(|(_, server)| server.waits()).collect(),
            });
        }
    }

    fn second(&mut self) -> Option<HostSecond> {
        let of = self.seconds.read()?;
        Some(HostSecond {
            cpus: of.cpus,
            cpu_busy: of.cpu_busy,
            cpu_busy_max: of.cpu_busy_max,
            stolen: of.stolen,
            runnable: of.runnable,
            received_bytes: of.received_bytes,
            sent_bytes: of.sent_bytes,
            dropped_packets: of.dropped_packets,
            retransmits: of.retransmits,
            available_bytes: of.available_bytes,
        })
    }

    fn floor(&mut self, plan: &PlanRecord) -> Option<FloorRecord> {
        self.floors.as_ref()?.floor(plan, &self.cpus, &self.stop)
    }

    fn cpu(&self) -> Option<MachineCpu> {
        let busy = self.busyness.summary()?;
        let (now, first) = (Programs::read(), self.first.as_ref());
        // Until the end of the window, as the waits of the workers are.
        let throttled = first.and_then(|first| {
            let (at, stopped) = self.throttled?;
            let since = stopped.saturating_sub(first.throttled?);
            let length = at.since(first.at).as_s_f64().max(f64::MIN_POSITIVE);
            Some((since.as_s_f64() / length).min(1.0))
        });
        Some(MachineCpu {
            beside: first.and_then(|first| self.beside(&now, first, &self.worker_cpus, false)),
            throttled,
            server: first.and_then(|first| self.server(&now, first)),
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
        let start_ns = self.clock.monotonic_at(at);
        Some(ClockRecord {
            window_start_monotonic_ns: Some(Wide(start_ns.into())),
            boot_id,
            time_namespace,
            synchronised,
            error_max_ns: error_max.map(Span::ns),
            reference: self.supervisor.as_ref().and_then(|it| it.reference(start_ns)),
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
