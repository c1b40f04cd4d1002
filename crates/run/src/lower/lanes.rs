//! Number of workers of a run, and of those in this process.

use super::{Surroundings, cpus, is_local};
use crate::share::Share;
use memtide_scenario::{Problem, Scenario};
use std::collections::BTreeMap;
use std::ops::Range;

const WORKERS_MAX_LOCAL: u32 = 4;
const WORKERS_MAX: u32 = 8;
/// Largest number of workers over all shares of a run.
const LANES_MAX: u32 = u16::MAX as u32;

/// Lanes of a run: one for each worker.
pub(super) struct Lanes {
    /// Number of lanes of the whole run.
    pub(super) total: u16,
    /// Lanes of this process, if other processes have some.
    pub(super) here: Option<Range<u16>>,
}

impl Lanes {
    /// Lanes of a decided scenario; `workers_max` is the largest useful number of workers.
    pub(super) fn of(
        scenario: &Scenario,
        around: &Surroundings,
        workers_max: u32,
        why: &mut BTreeMap<String, String>,
    ) -> Result<Self, Problem> {
        let workers = workers(scenario, around, why);
        match around.share {
            None => Ok(Self { total: workers.min(workers_max) as u16, here: None }),
            Some(share) => of_share(scenario, share, workers, workers_max),
        }
    }

    /// Number of lanes of this process.
    pub(super) fn own(&self) -> u32 {
        self.here.as_ref().map_or(u32::from(self.total), |here| here.len() as u32)
    }
}

/// Lanes of `share` in a run with this number of workers per share; `workers_max` is the largest
/// number for the whole run.
fn of_share(
    scenario: &Scenario,
    share: Share,
    workers: u32,
    workers_max: u32,
) -> Result<Lanes, Problem> {
    let total = u64::from(workers) * u64::from(share.of);
    if total <= u64::from(workers_max.min(LANES_MAX)) {
        assert!(total <= u64::from(LANES_MAX), "more lanes are an error");
        assert!(share.number + share.units <= share.of, "a share is a part of its run");
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
    Err(Problem { field: field.to_owned(), message })
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
    let workers = ((cpus / 2.0) as u32).clamp(1, most);
    assert!(workers <= WORKERS_MAX, "only the user asks for more threads");
    workers
}
