//! Version 1 of the record: what its members are called today, and what is no longer in it.
//!
//! It changes names on the JSON tree before a record is read from it; no figure is touched. What
//! version 1 could not say is missing from the record that comes of it.

pub(crate) mod fields;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The name of the first shape.
const NAME: &str = "memtide.record/1";
/// The name of the shape that it becomes.
const NEXT: &str = "memtide.record/2";

/// Fields that said where results went, and were part of the scenario.
const OUTPUTS: [&str; 6] = ["json", "plot", "samples", "verify-details", "plan", "quiet"];

/// Whether `text` is the JSON of a record of version 1.
pub(super) fn is_in(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Named {
        schema: String,
    }
    serde_json::from_str::<Named>(text).is_ok_and(|named| named.schema == NAME)
}

/// Makes a record of version 1 one of version 2; anything else stays as it is.
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

/// What a record and its shards have alike.
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
