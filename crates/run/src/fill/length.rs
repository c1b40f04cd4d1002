//! Tries a value whose length is fixed, before a fill or load stores it: a server that refuses one
//! refuses all. What a server says changes no length; it only ends the run.

use super::{Filled, of_server, server_number};
use crate::failure::{Failure, FillFault, TooLong};
use crate::lower::{SampledServers, keys_own, plan_of};
use crate::run_plan::run_plan;
use crate::survey::{settings, whole};
use memtide_scenario::Scenario;
use memtide_world::driver::Refusal;
use memtide_world::fleet::Fleet;
use memtide_world::plan::Work;
use memtide_world::{Plan, ServerPlan};

/// Shorter values are not tried: hardly a server refuses them, and a try costs a round trip.
const TRIED_BYTES_MIN: u64 = 64 << 10;

/// True if a server that refuses the length of the values ends the run. The user may accept a fill
/// that leaves keys out, or count errors as answers; and the older load generators load blindly.
pub(super) fn is_tried(scenario: &Scenario, plan: &Plan, sampled: SampledServers) -> bool {
    let (least, most) = scenario.value_size.bounds();
    let is_long = most == Some(least) && least >= TRIED_BYTES_MIN;
    let is_accepted = scenario.load_partial || scenario.count_refused;
    is_long && sampled.filled && !is_accepted && keys_own(plan) > 0
}

/// Tries the length on every server that takes stores, as [`check_length`] does on one.
pub(super) fn check_lengths<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    plan: &Plan,
    filled: &mut Filled,
) -> Result<(), Failure> {
    let writers = scenario.replication.writers.unwrap_or(u32::MAX);
    let mut servers = plan.servers.iter().take(writers as usize);
    servers.try_for_each(|server| check_length(fleet, plan, server, filled))
}

/// Stores the first key of this process on `server`.
///
/// # Errors
/// If the server refuses the length of its value.
pub(super) fn check_length<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
    filled: &mut Filled,
) -> Result<(), Failure> {
    let one = plan_of(plan, Work::Fill { server: server_number(plan, server), first: 0, end: 1 });
    let ended = run_plan(fleet, &one, &mut |_, _, _, _| {})?;
    filled.absorb(&ended, &of_server(server), "the set of a long value", &one)?;
    let Some(refusal) = ended.refusal().filter(is_of_length) else { return Ok(()) };
    let told = settings(fleet, plan, server).ok();
    let item_bytes_max = told.map(|told| whole(&told, "item_size_max")).filter(|most| *most > 0);
    let too_long = TooLong {
        server: server.name.clone(),
        answer: refusal.to_string(),
        value_bytes: plan.values.len(0) as u64,
        beside_bytes: plan.keys.len(0) as u64 + item_overhead(plan.requests.flags),
        item_bytes_max: item_bytes_max.map(|most| most as u64),
    };
    Err(FillFault::TooLong(too_long).into())
}

/// What memcached 1.6 adds to the key and value of an item, in bytes: the header with the cas
/// number, a byte that ends the key, the line end, and flags other than 0.
const fn item_overhead(flags: u32) -> u64 {
    48 + 8 + 1 + 2 + if flags == 0 { 0 } else { 4 }
}

/// True if a server refused a value for its length, in memcached's words.
fn is_of_length(refusal: &Refusal) -> bool {
    refusal.to_string().to_ascii_lowercase().contains("too large")
}
