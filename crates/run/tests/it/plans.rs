//! The plan of a record, member by member: names, order and values.
//!
//! `UPDATE_DOCS=1 cargo test -p memtide-run` writes the file again.

use crate::world::{around, scenario};
use memtide_run::{Surroundings, lower};
use memtide_scenario::Scenario;
use std::collections::BTreeMap;
use std::path::Path;

/// The plan in the record of a run, for each of `scenarios.txt`.
fn plans() -> String {
    let plan = |written: &str| {
        let (heading, toml) = written.split_once('\n').expect("a heading");
        let (name, servers) = heading.split_once(' ').expect("a name and a number");
        let servers = servers.parse().expect("a number");
        let scenario: Scenario = scenario(toml);
        let embedded = scenario.servers.is_empty();
        let around = Surroundings { embedded, ..around(servers, true) };
        let lowered = lower(&scenario, &around);
        let lowered = lowered.unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
        (name.to_owned(), lowered.record)
    };
    let plans: BTreeMap<_, _> =
        include_str!("scenarios.txt").split("\n## ").skip(1).map(plan).collect();
    let mut text = serde_json::to_string_pretty(&plans).expect("a plan is JSON");
    text.push('\n');
    text
}

#[test]
fn members_keep_their_names_their_order_and_their_words() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/plans.json");
    let plans = plans();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &plans).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&path).expect("the file can be read");
    for (at, (is, should)) in plans.lines().zip(expected.lines()).enumerate() {
        assert_eq!(is, should, "line {} of {}", at + 1, path.display());
    }
    assert_eq!(plans.lines().count(), expected.lines().count(), "{}", path.display());
}
