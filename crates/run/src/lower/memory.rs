//! The memory that a scenario's plan will take, before anything of it is allocated.

use super::decide::decided;
use super::layout::ClientLayout;
use super::{rows, window};
use memtide_base::Span;
use memtide_record::SECONDS_MAX;
use memtide_scenario::Scenario;
use memtide_workload::{Lifetimes, Oracle, ValueSpace};
use memtide_world::plan::{PlanMemory, TallyPlan};

/// The largest rate of a closed loop, in operations per second.
const RATE_MAX: f64 = 10e6;

/// Memory of a run, in the process that makes its load and on its servers.
#[derive(Clone, Debug)]
pub struct PlanSizes {
    /// The scenario with what it leaves open decided.
    pub decided: Scenario,
    /// The memory of the plan, of its workers and of what they measure; with a single worker if the
    /// scenario leaves their number to the machine.
    pub plan: PlanMemory,
    /// Keys under verification.
    pub verified: u64,
    /// The largest number of operations.
    pub operations: u64,
}

impl PlanSizes {
    /// Sizes of a run of `scenario` on this number of servers; none if there is no such plan, for
    /// which [`lower`](super::lower) has the reason.
    pub fn of(scenario: &Scenario, servers: u32) -> Option<Self> {
        let decided = decided(scenario, servers);
        let layout = ClientLayout::of(&decided, servers).ok()?;
        let slots = layout.window.as_ref().map(|window| window.slots().get());
        let is_verified = decided.verify != 0.0 || decided.verify_expiry;
        let verified = match slots {
            _ if !is_verified => 0,
            Some(slots) => slots,
            None => Oracle::sampled(decided.keys, decided.verify_keys),
        };
        // An object is on one server only, unless writes are copied.
        let oracles = match (slots, decided.replication.writers) {
            (Some(_), None) => 1,
            _ => u64::from(servers),
        };
        let lifetimes = slots.filter(|_| decided.verify_expiry).unwrap_or(0);
        let operations = operations(&decided);
        let (kept_rows, row_width) = rows(&decided).kept(decided.timeout, decided.duration);
        let in_row = match decided.duration {
            Some(_) => rate(&decided) * row_width.as_s_f64(),
            None => operations as f64 / kept_rows as f64,
        };
        let kept_seconds = seconds(&decided, operations).min(SECONDS_MAX as u64);
        let tallies = TallyPlan {
            mix: &decided.mix,
            rows: rows(&decided),
            timeout: decided.timeout,
            window: window(&decided),
            servers: servers as usize,
            depth: decided.depth.unwrap_or(1),
            churn: decided.is_churn(),
            message_sizes: decided.message_sizes,
            item_figures: !decided.wire.item_flags.is_empty(),
        };
        let plan = PlanMemory {
            values_bytes: ValueSpace::bytes(&decided.value_size, decided.value_max),
            workers: decided.threads.unwrap_or(1).into(),
            connections: layout.connections.into(),
            depth: decided.depth.unwrap_or(1).into(),
            watched_keys: if is_verified { decided.multiget.into() } else { 0 },
            slots: slots.unwrap_or(0),
            verification_bytes: Oracle::bytes_of(verified)
                .saturating_mul(oracles)
                .saturating_add(Lifetimes::bytes_of(lifetimes)),
            servers: servers.into(),
            kept_rows,
            row_operations: operations.min(in_row.ceil() as u64),
            kept_seconds,
            second_operations: operations.div_ceil(kept_seconds.max(1)),
            get_times: decided.interval_times,
            ..PlanMemory::default()
        };
        let plan = plan.measuring(&tallies.shape());
        Some(Self { decided, plan, verified, operations })
    }
}

/// The largest rate that the scenario can have, in operations per second.
fn rate(scenario: &Scenario) -> f64 {
    scenario.rate.filter(|&rate| rate > 0.0).unwrap_or(RATE_MAX)
}

/// The longest time for which the scenario's load is made, if it has a duration.
fn length(scenario: &Scenario) -> Span {
    scenario.warmup.longest(scenario.duration) + scenario.duration.unwrap_or(Span::ZERO)
}

/// The most seconds of a load of this number of operations; no more than can be told of a closed
/// loop that ends with its operations.
fn seconds(scenario: &Scenario, operations: u64) -> u64 {
    match scenario.duration {
        Some(_) => length(scenario).as_s_f64().ceil() as u64,
        None => (operations as f64 / rate(scenario)).ceil() as u64,
    }
}

/// The largest number of operations that the scenario can make.
fn operations(scenario: &Scenario) -> u64 {
    let by_time = (rate(scenario) * length(scenario).as_s_f64()) as u64;
    let connections = scenario.churn.connections_total;
    let by_calls =
        connections.zip(scenario.churn.calls).map(|(of, calls)| of.saturating_mul(calls));
    let counted = scenario.ops_max.or(by_calls);
    match (counted, scenario.duration) {
        (Some(count), None) => count,
        (Some(count), Some(_)) => count.min(by_time),
        (None, _) => by_time,
    }
}
