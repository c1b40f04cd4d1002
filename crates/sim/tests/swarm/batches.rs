//! Connections that are refilled whole, of which each batch is looked at.

use crate::check::{is_answered, was_sent};
use crate::harness::Rehearsal;
use memtide_engine::{Refill, Sample};
use std::collections::BTreeMap;

/// Nothing is sent on a connection of which one of several operations was answered and another is
/// still outstanding. Only those that were answered are looked at: when the others gave up their
/// place is unknown.
pub fn batches(rehearsal: &Rehearsal) -> Result<(), String> {
    if rehearsal.plan.refill != Refill::Whole {
        return Ok(());
    }
    for batch in by_connection(rehearsal).into_values() {
        let mut outstanding: Vec<&Sample> = Vec::new();
        for sample in batch {
            let before = outstanding.len();
            outstanding.retain(|earlier| earlier.received > sample.sent);
            if let Some(left) = outstanding.first().filter(|_| outstanding.len() < before) {
                return Err(format!("{sample:?} was sent while {left:?} was left of a batch"));
            }
            outstanding.push(sample);
        }
    }
    Ok(())
}

/// What was answered on each connection, as it was sent.
pub fn by_connection(rehearsal: &Rehearsal) -> BTreeMap<u32, Vec<&Sample>> {
    let mut connections: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    let answered = |sample: &&Sample| is_answered(sample.outcome) && was_sent(sample);
    for sample in rehearsal.samples.iter().filter(answered) {
        connections.entry(sample.connection).or_default().push(sample);
    }
    for sent in connections.values_mut() {
        sent.sort_by_key(|sample| sample.sent);
    }
    connections
}
