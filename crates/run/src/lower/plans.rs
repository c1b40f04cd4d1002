//! Makes the plans of a run. Each follows from the scenario, its task in the run, and the machine
//! that makes the load; there is no other way to make a plan.
//!
//! The controller makes its plans here, and so does a machine that receives only the scenario and
//! the tasks ([`Planner`]).

use super::{DURATION, Lowered, Surroundings, lower, needs_keys};
use memtide_base::{ServerId, Span, rng};
use memtide_scenario::{Load, OnFull, Problem, Scenario};
use memtide_workload::{KeyPart, Mix, MixOrder, OpKind, Popularity, SourcePlan, WindowPlan};
use memtide_world::plan::{Backoff, Reconnect, RequestPlan, RowPlan, StepTask, Task, Work};
use memtide_world::{Clients, Cooldown, Pacing, Plan, RateUnit, Refill, Transport, Verify, Window};
use std::ops::Range;

const FILL_CONNECTIONS_PER_WORKER: u32 = 4;
const FILL_DEPTH_MAX: u32 = 64;
/// Bytes of requests in flight on one connection of a fill.
const FILL_BYTES: usize = 256 * 1024;
/// Longest back-off of a probe or fill before it reconnects.
const BACKOFF_MAX: Span = Span::from_ms(100);
/// Number of keys that a probe reads.
const SAMPLE: u64 = 1_000;
/// Bytes of values that a sample should not exceed, unless fewer than [`SAMPLE_LEAST`] keys were
/// read.
const SAMPLE_BYTES: u64 = 64 << 20;
/// Fewest reads of a sample, however large the values are.
const SAMPLE_LEAST: u64 = 8;
/// Number of keys, those stored first, that are read as well if a server evicted items: it evicts
/// the oldest first.
const EARLIEST: u64 = 100;
const PROBE_DEPTH: u32 = 16;

/// Makes the plans of consecutive runs on the machine that makes their load.
#[derive(Debug)]
pub struct Planner {
    scenario: Scenario,
    around: Surroundings,
    /// Load of the present run.
    load: Option<Plan>,
}

impl Planner {
    /// A planner for the runs of `scenario`, which must have its number of workers decided, because
    /// it is the same on all machines of a run ([`Lowered::document`]).
    pub fn new(scenario: Scenario, around: Surroundings) -> Self {
        Self { scenario, around, load: None }
    }

    /// The plan of `task`. All plans of one run share what is known of the values on the servers.
    /// Fails if the scenario cannot be carried out here, or has no such task.
    pub fn plan(&mut self, task: &Task) -> Result<Plan, Unplannable> {
        let load = match self.load.take() {
            Some(load) if load.task.step == task.step && load.task.writer == task.writer => load,
            _ => {
                let lowered = lower_step(&self.scenario, task.step, &self.around);
                signed(&lowered.map_err(Unplannable::Scenario)?.plan, task.writer)
            }
        };
        let plan = is_of(&load, task.work).then(|| plan_of(&load, task.work));
        self.load = Some(load);
        plan.ok_or(Unplannable::Task(*task))
    }
}

/// Reason why a task has no plan; the program that shows it words it.
#[derive(Clone, Debug)]
pub enum Unplannable {
    /// The scenario cannot be carried out here.
    Scenario(Problem),
    /// A run of the scenario does not have this task.
    Task(Task),
}

/// Lowers the run of a step, or a run without steps.
pub(crate) fn lower_step(
    scenario: &Scenario,
    step: Option<StepTask>,
    around: &Surroundings,
) -> Result<Lowered, Problem> {
    let Some(step) = step else { return lower(scenario, around) };
    let mut lowered = lower(&step_scenario(scenario, step), around)?;
    lowered.plan.task.step = Some(step);
    if step.number > 1 {
        // Each step has its own random gaps and is thus an independent sample: otherwise luck with
        // the gaps would bias every step alike, and a repeated step would confirm itself. Keys,
        // values and kinds still follow from the scenario's seed.
        lowered.plan.seed = rng::mix(lowered.plan.seed ^ u64::from(step.number));
    }
    Ok(lowered)
}

/// The scenario of a step.
pub(crate) fn step_scenario(scenario: &Scenario, step: StepTask) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.rate = Some(step.rate_per_s.unwrap_or(0.0));
    lengthen(&mut scenario, step.longer);
    if step.rate_per_s.is_none() {
        // A closed loop has nothing to drop.
        scenario.on_full = OnFull::Queue;
    }
    if step.number > 1 && step.keeps_data {
        scenario.load = Load::Never;
    }
    scenario
}

/// Makes the load of `scenario` end after `times` its duration, operations or connections; with 1
/// or 0 it stays as it is.
pub fn lengthen(scenario: &mut Scenario, times: u32) {
    if times <= 1 {
        return;
    }
    let times = u64::from(times);
    let counts = [&mut scenario.ops_max, &mut scenario.churn.connections_total];
    if counts.iter().all(|count| count.is_none()) {
        scenario.duration.get_or_insert(DURATION);
    }
    counts.into_iter().flatten().for_each(|count| *count = count.saturating_mul(times));
    scenario.duration = scenario.duration.map(|length| length * times);
}

/// `plan` with the run's identifier in its values, which tells them from those of other runs.
pub(crate) fn signed(plan: &Plan, writer: u32) -> Plan {
    let verify = plan.verify.clone().map(|verify| Verify { writer, ..verify });
    Plan { verify, task: Task { writer, ..plan.task }, ..plan.clone() }
}

/// True if `work` belongs to the run with this `load`.
fn is_of(load: &Plan, work: Work) -> bool {
    let servers = load.servers.len();
    match work {
        Work::Load => true,
        Work::FillWindows => load.source.window.is_some(),
        Work::Fill { server, first, end } => {
            server.index() < servers && first < end && end <= keys_own(load)
        }
        Work::Sample { server, keys } => {
            server.index() < servers && (1..=keys_own(load)).contains(&keys)
        }
        Work::Earliest { server } => server.index() < servers,
    }
}

/// The plan of `work`, which must belong to the run with this `load`.
pub(crate) fn plan_of(load: &Plan, work: Work) -> Plan {
    let plan = match work {
        Work::Load => load.clone(),
        Work::FillWindows => fill_windows(load),
        Work::Fill { server, first, end } => fill(load, server, first..end),
        Work::Sample { server, keys } => {
            let (popularity, ops) = sample(load, keys);
            probe(load, server, popularity, keys, ops)
        }
        Work::Earliest { server } => {
            let keys = keys_own(load);
            let first = Popularity::Onward(0, key_part(load));
            probe(load, server, first, keys, EARLIEST.min(keys).min(reads_max(load)))
        }
    };
    Plan { task: Task { work, ..load.task }, ..plan }
}

fn fill_windows(load: &Plan) -> Plan {
    let window = load.source.window.as_ref().expect("who fills windows has them");
    let total = window.slots().get();
    let empty = WindowPlan { overwrite: 0.0, full: false, keys_end: None, ..window.clone() };
    let mix = only(OpKind::Set);
    let source = SourcePlan { mix, multiget: 1, window: Some(empty), ..load.source.clone() };
    beside(load, source, total)
}

fn fill(load: &Plan, server: ServerId, keys: Range<u64>) -> Plan {
    let source = side_source(load, OpKind::Set, Popularity::Onward(keys.start, key_part(load)));
    let fitting = (FILL_BYTES / (value_bytes(load) as usize + 64)) as u32;
    let workers = load.own_workers().len() as u32;
    assert!(!keys.is_empty() && keys.end <= keys_own(load), "a fill stores keys of this process");
    Plan {
        connections: (workers * FILL_CONNECTIONS_PER_WORKER)
            .min(load.own_connections().max(workers)),
        depth: fitting.clamp(1, FILL_DEPTH_MAX),
        ..side_plan(load, server, source, keys.end - keys.start)
    }
}

/// The most reads of a sample: large values make it smaller.
fn reads_max(load: &Plan) -> u64 {
    (SAMPLE_BYTES / value_bytes(load).max(1)).max(SAMPLE_LEAST)
}

/// The sample of `keys` keys of this process, and its number of reads. If large values make it
/// smaller, no key is read twice where the keys are few.
fn sample(load: &Plan, keys: u64) -> (Popularity, u64) {
    let reads = SAMPLE.min(reads_max(load));
    match reads < SAMPLE && keys <= reads {
        true => (Popularity::Onward(0, key_part(load)), keys),
        false => (Popularity::Sample(key_part(load)), reads),
    }
}

/// A probe of `ops` reads among the first `keys` of this process's keys, chosen by `popularity`.
fn probe(load: &Plan, server: ServerId, popularity: Popularity, keys: u64, ops: u64) -> Plan {
    let source = side_source(load, OpKind::Get, popularity);
    // Ids that contain this number of this process's keys.
    assert!((1..=keys_own(load)).contains(&keys), "a sample is of keys of this process");
    let keys = if load.here.is_none() { keys } else { key_part(load).id(keys - 1) + 1 };
    let source = SourcePlan { keys, ..source };
    let probe = Plan {
        connections: load.own_workers().len() as u32,
        depth: PROBE_DEPTH,
        ..side_plan(load, server, source, ops)
    };
    let lengths = compares_lengths(load);
    let verify = match probe.verify {
        Some(verify) => Some(Verify { fraction: 1.0, lengths, ..verify }),
        None => lengths.then(Verify::of_lengths),
    };
    Plan { verify, ..probe }
}

/// A mix of only `kind`.
fn only(kind: OpKind) -> Mix {
    let word = format!("{}=1", kind.name());
    word.parse().unwrap_or_else(|error| panic!("every kind's name is a word of a mix: {error}"))
}

/// A source with one operation for each key, or for some keys.
fn side_source(plan: &Plan, kind: OpKind, popularity: Popularity) -> SourcePlan {
    SourcePlan {
        seed: plan.source.seed,
        mix: only(kind),
        order: MixOrder::Drawn,
        popularity,
        keys: keys_all(plan),
        walkers: 1,
        multiget: 1,
        multiget_share: 1.0,
        numeric_keys: 0,
        window: None,
    }
}

/// A plan beside the load, for one server, whose connections all clients share. Its keys are this
/// process's alone, so it has no workers elsewhere.
fn side_plan(plan: &Plan, server: ServerId, source: SourcePlan, ops: u64) -> Plan {
    Plan {
        workers: plan.own_workers().len() as u16,
        here: None,
        servers: vec![plan.servers[server.index()].clone()],
        clients: Clients::Workers,
        verify: plan.verify.as_ref().map(|verify| verify.of_server(server.index())),
        ..beside(plan, source, ops)
    }
}

/// A plan beside the load: a closed loop with a fixed number of operations.
fn beside(plan: &Plan, source: SourcePlan, ops: u64) -> Plan {
    Plan {
        unit: RateUnit::Operations,
        pacing: Pacing::Closed,
        pause: Span::ZERO,
        refill: Refill::Each,
        window: Window {
            warmup: Span::ZERO,
            opened_by_command: false,
            closed_by_command: false,
            duration: Span::MAX,
            ops_max: Some(ops),
            cooldown: Cooldown::Drain,
        },
        source,
        // A server that keeps ending connections is detected soon.
        reconnect: match plan.reconnect {
            Reconnect::Never => Reconnect::Never,
            Reconnect::After(Backoff { first, longest }) => Reconnect::After(Backoff {
                first: first.min(BACKOFF_MAX),
                longest: longest.min(BACKOFF_MAX),
            }),
        },
        // The run would miss the keys that a fill loses.
        requests: RequestPlan { noreply: false, transport: Transport::Stream, ..plan.requests },
        samples: false,
        // A key that a server refuses is not stored.
        counts_refused: false,
        rows: RowPlan::default(),
        ..plan.clone()
    }
}

/// True if lengths of values on servers can be compared with the plan's.
pub(crate) fn compares_lengths(plan: &Plan) -> bool {
    plan.source.window.is_none()
        && needs_keys(&plan.source.mix)
        && !plan.source.mix.kinds().any(OpKind::lengthens_value)
}

/// Number of keys that each server holds.
pub(crate) fn keys_all(plan: &Plan) -> u64 {
    plan.source.keys + plan.source.numeric_keys
}

/// The keys that this process fills and samples: those that its workers would take if operations
/// requested one key after the other. All keys if the run is not divided.
fn key_part(plan: &Plan) -> KeyPart {
    let own = plan.own_workers();
    match plan.here {
        None => KeyPart::ALL,
        Some(_) => KeyPart {
            first: u32::from(own.start),
            count: own.len() as u32,
            of: u32::from(plan.workers),
        },
    }
}

/// Number of keys that this process stores on each server.
pub(crate) fn keys_own(plan: &Plan) -> u64 {
    key_part(plan).len(keys_all(plan))
}

/// Mean length of a value, estimated from a few.
pub(crate) fn value_bytes(plan: &Plan) -> u64 {
    mean(plan, |id| plan.values.len(id))
}

/// Mean of `of` over a few ids of keys.
pub(crate) fn mean(plan: &Plan, of: impl Fn(u64) -> usize) -> u64 {
    let total = u128::from(keys_all(plan));
    (0..16).map(|nth| of((nth * total / 16) as u64) as u64).sum::<u64>() / 16
}
