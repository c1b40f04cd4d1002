//! The page equals the rendered text, and its example is a valid scenario.

use super::*;
use crate::file::from_toml;
use crate::scenario::Settings;
use std::path::Path;

#[test]
fn the_page_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md");
    let page = scenario_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/scenario.md is not what the table says: render it with \
         UPDATE_DOCS=1 cargo test -p memtide-schema"
    );
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
