//! The wrong values that verification found, in the words of the scenario. Bounded: what a run
//! could not keep is only counted.

use crate::conduct::Ended;
use crate::fill::Filled;
use memtide_engine::Plan;
use memtide_metrics::{Mismatch, Mismatches};
use memtide_schema::WrongValue;

/// Wrong values that a run found, while it filled and after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrongValues {
    /// One by one.
    pub listed: Vec<WrongValue>,
    /// How many more there were.
    pub not_listed: u64,
}

impl WrongValues {
    pub(crate) fn of(plan: &Plan, filled: &Filled, main: Option<&Ended>) -> Self {
        let parts = [Some(&filled.mismatches), main.map(|main| &main.totals.mismatches)];
        let parts = || parts.into_iter().flatten();
        Self {
            listed: parts().flat_map(Mismatches::kept).map(|m| worded(plan, m)).collect(),
            not_listed: parts().map(Mismatches::lost).sum(),
        }
    }
}

fn worded(plan: &Plan, mismatch: &Mismatch) -> WrongValue {
    let &Mismatch { op, key, server, class, version_min, version, offset } = mismatch;
    let mut bytes = Vec::new();
    plan.keys.write(key, &mut bytes);
    WrongValue {
        op,
        server: plan.servers[server.index()].name.clone(),
        key: String::from_utf8_lossy(&bytes).into_owned(),
        class: class.name(),
        version_min,
        version,
        offset,
    }
}
