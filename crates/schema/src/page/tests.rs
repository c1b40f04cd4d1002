//! Documents equal what the sources say: pages, JSON schemas and explanations. Other modules' tests
//! use the functions at the end.

use super::*;
use crate::file::from_toml;
use crate::scenario::Settings;
use schemars::JsonSchema;
use serde_json::Value;
use std::path::Path;

#[test]
fn the_page_is_the_table() {
    expect_document("scenario.md", &scenario_markdown());
}

#[test]
fn the_example_is_a_possible_scenario() {
    let mut settings = Settings::default();
    settings.apply(&from_toml(EXAMPLE, "example").unwrap()).unwrap();
    assert_eq!(settings.check(), []);
    assert_eq!(settings.scenario.servers.len(), 2);
    assert_eq!(settings.scenario.goals.len(), 2);
}

#[test]
fn every_field_has_its_paragraph() {
    let page = scenario_markdown();
    for field in FIELDS {
        assert!(page.contains(&format!("\n### {}\n", field.name)), "{}", field.name);
    }
    assert!(page.lines().all(|line| line.starts_with('|') || line.chars().count() <= 100));
}

/// Asserts that `text` is the content of `docs/{name}`, or writes it there.
pub(crate) fn expect_document(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == text,
        "docs/{name} is not what the sources say: render it with \
         UPDATE_DOCS=1 cargo test -p memtide-schema"
    );
}

/// Asserts that the JSON schema of `T` is `docs/{name}`, that it holds each of `right`, and that it
/// does not hold `wrong`.
pub(crate) fn expect_schema<T: JsonSchema>(name: &str, right: &[Value], wrong: &Value) {
    let schema = serde_json::to_value(schemars::schema_for!(T)).unwrap();
    expect_document(name, &format!("{}\n", serde_json::to_string_pretty(&schema).unwrap()));
    let validator = jsonschema::validator_for(&schema).unwrap();
    for value in right {
        let errors: Vec<String> = validator.iter_errors(value).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0]);
    }
    assert!(!validator.is_valid(wrong));
}

/// Asserts that `docs/{name}` explains each member of each of `objects`.
pub(crate) fn expect_explained(name: &str, objects: &[&Value]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let page = std::fs::read_to_string(path).unwrap();
    for member in objects.iter().flat_map(|object| object.as_object().unwrap().keys()) {
        assert!(page.contains(&format!("`{member}`")), "docs/{name} does not explain {member}");
    }
}
