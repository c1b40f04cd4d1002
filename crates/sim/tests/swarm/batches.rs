//! Connections that are refilled in whole batches, each of which is checked.

use crate::check::{is_answered, was_sent};
use crate::harness::Rehearsal;
use memtide_world::{Refill, Sample};
use std::collections::BTreeMap;

/// Asserts that nothing is sent on a connection while a batch is partly answered. Only answered
/// operations are checked: the instant at which the others gave up their place is unknown.
pub fn batches(rehearsal: &Rehearsal) -> Result<(), String> {
    if rehearsal.plan.refill != Refill::Whole {
        return Ok(());
    }
    for batch in by_connection(rehearsal).into_values() {
        let mut outstanding: Vec<&Sample> = Vec::new();
        for sample in batch {
            let before = outstanding.len();
            // A worker that slept may send and then receive at one instant, while one that received
            // the last of a batch sends at that instant.
            outstanding.retain(|earlier| earlier.received >= sample.sent);
            match outstanding.iter().find(|earlier| earlier.received > sample.sent) {
                Some(left) if outstanding.len() < before => {
                    return Err(format!("{sample:?} was sent while {left:?} was left of a batch"));
                }
                Some(_) => {}
                None => outstanding.clear(),
            }
            outstanding.push(sample);
        }
    }
    Ok(())
}

/// The answered operations of each connection, in the order of sending.
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
