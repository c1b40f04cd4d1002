//! The memory that a scenario's plan will take, before anything of it is allocated.

use super::decide::decided;
use super::layout::ClientLayout;
use super::rows;
use memtide_engine::plan::PlanMemory;
use memtide_scenario::Scenario;
use memtide_workload::{Lifetimes, Oracle, ValueSpace};

/// What a run keeps in memory, in the process that makes its load and on its servers.
#[derive(Clone, Debug)]
pub struct PlanSizes {
    /// The scenario with what it leaves open decided.
    pub decided: Scenario,
    /// The memory of the plan; equal to that of [`Plan::memory`](memtide_engine::Plan::memory).
    pub plan: PlanMemory,
    /// Keys under verification.
    pub verified: u64,
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
        let length = decided.duration.filter(|_| decided.ops_max.is_none());
        let plan = PlanMemory {
            values_bytes: ValueSpace::bytes(&decided.value_size, decided.value_max),
            connections: layout.connections.into(),
            depth: decided.depth.unwrap_or(1).into(),
            slots: slots.unwrap_or(0),
            verification_bytes: Oracle::bytes_of(verified)
                .saturating_mul(oracles)
                .saturating_add(Lifetimes::bytes_of(lifetimes)),
            cells_bytes: rows(&decided).cells_bytes(decided.timeout, length, &decided.mix),
        };
        Some(Self { decided, plan, verified })
    }
}
