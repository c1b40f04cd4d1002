//! Facts about the load (plan, machine), as far as one record can state them for all
//! shards.
//!
//! Where shards differ and nothing adds up, the value is the first shard's or absent; each shard
//! keeps its own facts.

use super::clocks::Windows;
use super::missing::total;
use memtide_base::choice::RateUnit;
use memtide_record::{
    ChurnPlanRecord, MachineCpu, MachineRecord, PlanRecord, PlannedServer, ShardRecord,
};
use memtide_scenario::Tags;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The plan of all shards: quantities that add up are added, the rest is that of the first of
/// `all`. Reasons stay with the shards. Each share's plan is that of the whole run, except for what
/// its own process has; `known` are the shards whose processes count. If whole runs were not
/// measured together, rates do not add up, and workers and connections are the largest number of
/// any run.
pub(super) fn plan(
    all: &[&ShardRecord],
    known: &[&ShardRecord],
    windows: &Windows<'_>,
) -> PlanRecord {
    let are_shares = windows.alignment.is_some();
    let together = are_shares || windows.are_one_load();
    let join: fn(u32, u32) -> u32 = if together { u32::saturating_add } else { Ord::max };
    let plans: Vec<&PlanRecord> = known.iter().map(|shard| &shard.plan).collect();
    let unit = PlanRecord::common_unit(plans.iter().copied());
    let clients = plans.iter().map(|plan| plan.clients);
    let joined = PlanRecord {
        clients: clients.reduce(|a, b| Some(join(a?, b?))).flatten(),
        servers: servers(all),
        workers: plans.iter().map(|plan| plan.workers).fold(0, join),
        connections: plans.iter().map(|plan| plan.connections).fold(0, join),
        rate_unit: all[0].plan.rate_unit.clone().filter(|_| unit == RateUnit::Keys),
        decided: agreed(all, |shard| &shard.plan.decided),
        why: BTreeMap::new(),
        ..all[0].plan.clone()
    };
    if are_shares {
        return PlanRecord {
            cpus: Vec::new(),
            wait: same(plans.iter().map(|plan| &plan.wait)).cloned().unwrap_or_default(),
            io: same(plans.iter().map(|plan| &plan.io)).cloned().unwrap_or_default(),
            ..joined
        };
    }
    // Rates in different units have no sum.
    let rates = plans.iter().map(|plan| plan.rate_per_s.filter(|_| plan.unit() == unit));
    PlanRecord {
        embedded: plans.iter().any(|plan| plan.embedded),
        rate_per_s: rates.reduce(|a, b| join_rates(together, a?, b?)).flatten(),
        ops_max: total(plans.iter().map(|plan| plan.ops_max)),
        churn: churn(known, together),
        cpus: plans.iter().flat_map(|plan| plan.cpus.clone()).collect(),
        ..joined
    }
}

/// The tags that all shards have in common.
pub(super) fn tags(shards: &[&ShardRecord]) -> Tags {
    agreed(shards, |shard| &shard.tags)
}

/// The words that all shards have in common, by name.
fn agreed(
    shards: &[&ShardRecord],
    of: fn(&ShardRecord) -> &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut agreed = of(shards[0]).clone();
    agreed.retain(|name, word| shards.iter().all(|shard| of(shard).get(name) == Some(&*word)));
    agreed
}

/// Joins two rates: their sum if the shards were measured together, else the rate that both had.
fn join_rates(together: bool, a: f64, b: f64) -> Option<f64> {
    if together { Some(a + b) } else { (a == b).then_some(a) }
}

/// The plan of connection churn, if all shards have one.
fn churn(shards: &[&ShardRecord], together: bool) -> Option<ChurnPlanRecord> {
    let plans: Option<Vec<&ChurnPlanRecord>> =
        shards.iter().map(|shard| shard.plan.churn.as_ref()).collect();
    let plans = plans?;
    let first = plans.first().copied()?.clone();
    let rates = plans.iter().map(|plan| plan.connection_rate_per_s);
    Some(ChurnPlanRecord {
        connection_rate_per_s: rates.reduce(|a, b| join_rates(together, a?, b?)).flatten(),
        connections_total: total(plans.iter().map(|plan| plan.connections_total)),
        ..first
    })
}

/// Every server once, with all addresses that any shard resolved for it.
fn servers(shards: &[&ShardRecord]) -> Vec<PlannedServer> {
    let mut servers: Vec<PlannedServer> = Vec::new();
    for server in shards.iter().flat_map(|shard| &shard.plan.servers) {
        let Some(known) = servers.iter_mut().find(|known| known.name == server.name) else {
            servers.push(server.clone());
            continue;
        };
        for address in &server.addresses {
            if !known.addresses.contains(address) {
                known.addresses.push(address.clone());
            }
        }
    }
    servers
}

/// The machines as one: different words are listed, different numbers are left out.
pub(super) fn machine(shards: &[&ShardRecord]) -> MachineRecord {
    let machines: Vec<&MachineRecord> = shards.iter().map(|shard| &shard.machine).collect();
    let first = &shards[0].machine;
    let model = words(&machines, |machine| machine.cpu_model.as_deref());
    MachineRecord {
        os: words(&machines, |machine| Some(&machine.os)),
        kernel: words(&machines, |machine| Some(&machine.kernel)),
        architecture: words(&machines, |machine| Some(&machine.architecture)),
        // No machine has 0 CPUs, so 0 cannot be mistaken for a figure.
        cpus: same(machines.iter().map(|machine| machine.cpus)).unwrap_or(0),
        cpus_allowed: same(machines.iter().map(|machine| machine.cpus_allowed)).unwrap_or(0),
        cpu_quota: same(machines.iter().map(|machine| machine.cpu_quota)).and(first.cpu_quota),
        clock_source: Some(words(&machines, |machine| machine.clock_source.as_deref()))
            .filter(|source| !source.is_empty()),
        cpu_model: Some(model).filter(|model| !model.is_empty()),
        memory_bytes: same(machines.iter().map(|machine| machine.memory_bytes)).flatten(),
        memtide_version: words(&machines, |machine| Some(&machine.memtide_version)),
    }
}

/// The different words that machines have, as a list.
fn words(machines: &[&MachineRecord], of: fn(&MachineRecord) -> Option<&str>) -> String {
    let mut words: Vec<&str> = machines.iter().filter_map(|machine| of(machine)).collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
}

/// The common value, if all are equal.
fn same<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// CPU load of the machines: the mean over all their CPUs, the idlest and the busiest CPU, and the
/// idlest and the busiest second of any machine.
pub(super) fn machine_cpu(shards: &[&ShardRecord]) -> Option<MachineCpu> {
    let known = shards.iter().filter_map(|shard| {
        Some((shard.machine_cpu.as_ref()?, f64::from(shard.machine.cpus.max(1))))
    });
    let known: Vec<(&MachineCpu, f64)> = known.collect();
    let each = || known.iter().map(|(busy, _)| *busy);
    let cpus: f64 = known.iter().map(|(_, cpus)| cpus).sum();
    (cpus > 0.0).then(|| MachineCpu {
        avg: known.iter().map(|(busy, cpus)| busy.avg * cpus).sum::<f64>() / cpus,
        min: each().map(|busy| busy.min).fold(f64::INFINITY, f64::min),
        max: each().map(|busy| busy.max).fold(0.0, f64::max),
        least_of_1s: each().filter_map(|busy| busy.least_of_1s).reduce(f64::min),
        most_of_1s: each().filter_map(|busy| busy.most_of_1s).reduce(f64::max),
        stolen: stolen(&known),
        beside: each().filter_map(|busy| busy.beside.clone()).max_by(|a, b| {
            (a.cpus, &a.name, a.id).partial_cmp(&(b.cpus, &b.name, b.id)).unwrap_or(Ordering::Equal)
        }),
        throttled: each().filter_map(|busy| busy.throttled).reduce(f64::max),
        server: each().filter_map(|busy| busy.server.clone()).max_by(|a, b| {
            (a.waited, &a.name).partial_cmp(&(b.waited, &b.name)).unwrap_or(Ordering::Equal)
        }),
    })
}

/// Mean CPU time withheld by the hypervisor, over all CPUs of the machines that report it.
fn stolen(known: &[(&MachineCpu, f64)]) -> Option<f64> {
    let said = known.iter().filter_map(|(busy, cpus)| Some((busy.stolen? * cpus, cpus)));
    let (stolen, cpus) =
        said.fold((0.0, 0.0), |sum, (stolen, cpus)| (sum.0 + stolen, sum.1 + cpus));
    (cpus > 0.0).then(|| stolen / cpus)
}
