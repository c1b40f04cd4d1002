//! Converts version 1 of the record: renamed members, and members that no longer exist.
//!
//! It changes names in the JSON tree before a record is read from it, and no figure. Facts that
//! version 1 does not contain are absent from the converted record.

pub(crate) mod fields;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Name of the first version.
const NAME: &str = "memtide.record/1";
/// Name of the version to which it is converted.
const NEXT: &str = "memtide.record/2";

/// Output fields that were part of the scenario.
const OUTPUTS: [&str; 6] = ["json", "plot", "samples", "verify-details", "plan", "quiet"];

/// True if `text` is the JSON of a record of version 1.
pub(super) fn is_in(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Named {
        schema: String,
    }
    serde_json::from_str::<Named>(text).is_ok_and(|named| named.schema == NAME)
}

/// Converts a record of version 1 to version 2; anything else is unchanged.
pub(crate) fn upgrade(record: &mut Value) {
    if record.get("schema").and_then(Value::as_str) != Some(NAME) {
        return;
    }
    let Some(record) = record.as_object_mut() else { return };
    record.insert("schema".to_owned(), NEXT.into());
    rename(record, &[("lives", "churn")]);
    scenario_and_plan(record);
    if let Some(churn) = object(record, "churn") {
        rename(churn, &[("begun_per_s", "started_per_s")]);
        for phase in ["warmup", "measure", "cooldown"] {
            let counts = object(churn, phase);
            let names =
                [("begun", "started"), ("lived", "completed"), ("calls_unmade", "calls_not_made")];
            counts.into_iter().for_each(|counts| rename(counts, &names));
        }
    }
    for server in objects(record, "servers") {
        rename(server, &[("returns", "reconnects"), ("away", "outages")]);
        if let Some(reconnects) = object(server, "reconnects") {
            let names = [
                ("returned", "reconnected"),
                ("away_ns", "disconnected_ns"),
                ("away_ns_max", "disconnected_ns_max"),
            ];
            rename(reconnects, &names);
        }
    }
    for shard in objects(record, "shards") {
        rename(shard, &[("lives_target_per_s", "churn_target_per_s")]);
        scenario_and_plan(shard);
    }
}

/// Converts the members that a record and its shards have in common.
fn scenario_and_plan(of: &mut Map<String, Value>) {
    if let Some(scenario) = object(of, "scenario") {
        OUTPUTS.iter().for_each(|field| drop(scenario.shift_remove(*field)));
    }
    if let Some(plan) = object(of, "plan") {
        rename(plan, &[("lives", "churn"), ("reach", "routes")]);
    }
}

fn object<'a>(of: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    of.get_mut(name)?.as_object_mut()
}

fn objects<'a>(
    of: &'a mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = of.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn rename(of: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (old, new) in names {
        if let Some(value) = of.shift_remove(*old) {
            of.insert((*new).to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests;
