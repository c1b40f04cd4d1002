//! The wrong values that verification found, with the scenario's keys and servers.

use crate::fill::Filled;
use crate::run_plan::Ended;
use memtide_metrics::{Mismatch, Mismatches};
use memtide_record::{WrongValue, WrongValues};
use memtide_world::Plan;

/// Wrong values found during the fill and in the load.
pub(crate) fn wrong_values(plan: &Plan, filled: &Filled, main: Option<&Ended>) -> WrongValues {
    let parts = [Some(&filled.mismatches), main.map(|main| &main.totals.mismatches)];
    let parts = || parts.into_iter().flatten();
    WrongValues {
        listed: parts().flat_map(Mismatches::kept).map(|m| worded(plan, m)).collect(),
        not_listed: parts().map(Mismatches::lost).sum(),
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
