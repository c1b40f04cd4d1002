//! Lowers a scenario to a plan: every default that depends on the machine or on other fields is
//! decided here, once, with its reason.

mod cpus;
mod layout;
mod lanes;
mod decide;
mod plans;
mod churn;
mod memory;

pub use cpus::{CpuChoice, CpuPlacement};
pub use plans::{Planner, Unplannable, lengthen};
pub(crate) use plans::{
    compares_lengths, keys_all, keys_own, lower_step, mean, plan_of, signed, step_scenario,
    value_bytes,
};

use crate::share::Share;
use decide::decide;
use lanes::Lanes;
use layout::{ClientLayout, Data};
pub use memory::PlanSizes;
use memtide_base::{Sentence, Span};
use memtide_record::{LoopKind, PlanRecord, PlannedServer, natively};
use memtide_scenario as word;
use memtide_scenario::{
    DEPTH_MAX, OutputKind, Outputs, Problem, Scenario, TIMEOUT_MAX, Tags, Warmup,
};
use memtide_workload::{
    Expiring, Lifetimes, Mix, OpKind, Oracle, RateCurve, SourcePlan, Wave, WindowPlan,
};
use memtide_world::plan::{RequestPlan, RowPlan};
use memtide_world::{
    Credentials, FilterPlan, Io, Pacing, Plan, ServerPlan, Task, Transport, Verify, Window,
    WindowCommands,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Facts about the world that a plan needs.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The servers with their addresses, in the scenario's order.
    pub servers: Vec<ServerPlan>,
    /// True if the servers are this program's own.
    pub embedded: bool,
    /// True if a server may be named twice, which makes more connections to it.
    pub repeats: bool,
    /// CPUs in this process's affinity mask.
    pub cpus_allowed: Vec<usize>,
    /// Core of each CPU; a CPU that is missing is a core by itself.
    pub cores: BTreeMap<usize, usize>,
    /// Number of CPUs of the machine.
    pub cpus_online: usize,
    /// Limit of the control group, in CPUs.
    pub cpu_quota: Option<f64>,
    /// CPUs that servers of the user on this machine may use; empty if there are none, or that is
    /// unknown.
    pub server_cpus: BTreeSet<usize>,
    /// How workers wait, and where they and the embedded server run, if that was tried.
    pub chosen: Option<CpuChoice>,
    /// Interfaces for input and output that workers can use.
    pub io: Doors,
    /// Data that the run's outputs need.
    pub outputs: Wanted,
    /// Share of the run that is carried out here; none if the run is not divided.
    pub share: Option<Share>,
    /// Filter of all streams, such as TLS; none if the scenario has none.
    pub filter: Option<FilterPlan>,
}

impl Surroundings {
    /// Those of a world without a machine: this many CPUs, each a core, and no limit.
    pub fn simulated(servers: Vec<ServerPlan>, cpus: usize) -> Self {
        Self {
            servers,
            embedded: false,
            repeats: false,
            cpus_allowed: (0..cpus).collect(),
            cores: BTreeMap::new(),
            cpus_online: cpus,
            cpu_quota: None,
            server_cpus: BTreeSet::new(),
            chosen: None,
            io: Doors::Simulated,
            outputs: Wanted::default(),
            share: None,
            filter: None,
        }
    }

    /// True if this process queries the servers' statistics during the load. Only one share of a
    /// run does.
    fn watches_servers(&self) -> bool {
        self.outputs.server_reports && self.share.is_none_or(|share| share.number == 0)
    }
}

/// Data that a run's outputs need besides its figures; their destinations do not matter here.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// True if each measured operation is needed as a sample.
    pub samples: bool,
    /// The user's tags of the run.
    pub tags: Tags,
    /// True if the servers' reports during the load are needed.
    pub server_reports: bool,
}

impl From<&Outputs> for Wanted {
    fn from(outputs: &Outputs) -> Self {
        let kinds = [OutputKind::Samples, OutputKind::Influx];
        let samples = kinds.into_iter().any(|kind| outputs.first(kind).is_some());
        Self { samples, tags: outputs.tags.clone(), server_reports: false }
    }
}

/// Interfaces for input and output that a world has.
#[derive(Clone, Debug)]
pub enum Doors {
    /// None: the world is simulated.
    Simulated,
    /// The kernel's interfaces.
    Kernel {
        /// Availability of io_uring; if unavailable, the reason.
        uring: Result<(), String>,
    },
}

/// A plan, with its description for a record.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The scenario with every decision that all machines of the run must share. Each machine's own
    /// decisions stay as the user wrote them, and credentials are left out.
    pub document: Scenario,
    /// The plan, for the workers.
    pub plan: Plan,
    /// The plan, for people and programs.
    pub record: PlanRecord,
    /// CPUs of the workers and of the embedded server.
    pub placement: CpuPlacement,
    /// Share of the run that is carried out here; none if the run is not divided.
    pub share: Option<Share>,
    /// The servers that are sampled beside the load.
    pub sampled: SampledServers,
    /// True if the servers' statistics are queried during the load.
    pub watches_servers: bool,
    /// The user's tags of the run.
    pub tags: Tags,
}

/// Which servers are asked for a sample of keys beside the load. Without any, a server is filled
/// blindly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampledServers {
    /// Those that are not to be filled: values of other lengths than the scenario's are refused.
    pub unfilled: bool,
    /// Those that were filled: a server that does not keep the items is refused.
    pub filled: bool,
}

const DEPTH_WITH_RATE: u32 = 64;
const RATE_EMBEDDED: f64 = 10_000.0;
const DURATION: Span = Span::from_s(10);

/// Decides everything. The error is the first of the scenario's problems.
pub fn lower(scenario: &Scenario, around: &Surroundings) -> Result<Lowered, Problem> {
    if let Some(problem) = scenario.check().into_iter().next() {
        return Err(problem);
    }
    if !around.repeats {
        check_servers(&around.servers)?;
    }
    let mut why = BTreeMap::new();
    let servers = around.servers.len() as u32;
    let mut decided = decide(scenario, servers, &mut why);
    let scenario = &decided;
    let layout = ClientLayout::of(scenario, servers)?;
    let lanes = Lanes::of(scenario, around, layout.workers_max, &mut why)?;
    let own = lanes.own();
    let placement = CpuPlacement::of(scenario, around, own, &mut why);
    let window = window(scenario);
    let data = Data::of(scenario, &layout)?;
    let plan = Plan {
        task: Task::default(),
        servers: around.servers.clone(),
        workers: lanes.total,
        here: lanes.here,
        connections: layout.connections,
        // A counted client has one operation outstanding.
        depth: scenario.depth.unwrap_or(1),
        refill: scenario.wire.refill,
        clients: layout.clients,
        unit: scenario.rate_unit,
        pacing: pacing(scenario, window),
        pause: scenario.pause_after_reply,
        window,
        commands: WindowCommands::default(),
        source: source(scenario, &data, layout.workers_max),
        keys: data.keys,
        values: data.values,
        numeric_from: data.numeric_from,
        requests: requests(scenario),
        timeout: scenario.timeout,
        reconnect: scenario.reconnect,
        seed: scenario.gap_seed.unwrap_or(scenario.seed),
        wait: cpus::wait(scenario, around, &placement, own, &mut why),
        io: io(scenario, around, &mut why)?,
        samples: around.outputs.samples,
        message_sizes: scenario.message_sizes,
        counts_refused: scenario.count_refused,
        rows: rows(scenario),
        verify: verify(scenario, around.servers.len(), layout.window.as_ref()),
        sources: scenario.bind.clone(),
        sockets: scenario.sockets,
        credentials: credentials(scenario),
        filter: around.filter.clone(),
    };
    assert_whole(&plan);
    if scenario.mix.kinds().any(OpKind::lengthens_value) {
        let reason = "append and prepend change lengths, so memtide does not compare them";
        why.insert("value-size".to_owned(), reason.to_owned());
    }
    decided.threads = Some(plan.own_workers().len() as u32);
    let document = document(&decided, decided.threads);
    decided.wait = Some(plan.wait);
    decided.io = Some(plan.io);
    let record = plan_record(&decided, around, &plan, &placement, why);
    Ok(Lowered {
        document,
        plan,
        record,
        placement,
        share: around.share,
        sampled: SampledServers { unfilled: false, filled: true },
        watches_servers: around.watches_servers(),
        tags: around.outputs.tags.clone(),
    })
}

/// Asserts what the engine relies on: a scenario that passed its check becomes such a plan.
fn assert_whole(plan: &Plan) {
    assert!(!plan.servers.is_empty() && plan.workers > 0, "a plan has a server and a worker");
    assert!(plan.own_workers().end <= plan.workers, "a share's workers are the plan's");
    let dealt: u32 = (0..plan.workers).map(|worker| plan.connections_of(worker)).sum();
    assert_eq!(dealt, plan.connections, "each connection is dealt to one worker");
    assert!(u32::from(plan.workers) <= plan.connections, "each worker has a connection");
    assert!((1..=DEPTH_MAX).contains(&plan.depth), "the scenario bounds the depth");
    assert!(plan.servers.len() <= usize::from(u16::MAX), "each server has a number");
    assert!((1..=TIMEOUT_MAX.ns()).contains(&plan.timeout.ns()), "the scenario bounds the timeout");
    assert!((0.0..=1.0).contains(&plan.own_part()), "this process makes a part of the load");
}

/// `scenario` as it is sent to other machines, for this number of workers on all machines. Each
/// machine has its own credentials.
pub(crate) fn document(scenario: &Scenario, threads: Option<u32>) -> Scenario {
    Scenario { threads, ..scenario.without_credentials() }
}

fn rows(scenario: &Scenario) -> RowPlan {
    RowPlan { width: scenario.interval, get_times: scenario.interval_times }
}

fn source(scenario: &Scenario, data: &Data, walkers: u32) -> SourcePlan {
    SourcePlan {
        seed: scenario.seed,
        mix: scenario.mix.clone(),
        order: scenario.mix_order,
        popularity: scenario.popularity.clone(),
        keys: data.ordinary,
        walkers,
        multiget: scenario.multiget,
        multiget_share: scenario.multiget_share,
        numeric_keys: data.numeric,
        window: data.window.clone(),
    }
}

fn requests(scenario: &Scenario) -> RequestPlan {
    RequestPlan {
        protocol: scenario.protocol,
        matching: scenario.wire.matching,
        transport: match scenario.transport {
            word::Transport::Tcp | word::Transport::Split => Transport::Stream,
            word::Transport::Udp => {
                Transport::Datagrams { reply_bytes_max: scenario.reply_bytes_max() as usize }
            }
        },
        noreply: scenario.noreply,
        expiry: scenario.expiry,
        expiring: Expiring::part(scenario.expiry_share),
        flags: scenario.flags,
        blank: scenario.wire.trailing_blank,
        cas_unique: scenario.wire.cas_unique,
        item_flags: scenario.wire.item_flags,
        recache_time: scenario.wire.recache_time,
        stale_s: scenario.wire.stale_s,
    }
}

fn credentials(scenario: &Scenario) -> Option<Arc<Credentials>> {
    let (user, password) = (scenario.user.clone()?, scenario.password.as_ref()?);
    Some(Arc::new(Credentials { user, password: password.reveal().to_owned() }))
}

/// Plan of verification; the run's identifier is chosen when the run begins.
fn verify(scenario: &Scenario, servers: usize, window: Option<&WindowPlan>) -> Option<Verify> {
    if scenario.verify == 0.0 && !scenario.verify_expiry {
        return None;
    }
    let lifetimes = window.filter(|_| scenario.verify_expiry).map(|window| {
        let expiry = Span::from_s(scenario.expiry.unsigned_abs());
        let expiring = Expiring::part(scenario.expiry_share);
        Arc::new(Lifetimes::new(window.slots().get(), expiry, expiring, scenario.seed))
    });
    let oracles = match window {
        // An object is on one server only, so values need not differ by server.
        Some(window) if scenario.replication.writers.is_none() => {
            let oracle = Arc::new(Oracle::of_slots(window.slots().get()));
            vec![oracle; servers]
        }
        _ => {
            let oracles = (0..servers).map(|_| match window {
                Some(window) => Oracle::of_slots(window.slots().get()),
                None => Oracle::new(scenario.keys, scenario.verify_keys, scenario.seed),
            });
            oracles.map(Arc::new).collect()
        }
    };
    Some(Verify { fraction: scenario.verify, writer: 0, oracles, lifetimes, lengths: false })
}

/// Checks that no server is named twice.
fn check_servers(servers: &[ServerPlan]) -> Result<(), Problem> {
    for (nth, server) in servers.iter().enumerate() {
        if servers[..nth].iter().any(|earlier| earlier.addresses == server.addresses) {
            let twice = Sentence::new(format!(
                "server {} is named twice; name it once, and use ",
                server.name
            ))
            .field("connections")
            .text(" for more connections to it");
            return Err(Problem { field: "server".to_owned(), message: natively(&twice) });
        }
    }
    Ok(())
}

/// The kernel interface that workers use, and the reason.
fn io(
    scenario: &Scenario,
    around: &Surroundings,
    why: &mut BTreeMap<String, String>,
) -> Result<Io, Problem> {
    let Doors::Kernel { uring } = &around.io else { return Ok(Io::Simulated) };
    match (scenario.io, uring) {
        (Some(Io::Uring), Err(reason)) => {
            let unfit = Sentence::default().field("io");
            let unfit = unfit.text(format!(" uring cannot be used: {reason}; use epoll or auto"));
            Err(Problem { field: "io".to_owned(), message: natively(&unfit) })
        }
        (Some(io), _) => Ok(io),
        (None, Ok(())) => {
            why.insert("io".to_owned(), "it costs less, and this kernel supports it".to_owned());
            Ok(Io::Uring)
        }
        (None, Err(reason)) => {
            why.insert("io".to_owned(), reason.clone());
            Ok(Io::Epoll)
        }
    }
}

fn is_local(around: &Surroundings) -> bool {
    let mut addresses = around.servers.iter().flat_map(|server| &server.addresses);
    addresses.any(|address| address.is_local())
}

fn window(scenario: &Scenario) -> Window {
    let duration = scenario.duration.unwrap_or(Span::MAX);
    let Scenario { warmup, ops_max, cooldown, .. } = *scenario;
    let opened_by_command = warmup == Warmup::Auto;
    let closed_by_command = !scenario.precision.is_empty();
    let warmup = warmup.longest(scenario.duration);
    Window { warmup, opened_by_command, closed_by_command, duration, ops_max, cooldown }
}

fn pacing(scenario: &Scenario, window: Window) -> Pacing {
    if scenario.is_churn() {
        return Pacing::Churn(churn::plan(scenario, window));
    }
    if scenario.is_closed_loop() {
        return Pacing::Closed;
    }
    // With a wave, the wave sets the rate.
    let rate = scenario.rate.unwrap_or(0.0);
    Pacing::Open {
        arrival: scenario.arrival,
        curve: RateCurve::new(&scenario.wave, rate, window.warmup, window.duration, scenario.seed),
        sharing: scenario.schedule,
        on_full: scenario.on_full,
    }
}

/// The addresses to which the load is sent.
fn addresses(server: &ServerPlan, transport: Transport) -> Vec<String> {
    server.addresses.iter().map(|address| transport.address(address).to_string()).collect()
}

/// True if the mix gets good answers only from a server that holds the keys.
pub(crate) fn needs_keys(mix: &Mix) -> bool {
    mix.kinds().any(|kind| !matches!(kind.name(), "set" | "add"))
}

fn plan_record(
    scenario: &Scenario,
    around: &Surroundings,
    plan: &Plan,
    placement: &CpuPlacement,
    why: BTreeMap<String, String>,
) -> PlanRecord {
    let closed = scenario.is_closed_loop();
    let paced = matches!(plan.pacing, Pacing::Open { .. }) && scenario.wave == Wave::Constant;
    PlanRecord {
        embedded: around.embedded,
        servers: plan
            .servers
            .iter()
            .map(|server| PlannedServer {
                name: server.name.clone(),
                addresses: addresses(server, plan.requests.transport),
            })
            .collect(),
        loop_kind: if closed { LoopKind::Closed } else { LoopKind::Open },
        rate_per_s: scenario.rate.filter(|_| paced),
        churn: churn::record(scenario),
        workers: plan.own_workers().len() as u32,
        cpus: placement.workers.iter().map(|&cpu| cpu as u32).collect(),
        server_cpu: placement.server.map(|cpu| cpu as u32),
        connections: plan.own_connections(),
        depth: plan.depth,
        clients: plan.own_clients(),
        routes: layout::reach_words(scenario),
        window: plan.source.window.as_ref().map(|window| window.objects),
        keys: plan.source.keys,
        popularity: match &plan.source.window {
            None => scenario.popularity.to_string(),
            Some(window) => format!("{} in windows of {}", window.pick, window.objects),
        },
        why,
        ..PlanRecord::of(scenario)
    }
}
