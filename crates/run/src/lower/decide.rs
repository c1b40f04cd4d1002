//! Decides what a scenario leaves open, as far as it follows from other fields or from the number
//! of servers, with the reasons.
//!
//! It does not look at the machine. Decisions that depend on the machine that makes the load
//! (workers, waits, drivers, pinning, addresses) are made there, by [`super::lower`].

use super::{DEPTH_WITH_RATE, DURATION, RATE_EMBEDDED, churn};
use memtide_scenario::{Scenario, Transport};
use memtide_workload::{SizeLaw, ValueSpace, Wave, WindowLaw};
use memtide_world::{Cooldown, Replicate};
use std::collections::BTreeMap;

const CONNECTIONS_PER_SERVER: u32 = 64;
/// Number of sizes drawn to estimate their mean.
const SIZES_DRAWN: u64 = 4_096;

/// `scenario` with all open fields decided, for this number of servers; `why` has the reasons by
/// the field's name. Deciding again changes nothing.
pub(super) fn decide(
    scenario: &Scenario,
    servers: u32,
    why: &mut BTreeMap<String, String>,
) -> Scenario {
    let mut decided = scenario.clone();
    decided.rate = rate(scenario);
    decide_stop(&mut decided);
    decide_clients(&mut decided, servers, why);
    decide_connections(&mut decided, why);
    if decided.replication.writers.is_some() {
        decided.replication.replicate.get_or_insert(Replicate::All);
    }
    decided
}

/// `scenario` as a run on this number of servers decides it, machine-independent fields only.
pub(super) fn decided(scenario: &Scenario, servers: u32) -> Scenario {
    decide(scenario, servers, &mut BTreeMap::new())
}

/// Target rate per second, in the scenario's unit; none if connections or a wave set it.
fn rate(scenario: &Scenario) -> Option<f64> {
    let constant = scenario.wave == Wave::Constant && !scenario.is_churn();
    scenario.rate.or(match scenario.is_closed_loop() {
        _ if !constant => None,
        true => Some(0.0),
        false => Some(RATE_EMBEDDED),
    })
}

/// Decides what ends the run, and the load after that.
fn decide_stop(decided: &mut Scenario) {
    let counted = decided.ops_max.or(decided.churn.connections_total).is_some();
    if !counted {
        let longest = if decided.precision.is_empty() { DURATION } else { decided.at_most() };
        decided.duration.get_or_insert(longest);
    }
    // Exactly operations (or connections) 0 to N − 1 are requested, so no load may follow them.
    if counted && decided.cooldown == Cooldown::Load {
        decided.cooldown = Cooldown::Drain;
    }
}

/// Decides clients and their connections, if clients are counted.
fn decide_clients(decided: &mut Scenario, servers: u32, why: &mut BTreeMap<String, String>) {
    if decided.client.clients.is_none() && decided.client.window.is_none() {
        return;
    }
    let count = *decided.client.clients.get_or_insert_with(|| {
        let reason = format!("default: {CONNECTIONS_PER_SERVER} per server");
        why.insert("clients".to_owned(), reason);
        CONNECTIONS_PER_SERVER * servers
    });
    let Some(law) = decided.client.window else { return };
    if matches!(law, WindowLaw::Objects(_)) {
        return;
    }
    let of_server =
        if decided.replication.writers.is_some() { count } else { count.div_ceil(servers) };
    let mean = mean_bytes(&decided.key_size, decided) + mean_bytes(&decided.value_size, decided);
    let reason = format!("{law} for {of_server} clients per server, {mean:.0} bytes per object");
    why.insert("window".to_owned(), reason);
    decided.client.window = Some(WindowLaw::Objects(law.objects(of_server, mean)));
}

/// Mean of a distribution of sizes, over values as a run draws them.
fn mean_bytes(law: &SizeLaw, scenario: &Scenario) -> f64 {
    let bytes_max = scenario.value_max as usize;
    ValueSpace::mean_len(law.clone(), bytes_max, scenario.seed, SIZES_DRAWN)
}

/// Decides the number of connections to each server and their depth, if clients are not counted.
fn decide_connections(decided: &mut Scenario, why: &mut BTreeMap<String, String>) {
    if decided.client.clients.is_some() {
        return;
    }
    let is_churn = decided.is_churn();
    let each = if is_churn { churn::slots(decided) } else { CONNECTIONS_PER_SERVER };
    decided.connections.get_or_insert(each);
    if decided.depth.is_some() {
        return;
    }
    decided.depth = Some(match (decided.is_closed_loop(), decided.transport) {
        _ if is_churn => churn::depth(decided),
        (true, _) => 1,
        (false, Transport::Tcp) => DEPTH_WITH_RATE,
        (false, Transport::Udp | Transport::Split) => {
            let reason = "UDP has one operation in flight per connection";
            why.insert("depth".to_owned(), reason.to_owned());
            1
        }
    });
}

#[cfg(test)]
mod tests;
