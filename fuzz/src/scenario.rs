//! Promises of the scenario file: any bytes are understood or refused without a panic, and what
//! was understood is understood again from its own words.

use memtide_schema::{FieldError, Scenario, from_toml};

/// A scenario file, as far as it is text.
pub fn scenario_toml(data: &[u8]) {
    let Some(scenario) = read(&String::from_utf8_lossy(data)) else { return };
    for problem in scenario.check() {
        assert!(problem.message.contains(problem.field), "a problem names its field");
    }
    let words = written(&scenario);
    let again = read(&words).unwrap_or_else(|| panic!("its own words are refused:\n{words}"));
    assert_eq!(again, scenario, "its own words mean something else:\n{words}");
    assert_eq!(written(&again), words, "words change when they are written anew");
}

/// The scenario that a text describes, if it describes one.
fn read(text: &str) -> Option<Scenario> {
    let mut scenario = Scenario::default();
    let read = from_toml(text, "scenario.toml").and_then(|layer| scenario.apply(&layer));
    read.map_err(|error| check(&error)).ok().map(|()| scenario)
}

fn check(error: &FieldError) {
    assert!(!error.message.is_empty(), "an error says nothing");
    assert!(!error.to_string().contains('\n'), "an error takes more than one line: {error}");
}

/// The scenario as a file.
fn written(scenario: &Scenario) -> String {
    toml::to_string(&scenario.words()).expect("words can be written as TOML")
}
