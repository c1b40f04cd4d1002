//! What the user left open becomes decided: a scenario in which nothing is missing that depends on
//! its other fields or on the number of servers, and the reasons.
//!
//! It looks at no machine. What depends on the one that makes the load (workers, waits, drivers,
//! pinning, addresses) is decided by [`super::lower`], there.

use super::{DEPTH_WITH_RATE, DURATION, RATE_EMBEDDED, churn};
use memtide_engine::{Cooldown, Replicate};
use memtide_schema::Scenario;
use memtide_schema::scenario::Transport;
use memtide_workload::{SizeLaw, ValueSpace, Wave, WindowLaw};
use std::collections::BTreeMap;

const CONNECTIONS_PER_SERVER: u32 = 64;
/// Sizes that are drawn to know their mean.
const SIZES_DRAWN: u64 = 4_096;

/// `scenario` for this many servers, with what it leaves open decided; what was decided for a
/// reason says it in `why`, under the name of its field. To decide again changes nothing.
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

/// Operations per second; none where connections or a wave say it.
fn rate(scenario: &Scenario) -> Option<f64> {
    let constant = scenario.wave == Wave::Constant && !scenario.is_churn();
    scenario.rate.or(match scenario.is_closed_loop() {
        _ if !constant => None,
        true => Some(0.0),
        false => Some(RATE_EMBEDDED),
    })
}

/// What ends the run, and what goes on then.
fn decide_stop(decided: &mut Scenario) {
    let counted = decided.ops_max.or(decided.churn.connections_total).is_some();
    if !counted {
        decided.duration.get_or_insert(DURATION);
    }
    // Operations 0 to N − 1 are exactly what is asked for, so nothing may follow them; the same
    // of connections.
    if counted && decided.cooldown == Cooldown::Load {
        decided.cooldown = Cooldown::Drain;
    }
}

/// Who makes the operations, where these are counted.
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

/// The mean of a law of sizes, as values of a run would have it.
fn mean_bytes(law: &SizeLaw, scenario: &Scenario) -> f64 {
    let space = ValueSpace::new(law.clone(), scenario.value_max as usize, scenario.seed);
    let sum: usize = (0..SIZES_DRAWN).map(|id| space.len(id)).sum();
    sum as f64 / SIZES_DRAWN as f64
}

/// Connections to each server and how deep they are, where no client has its own.
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
