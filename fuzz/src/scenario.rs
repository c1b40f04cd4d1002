//! Properties of the scenario file: any bytes are parsed or refused without a panic, and parsed
//! settings are parsed again from their own text.

use memtide_scenario::{FieldError, Settings, from_toml};

/// Checks a scenario file. Bytes that are not UTF-8 are replaced first.
pub fn scenario_toml(data: &[u8]) {
    let Some(settings) = read(&String::from_utf8_lossy(data)) else { return };
    for problem in settings.check() {
        assert!(problem.message.contains(&problem.field), "a problem names its field");
    }
    let words = written(&settings);
    let again = read(&words).unwrap_or_else(|| panic!("its own words are refused:\n{words}"));
    assert_eq!(again, settings, "its own words mean something else:\n{words}");
    assert_eq!(written(&again), words, "words change when they are written anew");
}

/// The settings that a text describes; `None` if it is no valid scenario.
fn read(text: &str) -> Option<Settings> {
    let mut settings = Settings::default();
    let read = from_toml(text, "scenario.toml").and_then(|layer| settings.apply(&layer));
    read.map_err(|error| check(&error)).ok().map(|()| settings)
}

fn check(error: &FieldError) {
    assert!(!error.message.is_empty(), "an error says nothing");
    assert!(!error.to_string().contains('\n'), "an error takes more than one line: {error}");
}

/// The settings as a file.
fn written(settings: &Settings) -> String {
    toml::to_string(&settings.words()).expect("words can be written as TOML")
}
