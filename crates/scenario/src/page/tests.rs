//! The page of fields equals what the sources say.

use super::*;
use crate::file::from_toml;
use crate::pages::expect_document;
use crate::scenario::Settings;

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
