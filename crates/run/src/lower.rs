//! What the user said becomes what will happen: every default that depends on the machine or on
//! other fields is decided here, once, and says why.

mod cpus;
mod layout;
mod lanes;
mod decide;
mod plans;
mod churn;

pub(crate) use cpus::CPUS_OF_A_PAIR;
pub use cpus::CpuPlacement;
pub use plans::{Planner, Unplannable};
pub(crate) use plans::{
    compares_lengths, keys_all, keys_own, lower_step, mean, plan_of, signed, step_scenario,
    value_bytes,
};

use crate::share::Share;
use decide::decide;
use lanes::Lanes;
use layout::{ClientLayout, Data};
use memtide_base::{Sentence, Span};
use memtide_engine::plan::{RequestPlan, RowPlan};
use memtide_engine::{Credentials, Io, Pacing, Plan, ServerPlan, Task, Transport, Verify, Window};
use memtide_schema::record::{LoopKind, PlanRecord, PlannedServer};
use memtide_schema::scenario::{self as word, OutputKind, Outputs, Problem, Tags};
use memtide_schema::{Scenario, natively};
use memtide_workload::{
    Expiring, Lifetimes, Mix, OpKind, Oracle, RateCurve, SourcePlan, Wave, WindowPlan,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a plan needs to know of the world.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The servers with their addresses, in the scenario's order.
    pub servers: Vec<ServerPlan>,
    /// Whether they are this program's own.
    pub embedded: bool,
    /// Whether a server may be named again, which makes more connections to it.
    pub repeats: bool,
    /// Processors that this process may use, by its mask.
    pub cpus_allowed: Vec<usize>,
    /// The core of each processor; one that is missing is a core of its own.
    pub cores: BTreeMap<usize, usize>,
    /// Processors of the machine.
    pub cpus_online: usize,
    /// The control group's limit, in processors.
    pub cpu_quota: Option<f64>,
    /// What workers can do input and output with.
    pub io: Doors,
    /// What the outputs of the run need of it.
    pub outputs: Wanted,
    /// Which share of the run is made here; none if the run is not divided.
    pub share: Option<Share>,
}

impl Surroundings {
    /// Whether servers are asked for their statistics here while the load runs: of the shares of a
    /// run one does that.
    fn watches_servers(&self) -> bool {
        self.outputs.server_reports && self.share.is_none_or(|share| share.number == 0)
    }
}

/// What the outputs of a run need of it beside its figures; where these go does not matter here.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Each measured operation as a sample.
    pub samples: bool,
    /// The user's own words for the run.
    pub tags: Tags,
    /// What servers say of themselves while the load runs.
    pub server_reports: bool,
}

impl From<&Outputs> for Wanted {
    fn from(outputs: &Outputs) -> Self {
        let kinds = [OutputKind::Samples, OutputKind::Influx];
        let samples = kinds.into_iter().any(|kind| outputs.first(kind).is_some());
        Self { samples, tags: outputs.tags.clone(), server_reports: false }
    }
}

/// The ways of doing input and output that a world has.
#[derive(Clone, Debug)]
pub enum Doors {
    /// None: the world is simulated.
    Simulated,
    /// Those of the kernel.
    Kernel {
        /// Whether io_uring is among them; if not, why.
        uring: Result<(), String>,
    },
}

/// A plan, and what a record says of it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The scenario with all decided that must be the same on every machine that shares the run;
    /// what each decides for itself is as it was said, and who we are to servers is left out.
    pub document: Scenario,
    /// For the workers.
    pub plan: Plan,
    /// For people and programs.
    pub record: PlanRecord,
    /// Which processors the workers and the embedded server get.
    pub placement: CpuPlacement,
    /// Which share of the run is made here; none if the run is not divided.
    pub share: Option<Share>,
    /// Whether a server that is not to be filled is asked for a sample all the same, so that
    /// values of other lengths than the scenario says are found.
    pub looks_unfilled: bool,
    /// Whether servers are asked for their statistics while the load runs.
    pub watches_servers: bool,
    /// The user's own words for the run.
    pub tags: Tags,
}

const DEPTH_WITH_RATE: u32 = 64;
const RATE_EMBEDDED: f64 = 10_000.0;
const DURATION: Span = Span::from_s(10);

/// Decides everything. Fails when the scenario is impossible, with the first of its problems.
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
    let placement = CpuPlacement::of(scenario, around, lanes.own(), &mut why);
    let window = window(scenario);
    let data = Data::of(scenario, &layout)?;
    let plan = Plan {
        task: Task::default(),
        servers: around.servers.clone(),
        workers: lanes.total,
        here: lanes.here,
        connections: layout.connections,
        // A client that is counted has one operation outstanding.
        depth: scenario.depth.unwrap_or(1),
        refill: scenario.wire.refill,
        clients: layout.clients,
        unit: scenario.rate_unit,
        pacing: pacing(scenario, window),
        pause: scenario.pause_after_reply,
        window,
        source: source(scenario, &data, layout.workers_max),
        keys: data.keys,
        values: data.values,
        numeric_from: data.numeric_from,
        requests: requests(scenario),
        timeout: scenario.timeout,
        reconnect: scenario.reconnect,
        seed: scenario.seed,
        wait: cpus::wait(scenario, around, &placement, &mut why),
        io: io(scenario, around, &mut why)?,
        samples: around.outputs.samples,
        message_sizes: scenario.message_sizes,
        rows: RowPlan { width: scenario.interval, get_times: scenario.interval_times },
        verify: verify(scenario, around.servers.len(), layout.window.as_ref()),
        sources: scenario.bind.clone(),
        sockets: scenario.sockets,
        credentials: credentials(scenario),
        filter: None,
    };
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
        looks_unfilled: false,
        watches_servers: around.watches_servers(),
        tags: around.outputs.tags.clone(),
    })
}

/// `scenario` as it travels, for this many workers on all machines. Each machine has its own words
/// for who we are to servers.
pub(crate) fn document(scenario: &Scenario, threads: Option<u32>) -> Scenario {
    Scenario { threads, user: None, password: None, ..scenario.clone() }
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
    }
}

fn credentials(scenario: &Scenario) -> Option<Arc<Credentials>> {
    let (user, password) = (scenario.user.clone()?, scenario.password.as_ref()?);
    Some(Arc::new(Credentials { user, password: password.reveal().to_owned() }))
}

/// Who writes is decided when the run begins.
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
        // An object is on one server alone, so they need not be told apart.
        Some(window) if scenario.replication.writers.is_none() => {
            let oracle = Arc::new(Oracle::of_slots(window.slots().get()));
            vec![oracle; servers]
        }
        Some(window) => {
            let oracle = |_| Arc::new(Oracle::of_slots(window.slots().get()));
            (0..servers).map(oracle).collect()
        }
        None => {
            let oracle =
                |_| Arc::new(Oracle::new(scenario.keys, scenario.verify_keys, scenario.seed));
            (0..servers).map(oracle).collect()
        }
    };
    Some(Verify { fraction: scenario.verify, writer: 0, oracles, lifetimes, lengths: false })
}

/// A server that is named twice is most likely a slip.
///
/// Cause: Two names lead to the same address, which is most likely a slip.
fn check_servers(servers: &[ServerPlan]) -> Result<(), Problem> {
    for (nth, server) in servers.iter().enumerate() {
        if servers[..nth].iter().any(|earlier| earlier.addresses == server.addresses) {
            let twice = Sentence::new(format!(
                "server {} is named twice; name it once, and use ",
                server.name
            ))
            .field("connections")
            .text(" for more connections to it");
            return Err(Problem { field: "server", message: natively(&twice) });
        }
    }
    Ok(())
}

/// The interface of the kernel that workers use, and why.
///
/// Cause: The scenario names an interface of the kernel that this machine does not have or allow.
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
            Err(Problem { field: "io", message: natively(&unfit) })
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
    Window { warmup, duration, ops_max, cooldown }
}

fn pacing(scenario: &Scenario, window: Window) -> Pacing {
    if scenario.is_churn() {
        return Pacing::Churn(churn::plan(scenario, window));
    }
    if scenario.is_closed_loop() {
        return Pacing::Closed;
    }
    // A wave says it instead.
    let rate = scenario.rate.unwrap_or(0.0);
    Pacing::Open {
        arrival: scenario.arrival,
        curve: RateCurve::new(&scenario.wave, rate, window.warmup, window.duration, scenario.seed),
        sharing: scenario.schedule,
        on_full: scenario.on_full,
    }
}

/// Where the load goes.
fn addresses(server: &ServerPlan, transport: Transport) -> Vec<String> {
    server.addresses.iter().map(|address| transport.address(address).to_string()).collect()
}

/// Whether the mix is answered well only by a server that holds the keys.
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
