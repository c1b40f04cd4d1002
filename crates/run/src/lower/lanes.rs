//! How many workers a run has, and which of them are made here.

use super::{Surroundings, cpus, is_local};
use crate::share::Share;
use memtide_schema::Scenario;
use memtide_schema::scenario::Problem;
use std::collections::BTreeMap;
use std::ops::Range;

const WORKERS_MAX_LOCAL: u32 = 4;
const WORKERS_MAX: u32 = 8;
/// Workers of all shares of a run.
const LANES_MAX: u32 = u16::MAX as u32;

/// The lanes of a run: one for each of its workers.
pub(super) struct Lanes {
    /// How many there are in the whole run.
    pub(super) total: u16,
    /// Those that are made here, if others are made elsewhere.
    pub(super) here: Option<Range<u16>>,
}

impl Lanes {
    /// Of a scenario that is decided; `workers_max` is how many workers its clients have use for.
    pub(super) fn of(
        scenario: &Scenario,
        around: &Surroundings,
        workers_max: u32,
        why: &mut BTreeMap<String, String>,
    ) -> Result<Self, Problem> {
        let workers = workers(scenario, around, why);
        match around.share {
            None => Ok(Self { total: workers.min(workers_max) as u16, here: None }),
            Some(share) => of_share(scenario, share, (workers, workers_max)),
        }
    }

    /// How many are made here.
    pub(super) fn own(&self) -> u32 {
        self.here.as_ref().map_or(u32::from(self.total), |here| here.len() as u32)
    }
}

/// The lanes of `share` in a run with this many workers in each share; `workers_max` is how many
/// the run can have in all.
///
/// Cause: The shares have more workers together than the run can have.
fn of_share(
    scenario: &Scenario,
    share: Share,
    (workers, workers_max): (u32, u32),
) -> Result<Lanes, Problem> {
    let total = u64::from(workers) * u64::from(share.of);
    if total <= u64::from(workers_max.min(LANES_MAX)) {
        let (total, each) = (total as u16, workers as u16);
        let first = share.number as u16 * each;
        return Ok(Lanes { total, here: Some(first..first + each * share.units as u16) });
    }
    let change = if workers_max > LANES_MAX { "fewer" } else { "more" };
    let (field, what) = match () {
        () if workers_max > LANES_MAX => ("threads", format!("a run has at most {LANES_MAX}")),
        () if scenario.client.clients.is_some() => {
            ("clients", format!("each needs a client, and there are {workers_max}"))
        }
        () => ("connections", format!("each needs a connection, and there are {workers_max}")),
    };
    let message = format!(
        "{} shares with threads {workers} make {total} workers, but {what}; use {change} {field}, \
         or fewer shares",
        share.of
    );
    Err(Problem { field, message })
}

fn workers(scenario: &Scenario, around: &Surroundings, why: &mut BTreeMap<String, String>) -> u32 {
    if let Some(threads) = scenario.threads {
        return threads;
    }
    if around.share.is_some() {
        let reason = "1 per share, so that the load does not depend on the machines";
        why.insert("threads".to_owned(), reason.to_owned());
        return 1;
    }
    let cpus = cpus::usable(around);
    let most = if is_local(around) { WORKERS_MAX_LOCAL } else { WORKERS_MAX };
    why.insert(
        "threads".to_owned(),
        format!("half of the {cpus} CPUs that may be used, from 1 to {most}"),
    );
    ((cpus / 2.0) as u32).clamp(1, most)
}
