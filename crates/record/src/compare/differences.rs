//! Differences between runs: in result, scenario, machine, servers, and version of memtide.

use super::{Difference, RecordPart};
use crate::record::{Figure, Record, Verdict};
use memtide_scenario::field::{FIELDS, Section};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Fields that do not change how one operation is made: runs that differ only in these are alike.
const FREE: [&str; 8] =
    ["server", "seed", "gap-seed", "bind", "duration", "warmup", "ops-max", "password"];
/// The name of the difference between open and closed loops.
pub(super) const LOOP: &str = "loop";
/// Settings from a server's `stats` that affect its speed.
const SETTINGS: [&str; 4] = ["version", "threads", "limit_maxbytes", "max_connections"];

type Words = BTreeMap<String, String>;

/// All differences between the records, part by part.
pub(super) fn differences(records: &[&Record]) -> Vec<Difference> {
    let mut all = Vec::new();
    add(&mut all, RecordPart::Result, &of_all(records, result));
    add(&mut all, RecordPart::Version, &of_all(records, version));
    add(&mut all, RecordPart::Machine, &of_all(records, machine));
    add(&mut all, RecordPart::Server, &of_all(records, server));
    add(&mut all, RecordPart::Scenario, &scenarios(records));
    all
}

fn of_all(records: &[&Record], words: fn(&Record) -> Words) -> Vec<Words> {
    records.iter().map(|record| words(record)).collect()
}

/// Adds each name whose words differ between records.
fn add(all: &mut Vec<Difference>, part: RecordPart, words: &[Words]) {
    let names: BTreeSet<&String> = words.iter().flat_map(BTreeMap::keys).collect();
    for name in names {
        let values: Vec<Option<String>> =
            words.iter().map(|words| words.get(name).cloned()).collect();
        if values.iter().any(|value| *value != values[0]) {
            let unlike = is_unlike(part, name);
            all.push(Difference { part, name: name.clone(), values, unlike });
        }
    }
}

/// True if a difference in this field makes the runs unlike.
fn is_unlike(part: RecordPart, name: &str) -> bool {
    match part {
        RecordPart::Result | RecordPart::Version => true,
        RecordPart::Machine => name != "memory_bytes",
        // Comparing two servers is a usual purpose.
        RecordPart::Server => false,
        RecordPart::Scenario => {
            let field = FIELDS.iter().find(|field| field.name == name);
            let is_of_load = field.is_none_or(|field| {
                use Section::{Measurement, Output, Placement};
                !matches!(field.section, Measurement | Output | Placement)
            });
            is_of_load && !FREE.contains(&name)
        }
    }
}

fn result(record: &Record) -> Words {
    let verdict = match record.believable.verdict {
        Verdict::Yes => "yes",
        Verdict::Within => "within bounds",
        Verdict::No => "no",
    };
    let partial = if record.partial { "yes" } else { "no" };
    let shards = record.shards.len().to_string();
    let words = [
        ("believable", verdict.to_owned()),
        (LOOP, record.loop_kind.to_string()),
        ("partial", partial.to_owned()),
        ("merged_from", shards),
    ];
    named(words.map(|(name, word)| (name, Some(word))))
}

fn version(record: &Record) -> Words {
    named([("memtide_version", Some(record.machine.memtide_version.clone()))])
}

fn machine(record: &Record) -> Words {
    let machine = &record.machine;
    named([
        ("os", Some(machine.os.clone())),
        ("kernel", Some(machine.kernel.clone())),
        ("architecture", Some(machine.architecture.clone())),
        ("cpus", Some(machine.cpus.to_string())),
        ("cpus_allowed", Some(machine.cpus_allowed.to_string())),
        ("cpu_quota", machine.cpu_quota.map(|quota| quota.to_string())),
        ("cpu_model", machine.cpu_model.clone()),
        ("memory_bytes", machine.memory_bytes.map(|bytes| bytes.to_string())),
        ("clock_source", machine.clock_source.clone()),
    ])
}

/// Facts about the servers: their addresses, and settings from their `stats`.
fn server(record: &Record) -> Words {
    let names: Vec<&str> = record.plan.servers.iter().map(|server| server.name.as_str()).collect();
    let embedded = record.plan.embedded.then(|| "embedded".to_owned());
    let mut words = named([("servers", embedded.or_else(|| Some(names.join(", "))))]);
    for setting in SETTINGS {
        let of_all = record.server.after.values().filter_map(|stats| stats.get(setting));
        let shown: BTreeSet<String> = of_all.map(shown).collect();
        if !shown.is_empty() {
            let list: Vec<String> = shown.into_iter().collect();
            words.insert(setting.to_owned(), list.join(", "));
        }
    }
    words
}

fn shown(figure: &Figure) -> String {
    match figure {
        Figure::Whole(whole) => whole.to_string(),
        Figure::Real(real) => real.to_string(),
        Figure::Text(text) => text.clone(),
    }
}

/// The decided scenarios; if a record lacks its own, all scenarios as their users wrote them.
fn scenarios(records: &[&Record]) -> Vec<Words> {
    let mut words: Vec<Words> = match records.iter().all(|record| !record.plan.decided.is_empty()) {
        true => records.iter().map(|record| record.plan.decided.clone()).collect(),
        false => records.iter().map(|record| given(record)).collect(),
    };
    // Addresses of servers are listed under `RecordPart::Server`.
    words.iter_mut().for_each(|words| {
        words.remove("server");
    });
    words
}

fn given(record: &Record) -> Words {
    let of_load = record.scenario.iter().filter(|(name, _)| {
        let field = FIELDS.iter().find(|field| field.name == **name);
        field.is_none_or(|field| field.section != Section::Output)
    });
    let words = of_load.map(|(name, value)| match value {
        Value::String(word) => (name.clone(), word.clone()),
        other => (name.clone(), other.to_string()),
    });
    words.collect()
}

fn named<const N: usize>(words: [(&str, Option<String>); N]) -> Words {
    let known = words.into_iter().filter_map(|(name, word)| Some((name.to_owned(), word?)));
    known.collect()
}
