//! Probes: reads a sample of keys from a server, to learn which are present and with which values.
//! It stores nothing.

use super::{Filled, of_server, said, server_number};
use crate::failure::{Failure, FillFault, Lengths};
use crate::lower::{keys_all, keys_own, plan_of};
use crate::run_plan::run_plan;
use crate::survey::{figures, whole};
use memtide_metrics::{Counters, Mismatches};
use memtide_record::Warning;
use memtide_record::warning::Shortfall;
use memtide_scenario::Scenario;
use memtide_world::fleet::Fleet;
use memtide_world::plan::Work;
use memtide_world::{Plan, ServerPlan};

/// Results of a probe.
pub(super) struct Probed {
    pub(super) counters: Counters,
    pub(super) mismatches: Mismatches,
}

impl Probed {
    /// True if most values do not come from this scenario; that is not the server's fault.
    fn is_strange(&self) -> bool {
        self.counters.wrong.iter().sum::<u64>() * 2 > self.counters.verified
    }

    /// Number of keys that are missing.
    pub(super) fn missing(&self) -> u64 {
        self.counters.keys - self.counters.hits
    }

    /// Mean length of the values in bytes; none without values.
    fn bytes_mean(&self) -> Option<f64> {
        let Counters { values, value_bytes, .. } = self.counters;
        (values > 0).then(|| value_bytes as f64 / values as f64)
    }
}

/// Reads a sample of keys; true if some are missing, or have values of another scenario or length.
/// Refuses to fill a server that is used for something else.
pub(super) fn wants_keys<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    plan: &Plan,
    server: &ServerPlan,
    filled: &mut Filled,
) -> Result<bool, Failure> {
    let probed = sample(fleet, plan, server, keys_own(plan), filled)?;
    let strange = probed.is_strange();
    if !strange {
        filled.accept(&probed, server_number(plan, server));
    }
    if filled.interrupted {
        return Ok(false);
    }
    if !strange && probed.missing() + probed.counters.resized == 0 {
        filled.held.note(probed.counters.hits, probed.counters.hits);
        return Ok(false);
    }
    let hits = if strange { 0 } else { probed.counters.hits };
    filled.asked += 1;
    let items = figures(fleet, plan, server).map_or(0, |figures| whole(&figures, "curr_items"));
    let local = server.addresses.iter().all(|address| address.is_local());
    // In a divided run, unknown items may belong to other shares, which fill at the same time.
    let strangers = plan.here.is_none() && hits == 0 && items > 0;
    let foreign = strangers || items as u64 > keys_all(plan);
    if !local && foreign {
        let resized = match (probed.counters.resized, probed.bytes_mean()) {
            (1.., Some(mean)) => Some(Lengths { mean, law: law(scenario) }),
            _ => None,
        };
        return Err(FillFault::Foreign { server: server.name.clone(), items, resized }.into());
    }
    Ok(true)
}

/// Samples a server that is not to be filled. Refuses values of other lengths than the plan's,
/// unless the scenario accepts them.
pub(super) fn accept_as_it_is<F: Fleet>(
    fleet: &mut F,
    scenario: &Scenario,
    plan: &Plan,
    server: &ServerPlan,
    filled: &mut Filled,
) -> Result<(), Failure> {
    let probed = sample(fleet, plan, server, keys_own(plan), filled)?;
    let Counters { hits, resized, .. } = probed.counters;
    let Some(mean) = probed.bytes_mean().filter(|_| resized > 0) else { return Ok(()) };
    if scenario.load_partial {
        let (server, values) = (server.name.clone(), scenario.value_size.to_string());
        filled.warnings.push(Warning::Shortfall(Shortfall::ValuesResized {
            server,
            values,
            resized,
            found: hits,
            mean,
        }));
        return Ok(());
    }
    let (server, lengths) = (server.name.clone(), Lengths { mean, law: law(scenario) });
    Err(FillFault::Resized { server, resized, hits, lengths }.into())
}

/// The scenario's distribution of value lengths, in words.
fn law(scenario: &Scenario) -> String {
    scenario.value_size.to_string()
}

/// Reads a sample of the first `keys` keys.
pub(super) fn sample<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
    keys: u64,
    filled: &mut Filled,
) -> Result<Probed, Failure> {
    let work = Work::Sample { server: server_number(plan, server), keys };
    probe(fleet, plan, server, work, filled)
}

/// Carries out `work`, which reads keys of `server`.
pub(super) fn probe<F: Fleet>(
    fleet: &mut F,
    plan: &Plan,
    server: &ServerPlan,
    work: Work,
    filled: &mut Filled,
) -> Result<Probed, Failure> {
    let probe = plan_of(plan, work);
    let ended = run_plan(fleet, &probe, &mut |_, _, _, _| {})?;
    let counters = filled.absorb(&ended, &of_server(server), "gets of a sample of keys", &probe)?;
    // A run may be about some errors; a server that mostly replies with errors is no memcached.
    if counters.answered < counters.intended / 2 && !ended.interrupted {
        let Counters { answered, intended, .. } = counters;
        let (server, protocol) = (server.name.clone(), plan.requests.protocol);
        let said = said(&ended);
        return Err(
            FillFault::NoMemcached { server, answered, asked: intended, said, protocol }.into()
        );
    }
    Ok(Probed { counters, mismatches: ended.totals.mismatches })
}
