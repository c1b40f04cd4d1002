//! The plan of a record, member by member: names, order and values.
//!
//! `UPDATE_DOCS=1 cargo test -p memtide-run` writes the file again.

use crate::world::{around, scenario};
use memtide_run::{Surroundings, lower};
use memtide_scenario::Scenario;
use std::collections::BTreeMap;
use std::path::Path;

/// Scenarios with different plans, each with its name and number of servers.
const SCENARIOS: [(&str, usize, &str); 7] = [
    ("closed", 1, "server = 'a'\nnagle = true\nbefore = 'a b'\nafter = 'c'\npin = 'off'\n"),
    ("embedded", 1, ""),
    (
        "open",
        1,
        "server = 'a'\nrate = '20k'\narrival = 'fixed'\nschedule = 'connection'\non-full = 'drop'\n\
         duration = '1500ms'\nwarmup = '2s'\ntimeout = '300ms'\ncooldown = 'drain'\nwait = 'spin'\n\
         interval = '2s'\ninterval-times = true\nload = 'never'\nprotocol = 'binary'\nseed = 7\n\
         threads = 2\nconnections = 4\ndepth = 8\nrefill = 'whole'\nreconnect = 'never'\n",
    ),
    (
        "keys",
        1,
        "server = 'a'\nkeys = '12k'\nkey-size = 'fixed:20'\nkey-form = 'decimal'\n\
         value-size = 'uniform:10,900'\npopularity = 'zipf:0.99'\nmix = 'get=3,set=1,append=1'\n\
         multiget = 5\nmultiget-share = 0.25\npause-after-reply = '1ms'\nrate = 1000\n\
         rate-unit = 'keys'\nops-max = '5k'\n",
    ),
    ("wave", 1, "server = 'a'\nwave = 'ramp:10,90'\nduration = '4s'\nio = 'auto'\n"),
    (
        "windows",
        3,
        "server = 'a,b,c'\nclients = 5\nwindow = '10'\noverwrite = 0.5\nwriters = 2\n\
         load = 'always'\nmix = 'get=1,set=1'\n",
    ),
    ("churn", 1, "server = 'a'\ncalls = 10\nconnection-rate = 1000\ncall-rate = 500\n"),
];

/// The plan in the record of a run, for each of the scenarios.
fn plans() -> String {
    let plan = |(name, servers, toml): (&str, usize, &str)| {
        let scenario: Scenario = scenario(toml);
        let embedded = scenario.servers.is_empty();
        let around = Surroundings { embedded, ..around(servers, true) };
        let lowered = lower(&scenario, &around);
        let lowered = lowered.unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
        (name.to_owned(), lowered.record)
    };
    let plans: BTreeMap<_, _> = SCENARIOS.map(plan).into();
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
