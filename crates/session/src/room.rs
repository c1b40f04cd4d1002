//! Checks before a run whether what it will keep in this process fits into the available memory,
//! rather than let the machine hang. It estimates; it limits nothing.

use crate::exit::Stop;
use memtide_base::units::{format_bytes, format_count};
use memtide_host::memory::{self, Available};
use memtide_run::PlanSizes;
use memtide_scenario::{Load, Scenario};
use memtide_workload::{OpKind, SizeLaw};

/// Upper bound of a connection's memory at the end of a server in this process, in bytes.
const CONNECTION_BYTES: u64 = 4096;
/// Upper bound of an item's overhead in the embedded server, besides its key and value.
const ITEM_OVERHEAD_BYTES: u64 = 128;
/// Longest key.
const KEY_BYTES_MAX: u64 = 250;

/// Mean size of an item in the embedded server, in bytes.
pub(crate) fn item_bytes(scenario: &Scenario) -> u64 {
    mean_bytes(&scenario.key_size, KEY_BYTES_MAX)
        .saturating_add(mean_bytes(&scenario.value_size, scenario.value_max))
        .saturating_add(ITEM_OVERHEAD_BYTES)
}

/// The mean size by `law`, rounded up; `most` if it has none.
fn mean_bytes(law: &SizeLaw, most: u64) -> u64 {
    law.law().mean().map_or(most, |mean| (mean.ceil().max(1.0) as u64).min(most))
}

/// Refuses a scenario that needs more memory than is available: for its data, kept by `copies`
/// servers in this process, and for the client's own needs: values to send, connections, windows,
/// and the state of verification.
pub fn check(scenario: &Scenario, copies: u64) -> Result<(), Stop> {
    let Some(available) = memory::available() else { return Ok(()) };
    check_against(scenario, copies, available).map_or(Ok(()), Err)
}

/// The error of a run that needs more memory than is available.
fn check_against(scenario: &Scenario, copies: u64, available: Available) -> Option<Stop> {
    let mut needs = needs(scenario, copies);
    let needed = needs.iter().fold(0_u64, |sum, need| sum.saturating_add(need.bytes));
    if needed <= available.bytes {
        return None;
    }
    needs.sort_by_key(|need| std::cmp::Reverse(need.bytes));
    // Small needs are not mentioned.
    needs.retain(|need| need.bytes >= needed / 8);
    let parts: Vec<String> = match &needs[..] {
        [only] => vec![only.what.clone()],
        parts => parts.iter().map(|of| format!("{} {}", format_bytes(of.bytes), of.what)).collect(),
    };
    let advice: Vec<&str> = needs.iter().map(|need| need.advice).collect();
    Some(Stop::usage(format!(
        "the run would need about {} of memory: {}; {} are {}: use {}",
        format_bytes(needed),
        parts.join(", "),
        format_bytes(available.bytes),
        available.by,
        advice.join(", ")
    )))
}

/// Something that this process keeps in memory.
struct Need {
    bytes: u64,
    /// Purpose.
    what: String,
    /// What to change to need less.
    advice: &'static str,
}

const fn need(bytes: u64, what: String, advice: &'static str) -> Need {
    Need { bytes, what, advice }
}

/// Everything that a run keeps in this process, including `copies` servers; nothing if the scenario
/// is impossible, which is reported later.
fn needs(scenario: &Scenario, copies: u64) -> Vec<Need> {
    let servers = scenario.servers.len().max(1) as u32;
    let Some(PlanSizes { decided, plan, verified, operations }) = PlanSizes::of(scenario, servers)
    else {
        return Vec::new();
    };
    let longest = decided.value_size.largest(decided.value_max);
    let clients = decided.client.clients.unwrap_or(1);
    let items = items(&decided, plan.slots, operations);
    // A simulated or embedded server has its own end of each connection.
    let ends_bytes = if copies > 0 { plan.connections.saturating_mul(CONNECTION_BYTES) } else { 0 };
    vec![
        need(
            items.saturating_mul(item_bytes(&decided)).saturating_mul(copies),
            format!(
                "for {} items with values {}, which are kept in this process",
                format_count(items as f64),
                decided.value_size
            ),
            "fewer --keys, a smaller --value-size or --value-max, or a --server of its own",
        ),
        need(
            plan.values_bytes,
            format!("to make values of up to {}", format_bytes(longest)),
            "a smaller --value-size or --value-max",
        ),
        need(
            plan.connections_bytes().saturating_add(ends_bytes),
            format!("for {} connections with a depth of {}", plan.connections, plan.depth),
            match decided.client.clients {
                None => "fewer --connections or a smaller --depth",
                Some(_) => "fewer --clients or a smaller --connections-per-client",
            },
        ),
        need(
            plan.windows_bytes(),
            format!("for the windows of {clients} clients"),
            "fewer --clients or a smaller --window",
        ),
        need(
            plan.all_rows_bytes(),
            format!("for {} rows over time", plan.kept_rows),
            "a longer --interval",
        ),
        need(
            plan.seconds_bytes(),
            format!("for {} seconds of the load", plan.kept_seconds),
            if decided.precision.is_empty() {
                "a shorter --duration"
            } else {
                "a shorter --at-most"
            },
        ),
        need(
            plan.workers_bytes(),
            format!("for {} workers on {} servers", plan.workers, plan.servers),
            "fewer --threads or servers",
        ),
        need(
            plan.verification_bytes,
            format!("to verify {} keys", format_count(verified as f64)),
            "a smaller --verify-keys or --window, or no --verify",
        ),
    ]
}

/// Largest number of items that the servers will hold: all keys, or a window's slots, if they are
/// filled, else the number of operations.
fn items(scenario: &Scenario, slots: u64, operations: u64) -> u64 {
    let all = if slots > 0 { slots } else { scenario.keys };
    let reads = scenario.mix.kinds().any(|kind| !kind.stores_value());
    let stores = scenario.mix.kinds().any(OpKind::stores_value);
    let fills = match scenario.load {
        Load::Always => true,
        Load::Never => false,
        Load::Auto => reads,
    };
    match (fills, stores) {
        (true, _) => all,
        (false, true) => all.min(operations),
        (false, false) => 0,
    }
}

#[cfg(test)]
mod tests;
