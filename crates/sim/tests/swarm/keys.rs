//! A rate that counts keys: each operation begins at the unit of the schedule at which the one
//! before it in its lane ended, and the keys of all of them are the units.

use crate::check::{equal, was_sent};
use crate::harness::Rehearsal;
use memtide_base::Span;
use memtide_workload::{Action, OpKind};
use memtide_world::{Pacing, Sample, Sharing};
use std::collections::BTreeMap;

/// Checks the operations against the `units` of the schedules that are due in the window.
///
/// # Errors
/// A sentence that names the operation that does not fit.
pub fn intended_keys(rehearsal: &Rehearsal, units: &BTreeMap<u64, Span>) -> Result<(), String> {
    let plan = &rehearsal.plan;
    let Pacing::Open { sharing, .. } = &plan.pacing else { return Ok(()) };
    let lanes = match sharing {
        Sharing::Connection => u64::from(plan.connections),
        Sharing::Shared => u64::from(plan.workers),
    };
    let Some(first) = rehearsal.samples.first() else { return Ok(()) };
    let begun = |sample: &Sample| match units.get(&sample.index) {
        Some(due) => Ok(sample.intended.ns() - due.ns()),
        None => Err(format!("no unit is due at {sample:?}")),
    };
    let start = begun(first)?;
    let mut of_lanes: BTreeMap<u64, Vec<&Sample>> = BTreeMap::new();
    for sample in &rehearsal.samples {
        equal("instant of a unit", begun(sample)?, start)?;
        of_lanes.entry(sample.index % lanes).or_default().push(sample);
    }
    let most = u64::from(plan.source.multiget.max(1));
    let most_of = |kind: OpKind| if asks(kind) { most } else { 1 };
    let (mut known, mut open) = (0, 0);
    for samples in of_lanes.values_mut() {
        samples.sort_by_key(|sample| sample.index);
        for pair in samples.windows(2) {
            let keys = (pair[1].index - pair[0].index) / lanes;
            if !(1..=most_of(pair[0].kind)).contains(&keys) {
                return Err(format!("{keys} keys lie between {:?} and {:?}", pair[0], pair[1]));
            }
            known += if asks(pair[0].kind) && was_sent(pair[0]) { keys } else { 0 };
        }
        open += samples.last().map_or(0, |last| u64::from(asks(last.kind) && was_sent(last)));
    }
    let asked = rehearsal.record.totals.keys_asked;
    if !(known + open..=known + open * most).contains(&asked) {
        return Err(format!("{asked} keys were asked for, {known} between {open} last operations"));
    }
    whole(rehearsal, units, (lanes, most))
}

/// No lane of a whole run ends before its units do.
fn whole(
    rehearsal: &Rehearsal,
    units: &BTreeMap<u64, Span>,
    (lanes, most): (u64, u64),
) -> Result<(), String> {
    if rehearsal.record.partial || rehearsal.plan.window.ops_max.is_some() {
        return Ok(());
    }
    for lane in 0..lanes {
        let of_lane = |index: &u64| index % lanes == lane;
        let last_due = units.keys().copied().filter(of_lane).max();
        let last = rehearsal.samples.iter().map(|sample| sample.index).filter(of_lane).max();
        let left = last_due.unwrap_or(0).saturating_sub(last.unwrap_or(0)) / lanes;
        if last_due.is_some() && left >= most {
            return Err(format!("{left} units of lane {lane} were not offered"));
        }
    }
    Ok(())
}

fn asks(kind: OpKind) -> bool {
    kind.reads() && !kind.does(Action::ReadAndTouch)
}
