//! A decided scenario stays the same if decided again, and is a scenario like any other.

use super::*;
use memtide_scenario::{Settings, from_toml};

/// Scenarios that leave fields open, each different ones.
const OPEN: [&str; 14] = [
    "",
    "server = ['a:1', 'b:2']",
    "server = ['a:1']\nrate = '5k'\nops-max = 1000",
    "server = ['a:1']\nwave = 'step:100,200@1s'",
    "server = ['a:1']\nrate = 100\ntransport = 'udp'",
    "calls = 10\nconnection-rate = 50",
    "calls = 10\nconnections-total = 7\nserver = ['a:1']",
    "calls = 3\ncall-rate = 5\nserver = ['a:1']",
    "clients = 12",
    "window = '1M'\nkeys = 1000",
    "clients = 4\nwindow = 100\nserver = ['a:1', 'b:2']\nwriters = 1",
    "clients = 2\ntransport = 'split'\nserver = ['a:1']",
    "ops-max = 10\ncooldown = 'stop'",
    "depth = 3\nconnections = 2\nduration = '3s'",
];

#[test]
fn what_is_decided_is_a_scenario_that_nothing_changes_any_more() {
    for text in OPEN {
        let scenario = said(text);
        let servers = scenario.servers.len().max(1) as u32;
        let decided = decide(&scenario, servers, &mut BTreeMap::new());
        assert_eq!(decided.check(), [], "{text}");
        let mut why = BTreeMap::new();
        assert_eq!(decide(&decided, servers, &mut why), decided, "{text}");
        assert!(why.is_empty(), "{text}: {why:?}");
    }
}

#[test]
fn the_words_of_a_decided_scenario_give_it_again() {
    for text in OPEN {
        let scenario = said(text);
        let decided = decide(&scenario, scenario.servers.len().max(1) as u32, &mut BTreeMap::new());
        let file = toml_of(&decided);
        assert_eq!(said(&file), decided, "{text} as\n{file}");
    }
}

/// The scenario in a file.
fn said(text: &str) -> Scenario {
    let mut settings = Settings::default();
    let layer = from_toml(text, "test").expect("it is TOML");
    settings.apply(&layer).expect("its words are allowed");
    settings.scenario
}

/// The scenario written as a file.
fn toml_of(scenario: &Scenario) -> String {
    scenario.spelled().iter().map(|(field, word)| format!("{field} = {word:?}\n")).collect()
}
